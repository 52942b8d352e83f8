//! Counting the space of all files below a folder.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir};

use super::object::attributes_of;
use super::private::Private;
use super::{failure, identity, stat, stat_at};
use crate::names::own::OwnFolder;
use crate::quota::{Footprint, Others, Quota, RecountResult};
use crate::{Error, FileId, Kind, Result};

/// Changes that began before the recount have ended by then.
const BEFORE: Duration = Duration::from_secs(1);
/// The depth of folders, each of which has a descriptor open.
const DEEPEST: usize = 512;
const LIST_BYTES: usize = 64 * 1024;
/// After so many files the disk is left to clients for a moment.
const FILES_AT_ONCE: usize = 4096;
const PAUSE: Duration = Duration::from_millis(2);

/// Counts all files below a folder, while clients change them. `private` is not part of it. `others`: servers whose clients change
/// them, too.
pub fn recount<'a>(
    folder: &Path,
    private: Option<&Path>,
    quota: &'a Quota,
    others: Option<&'a mut (dyn Others + 'a)>,
) -> Result<RecountResult> {
    if rustix::process::geteuid().is_root() {
        identity::act_as_ourselves()?;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, folder, flags, Mode::empty()).map_err(failure::of("openat", CWD))?;
    let found = attributes_of(&stat(root.as_fd())?);
    let private = private.and_then(|path| Private::new(path, &root));
    let mut walk = RecountWalk { quota, others, device: found.id.device, private, files: 0 };
    quota.begin_recount();
    std::thread::sleep(BEFORE);
    let mut next = Some(root);
    while let Some(top) = next {
        if let Err(error) = walk.below(top) {
            quota.give_up_recount();
            return Err(error);
        }
        next = quota.next_moved();
    }
    if let Err(error) = quota.ask_others(walk.others.as_deref_mut(), true) {
        quota.give_up_recount();
        return Err(error);
    }
    Ok(quota.finish_recount())
}

struct RecountWalk<'a> {
    quota: &'a Quota,
    others: Option<&'a mut (dyn Others + 'a)>,
    device: u32,
    private: Option<Private>,
    files: usize,
}

impl RecountWalk<'_> {
    fn below(&mut self, top: OwnedFd) -> Result<()> {
        let folders = self.folder(top.as_fd())?;
        let mut open = vec![(top, folders)];
        while let Some((folder, names)) = open.last_mut() {
            let Some(name) = names.pop() else {
                open.pop();
                continue;
            };
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            // It may have been removed or moved meanwhile.
            let Ok(inner) = rustix::fs::openat(&*folder, &*name, flags, Mode::empty()) else { continue };
            if attributes_of(&stat(inner.as_fd())?).id.device != self.device {
                continue;
            }
            if open.len() >= DEEPEST {
                return Err(Error::TooMany);
            }
            let names = self.folder(inner.as_fd())?;
            open.push((inner, names));
        }
        Ok(())
    }

    /// Counts the files of one folder, and returns the names of the folders in it.
    fn folder(&mut self, folder: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let list =
            rustix::fs::openat(folder, c".", flags, Mode::empty()).map_err(failure::of("openat", folder))?;
        let mut buffer: Vec<u8> = Vec::with_capacity(LIST_BYTES);
        let mut entries = RawDir::new(&list, buffer.spare_capacity_mut());
        let mut folders = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failure::of("getdents64", folder))?;
            let name = entry.file_name().to_bytes();
            let is_private = self.private.as_ref().is_some_and(|private| private.is_listed_as(entry.ino()));
            if matches!(name, b"." | b"..") || name == OwnFolder::SNAPSHOTS.name() || is_private {
                continue;
            }
            match entry.file_type() {
                FileType::Directory => folders.push(name.to_vec()),
                FileType::RegularFile => self.file(folder, name),
                FileType::Unknown => match stat_at(folder, name).map(|found| attributes_of(&found).kind) {
                    Ok(Kind::Folder) => folders.push(name.to_vec()),
                    _ => self.file(folder, name),
                },
                _ => {}
            }
            self.quota.ask_others(self.others.as_deref_mut(), false)?;
        }
        Ok(folders)
    }

    fn file(&mut self, folder: BorrowedFd<'_>, name: &[u8]) {
        let Ok(found) = stat_at(folder, name).map(|found| attributes_of(&found)) else { return };
        if found.kind != Kind::File || found.id.device != self.device {
            return;
        }
        let id = FileId { device: self.device, inode: found.id.inode };
        let footprint = Footprint { size: found.size, bytes: found.allocated, links: found.links };
        self.quota.visit(id, footprint.charged());
        self.files += 1;
        if self.files.is_multiple_of(FILES_AT_ONCE) {
            std::thread::sleep(PAUSE);
        }
    }
}
