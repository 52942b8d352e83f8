//! The host's file handles: names for files that survive renames and are never used twice.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, Statx};

use super::failure;
use crate::{Error, HostKey, Result};

/// First byte of a key made of device, inode and birth time, where the host gives no usable handle. Handle types of
/// Linux are smaller.
const BY_BIRTH: u8 = 0xff;

/// The longest host handle that fits a key after its type byte.
const MAX_HANDLE: usize = HostKey::MAX - 1;

#[repr(C)]
struct FileHandle {
    header: libc::file_handle,
    bytes: [u8; MAX_HANDLE],
}

impl FileHandle {
    #[allow(unsafe_code)]
    fn empty() -> Self {
        // SAFETY: all-zero bytes are a valid file_handle (two integers and a flexible array).
        let mut handle: Self = unsafe { std::mem::zeroed() };
        handle.header.handle_bytes = MAX_HANDLE as u32;
        handle
    }
}

/// The key of the entry `name` of a folder (or of `at` itself when `name` is empty), and the mount it is on.
/// `NotSupported` where the host has no handles or they are too long.
#[allow(unsafe_code)]
pub(super) fn key_at(at: BorrowedFd<'_>, name: &[u8]) -> Result<(HostKey, i32)> {
    let path = CString::new(name).map_err(|_| Error::InvalidName)?;
    let flags = if name.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    let mut handle = FileHandle::empty();
    let mut mount = 0;
    // SAFETY: `handle` has room for `handle_bytes` bytes after its header; the other pointers are live.
    let failed = unsafe {
        libc::name_to_handle_at(
            at.as_raw_fd(),
            path.as_ptr(),
            (&raw mut handle).cast::<libc::file_handle>(),
            &raw mut mount,
            flags,
        ) != 0
    };
    if failed {
        return Err(match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::EOVERFLOW | libc::ENOSYS) => Error::NotSupported,
            _ => failure::last("name_to_handle_at", Some(at)),
        });
    }
    let length = handle.header.handle_bytes as usize;
    let kind = u8::try_from(handle.header.handle_type).map_err(|_| Error::NotSupported)?;
    if length > MAX_HANDLE || kind == BY_BIRTH || kind == HostKey::MOUNTED {
        return Err(Error::NotSupported);
    }
    let mut key = [0; HostKey::MAX];
    key[0] = kind;
    key[1..=length].copy_from_slice(&handle.bytes[..length]);
    Ok((HostKey::new(&key[..=length]).ok_or(Error::NotSupported)?, mount))
}

/// Opens the file that a key made by [`key_at`] names, for use as a path only.
pub(super) fn open(mount: BorrowedFd<'_>, key: &HostKey) -> Result<OwnedFd> {
    let key = key.local();
    let (&kind, bytes) = key.as_bytes().split_first().ok_or(Error::Stale)?;
    if kind == BY_BIRTH || bytes.len() > MAX_HANDLE {
        return Err(Error::Stale);
    }
    let mut handle = FileHandle::empty();
    handle.header.handle_bytes = bytes.len() as u32;
    handle.header.handle_type = i32::from(kind);
    handle.bytes[..bytes.len()].copy_from_slice(bytes);
    for _ in 0..MOST_TRIES {
        match open_by_handle(mount, &mut handle) {
            Err(Error::Exhausted) => std::thread::yield_now(),
            Err(Error::NotFound | Error::Invalid) => return Err(Error::Stale),
            other => return other,
        }
    }
    Err(Error::Exhausted)
}

/// Linux says ENOMEM, too, at the moment when the inode number of a file that is gone is given to a new one (iget_locked
/// finds an inode that is being made). A little later it says what is true.
const MOST_TRIES: usize = 100;

#[allow(unsafe_code)]
fn open_by_handle(mount: BorrowedFd<'_>, handle: &mut FileHandle) -> Result<OwnedFd> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let handle = (&raw mut *handle).cast();
    // SAFETY: `handle` is a whole file handle with `handle_bytes` bytes; the result is a new descriptor that we own.
    unsafe {
        let fd = libc::open_by_handle_at(mount.as_raw_fd(), handle, flags);
        if fd < 0 {
            Err(failure::last("open_by_handle_at", Some(mount.as_fd())))
        } else {
            Ok(OwnedFd::from_raw_fd(fd))
        }
    }
}

/// The handles of btrfs: struct btrfs_fid, without and with the parent (fs/btrfs/export.h). The number of the subvolume is in
/// bytes 8 to 16.
const OF_BTRFS: [u8; 3] = [0x4d, 0x4e, 0x4f];

