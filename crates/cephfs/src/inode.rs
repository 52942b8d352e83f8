//! A file, folder, link or device: its entries and attributes.

use std::ffi::{CString, c_int};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

use rustix::io::Errno;

use crate::library::{Handle, StatX};
use crate::mount::{c_name, checked};
use crate::{CephCaller, DataFile, Folder, Mount};

/// CEPH_STATX_BASIC_STATS and CEPH_STATX_BTIME.
const WANTED: u32 = 0xfff;
const BTIME: u32 = 0x800;

/// CEPH_SETATTR_*.
const MODE: c_int = 1;
const UID: c_int = 1 << 1;
const GID: c_int = 1 << 2;
const MTIME: c_int = 1 << 3;
const ATIME: c_int = 1 << 4;
const SIZE: c_int = 1 << 5;
const MTIME_NOW: c_int = 1 << 7;
const ATIME_NOW: c_int = 1 << 8;

/// A file that the client library holds. It stays there, even without a name, until this is dropped.
pub struct Inode {
    pub(crate) mount: Arc<Mount>,
    pub(crate) handle: Handle,
}

// SAFETY: the library locks its mount for each call.
unsafe impl Send for Inode {}
// SAFETY: likewise.
unsafe impl Sync for Inode {}

impl std::fmt::Debug for Inode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a file of {}", self.mount.name())
    }
}

impl Drop for Inode {
    fn drop(&mut self) {
        if !self.mount.is_mounted() {
            return;
        }
        // SAFETY: this reference is given back once.
        unsafe { (self.mount.library.ceph_ll_put)(self.mount.handle, self.handle) };
    }
}

/// The attributes of a file. Times are seconds since 1970 and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "statx(2)")]
pub struct Stat {
    pub inode: u64,
    /// The snapshot that the file is in, or [`LIVE`](crate::LIVE).
    pub snapshot: u64,
    /// With the bits of the kind.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    pub size: u64,
    pub blocks: u64,
    pub device: (u32, u32),
    pub accessed: (i64, u32),
    pub modified: (i64, u32),
    pub changed: (i64, u32),
    pub created: Option<(i64, u32)>,
}

/// A time to set, and whether it is only allowed to be the present one.
pub type NewTime = ((i64, u32), bool);

/// Changes of attributes. What is `None` stays.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, reason = "as in Stat")]
pub struct Changes {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub accessed: Option<NewTime>,
    pub modified: Option<NewTime>,
}

/// What to make besides files.
#[derive(Debug, Clone, Copy)]
pub enum New<'a> {
    /// A folder.
    Folder,
    /// A symbolic link to this target.
    Link(&'a [u8]),
    /// A node of this kind (S_IFIFO and so on), with the major and minor number of a device.
    Node(u32, (u32, u32)),
}

impl StatX {
    fn stat(&self) -> Stat {
        let time = |at: libc::timespec| (at.tv_sec, u32::try_from(at.tv_nsec).unwrap_or(0));
        Stat {
            inode: self.inode,
            snapshot: self.device,
            mode: self.mode.into(),
            uid: self.uid,
            gid: self.gid,
            links: self.links,
            size: self.size,
            blocks: self.blocks,
            device: (libc::major(self.special), libc::minor(self.special)),
            accessed: time(self.accessed),
            modified: time(self.modified),
            changed: time(self.changed),
            created: (self.mask & BTIME != 0).then(|| time(self.created)),
        }
    }
}

impl Inode {
    pub(crate) fn of(mount: Arc<Mount>, handle: Handle) -> Self {
        Self { mount, handle }
    }

    /// The mount that it belongs to.
    #[must_use]
    pub fn mount(&self) -> &Arc<Mount> {
        &self.mount
    }

    /// A call that finds or makes a file and tells its attributes. It gets places for both, and the mask.
    fn found(&self, call: impl FnOnce(*mut Handle, *mut StatX, u32) -> c_int) -> Result<(Self, Stat), Errno> {
        let (mut inode, mut stat) = (null_mut(), MaybeUninit::<StatX>::zeroed());
        checked(call(&mut inode, stat.as_mut_ptr(), WANTED))?;
        // SAFETY: it was zeroed, and every pattern of bits is valid.
        let stat = unsafe { stat.assume_init() }.stat();
        Ok((Self::of(self.mount.clone(), inode), stat))
    }

    /// The entry of a folder; `..` is the folder above it, `.snap` the folder of its snapshots.
    ///
    /// # Errors
    /// The number of Linux, as for all calls.
    pub fn lookup(&self, who: &CephCaller<'_>, name: &[u8]) -> Result<(Self, Stat), Errno> {
        let (name, mount) = (c_name(name)?, &self.mount);
        self.found(|inode, stat, wanted| {
            // SAFETY: all handles are held during the call; the results are written.
            unsafe {
                (mount.library.ceph_ll_lookup)(
                    mount.handle,
                    self.handle,
                    name.as_ptr(),
                    inode,
                    stat,
                    wanted,
                    0,
                    who.handle,
                )
            }
        })
    }

