//! How files are identified ([`FileId`], [`HostKey`], [`LastingKey`]), and what the host knows about one
//! ([`Attributes`]).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The identity of a file. It does not depend on the share, mount or folder through which the file
/// is reached. It is stable across renames and unique among the existing files of this machine. A
/// listing has it without a query for each entry. [`HostKey`] tells two files apart that had the
/// same inode number one after the other. `vfs::Volume::number` gives the number that clients
/// see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// The device number of the file's file system (or of its subvolume), as long as it is mounted.
    pub device: u32,
    /// The inode number.
    pub inode: u64,
}

impl FileId {
    /// The file with this inode number on this device.
    #[must_use]
    pub const fn new(device: u32, inode: u64) -> Self {
        Self { device, inode }
    }

    /// The device number as the kernel has it: 12 bits and 20 bits.
    #[must_use]
    pub const fn device_of(major: u32, minor: u32) -> u32 {
        major << 20 | minor
    }

    /// The file with this inode number, on the same device.
    #[must_use]
    pub fn with_inode(self, inode: u64) -> Self {
        Self { inode, ..self }
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:x}:{}", self.device, self.inode)
    }
}

/// The host's own identifier of a file, which is never used twice: its file handle (`name_to_handle_at`), or device, inode
/// and birth time if the host has no handles. A file on a file system that is mounted inside the share also has the number
/// of that mount in its key. At most [`HostKey::MAX`] bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostKey {
    len: u8,
    bytes: [u8; HostKey::MAX],
}

impl HostKey {
    /// The longest key, in bytes. It leaves room in a 64-byte NFS handle for what goes around it.
    pub const MAX: usize = 44;

    /// A key of these bytes, or `None` when they are too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut key = Self { len: u8::try_from(bytes.len()).ok()?, bytes: [0; Self::MAX] };
        key.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(key)
    }

    /// The key whose first bytes are these, of which `length` count.
    pub fn of_padded(padded: &[u8], length: u8) -> Self {
        let mut key = Self { len: length, bytes: [0; Self::MAX] };
        key.bytes[..padded.len()].copy_from_slice(padded);
        key
    }

    /// The bytes, and zeros behind them.
    pub fn padded(&self) -> &[u8; Self::MAX] {
        &self.bytes
    }

    /// The first byte of a key with the number of a mount. Linux has no handles of this type.
    pub const MOUNTED: u8 = 0xfd;

    /// The key of the same file, reached through a mount inside the share. `None` if it gets too long.
    pub fn on_mount(&self, mount: u64) -> Option<Self> {
        let mut bytes = [Self::MOUNTED; Self::MAX];
        bytes[1..9].copy_from_slice(&mount.to_be_bytes());
        let end = 9 + self.as_bytes().len();
        bytes.get_mut(9..end)?.copy_from_slice(self.as_bytes());
        Self::new(&bytes[..end])
    }

    /// Whether the file is on a file system inside the share.
    pub fn is_on_mount(&self) -> bool {
        self.bytes[0] == Self::MOUNTED && self.len > 0
    }

    /// The number of the mount or attached tree that the file is on, and its key there.
    pub fn split_mount(&self) -> Option<(u64, Self)> {
        match self.as_bytes() {
            [Self::MOUNTED, rest @ ..] => {
                let (number, key) = rest.split_first_chunk()?;
                Some((u64::from_be_bytes(*number), Self::new(key)?))
            }
            _ => None,
        }
    }

    /// The number of the file system inside the share that the file is on. An attached tree may have mounts itself.
    pub fn mount(&self) -> Option<u64> {
        let (number, key) = self.split_mount()?;
        Some(key.mount().map_or(number, |inner| number.rotate_left(1) ^ inner))
    }

    /// The key without mounts: what the host calls the file, and what is stored on the disk.
    #[inline]
    pub fn local(&self) -> Self {
        if self.is_on_mount() { self.split_mount().map_or(*self, |(_, key)| key.local()) } else { *self }
    }

    /// The file with this local key on the file system of another file.
    pub fn beside(&self, other: &Self) -> Self {
        let on = other.split_mount().and_then(|(number, key)| self.beside(&key).on_mount(number));
        on.unwrap_or_else(|| self.local())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Of the bytes that are used: most keys are much shorter than the longest one.
impl Hash for HostKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.as_bytes());
        state.write_u8(self.len);
    }
}

