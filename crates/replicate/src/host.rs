//! Calls of the host. Names are looked up below an open folder and links are never followed: what arrives, and what users
//! do meanwhile, must not lead out of the dataset.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, XattrFlags, openat,
    openat2, statat, utimensat,
};
use rustix::io::Errno;

use crate::wire::Stamp;

/// The longest value, and the longest list of names, of extended attributes (XATTR_SIZE_MAX, XATTR_LIST_MAX).
const MAX_XATTR: usize = 65_536;

pub(crate) fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// Opens the folder of a dataset.
pub(crate) fn root(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens a folder below an open one.
pub(crate) fn folder(root: &OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
    open(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a file below an open folder.
pub(crate) fn open(root: &OwnedFd, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.is_empty() { b"." } else { path };
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    loop {
        match openat2(root, name(path), flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {} // something was renamed meanwhile
            opened => return Ok(opened?),
        }
    }
}

/// The folder and the name of a path.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", if path.is_empty() { b"." } else { path }),
    }
}

pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// What the host says of an entry; `None`: it is missing.
pub(crate) fn stat(folder: &OwnedFd, entry: &[u8]) -> io::Result<Option<Stat>> {
    match statat(folder, name(entry), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// The names in a folder, in the order of their bytes.
pub(crate) fn names(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names.sort_unstable();
    Ok(names)
}

pub(crate) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

pub(crate) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

pub(crate) fn modified(stat: &Stat) -> Stamp {
    Stamp { seconds: stat.st_mtime, nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or(0) }
}

pub(crate) fn accessed(stat: &Stat) -> Stamp {
    Stamp { seconds: stat.st_atime, nanoseconds: u32::try_from(stat.st_atime_nsec).unwrap_or(0) }
}

/// Sets both times of an entry.
pub(crate) fn set_times(folder: &OwnedFd, entry: &[u8], accessed: Stamp, modified: Stamp) -> io::Result<()> {
    let time = |stamp: Stamp| Timespec { tv_sec: stamp.seconds, tv_nsec: i64::from(stamp.nanoseconds) };
    let times = Timestamps { last_access: time(accessed), last_modification: time(modified) };
    Ok(utimensat(folder, name(entry), &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The path of an entry of an open folder, for the calls that take no folder.
pub(crate) fn through(folder: &OwnedFd, entry: &[u8]) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd())).join(name(entry))
}

/// All extended attributes of an entry, by name.
pub(crate) fn xattrs(folder: &OwnedFd, entry: &[u8]) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let path = through(folder, entry);
    let mut list = vec![0; MAX_XATTR];
    let length = match rustix::fs::llistxattr(&path, &mut list[..]) {
        Err(Errno::OPNOTSUPP) => 0,
        length => length?,
    };
    let mut all = Vec::new();
    let mut value = if length > 0 { vec![0; MAX_XATTR] } else { Vec::new() };
    for key in list[..length].split(|byte| *byte == 0).filter(|key| !key.is_empty()) {
        match rustix::fs::lgetxattr(&path, name(key), &mut value[..]) {
            Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            length => all.push((key.to_vec(), value[..length?].to_vec())),
        }
    }
    all.sort_unstable();
    Ok(all)
}

pub(crate) fn xattr(folder: &OwnedFd, entry: &[u8], key: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut value = vec![0; MAX_XATTR];
    match rustix::fs::lgetxattr(through(folder, entry), name(key), &mut value[..]) {
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOENT) => Ok(None),
        length => Ok(Some(value[..length?].to_vec())),
    }
}

pub(crate) fn set_xattr(folder: &OwnedFd, entry: &[u8], key: &[u8], value: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::lsetxattr(through(folder, entry), name(key), value, XattrFlags::empty())?)
}

pub(crate) fn remove_xattr(folder: &OwnedFd, entry: &[u8], key: &[u8]) -> io::Result<()> {
    match rustix::fs::lremovexattr(through(folder, entry), name(key)) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        removed => Ok(removed?),
    }
}
