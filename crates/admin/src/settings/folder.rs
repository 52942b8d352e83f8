//! Whether the folder of a share can be served now. A share whose folder cannot is left out; the others are served.

use std::fmt;
use std::fs::metadata;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxAttributes, StatxFlags};

use super::model::{Settings, ShareSettings};

/// Why the folder of a share cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// The cause: "the folder does not exist".
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

impl Absence {
    fn new(why: impl Into<String>, remedy: &str) -> Self {
        Self { why: why.into(), remedy: remedy.into() }
    }

    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::new(
                "the folder does not exist",
                "make it, or mount its disk; the share is served as soon as the folder is there",
            ),
            io::ErrorKind::NotADirectory => Self::new(
                "it is not a folder",
                "put a folder in its place; the share is served as soon as it is there",
            ),
            _ => Self::new(
                format!("the folder cannot be read: {error}"),
                "give the user of the server the right to read and enter it, and check its disk",
            ),
        }
    }

    fn not_mounted() -> Self {
        Self::new(
            "no file system is mounted there, and `must-be-mounted` is set",
            "mount its disk; the share is served as soon as it is mounted",
        )
    }

    /// The cluster with the folder does not let the server in.
    #[must_use]
    pub fn of_store(why: &impl fmt::Display) -> Self {
        Self::new(why.to_string(), "the share is served as soon as the cluster answers")
    }

    /// Another file system was mounted at the folder, and descriptors of the first must be closed.
    #[must_use]
    pub fn exchanged() -> Self {
        Self::new("another file system was mounted there", "the share is served again in a few seconds")
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.why, self.remedy)
    }
}

impl std::error::Error for Absence {}

/// Which folder is at a path, on which mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderPlace {
    mount: u64,
    device: (u32, u32),
    inode: u64,
}

impl ShareSettings {
    /// Whether the folder is in a cluster, which the settings do not ask: it may not answer.
    #[must_use]
    pub fn is_in_store(&self) -> bool {
        cephfs::Place::of(&self.path).is_some()
    }

    /// The folder with links resolved, if it can be served. It is opened once, so that a disk is mounted on demand.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn find_folder(&self) -> Result<PathBuf, Absence> {
        if self.is_in_store() {
            return Ok(self.path.clone());
        }
        let absence = |error: io::Error| Absence::of(&error);
        metadata(&self.path).map_err(absence)?; // the one call for a folder that is missing
        let path = self.path.canonicalize().map_err(absence)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| absence(error.into()))?;
        if self.must_be_mounted {
            let found = rustix::fs::statx(&folder, c"", AtFlags::EMPTY_PATH, WANTED);
            if !is_mounted(&found.map_err(|error| absence(error.into()))?, &path) {
                return Err(Absence::not_mounted());
            }
        }
        Ok(path)
    }

    /// As [`find_folder`](Self::find_folder), of a share that was absent: its path may lead elsewhere than when the
    /// settings were checked.
    ///
    /// # Errors
    /// Why it cannot be served.
    pub fn find_folder_again(&self, state: &Path) -> Result<PathBuf, Absence> {
        let path = self.find_folder()?;
        match state.canonicalize() {
            Ok(state) if path.starts_with(&state) => Err(Absence::new(
                "the folder is, or lies in, the state folder",
                "share another folder: this one holds secrets",
            )),
            _ => Ok(path),
        }
    }

    /// Whether the folder of a share that is served is still there: where it is now, or why it is gone. Other errors
    /// do not end the share, because the server has the folder open. A disk that hangs is not asked.
    ///
    /// # Errors
    /// The folder does not exist, or must be mounted and is not.
    pub fn look_again(&self) -> Result<Option<FolderPlace>, Absence> {
        if self.is_in_store() {
            return Ok(None);
        }
        let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        let found = match rustix::fs::statx(CWD, &self.path, flags, WANTED).map_err(io::Error::from) {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(Absence::of(&error));
            }
            Err(_) => return Ok(None),
        };
        if !self.must_be_mounted {
            return Ok(None);
        }
        if !is_mounted(&found, &self.path) {
            return Err(Absence::not_mounted());
        }
        let device = (found.stx_dev_major, found.stx_dev_minor);
        Ok(Some(FolderPlace { mount: found.stx_mnt_id, device, inode: found.stx_ino }))
    }
}

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::MNT_ID);

/// Whether a folder is the root of a mounted file system. Linux before 5.8 does not say; the parent then is on another
/// device.
fn is_mounted(found: &Statx, path: &Path) -> bool {
    if found.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    }
    let Some(parent) = path.parent() else { return true };
    let parent = rustix::fs::statx(CWD, parent, AtFlags::empty(), WANTED);
    let device = |of: &Statx| (of.stx_dev_major, of.stx_dev_minor);
    parent.is_ok_and(|parent| device(&parent) != device(found))
}

impl Settings {
    /// Divides the shares anew into those that are served and those that are [`absent`](Self::absent), by their
    /// `absence`, each in the order written.
    #[must_use]
    pub fn divided(self) -> Self {
        let mut all: Vec<ShareSettings> = self.shares.into_iter().chain(self.absent).collect();
        all.sort_by_key(|share| share.number);
        let (absent, shares) = all.into_iter().partition(|share| share.absence.is_some());
        Self { shares, absent, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Arguments;

    fn share(folder: &Path, more: &str) -> ShareSettings {
        std::fs::write(
            folder.join("fourfold.toml"),
            format!("[[share]]\nname = \"A\"\npath = \"a\"\n{more}\n"),
        )
        .unwrap();
        let settings = Settings::load(&Arguments::new(false, folder.into())).unwrap();
        settings.shares.into_iter().chain(settings.absent).next().unwrap()
    }

    #[test]
    fn a_folder_is_found_when_it_comes_and_gone_when_it_goes() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("a");
        let share = share(top.path(), "");
        assert_eq!(share.absence.as_ref().unwrap().why, "the folder does not exist");
        std::fs::write(&folder, "").unwrap();
        assert_eq!(share.find_folder().unwrap_err().why, "it is not a folder");
        std::fs::remove_file(&folder).unwrap();
        std::fs::create_dir(top.path().join("there")).unwrap();
        std::os::unix::fs::symlink("there", &folder).unwrap();
        assert_eq!(share.find_folder(), Ok(top.path().join("there").canonicalize().unwrap()));
        assert_eq!(share.look_again(), Ok(None));
        std::fs::remove_dir(top.path().join("there")).unwrap();
        assert_eq!(share.look_again().unwrap_err().why, "the folder does not exist");
    }

    #[test]
    fn a_folder_that_is_no_mount_is_absent_where_it_must_be_one() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("a")).unwrap();
        let share = share(top.path(), "must-be-mounted = true");
        let why = "no file system is mounted there, and `must-be-mounted` is set";
        assert_eq!(share.absence.as_ref().unwrap().why, why);
        assert_eq!(share.look_again().unwrap_err().why, why);
        let mounted = ShareSettings { path: "/proc".into(), ..share };
        assert!(mounted.find_folder().is_ok());
        assert!(mounted.look_again().unwrap().is_some());
    }

    #[test]
    fn a_link_that_comes_later_does_not_lead_into_the_state_folder() {
        let top = tempfile::tempdir().unwrap();
        let share = share(top.path(), "");
        let state = top.path().join("state");
        std::fs::create_dir_all(state.join("in")).unwrap();
        std::os::unix::fs::symlink("state/in", top.path().join("a")).unwrap();
        assert_eq!(
            share.find_folder_again(&state).unwrap_err().why,
            "the folder is, or lies in, the state folder"
        );
    }
}
