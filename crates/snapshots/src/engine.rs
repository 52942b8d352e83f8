//! What makes snapshots, and how the engine of a folder is found.

use std::any::Any;
use std::fmt::Debug;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags, ioctl_ficlone, openat};

use crate::{EngineKind, Refusal, Snapshot};

pub(crate) mod ceph;
pub(crate) mod mounts;
pub(crate) mod shelf;
pub(crate) mod tree;
pub(crate) mod zfs;

mod removal;
mod table;

use shelf::{Shelf, Way};
use zfs::Zfs;

/// The operations that each engine has. [`crate::Dataset`] has verified the names.
pub(crate) trait Engine: Debug + Send + Sync + Any {
    fn kind(&self) -> EngineKind;
    fn create(&self, name: &str, now: SystemTime) -> Result<(), Refusal>;
    /// The snapshot is not held.
    fn remove(&self, name: &str) -> Result<(), Refusal>;
    /// Those of one time in the order in which they were taken, if that is known.
    fn list(&self) -> Result<Vec<Snapshot>, Refusal>;
    fn rename(&self, from: &str, to: &str) -> Result<(), Refusal>;
    fn hold(&self, name: &str, tag: &str) -> Result<(), Refusal>;
    fn release(&self, name: &str, tag: &str) -> Result<(), Refusal>;
    fn make_subdataset(&self, path: &Path) -> Result<(), Refusal>;
    fn mount(&self, _snapshot: &Snapshot) -> Result<(), Refusal> {
        Ok(())
    }
    /// Waits until the space of removed snapshots is free.
    fn settle(&self) -> Result<(), Refusal> {
        Ok(())
    }
    fn recover(&self) -> Result<(), Refusal> {
        Ok(())
    }
    fn as_any(&self) -> &dyn Any;
}

/// The inode number of the root of every btrfs subvolume (BTRFS_FIRST_FREE_OBJECTID).
const SUBVOLUME_ROOT: u64 = 256;

/// The engine of a folder, whose path is canonical.
pub(crate) fn detect(folder: &Path) -> Result<Box<dyn Engine>, Refusal> {
    use std::os::unix::fs::MetadataExt;
    let facts = folder.metadata().map_err(Refusal::io("read", folder))?;
    if !facts.is_dir() {
        return Err(Refusal::Other(format!(
            "{} is not a folder; give the folder of a share",
            folder.display()
        )));
    }
    let mount = mounts::of(folder)?;
    if mount.kind == "btrfs" && facts.ino() == SUBVOLUME_ROOT {
        return Ok(Box::new(Shelf::new(folder, Way::Btrfs)));
    }
    if mounts::is_zfs_root(&mount, folder) {
        return Ok(Box::new(Zfs::new(folder, mount.source)));
    }
    if mounts::is_ceph(&mount) {
        return Ok(Box::new(Shelf::new(folder, Way::Ceph)));
    }
    if can_share_blocks(folder) {
        return Ok(Box::new(Shelf::new(folder, Way::Reflink)));
    }
    Err(Refusal::NoEngine { folder: folder.to_owned(), kind: mount.kind })
}

/// Whether one file can share the blocks of another here, tried with two files without names.
fn can_share_blocks(folder: &Path) -> bool {
    let unnamed = || openat(CWD, folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR);
    let (Ok(one), Ok(two)) = (unnamed(), unnamed()) else { return false };
    ioctl_ficlone(&one, &two).is_ok()
}

pub(crate) fn sync_folder(path: &Path) -> Result<(), Refusal> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(Refusal::io("write", path))
}

pub(crate) fn is_btrfs(folder: &Path) -> bool {
    mounts::of(folder).is_ok_and(|mount| mount.kind == "btrfs")
}

pub(crate) fn subvolume(place: &Path) -> Result<(), Refusal> {
    let words: [PathBuf; 3] = ["subvolume".into(), "create".into(), place.into()];
    crate::command::run("btrfs", &words).map(drop)
}
