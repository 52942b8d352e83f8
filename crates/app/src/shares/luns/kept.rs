//! The state of LUNs that survives a restart, such as their reservations: one file each in the
//! state folder.

use std::io;
use std::path::{Path, PathBuf};

use auth::durable;
use iscsi::server::UnitStateStore;
use vfs::backend::host::as_ourselves;

/// The longest file that is read.
const LONGEST: u64 = 16 << 20;

/// The folder `luns` of the state folder.
pub(crate) struct LunStore {
    folder: PathBuf,
}

impl LunStore {
    /// The folder in this state folder.
    pub(crate) fn new(state: &Path) -> Self {
        Self { folder: state.join("luns") }
    }

    fn path(&self, naa: u64) -> PathBuf {
        self.folder.join(format!("{naa:016x}.kept"))
    }

    /// Removes the state of a removed LUN.
    pub(crate) fn forget(&self, naa: u64) -> io::Result<()> {
        match std::fs::remove_file(self.path(naa)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn read(&self, naa: u64) -> io::Result<Option<Vec<u8>>> {
        let path = self.path(naa);
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(there) if there.len() > LONGEST => Err(io::ErrorKind::FileTooLarge.into()),
            Ok(_) => std::fs::read(&path).map(Some),
        }
    }

    fn write(&self, naa: u64, bytes: &[u8]) -> io::Result<()> {
        admin::State::folder(&self.folder).map_err(io::Error::other)?;
        durable::replace(&self.path(naa), bytes)
    }
}

impl UnitStateStore for LunStore {
    fn load(&self, naa: u64) -> io::Result<Option<Vec<u8>>> {
        as_ourselves(|| self.read(naa)).map_err(io::Error::other)?
    }

    fn keep(&self, naa: u64, bytes: &[u8]) -> io::Result<()> {
        as_ourselves(|| self.write(naa, bytes)).map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_last_is_there_after_a_restart() {
        let state = tempfile::tempdir().unwrap();
        let kept = LunStore::new(state.path());
        assert_eq!(kept.load(0x3000_0000_0000_0001).unwrap(), None);
        kept.keep(0x3000_0000_0000_0001, b"one").unwrap();
        kept.keep(0x3000_0000_0000_0001, b"two").unwrap();
        let again = LunStore::new(state.path());
        assert_eq!(again.load(0x3000_0000_0000_0001).unwrap().as_deref(), Some(&b"two"[..]));
        assert_eq!(again.load(0x3000_0000_0000_0002).unwrap(), None);
        again.forget(0x3000_0000_0000_0001).unwrap();
        again.forget(0x3000_0000_0000_0001).unwrap();
        assert_eq!(again.load(0x3000_0000_0000_0001).unwrap(), None);
    }
}