    /// What the cluster says of it now.
    ///
    /// # Errors
    /// See above.
    pub fn stat(&self) -> Result<Stat, Errno> {
        let (mount, mut stat) = (&self.mount, MaybeUninit::<StatX>::zeroed());
        // SAFETY: both handles are held; the attributes are written.
        checked(unsafe {
            (mount.library.ceph_ll_getattr)(
                mount.handle,
                self.handle,
                stat.as_mut_ptr(),
                WANTED,
                0,
                mount.server().handle,
            )
        })?;
        // SAFETY: it was zeroed, and every pattern of bits is valid.
        Ok(unsafe { stat.assume_init() }.stat())
    }

    /// Changes attributes, all at once.
    ///
    /// # Errors
    /// See above.
    pub fn change(&self, who: &CephCaller<'_>, changes: &Changes) -> Result<(), Errno> {
        // SAFETY: a structure of plain numbers.
        let mut stat: StatX = unsafe { MaybeUninit::zeroed().assume_init() };
        let mut mask = 0;
        let mut set = |bits| mask |= bits;
        if let Some(mode) = changes.mode {
            stat.mode = (mode & 0o7777) as u16;
            set(MODE);
        }
        if let Some(uid) = changes.uid {
            stat.uid = uid;
            set(UID);
        }
        if let Some(gid) = changes.gid {
            stat.gid = gid;
            set(GID);
        }
        if let Some(size) = changes.size {
            stat.size = size;
            set(SIZE);
        }
        let time = |(secs, nanos): (i64, u32)| libc::timespec { tv_sec: secs, tv_nsec: i64::from(nanos) };
        if let Some((at, is_now)) = changes.accessed {
            stat.accessed = time(at);
            set(ATIME | if is_now { ATIME_NOW } else { 0 });
        }
        if let Some((at, is_now)) = changes.modified {
            stat.modified = time(at);
            set(MTIME | if is_now { MTIME_NOW } else { 0 });
        }
        if mask == 0 {
            return Ok(());
        }
        let mount = &self.mount;
        // SAFETY: all handles are held; the attributes live during the call.
        let changed = unsafe {
            (mount.library.ceph_ll_setattr)(mount.handle, self.handle, &mut stat, mask, who.handle)
        };
        checked(changed).map(drop)
    }

    /// Makes a file that is not there, and opens it for reading and writing.
    ///
    /// # Errors
    /// See above.
    pub fn create(
        &self,
        who: &CephCaller<'_>,
        name: &[u8],
        mode: u32,
    ) -> Result<(Self, Stat, DataFile), Errno> {
        let (name, mount, mut file) = (c_name(name)?, &self.mount, null_mut());
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
        let (inode, stat) = self.found(|inode, stat, wanted| {
            // SAFETY: all handles are held during the call; the results are written.
            unsafe {
                (mount.library.ceph_ll_create)(
                    mount.handle,
                    self.handle,
                    name.as_ptr(),
                    mode & 0o7777,
                    flags,
                    inode,
                    &mut file,
                    stat,
                    wanted,
                    0,
                    who.handle,
                )
            }
        })?;
        Ok((inode, stat, DataFile::of(self.mount.clone(), file)))
    }

    /// Makes a folder, link or node.
    ///
    /// # Errors
    /// See above.
    pub fn make(
        &self,
        who: &CephCaller<'_>,
        name: &[u8],
        new: New<'_>,
        mode: u32,
    ) -> Result<(Self, Stat), Errno> {
        let (name, mount, library) = (c_name(name)?, self.mount.handle, self.mount.library);
        let target = if let New::Link(target) = new { c_name(target)? } else { CString::default() };
        let (folder, name, mode) = (self.handle, name.as_ptr(), mode & 0o7777);
        // SAFETY: all handles and texts live during the call; the results are written.
        self.found(|inode, stat, wanted| unsafe {
            match new {
                New::Folder => {
                    (library.ceph_ll_mkdir)(mount, folder, name, mode, inode, stat, wanted, 0, who.handle)
                }
                New::Link(_) => {
                    let target = target.as_ptr();
                    (library.ceph_ll_symlink)(mount, folder, name, target, inode, stat, wanted, 0, who.handle)
                }
                New::Node(kind, (major, minor)) => (library.ceph_ll_mknod)(
                    mount,
                    folder,
                    name,
                    mode | kind,
                    libc::makedev(major, minor),
                    inode,
                    stat,
                    wanted,
                    0,
                    who.handle,
                ),
            }
        })
    }

