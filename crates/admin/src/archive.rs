//! The state of a server in one file: what a new machine needs to take its place.
//!
//! The file is JSON. It has the files of the state folder that a new machine can use, and the settings file. What the new machine
//! makes again by itself is not in it: the index, counts of quotas, records of jobs, logs. Files of shares are not in it, either.
//!
//! ```text
//! {"format":1,"program":"fourfold 1.2.3","made":"2026-11-29T12:00:00Z",
//!  "files":[{"name":"accounts.toml","text":"…"},{"name":"domain.keytab","hex":"…"}],
//!  "settings":{"name":"fourfold.toml","text":"…"},"sha256":"…"}
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use wire::hex;

use crate::state::lock_of;

/// The version of the file.
const FORMAT: u32 = 1;
/// The longest archive that is read.
const LONGEST: u64 = 256 << 20;
/// The longest file of a state folder that is kept.
const LONGEST_FILE: u64 = 64 << 20;
/// Files of an archive at most, and bytes of their names.
const MOST_FILES: usize = 256;
const LONGEST_NAME: usize = 100;
/// What the names of files end with that belong to the server and not to this machine.
const ENDINGS: [&str; 4] = [".toml", ".pem", ".key", ".keytab"];

/// The state of a server, outside of its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateArchive {
    format: u32,
    /// The version of the program that has made it.
    program: String,
    /// When it was made, RFC 3339.
    made: String,
    files: Vec<ArchivedFile>,
    /// The settings file, if the server has one.
    settings: Option<ArchivedFile>,
    /// The SHA-256 of all names and contents, in hexadecimal digits.
    sha256: String,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArchivedFile {
    name: String,
    /// Its content; of a file that is no text `hex` has the bytes in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

/// Why a state was not saved or restored. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// An error of the file system.
    #[error("{}: {why}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error.
        why: io::Error,
    },
    /// It is no archive, or damaged.
    #[error("{0}; make it anew with `fourfold backup-state`")]
    Damaged(String),
    /// A later version has written it.
    #[error(
        "the archive has format {0}, and this program reads up to {FORMAT}: install the version that has made it, or a later one"
    )]
    Newer(u32),
    /// A server uses the state folder, or it cannot be used.
    #[error(transparent)]
    State(#[from] crate::StateError),
}

impl ArchiveError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |why| Self::Io { path: path.into(), why }
    }
}

impl ArchivedFile {
    fn new(name: String, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { name, text: Some(text), hex: None },
            Err(error) => Self { name, text: None, hex: Some(hex::encode(error.as_bytes())) },
        }
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        match (&self.text, &self.hex) {
            (Some(text), None) => Some(text.as_bytes().to_vec()),
            (None, Some(digits)) => hex::decode_any(digits),
            _ => None,
        }
    }
}

