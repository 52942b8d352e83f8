//! A folder inside the share that no client may see: the server's own state, where the share is a home folder.
//!
//! It is known by its identity. The folders above it, up to the share's root, keep their names: moved elsewhere it would
//! be an ordinary folder to the next server.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Statx};

use super::{OpenMethod, handle, stat, stat_at};
use crate::{Error, Result};

/// A file's device and inode number.
type Identity = (u32, u32, u64);

/// The folder, and those above it.
pub(super) struct Private {
    path: PathBuf,
    folder: Identity,
    /// Without the share's root.
    above: Vec<Identity>,
}

impl Private {
    /// The folder at `path`, where that is below the share's folder at `root`.
    pub(super) fn new(path: &Path, root: &OwnedFd) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let root = rustix::fs::readlink(handle::as_path(root.as_fd()), Vec::new()).ok()?;
        let below = path.strip_prefix(Path::new(root.to_str().ok()?)).ok()?.to_owned();
        let identity = |path: &Path| {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
            Some(identity(&stat(folder.as_fd()).ok()?))
        };
        let many = below.components().count().checked_sub(1)?;
        let above = path.ancestors().skip(1).take(many).filter_map(identity).collect();
        Some(Self { folder: identity(&path)?, above, path })
    }

    /// Whether a listing's entry may be the folder.
    pub(super) fn is_listed_as(&self, inode: u64) -> bool {
        self.folder.2 == inode
    }

    /// Refuses the folder, and what lies in it when it is opened by its handle.
    pub(super) fn refuse(&self, fd: BorrowedFd<'_>, found: &Statx, reached: OpenMethod) -> Result<()> {
        let inside = || {
            let path = rustix::fs::readlink(handle::as_path(fd), Vec::new());
            path.is_ok_and(|path| path.to_str().is_ok_and(|path| Path::new(path).starts_with(&self.path)))
        };
        let is_private = identity(found) == self.folder || reached == OpenMethod::ByHandle && inside();
        if is_private { Err(Error::AccessDenied) } else { Ok(()) }
    }

    /// Refuses to give an entry another name when it is the folder or one above it.
    pub(super) fn refuse_to_move(&self, folder: BorrowedFd<'_>, name: &[u8]) -> Result<()> {
        match stat_at(folder, name) {
            Ok(entry) if self.folder == identity(&entry) || self.above.contains(&identity(&entry)) => {
                Err(Error::AccessDenied)
            }
            _ => Ok(()), // a missing entry is the caller's business
        }
    }
}

fn identity(stat: &Statx) -> Identity {
    (stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino)
}
