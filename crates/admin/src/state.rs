//! The state folder: the identity of this server, and the lock that makes it the folder's only
//! server.
//!
//! ```text
//! identity.toml   format version, server id, handle secret, time of creation, which defaults hold; never changes
//! accounts.toml   see `auth`
//! luns.toml       see `luns`
//! lock            held while a server runs; holds its process id
//! control.sock    see `control`
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use auth::{FileError, StateFile};
use serde::{Deserialize, Serialize};
use wire::hex;

const IDENTITY: StateFile =
    StateFile { format: 1, if_damaged: ", or remove it: clients must then mount again" };

/// An open state folder. While it exists, no other server can open the same folder.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    identity: StateIdentity,
    /// The system releases the lock when the process ends, for any reason.
    _lock: File,
}

/// Why a state folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// An error of the file system.
    #[error("the state folder: {}: {why}; choose another folder with --state DIR", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error. It is not the error's `source`: it is part of the line, and would be reported
        /// twice.
        why: io::Error,
    },
    /// Another server uses it.
    #[error(
        "another fourfold{} uses the state folder {}; stop it, or choose another folder with --state DIR",
        pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The other server's process id.
        pid: Option<u32>,
    },
    /// The identity was written by a later version, or is damaged.
    #[error(transparent)]
    File(#[from] FileError),
}

#[derive(Clone, PartialEq, Eq)]
struct StateIdentity {
    server_id: [u8; 16],
    handle_secret: [u8; 32],
}

impl std::fmt::Debug for StateIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({}, …)", hex::encode(&self.server_id))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StoredIdentity {
    format: u32,
    server_id: String,
    handle_secret: String,
    /// Seconds since 1970.
    created: u64,
    /// [`DEFAULTS`] of the version that made the folder; 0: of one that did not write it.
    #[serde(default)]
    defaults: u32,
}

/// Which defaults hold for settings that are not written. A version that makes a default stricter counts one more, and a
/// folder with a smaller number keeps the former default. 1: NFS without a login serves the hosts that are named.
const DEFAULTS: u32 = 1;

/// Whether the state folder keeps the defaults of versions before this number of [`DEFAULTS`].
pub(crate) fn has_defaults_before(folder: &Path, number: u32) -> bool {
    let path = folder.join("identity.toml");
    let identity = fs::read_to_string(&path).ok().and_then(|text| {
        IDENTITY.parse::<StoredIdentity>(&path, &text).ok() // what is wrong with it is reported where it is used
    });
    identity.is_some_and(|identity| identity.defaults < number)
}

impl State {
    /// Makes the folder if it is missing, takes its lock, and reads or makes the server's identity.
    ///
    /// # Errors
    /// See [`StateError`]; each error says what to do.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        Self::folder(path)?;
        let path = path.canonicalize().map_err(|why| io_error(path, why))?;
        let lock = lock(&path)?;
        let identity = identity(&path.join("identity.toml"))?;
        Ok(Self { path, identity, _lock: lock })
    }

    /// Makes the folder if it is missing, readable by its owner only. For commands that run at the
    /// same time as a server.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn folder(path: &Path) -> Result<(), StateError> {
        let io = |why| io_error(path, why);
        if !path.exists() {
            return DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io);
        }
        let mode = fs::metadata(path).map_err(io)?.permissions().mode();
        let ours = path.join("identity.toml").exists() || fs::read_dir(path).map_err(io)?.next().is_none();
        match (mode & 0o077 != 0, ours) {
            (true, true) => fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(io),
            (true, false) => {
                tracing::warn!(path = %path.display(), "others may enter the state folder; `chmod 700` it");
                Ok(())
            }
            (false, _) => Ok(()),
        }
    }

    /// The folder, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The server's random id. It never changes.
    #[must_use]
    pub fn server_id(&self) -> &[u8; 16] {
        &self.identity.server_id
    }

    /// The key that makes file handles unforgeable. It never changes.
    #[must_use]
    pub fn handle_secret(&self) -> &[u8; 32] {
        &self.identity.handle_secret
    }
}

fn io_error(path: &Path, why: io::Error) -> StateError {
    StateError::Io { path: path.into(), why }
}

/// Takes the lock of a state folder that is there, for what must not run beside a server.
pub(crate) fn lock_of(folder: &Path) -> Result<File, StateError> {
    lock(folder)
}