impl StateArchive {
    /// Reads the state folder, and the settings file. A server may use them meanwhile: each file is replaced as a whole.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(
        state: &Path,
        settings: Option<&Path>,
        program: &str,
        made: &str,
    ) -> Result<Self, ArchiveError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(state).map_err(ArchiveError::io(state))? {
            let entry = entry.map_err(ArchiveError::io(state))?;
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            names.extend(entry.file_name().into_string().ok().filter(|name| is_file && is_kept(name)));
        }
        names.sort();
        let read = |path: &Path| -> Result<Vec<u8>, ArchiveError> {
            let mut bytes = Vec::new();
            let file = File::open(path).map_err(ArchiveError::io(path))?;
            file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(ArchiveError::io(path))?;
            if bytes.len() as u64 > LONGEST_FILE {
                let why = io::Error::other(format!("it is longer than {LONGEST_FILE} bytes"));
                return Err(ArchiveError::Io { path: path.into(), why });
            }
            Ok(bytes)
        };
        let kept =
            |name: String| Ok::<_, ArchiveError>(ArchivedFile::new(name.clone(), read(&state.join(name))?));
        let files = names.into_iter().map(kept).collect::<Result<Vec<_>, ArchiveError>>()?;
        let settings = settings.map(|path| {
            let name =
                path.file_name().map_or("fourfold.toml".into(), |name| name.to_string_lossy().into_owned());
            Ok::<_, ArchiveError>(ArchivedFile::new(name, read(path)?))
        });
        let mut archive = Self {
            format: FORMAT,
            program: program.into(),
            made: made.into(),
            files,
            settings: settings.transpose()?,
            sha256: String::new(),
        };
        archive.sha256 = archive.sum();
        Ok(archive)
    }

    /// The archive in this file.
    ///
    /// # Errors
    /// It cannot be read, or is not whole.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(ArchiveError::io(path))?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(ArchiveError::io(path))?;
        Self::decode(&bytes)
    }

    /// The archive in these bytes, which may be any. All of it is checked.
    ///
    /// # Errors
    /// They are no archive, not whole, or of a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self, ArchiveError> {
        #[derive(Deserialize)]
        struct Begin {
            format: u32,
        }
        let damaged =
            |why: &str| ArchiveError::Damaged(format!("this is no whole archive of a server's state: {why}"));
        if bytes.len() as u64 > LONGEST {
            return Err(damaged("it is too long"));
        }
        let begin: Begin = serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))?;
        if begin.format > FORMAT {
            return Err(ArchiveError::Newer(begin.format));
        }
        let archive: Self = serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))?;
        if archive.files.len() > MOST_FILES {
            return Err(damaged("it has too many files"));
        }
        let mut names: Vec<&str> = archive.files.iter().map(|file| file.name.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !is_kept(name)) {
            return Err(damaged(&format!("it has a file {name:?}, which is none of a state folder")));
        }
        names.sort_unstable();
        names.dedup();
        if names.len() != archive.files.len() {
            return Err(damaged("it has a file twice"));
        }
        if archive.files.iter().chain(&archive.settings).any(|file| file.bytes().is_none()) {
            return Err(damaged("a file has no content, or not in hexadecimal digits"));
        }
        if archive.sum() != archive.sha256 {
            return Err(damaged("its sum is another one"));
        }
        Ok(archive)
    }

    /// The archive as text.
    #[must_use]
    pub fn encode(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n" // texts and numbers can be written
    }

    /// Writes it to a file that is not there yet, readable by its owner only. It is on the disk then.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ArchiveError> {
        let io = || ArchiveError::io(path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(io())?;
        let written = file.write_all(self.encode().as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|why| {
            let _ = fs::remove_file(path); // half of an archive is none
            io()(why)
        })
    }

    /// The names of its files, and of the settings file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().chain(&self.settings).map(|file| file.name.as_str())
    }

    /// When it was made, and by which version.
    #[must_use]
    pub fn origin(&self) -> (&str, &str) {
        (&self.made, &self.program)
    }

    /// The text of the settings file, if it has one.
    #[must_use]
    pub fn settings(&self) -> Option<String> {
        String::from_utf8(self.settings.as_ref()?.bytes()?).ok()
    }

    /// Unpacks the files into a folder, which is made if it is missing: mode 0700, the files 0600.
    ///
    /// # Errors
    /// A file is there already, or cannot be written.
    pub fn unpack(&self, folder: &Path) -> Result<(), ArchiveError> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(ArchiveError::io(folder))?;
        for file in &self.files {
            let path = folder.join(&file.name);
            let io = || ArchiveError::io(&path);
            let mut open =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(io())?;
            let bytes = file.bytes().unwrap_or_default(); // `decode` has checked it
            open.write_all(&bytes).and_then(|()| open.sync_all()).map_err(io())?;
        }
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(ArchiveError::io(folder))
    }

    /// Puts the files into the place of a state folder that no server uses. The folder that was there is kept: its new path is
    /// returned.
    ///
    /// # Errors
    /// A server uses it, or the folder cannot be replaced. What was there is still there.
    pub fn replace(&self, state: &Path, former: &Path) -> Result<Option<PathBuf>, ArchiveError> {
        let is_there = fs::read_dir(state).is_ok_and(|mut entries| entries.next().is_some());
        let _lock = is_there.then(|| lock_of(state)).transpose()?;
        let mut name = state.as_os_str().to_owned();
        name.push(".restoring");
        let new = PathBuf::from(name);
        if new.exists() {
            fs::remove_dir_all(&new).map_err(ArchiveError::io(&new))?; // of a restoration that was interrupted
        }
        let done = self.unpack(&new).and_then(|()| exchange(&new, state, former, is_there));
        if done.is_err() {
            let _ = fs::remove_dir_all(&new); // nothing has changed
        }
        done
    }

    fn sum(&self) -> String {
        let mut sum = Sha256::new();
        for file in self.files.iter().chain(&self.settings) {
            let bytes = file.bytes().unwrap_or_default();
            for part in [file.name.as_bytes(), &bytes] {
                sum.update((part.len() as u64).to_le_bytes());
                sum.update(part);
            }
        }
        hex::encode(&sum.finalize())
    }
}

