//! A copy of a tree with all metadata: owners, modes, times, extended attributes and with them ACLs,
//! hard links inside the tree, links, holes.
//!
//! Names are looked up relative to open folders and links are never followed, because users change
//! the tree at the same time. What they remove meanwhile is left out.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, IFlags, Mode, OFlags, RawMode, Stat, Timespec, Timestamps, XattrFlags,
    chownat, fchmod, ioctl_ficlone, ioctl_getflags, ioctl_setflags, linkat, mkdirat, mknodat, openat,
    readlinkat, statat, symlinkat, utimensat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::Refusal;

/// An entry of an open folder.
type At<'a> = (BorrowedFd<'a>, &'a OsStr);

/// Copies a folder to a new path. `skip` is a name in the folder that is left out.
pub(crate) fn copy(from: &Path, to: &Path, skip: &str) -> Result<(), Refusal> {
    let parts = |path: &Path| {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Refusal::Path { path: path.to_owned(), why: "it is the root of the host" });
        };
        let opened = openat(CWD, folder, FOLDER_FLAGS, Mode::empty()).map_err(Refusal::io("open", folder))?;
        Ok((opened, name.to_owned()))
    };
    let (source, target) = (parts(from)?, parts(to)?);
    let (source, target) = ((source.0.as_fd(), &*source.1), (target.0.as_fd(), &*target.1));
    copy_entry(source, target, skip, from)
}

/// Copies a folder to a new name. `shown` is its path in messages.
fn copy_entry(from: At<'_>, to: At<'_>, skip: &str, shown: &Path) -> Result<(), Refusal> {
    let facts = statat(from.0, from.1, AtFlags::SYMLINK_NOFOLLOW).map_err(Refusal::io("read", shown))?;
    let mut copier = Copier {
        root: to.0,
        path: PathBuf::from(to.1),
        shown,
        device: facts.st_dev,
        skip: OsStr::new(skip),
        links: HashMap::new(),
    };
    copier.tree(from, to)
}

/// Waits until the whole file system of a path is on the disk.
pub(crate) fn sync(path: &Path) -> Result<(), Refusal> {
    let file = File::open(path).map_err(Refusal::io("open", path))?;
    rustix::fs::syncfs(&file).map_err(Refusal::io("write", path))
}

pub(crate) const FOLDER_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How deep folders may be nested. The paths of deeper ones have more bytes than the host's programs
/// can name (PATH_MAX), and each level takes two descriptors.
const DEEPEST: usize = 2048;

struct Copier<'a> {
    /// The folder of the copy's top.
    root: BorrowedFd<'a>,
    /// The entry at hand, relative to `root`.
    path: PathBuf,
    /// The path of the original, in messages.
    shown: &'a Path,
    /// Other file systems that are mounted in the tree are not copied, except as empty folders.
    device: u64,
    skip: &'a OsStr,
    /// The copies of files with several names, by inode number.
    links: HashMap<u64, PathBuf>,
}

/// A folder whose entries are being copied.
struct CopiedFolder {
    source: Dir,
    target: OwnedFd,
}