impl fmt::Debug for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A file, through whichever share or mount it is reached. It is the same after a restart, and is never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LastingKey {
    /// The number of the file system. 0: `key` alone identifies the file on this machine.
    pub file_system: u64,
    /// The host's identifier of the file on its file system.
    pub key: HostKey,
}

impl LastingKey {
    /// The key as bytes, to be stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.file_system.to_be_bytes(), self.key.as_bytes()].concat()
    }

    /// The key of these bytes, or `None` when they are too few or too many.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (file_system, key) = bytes.split_first_chunk()?;
        Some(Self { file_system: u64::from_be_bytes(*file_system), key: HostKey::new(key)? })
    }
}

/// A point in time: seconds since 1970-01-01 UTC, and nanoseconds (0..10^9) after that second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Time {
    /// Seconds since 1970-01-01 00:00 UTC; negative before.
    pub secs: i64,
    /// Nanoseconds after `secs`, always less than 10^9.
    pub nanos: u32,
}

impl From<SystemTime> for Time {
    fn from(at: SystemTime) -> Self {
        match at.duration_since(UNIX_EPOCH) {
            Ok(after) => Self { secs: after.as_secs() as i64, nanos: after.subsec_nanos() },
            Err(before) => {
                let before = before.duration();
                let borrow = i64::from(before.subsec_nanos() > 0);
                let nanos = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
                Self { secs: -(before.as_secs() as i64) - borrow, nanos }
            }
        }
    }
}

impl Time {
    /// How long after `earlier` this is; zero when it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        let nanos = i128::from(self.secs - earlier.secs) * 1_000_000_000 + i128::from(self.nanos)
            - i128::from(earlier.nanos);
        Duration::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

/// What an entry of the tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "POSIX words")]
pub enum Kind {
    File,
    Folder,
    Link,
    Fifo,
    Socket,
    CharDevice,
    BlockDevice,
}

/// What the host says of a file. Times are the host's; `created` is `None` if the host keeps none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "POSIX words")]
pub struct Attributes {
    pub id: FileId,
    pub kind: Kind,
    /// Permission bits only (0o7777).
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    /// Bytes of the data fork.
    pub size: u64,
    /// Bytes on the disk.
    pub allocated: u64,
    /// Major and minor number of a device.
    pub device: (u32, u32),
    pub accessed: Time,
    pub modified: Time,
    pub changed: Time,
    pub created: Option<Time>,
}

/// A time to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetTime {
    /// Leave it.
    #[default]
    Keep,
    /// The host's clock.
    Now,
    /// This time.
    To(Time),
}

/// Changes to a file's attributes. An attribute that is `None` is not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "as in Attributes")]
pub struct SetAttributes {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub accessed: SetTime,
    pub modified: SetTime,
}

impl SetAttributes {
    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether at most the size would change.
    pub fn is_only_size(&self) -> bool {
        *self == Self { size: self.size, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_number_of_each_tree_around_the_file() {
        let (file, other) = (HostKey::new(b"file").unwrap(), HostKey::new(b"other").unwrap());
        let (inner, outer) = (file.on_mount(7).unwrap(), file.on_mount(7).unwrap().on_mount(9).unwrap());
        assert_eq!((file.split_mount(), file.mount(), file.local()), (None, None, file));
        assert_eq!((inner.split_mount(), inner.mount(), inner.local()), (Some((7, file)), Some(7), file));
        assert_eq!((outer.split_mount(), outer.local()), (Some((9, inner)), file));
        assert!(![None, Some(7), Some(9)].contains(&outer.mount()));
        // Another file beside it has the same numbers.
        for place in [file, inner, outer] {
            let beside = other.beside(&place);
            assert_eq!((beside.mount(), beside.local()), (place.mount(), other));
            assert_eq!(place.beside(&beside), place);
        }
        let long = HostKey::new(&[1; HostKey::MAX - 8]).unwrap();
        assert_eq!(long.on_mount(7), None);
    }
}
