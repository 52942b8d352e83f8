//! An open file, and a folder that is being read.

use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::sync::Arc;

use rustix::io::Errno;

use crate::Mount;
use crate::library::Handle;
use crate::mount::checked;

/// The most bytes of one call: it counts them in 31 bits.
const MOST_IN_ONE_CALL: usize = 1 << 26;

/// The data of a file, open.
pub struct DataFile {
    mount: Arc<Mount>,
    handle: Handle,
}

// SAFETY: the library locks its mount for each call; no call uses the position of the file.
unsafe impl Send for DataFile {}
// SAFETY: likewise.
unsafe impl Sync for DataFile {}

impl Drop for DataFile {
    fn drop(&mut self) {
        if !self.mount.is_mounted() {
            return;
        }
        // SAFETY: closed once.
        unsafe { (self.mount.library.ceph_ll_close)(self.mount.handle, self.handle) };
    }
}

impl DataFile {
    pub(crate) fn of(mount: Arc<Mount>, handle: Handle) -> Self {
        Self { mount, handle }
    }

    /// Appends up to `length` bytes; fewer only at the end of the file.
    ///
    /// # Errors
    /// The number of Linux, as for all calls. `into` has then what was read before.
    pub fn read(&self, offset: u64, length: usize, into: &mut Vec<u8>) -> Result<(), Errno> {
        let end = into.len() + length;
        let mut at = i64::try_from(offset).map_err(|_| Errno::INVAL)?;
        into.reserve(length);
        while into.len() < end {
            let left = end - into.len();
            let room = into.spare_capacity_mut();
            let most = left.min(room.len()).min(MOST_IN_ONE_CALL);
            // SAFETY: at most so many bytes are written into the spare room, and the answer is their number.
            let count = unsafe {
                let read = (self.mount.library.ceph_ll_read)(
                    self.mount.handle,
                    self.handle,
                    at,
                    most as u64,
                    room.as_mut_ptr().cast(),
                );
                let count = checked(read)?.min(most);
                into.set_len(into.len() + count);
                count
            };
            if count == 0 {
                break;
            }
            at += count as i64;
        }
        Ok(())
    }

    /// Writes all bytes: into the memory of the client library, which writes them to the cluster soon.
    ///
    /// # Errors
    /// See above.
    pub fn write(&self, offset: u64, mut data: &[u8]) -> Result<(), Errno> {
        let mut at = i64::try_from(offset).map_err(|_| Errno::FBIG)?;
        while !data.is_empty() {
            let piece = &data[..data.len().min(MOST_IN_ONE_CALL)];
            // SAFETY: the bytes live during the call.
            let written = unsafe {
                (self.mount.library.ceph_ll_write)(
                    self.mount.handle,
                    self.handle,
                    at,
                    piece.len() as u64,
                    piece.as_ptr().cast(),
                )
            };
            match checked(written)? {
                0 => return Err(Errno::NOSPC),
                count => {
                    data = &data[count.min(piece.len())..];
                    at = at.checked_add(count as i64).ok_or(Errno::FBIG)?;
                }
            }
        }
        Ok(())
    }

    /// Puts the data, and unless `data_only` the metadata, on the disks of the cluster.
    ///
    /// # Errors
    /// See above.
    pub fn sync(&self, data_only: bool) -> Result<(), Errno> {
        // SAFETY: both handles are held.
        let synced =
            unsafe { (self.mount.library.ceph_ll_fsync)(self.mount.handle, self.handle, data_only.into()) };
        checked(synced).map(drop)
    }

    /// fallocate(2): FALLOC_FL_KEEP_SIZE, and with it FALLOC_FL_PUNCH_HOLE.
    ///
    /// # Errors
    /// See above.
    pub fn allocate(&self, mode: c_int, offset: u64, length: u64) -> Result<(), Errno> {
        let [offset, length] = [offset, length].map(i64::try_from);
        let (offset, length) = (offset.map_err(|_| Errno::FBIG)?, length.map_err(|_| Errno::FBIG)?);
        // SAFETY: both handles are held.
        let done = unsafe {
            (self.mount.library.ceph_ll_fallocate)(self.mount.handle, self.handle, mode, offset, length)
        };
        checked(done).map(drop)
    }

    /// Where data (SEEK_DATA) or a hole (SEEK_HOLE) begins.
    ///
    /// # Errors
    /// ENXIO: the file ends before that.
    pub fn seek(&self, offset: u64, whence: c_int) -> Result<u64, Errno> {
        let offset = i64::try_from(offset).map_err(|_| Errno::NXIO)?;
        // SAFETY: both handles are held. The position that this moves is used by no call.
        let at =
            unsafe { (self.mount.library.ceph_ll_lseek)(self.mount.handle, self.handle, offset, whence) };
        u64::try_from(at).map_err(|_| Errno::from_raw_os_error(i32::try_from(-at).unwrap_or(libc::EIO)))
    }
}

/// A folder that is being read.
pub struct Folder {
    mount: Arc<Mount>,
    handle: Handle,
}

// SAFETY: it is used by one thread at a time, and the library locks its mount for each call.
unsafe impl Send for Folder {}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.mount.is_mounted() {
            return;
        }
        // SAFETY: closed once.
        unsafe { (self.mount.library.ceph_ll_releasedir)(self.mount.handle, self.handle) };
    }
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// The number of the file.
    pub inode: u64,
    /// Its kind (DT_DIR and so on).
    pub kind: u8,
    /// Where the next entry is.
    pub next: u64,
}

impl Folder {
    pub(crate) fn of(mount: Arc<Mount>, handle: Handle) -> Self {
        Self { mount, handle }
    }

    /// Goes to where an entry said that the next one is; 0: the first.
    pub fn seek(&mut self, to: u64) {
        // SAFETY: both handles are held.
        unsafe { (self.mount.library.ceph_seekdir)(self.mount.handle, self.handle, to as i64) };
    }

    /// The next entry, or `None` at the end.
    ///
    /// # Errors
    /// The number of Linux.
    pub fn next_entry(&mut self) -> Result<Option<FolderEntry>, Errno> {
        let mut entry = MaybeUninit::<libc::dirent64>::zeroed();
        // SAFETY: both handles are held; the entry is written.
        let read = unsafe {
            (self.mount.library.ceph_readdir_r)(self.mount.handle, self.handle, entry.as_mut_ptr())
        };
        if checked(read)? == 0 {
            return Ok(None);
        }
        // SAFETY: it was zeroed, and every pattern of bits is valid; the name ends with a zero.
        let (entry, name) = unsafe {
            let entry = entry.assume_init();
            (entry, CStr::from_ptr(entry.d_name.as_ptr()).to_bytes().to_vec())
        };
        Ok(Some(FolderEntry { name, inode: entry.d_ino, kind: entry.d_type, next: entry.d_off as u64 }))
    }
}
