//! The tree of a snapshot, as the source reads it.

mod described;
mod forks;
mod walk;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{OFlags, Stat, fstat};

use crate::failure::{Failure, Result};
use crate::host;
use crate::keys::TreeKeys;

pub(crate) use walk::{ChangeSink, MovedPaths, TreeComparison, is_own, removed};

use forks::Forks;

/// The inode number of the empty folder that a btrfs snapshot has in the place of a subvolume
/// (BTRFS_EMPTY_SUBVOL_DIR_OBJECTID).
const EMPTY_SUBVOLUME: u64 = 2;

/// One tree.
pub(crate) struct Tree {
    root: OwnedFd,
    device: u64,
    keys: TreeKeys,
    /// The live tree, if the files of this one have other inodes: a copy whose forks still have the live files' keys.
    live: Option<TreeKeys>,
    forks: Forks,
    is_btrfs: bool,
}

impl Tree {
    /// Opens a tree. `live` is the folder of the live tree if this is a snapshot of it, with the same inodes or others.
    pub(crate) fn open(path: &Path, live: Option<&Path>, keeps_inodes: bool, is_btrfs: bool) -> Result<Self> {
        let opened = host::root(path).map_err(Failure::io("open", path.as_os_str().as_encoded_bytes()))?;
        let device = fstat(&opened).map_err(Failure::io("read", b""))?.st_dev;
        let keys = TreeKeys::open(path, live)?;
        let live_keys = match live.filter(|_| !keeps_inodes) {
            Some(live) => Some(TreeKeys::open(live, None)?),
            None => None,
        };
        let forks =
            Forks::read(&opened, live_keys.as_ref().unwrap_or(&keys), live.filter(|_| !keeps_inodes))?;
        Ok(Self { root: opened, device, keys, live: live_keys, forks, is_btrfs })
    }

    pub(crate) fn folder(&self, path: &[u8]) -> Result<OwnedFd> {
        host::folder(&self.root, path).map_err(Failure::io("open", path))
    }

    /// The folder at this path; `None`: there is something else, or nothing.
    fn folder_if_there(&self, path: &[u8]) -> Result<Option<OwnedFd>> {
        use std::io::ErrorKind;
        match host::folder(&self.root, path) {
            Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(why) if why.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Ok(None),
            opened => opened.map(Some).map_err(Failure::io("open", path)),
        }
    }

    /// Opens a file for reading.
    pub(crate) fn file(&self, path: &[u8]) -> Result<File> {
        Ok(host::open(&self.root, path, OFlags::RDONLY).map_err(Failure::io("open", path))?.into())
    }

    pub(crate) fn stat(&self, path: &[u8]) -> Result<Option<Stat>> {
        let (above, name) = host::split(path);
        match self.folder_if_there(above)? {
            None => Ok(None),
            Some(folder) => host::stat(&folder, name).map_err(Failure::io("read", path)),
        }
    }

    /// Whether a folder is the place of another dataset or file system.
    fn is_boundary(&self, stat: &Stat) -> bool {
        stat.st_dev != self.device || (self.is_btrfs && stat.st_ino == EMPTY_SUBVOLUME)
    }
}