/// The keys of the files of a btrfs snapshot as those of the live subvolume: they differ in the number of the subvolume.
pub(super) struct AsLive {
    own: [u8; 8],
    live: [u8; 8],
}

impl AsLive {
    /// `None` if handles of the host do not correspond so.
    pub(super) fn new(root: BorrowedFd<'_>, live: &HostKey) -> Option<Self> {
        let (own, _) = key_at(root, b"").ok()?;
        let (own, live) = (subvolume(&own)?, subvolume(live)?);
        Some(Self { own, live })
    }

    /// The live key of the snapshot's file with this handle.
    pub(super) fn shown(&self, key: HostKey) -> HostKey {
        exchange(key, self.own, self.live)
    }

    /// The same for a handle of the snapshot itself only.
    pub(super) fn shown_alone(&self, key: HostKey) -> Option<HostKey> {
        (subvolume(&key) == Some(self.own)).then(|| self.shown(key))
    }

    /// The handle of the snapshot's file with this live key.
    pub(super) fn of_host(&self, key: HostKey) -> HostKey {
        exchange(key, self.live, self.own)
    }
}

fn subvolume(key: &HostKey) -> Option<[u8; 8]> {
    let (kind, handle) = key.as_bytes().split_first()?;
    OF_BTRFS.contains(kind).then(|| handle.get(8..16)?.try_into().ok()).flatten()
}

fn exchange(key: HostKey, from: [u8; 8], to: [u8; 8]) -> HostKey {
    if subvolume(&key) != Some(from) {
        return key;
    }
    let mut bytes = key.as_bytes().to_vec();
    bytes[9..17].copy_from_slice(&to);
    HostKey::new(&bytes).unwrap_or(key)
}

/// The key of a file by device, inode and birth time.
pub(super) fn key_by_birth(stat: &Statx) -> Result<HostKey> {
    let mut key = Vec::with_capacity(29);
    key.push(BY_BIRTH);
    key.extend_from_slice(&stat.stx_dev_major.to_be_bytes());
    key.extend_from_slice(&stat.stx_dev_minor.to_be_bytes());
    key.extend_from_slice(&stat.stx_ino.to_be_bytes());
    key.extend_from_slice(&stat.stx_btime.tv_sec.to_be_bytes());
    key.extend_from_slice(&stat.stx_btime.tv_nsec.to_be_bytes());
    HostKey::new(&key).ok_or(Error::NotSupported)
}

/// The id of the file system that a file is on, which most derive from the UUID on the disk; 0 if there is none.
#[allow(unsafe_code)]
pub(super) fn file_system_id(at: BorrowedFd<'_>) -> Result<u64> {
    // SAFETY: all-zero bytes are a valid statfs (integers only), and the pointer is live during the call.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        if libc::fstatfs(at.as_raw_fd(), &raw mut stat) != 0 {
            return Err(failure::last("fstatfs", Some(at)));
        }
        // The two halves are private in libc.
        Ok(std::mem::transmute::<libc::fsid_t, u64>(stat.f_fsid))
    }
}

/// Whether [`key_by_birth`] made a key.
pub(super) fn is_by_birth(key: &HostKey) -> bool {
    match key.is_on_mount() {
        true => key.local().as_bytes().first() == Some(&BY_BIRTH),
        false => key.as_bytes().first() == Some(&BY_BIRTH),
    }
}

/// The inode number in a key made by [`key_by_birth`].
pub(super) fn inode_of(key: &HostKey) -> Option<u64> {
    let key = key.local();
    let bytes = key.as_bytes();
    (bytes.first() == Some(&BY_BIRTH)).then_some(())?;
    Some(u64::from_be_bytes(bytes.get(9..17)?.try_into().ok()?))
}

/// A descriptor at which handles of a folder's file system can be opened, if this process may (it needs
/// CAP_DAC_READ_SEARCH). A path-only descriptor will not do: open_by_handle_at(2) refuses it with EBADF.
pub(super) fn mount_of(root: BorrowedFd<'_>) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mount = rustix::fs::openat(root, c".", flags, Mode::empty()).ok()?;
    let (key, _) = key_at(root, b"").ok()?;
    open(mount.as_fd(), &key).ok()?;
    Some(mount)
}

/// The descriptor as a path, for calls that refuse a path-only descriptor.
pub(super) fn as_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// Opens anew what a path-only descriptor names.
pub(super) fn reopen(fd: BorrowedFd<'_>, flags: rustix::fs::OFlags) -> Result<OwnedFd> {
    let flags = flags | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NOCTTY;
    rustix::fs::open(as_path(fd), flags, rustix::fs::Mode::empty()).map_err(failure::of("open", fd))
}
