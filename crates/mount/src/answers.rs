//! What the kernel is told.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::Error;
use client::tree::{Kind, Stamp, TreeEntry};
use fuser::{Errno, FileAttr, FileType, INodeNo};

/// The rights to write in a mode.
pub(crate) const WRITE_BITS: u32 = 0o222;
/// Bytes of the blocks that stat(2) counts.
const BLOCK: u64 = 512;

/// The number of an error for the kernel.
pub(crate) fn errno(error: &Error) -> Errno {
    match error {
        Error::Full => Errno::ENOSPC,
        Error::Refused(_) => Errno::EACCES,
        Error::Missing(_) => Errno::ENOENT,
        Error::Exists(_) => Errno::EEXIST,
        Error::Unsupported(_) => Errno::EOPNOTSUPP,
        Error::Silent(_) => Errno::ETIMEDOUT,
        Error::Unreachable(..) => Errno::EHOSTUNREACH,
        _ => Errno::EIO,
    }
}

pub(crate) fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File | Kind::Other => FileType::RegularFile,
        Kind::Folder => FileType::Directory,
        Kind::Link => FileType::Symlink,
    }
}

/// What stat(2) says of an entry. `user` and `group` are for protocols that do not say them.
pub(crate) fn attributes(number: u64, entry: &TreeEntry, (user, group): (u32, u32)) -> FileAttr {
    let modified = entry.modified.map_or(UNIX_EPOCH, system_time);
    let mode = entry.mode.unwrap_or(match entry.kind {
        Kind::Folder => 0o755,
        Kind::Link => 0o777,
        Kind::File | Kind::Other => 0o644,
    });
    let mode = if entry.is_locked { mode & !WRITE_BITS } else { mode };
    let (uid, gid) = entry.owner.unwrap_or((user, group));
    FileAttr {
        ino: INodeNo(number),
        size: entry.length,
        blocks: entry.length.div_ceil(BLOCK),
        atime: modified,
        mtime: modified,
        ctime: entry.changed.map_or(modified, system_time),
        crtime: UNIX_EPOCH,
        kind: file_type(entry.kind),
        perm: (mode & 0o7777) as u16,
        nlink: entry.links.max(1),
        uid,
        gid,
        rdev: 0,
        blksize: 1 << 20,
        flags: 0,
    }
}

fn system_time((seconds, nanoseconds): Stamp) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    time.and_then(|time| time.checked_add(Duration::from_nanos(nanoseconds.into()))).unwrap_or(UNIX_EPOCH)
}

/// A time as the protocols write it.
pub(crate) fn stamp(time: SystemTime) -> Stamp {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            match before.subsec_nanos() {
                0 => (-seconds, 0),
                nanoseconds => (-seconds - 1, 1_000_000_000 - nanoseconds),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_keep_their_nanoseconds() {
        for time in [(0, 0), (-1, 0), (-1, 250_000_000), (-86_400, 1), (1_700_000_000, 999_999_999)] {
            assert_eq!(stamp(system_time(time)), time);
        }
    }

    #[test]
    fn a_locked_file_has_no_rights_to_write() {
        let entry = TreeEntry {
            name: "a".into(),
            kind: Kind::File,
            length: 1025,
            modified: Some((7, 0)),
            changed: None,
            links: 1,
            is_locked: true,
            mode: None,
            owner: None,
        };
        let told = attributes(5, &entry, (10, 20));
        assert_eq!((told.perm, told.uid, told.gid, told.blocks), (0o444, 10, 20, 3));
        assert_eq!(told.ctime, told.mtime, "a protocol without the time of the last change");
    }
}