fn lock(folder: &Path) -> Result<File, StateError> {
    let path = folder.join("lock");
    let io = |why| io_error(&path, why);
    let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
    let mut file = open.map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(StateError::InUse { path: folder.into(), pid });
        }
        Err(TryLockError::Error(why)) => return Err(io(why)),
    }
    file.set_len(0).and_then(|()| file.rewind()).map_err(io)?;
    writeln!(file, "{}", std::process::id()).map_err(io)?;
    Ok(file)
}

fn identity(path: &Path) -> Result<StateIdentity, StateError> {
    match fs::read_to_string(path) {
        Ok(text) => parse(path, &text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path),
        Err(why) => Err(io_error(path, why)),
    }
}

fn parse(path: &Path, text: &str) -> Result<StateIdentity, StateError> {
    let damaged = |reason: &str| IDENTITY.damaged(path, reason.into());
    let written: StoredIdentity = IDENTITY.parse(path, text)?;
    let server_id = hex::decode(&written.server_id).ok_or_else(|| damaged("server-id is not 16 bytes"))?;
    let secret =
        hex::decode(&written.handle_secret).ok_or_else(|| damaged("handle-secret is not 32 bytes"))?;
    Ok(StateIdentity { server_id, handle_secret: secret })
}

fn create(path: &Path) -> Result<StateIdentity, StateError> {
    let io = |why| io_error(path, why);
    let mut identity = StateIdentity { server_id: [0; 16], handle_secret: [0; 32] };
    getrandom::fill(&mut identity.server_id).map_err(|e| io(io::Error::other(e.to_string())))?;
    getrandom::fill(&mut identity.handle_secret).map_err(|e| io(io::Error::other(e.to_string())))?;
    let written = StoredIdentity {
        format: IDENTITY.format,
        server_id: hex::encode(&identity.server_id),
        handle_secret: hex::encode(&identity.handle_secret),
        created: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        defaults: DEFAULTS,
    };
    IDENTITY.write(path, &written)?;
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_outlives_the_server() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("deep/state");
        let first = State::open(&path).unwrap();
        let (id, secret) = (*first.server_id(), *first.handle_secret());
        drop(first);
        let second = State::open(&path).unwrap();
        assert_eq!((*second.server_id(), *second.handle_secret()), (id, secret));
        assert_ne!(id, [0; 16]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&path), mode(&path.join("identity.toml")), mode(&path.join("lock"))),
            (0o700, 0o600, 0o600)
        );
        let text = fs::read_to_string(path.join("identity.toml")).unwrap();
        assert!(text.starts_with("format = 1\n"), "{text}");
        assert!(!format!("{second:?}").contains(&hex::encode(&secret)));
    }

    #[test]
    fn a_second_server_is_told_which_process_has_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let _first = State::open(folder.path()).unwrap();
        let error = State::open(folder.path()).unwrap_err();
        assert!(
            matches!(error, StateError::InUse { pid: Some(pid), .. } if pid == std::process::id()),
            "{error}"
        );
        assert!(error.to_string().contains("stop it, or choose another folder"), "{error}");
    }

    #[test]
    fn a_half_written_identity_beside_the_old_one_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("identity.toml.new"), "format = 1\nserver").unwrap();
        let id = *State::open(folder.path()).unwrap().server_id();
        fs::write(folder.path().join("identity.toml.new"), "format").unwrap();
        assert_eq!(*State::open(folder.path()).unwrap().server_id(), id);
    }

    #[test]
    fn a_folder_of_an_earlier_version_keeps_its_defaults() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_defaults_before(folder.path(), 1), "there is none yet");
        drop(State::open(folder.path()).unwrap());
        assert!(!has_defaults_before(folder.path(), 1));
        let path = folder.path().join("identity.toml");
        let written = fs::read_to_string(&path).unwrap();
        let earlier: String = written
            .lines()
            .filter(|line| !line.starts_with("defaults"))
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(&path, earlier).unwrap();
        drop(State::open(folder.path()).unwrap());
        assert!(has_defaults_before(folder.path(), 1));
    }

    #[test]
    fn a_later_or_damaged_identity_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("identity.toml");
        let texts = [
            ("format = 9\n", "has format 9"),
            ("", "is damaged"),
            ("format = 1\nserver-id = \"0\"\n", "is damaged"),
        ];
        for (text, expected) in texts {
            fs::write(&path, text).unwrap();
            let error = State::open(folder.path()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn somebody_elses_folder_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("thesis.txt"), "").unwrap();
        State::open(folder.path()).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