/// Gives the folder `new` the name `state`; what was there gets the name `former` if it has `content`, and is removed if it has none.
fn exchange(new: &Path, state: &Path, former: &Path, content: bool) -> Result<Option<PathBuf>, ArchiveError> {
    let moved = match state.exists() {
        true if content => fs::rename(state, former).map(|()| Some(former.to_owned())),
        true => fs::remove_dir(state).map(|()| None),
        false => Ok(None),
    };
    let moved = moved.map_err(ArchiveError::io(state))?;
    fs::rename(new, state).map_err(|why| {
        if let Some(former) = &moved {
            let _ = fs::rename(former, state); // as it was
        }
        ArchiveError::Io { path: state.into(), why }
    })?;
    Ok(moved)
}

/// Whether a file of a state folder belongs to the server, and not to this machine.
fn is_kept(name: &str) -> bool {
    let letters = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    name.len() <= LONGEST_NAME
        && name.chars().all(letters)
        && !name.starts_with('.')
        && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::State;

    fn state() -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        let state = top.path().join("state");
        drop(State::open(&state).unwrap());
        fs::write(state.join("tokens.toml"), "format = 1\n").unwrap();
        fs::write(state.join("domain.keytab"), [5, 2, 255]).unwrap();
        for other in ["index.redb", "quotas.json", "accounts.toml.previous", "accounts.lock"] {
            fs::write(state.join(other), "of this machine").unwrap();
        }
        fs::write(top.path().join("fourfold.toml"), "[server]\n").unwrap();
        top
    }

    fn archive(top: &Path) -> StateArchive {
        StateArchive::of(
            &top.join("state"),
            Some(&top.join("fourfold.toml")),
            "1.2.3",
            "2026-11-29T12:00:00Z",
        )
        .unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_a_new_machine_needs_is_in_it_and_nothing_of_the_old_one() {
        let top = state();
        let names: Vec<String> = archive(top.path()).names().map(str::to_owned).collect();
        assert_eq!(names, ["domain.keytab", "identity.toml", "tokens.toml", "fourfold.toml"]);
    }

    #[test]
    fn it_is_for_its_owner_only_and_replaces_no_file() {
        let top = state();
        let file = top.path().join("state.json");
        archive(top.path()).write(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        assert!(archive(top.path()).write(&file).is_err());
        assert_eq!(StateArchive::open(&file).unwrap(), archive(top.path()));
    }

    #[test]
    fn another_folder_has_the_same_state_after_it() {
        let top = state();
        let new = top.path().join("new");
        let former = top.path().join("former");
        assert_eq!(archive(top.path()).replace(&new, &former).unwrap(), None);
        assert_eq!((mode(&new), mode(&new.join("identity.toml"))), (0o700, 0o600));
        assert_eq!(fs::read(new.join("domain.keytab")).unwrap(), [5, 2, 255]);
        let id = |state: &Path| *State::open(state).unwrap().server_id();
        assert_eq!(id(&new), id(&top.path().join("state")));
        assert_eq!(archive(top.path()).replace(&new, &former).unwrap(), Some(former.clone()));
        assert!(former.join("identity.toml").exists());
    }

    #[test]
    fn a_folder_that_a_server_uses_stays_as_it_is() {
        let top = state();
        let state = top.path().join("state");
        let _server = State::open(&state).unwrap();
        let error = archive(top.path()).replace(&state, &top.path().join("former")).unwrap_err();
        assert!(error.to_string().contains("stop it"), "{error}");
        assert!(!top.path().join("former").exists() && state.join("quotas.json").exists());
    }

    #[test]
    fn an_archive_that_is_not_whole_is_refused() {
        let top = state();
        let text = archive(top.path()).encode();
        for (from, to, why) in [
            ("[server]\\n", "[Server]\\n", "sum"),
            ("identity.toml", "../identity.toml", "none of a state folder"),
            ("identity.toml", "tokens.toml", "twice"),
            ("\"0502ff\"", "\"0502f\"", "hexadecimal"),
            ("\"format\": 1", "\"format\": 2", "format 2"),
            ("\"files\"", "\"folders\"", "folders"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let error = StateArchive::decode(changed.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{from}: {error}");
        }
        for cut in [0, 1, text.len() / 2, text.len() - 3] {
            assert!(StateArchive::decode(&text.as_bytes()[..cut]).is_err(), "{cut}");
        }
    }
}