    /// Another name in this folder for a file.
    ///
    /// # Errors
    /// See above.
    pub fn link(&self, who: &CephCaller<'_>, target: &Self, name: &[u8]) -> Result<(), Errno> {
        let (name, mount) = (c_name(name)?, &self.mount);
        // SAFETY: all handles are held during the call.
        let linked = unsafe {
            (mount.library.ceph_ll_link)(mount.handle, target.handle, self.handle, name.as_ptr(), who.handle)
        };
        checked(linked).map(drop)
    }

    /// Removes an entry that is not a folder.
    ///
    /// # Errors
    /// See above.
    pub fn unlink(&self, who: &CephCaller<'_>, name: &[u8]) -> Result<(), Errno> {
        let (name, mount) = (c_name(name)?, &self.mount);
        // SAFETY: all handles are held during the call.
        let removed =
            unsafe { (mount.library.ceph_ll_unlink)(mount.handle, self.handle, name.as_ptr(), who.handle) };
        checked(removed).map(drop)
    }

    /// Removes an empty folder, or a snapshot in the folder of snapshots.
    ///
    /// # Errors
    /// See above.
    pub fn remove_folder(&self, who: &CephCaller<'_>, name: &[u8]) -> Result<(), Errno> {
        let (name, mount) = (c_name(name)?, &self.mount);
        // SAFETY: all handles are held during the call.
        let removed =
            unsafe { (mount.library.ceph_ll_rmdir)(mount.handle, self.handle, name.as_ptr(), who.handle) };
        checked(removed).map(drop)
    }

    /// Moves an entry, in the place of what has the new name.
    ///
    /// # Errors
    /// See above.
    pub fn rename(&self, who: &CephCaller<'_>, name: &[u8], to: &Self, new_name: &[u8]) -> Result<(), Errno> {
        let (name, new_name, mount) = (c_name(name)?, c_name(new_name)?, &self.mount);
        // SAFETY: all handles are held during the call.
        let moved = unsafe {
            (mount.library.ceph_ll_rename)(
                mount.handle,
                self.handle,
                name.as_ptr(),
                to.handle,
                new_name.as_ptr(),
                who.handle,
            )
        };
        checked(moved).map(drop)
    }

    /// The target of a link.
    ///
    /// # Errors
    /// See above.
    pub fn read_link(&self) -> Result<Vec<u8>, Errno> {
        let (mount, mut target) = (&self.mount, vec![0_u8; 4096]);
        // SAFETY: at most so many bytes are written.
        let read = unsafe {
            (mount.library.ceph_ll_readlink)(
                mount.handle,
                self.handle,
                target.as_mut_ptr().cast(),
                target.len(),
                mount.server().handle,
            )
        };
        target.truncate(checked(read)?);
        Ok(target)
    }

    /// Opens the data.
    ///
    /// # Errors
    /// See above.
    pub fn open(&self, who: &CephCaller<'_>, writes: bool) -> Result<DataFile, Errno> {
        let (mount, mut file) = (&self.mount, null_mut());
        let flags = if writes { libc::O_RDWR } else { libc::O_RDONLY };
        // SAFETY: all handles are held; the file is written.
        checked(unsafe {
            (mount.library.ceph_ll_open)(mount.handle, self.handle, flags, &mut file, who.handle)
        })?;
        Ok(DataFile::of(mount.clone(), file))
    }

    /// Begins to read a folder.
    ///
    /// # Errors
    /// See above.
    pub fn list(&self) -> Result<Folder, Errno> {
        let (mount, mut folder) = (&self.mount, null_mut());
        // SAFETY: all handles are held; the folder is written.
        checked(unsafe {
            (mount.library.ceph_ll_opendir)(mount.handle, self.handle, &mut folder, mount.server().handle)
        })?;
        Ok(Folder::of(mount.clone(), folder))
    }

    /// Puts what was written, and changes of entries and attributes, on the disks of the cluster.
    ///
    /// # Errors
    /// See above.
    pub fn sync(&self, data_only: bool) -> Result<(), Errno> {
        let mount = &self.mount;
        // SAFETY: both handles are held.
        let synced =
            unsafe { (mount.library.ceph_ll_sync_inode)(mount.handle, self.handle, data_only.into()) };
        checked(synced).map(drop)
    }

    /// Blocks of 4 MiB or so (all, free, available), files, and the size of a block.
    ///
    /// # Errors
    /// See above.
    pub fn space(&self) -> Result<libc::statvfs, Errno> {
        let (mount, mut space) = (&self.mount, MaybeUninit::<libc::statvfs>::zeroed());
        // SAFETY: both handles are held; the structure is written.
        checked(unsafe { (mount.library.ceph_ll_statfs)(mount.handle, self.handle, space.as_mut_ptr()) })?;
        // SAFETY: it was zeroed, and every pattern of bits is valid.
        Ok(unsafe { space.assume_init() })
    }
}