impl Copier<'_> {
    /// Copies the top and all that is below it. The levels are on the heap: users nest folders more
    /// deeply than a thread's stack can bear.
    fn tree(&mut self, from: At<'_>, to: At<'_>) -> Result<(), Refusal> {
        let mut levels: Vec<CopiedFolder> = Vec::new();
        levels.extend(self.entry(from, to).map_err(|why| self.failed(why))?);
        loop {
            let is_top = levels.len() == 1;
            let Some(level) = levels.last_mut() else { return Ok(()) };
            let Some(entry) = level.source.next() else {
                level.end().map_err(|why| self.failed(why))?;
                levels.pop();
                self.path.pop();
                continue;
            };
            let entry = entry.map_err(|why| self.failed(why))?;
            let inner = OsStr::from_bytes(entry.file_name().to_bytes());
            let is_left_out = is_top && self.skip == inner;
            if inner == "." || inner == ".." || is_left_out {
                continue;
            }
            self.path.push(inner);
            let source = level.source.fd().map_err(|why| self.failed(why))?;
            let below = self.entry((source, inner), (level.target.as_fd(), inner));
            match below.map_err(|why| self.failed(why))? {
                Some(_) if levels.len() >= DEEPEST => return Err(self.too_deep()),
                Some(below) => levels.push(below),
                None => drop(self.path.pop()),
            }
        }
    }

    fn failed(&self, why: Errno) -> Refusal {
        let inner: PathBuf = self.path.components().skip(1).collect();
        Refusal::Io { what: "copy", path: self.shown.join(inner), why: why.into() }
    }

    fn too_deep(&self) -> Refusal {
        let top: PathBuf = self.path.components().skip(1).take(3).collect();
        Refusal::Other(format!(
            "{}: folders are nested more than {DEEPEST} deep there; move the inner ones up, then try again",
            self.shown.join(top).display()
        ))
    }

    /// Copies a file. Makes the copy of a folder, and returns both to be filled.
    fn entry(&mut self, (from, name): At<'_>, (to, as_name): At<'_>) -> Result<Option<CopiedFolder>, Errno> {
        let facts = match statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            facts => facts?,
        };
        let kind = FileType::from_raw_mode(facts.st_mode);
        if kind == FileType::Directory {
            return self.folder((from, name), (to, as_name), &facts);
        }
        if facts.st_nlink > 1 {
            if let Some(first) = self.links.get(&facts.st_ino) {
                match link(self.root, first, to, as_name) {
                    // The first name was removed before it was copied.
                    Err(Errno::NOENT) => {}
                    linked => return linked.map(|()| None),
                }
            }
            self.links.insert(facts.st_ino, self.path.clone());
        }
        match kind {
            FileType::RegularFile => self.file(from, name, to, as_name)?,
            FileType::Symlink => {
                symlinkat(readlinkat(from, name, Vec::new())?, to, as_name)?;
                unopened(from, name, to, as_name, &facts)?;
            }
            _ => {
                let mode = Mode::from_raw_mode(facts.st_mode);
                mknodat(to, as_name, kind, mode, facts.st_rdev)?;
                unopened(from, name, to, as_name, &facts)?;
            }
        }
        Ok(None)
    }

    fn folder(
        &self,
        (from, name): At<'_>,
        (to, as_name): At<'_>,
        facts: &Stat,
    ) -> Result<Option<CopiedFolder>, Errno> {
        let source = match openat(from, name, FOLDER_FLAGS, Mode::empty()) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            source => source?,
        };
        mkdirat(to, as_name, Mode::RWXU)?;
        let target = openat(to, as_name, FOLDER_FLAGS, Mode::empty())?;
        if facts.st_dev != self.device {
            return opened(&source, &target, &rustix::fs::fstat(&source)?).map(|()| None);
        }
        Ok(Some(CopiedFolder { source: Dir::new(source)?, target }))
    }

    fn file(
        &self,
        from: BorrowedFd<'_>,
        name: &OsStr,
        to: BorrowedFd<'_>,
        as_name: &OsStr,
    ) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let source = match openat(from, name, flags, Mode::empty()) {
            Err(Errno::NOENT | Errno::LOOP) => return Ok(()),
            source => source?,
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let target = openat(to, as_name, flags, Mode::RUSR | Mode::WUSR)?;
        alike(&source, &target)?;
        ioctl_ficlone(&target, &source)?;
        // A file that was exchanged meanwhile has its own metadata.
        opened(&source, &target, &rustix::fs::fstat(&source)?)
    }
}

impl CopiedFolder {
    fn end(&self) -> Result<(), Errno> {
        let source = self.source.fd()?;
        opened(source, &self.target, &rustix::fs::fstat(source)?)
    }
}

/// Makes another name of a copy. The path of the first may be longer than the host takes at once.
fn link(root: BorrowedFd<'_>, first: &Path, to: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    match linkat(root, first, to, name, AtFlags::empty()) {
        Err(Errno::NAMETOOLONG) => {}
        linked => return linked,
    }
    let (Some(above), Some(last)) = (first.parent(), first.file_name()) else { return Err(Errno::INVAL) };
    let mut folder = openat(root, ".", FOLDER_FLAGS, Mode::empty())?;
    for part in above {
        folder = openat(&folder, part, FOLDER_FLAGS, Mode::empty())?;
    }
    linkat(&folder, last, to, name, AtFlags::empty())
}

/// btrfs shares blocks only among files that are alike in this.
fn alike(source: &OwnedFd, target: &OwnedFd) -> Result<(), Errno> {
    let Ok(flags) = ioctl_getflags(source) else { return Ok(()) };
    if flags.contains(IFlags::NOCOW) {
        let own = ioctl_getflags(target)?;
        ioctl_setflags(target, own | IFlags::NOCOW)?;
    }
    Ok(())
}

/// Copies the metadata of an open file or folder. The order matters: a new owner clears capabilities
/// and set-user-id bits, an ACL changes the mode, and everything changes the times.
fn opened(source: impl AsFd, target: &OwnedFd, facts: &Stat) -> Result<(), Errno> {
    chownat(target, "", owner(facts), group(facts), AtFlags::EMPTY_PATH)?;
    let mut names = Vec::with_capacity(4096);
    let listed = grown(&mut names, |buffer| rustix::fs::flistxattr(&source, buffer))?;
    if listed {
        let mut value = Vec::with_capacity(256);
        for name in c_strings(&names) {
            if grown(&mut value, |buffer| rustix::fs::fgetxattr(&source, name, buffer))? {
                rustix::fs::fsetxattr(target, name, &value, XattrFlags::empty())?;
            }
        }
    }
    fchmod(target, Mode::from_raw_mode(facts.st_mode as RawMode & 0o7777))?;
    rustix::fs::futimens(target, &times(facts))
}

/// The same for an entry that cannot be opened: a link, a device, a socket.
fn unopened(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    as_name: &OsStr,
    facts: &Stat,
) -> Result<(), Errno> {
    chownat(to, as_name, owner(facts), group(facts), AtFlags::SYMLINK_NOFOLLOW)?;
    let (source, target) = (through(from, name), through(to, as_name));
    let mut names = Vec::with_capacity(4096);
    if grown(&mut names, |buffer| rustix::fs::llistxattr(&source, buffer))? {
        let mut value = Vec::with_capacity(256);
        for name in c_strings(&names) {
            if grown(&mut value, |buffer| rustix::fs::lgetxattr(&source, name, buffer))? {
                rustix::fs::lsetxattr(&target, name, &value, XattrFlags::empty())?;
            }
        }
    }
    if FileType::from_raw_mode(facts.st_mode) != FileType::Symlink {
        rustix::fs::chmodat(to, as_name, Mode::from_raw_mode(facts.st_mode & 0o7777), AtFlags::empty())?;
    }
    utimensat(to, as_name, &times(facts), AtFlags::SYMLINK_NOFOLLOW)
}

/// The path of an entry of an open folder, for the calls that take no folder.
fn through(folder: BorrowedFd<'_>, name: &OsStr) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name)
}

/// Fills the buffer by a call that says ERANGE if it is too small; `false` if there is nothing.
pub(crate) fn grown(
    buffer: &mut Vec<u8>,
    mut call: impl FnMut(rustix::buffer::SpareCapacity<'_, u8>) -> Result<usize, Errno>,
) -> Result<bool, Errno> {
    loop {
        buffer.clear();
        match call(rustix::buffer::spare_capacity(buffer)) {
            Err(Errno::RANGE) if buffer.capacity() <= 1 << 20 => buffer.reserve(buffer.capacity() * 4),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => return Ok(false),
            filled => return filled.map(|_| true),
        }
    }
}

pub(crate) fn c_strings(names: &[u8]) -> impl Iterator<Item = &CStr> {
    names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok())
}

fn owner(facts: &Stat) -> Option<Uid> {
    Some(Uid::from_raw(facts.st_uid))
}

fn group(facts: &Stat) -> Option<Gid> {
    Some(Gid::from_raw(facts.st_gid))
}

fn times(facts: &Stat) -> Timestamps {
    let time = |seconds, nanoseconds: u64| Timespec { tv_sec: seconds, tv_nsec: nanoseconds.cast_signed() };
    Timestamps {
        last_access: time(facts.st_atime, facts.st_atime_nsec),
        last_modification: time(facts.st_mtime, facts.st_mtime_nsec),
    }
}
