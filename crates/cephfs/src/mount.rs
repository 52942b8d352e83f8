//! A file system of a cluster that is mounted in this process.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::Duration;

use lock::Mutex;
use rustix::io::Errno;

use crate::library::{Handle, Library, Number};
use crate::ranks;
use crate::{CephRefusal, Inode, Source, evict, source};

/// CEPH_NOSNAP: files as they are now.
pub const LIVE: u64 = u64::MAX - 1;
/// The folder of a folder's snapshots (`client_snapdir`).
pub const SNAPSHOTS: &[u8] = b".snap";

/// How long the cluster may take to answer at first.
const MOUNT_WITHIN: &CStr = c"10";

/// What is different from the defaults. The library checks permissions itself, by the modes and POSIX ACLs, and keeps the
/// standard streams of the server clean.
const OPTIONS: &[(&CStr, &CStr)] = &[
    (c"client_mount_timeout", MOUNT_WITHIN),
    (c"client_permissions", c"true"),
    (c"fuse_default_permissions", c"false"),
    (c"client_acl_type", c"posix_acl"),
    (c"client_snapdir", c".snap"),
    (c"log_to_stderr", c"false"),
    (c"err_to_stderr", c"false"),
];

/// The mounts of this process. One serves all shares of its file system, which so have one cache.
static MOUNTS: Mutex<Option<HashMap<Source, Weak<Mount>>>, ranks::CephMounts> = Mutex::new(None);

/// A mounted file system. It is unmounted when nothing of it is held any more; what was written is then on the disks of the
/// cluster.
pub struct Mount {
    pub(crate) library: &'static Library,
    pub(crate) handle: Handle,
    /// The superuser. The server acts with its rights if no client asked for the operation.
    server: Handle,
    name: String,
    number: u64,
    /// Nothing may be called any more.
    is_unmounted: AtomicBool,
}

// SAFETY: the library locks a mount for each call.
unsafe impl Send for Mount {}
// SAFETY: likewise.
unsafe impl Sync for Mount {}

/// On whose behalf a call is made: the cluster's client library compares these ids with the modes and ACLs of files.
pub struct CephCaller<'a> {
    pub(crate) handle: Handle,
    /// The library does not copy the groups, and whether it must give the handle back.
    owned: Option<(&'a Mount, Vec<libc::gid_t>)>,
}

impl Drop for CephCaller<'_> {
    fn drop(&mut self) {
        if let Some((mount, _)) = &self.owned {
            // SAFETY: made by `ceph_userperm_new`, and not used any more.
            unsafe { (mount.library.ceph_userperm_destroy)(self.handle) }
        }
    }
}

/// The result of a call that answers a negative error number.
pub(crate) fn checked(result: c_int) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::from_raw_os_error(result.saturating_neg()))
}

pub(crate) fn c_name(name: &[u8]) -> Result<CString, Errno> {
    CString::new(name).map_err(|_| Errno::INVAL)
}

impl Mount {
    /// The mounted file system: one that is there already, or a new one.
    ///
    /// # Errors
    /// The library is missing, or the cluster refuses or does not answer within ten seconds.
    pub fn open(source: &Source) -> Result<Arc<Self>, CephRefusal> {
        evict::note(source);
        let mut mounts = MOUNTS.lock();
        let mounts = mounts.get_or_insert_default();
        mounts.retain(|_, mount| mount.strong_count() > 0);
        if let Some(mount) = mounts.get(source).and_then(Weak::upgrade) {
            return Ok(mount);
        }
        let mount = Arc::new(Self::new(source)?);
        mounts.insert(source.clone(), Arc::downgrade(&mount));
        Ok(mount)
    }

    fn new(source: &Source) -> Result<Self, CephRefusal> {
        let name = source.file_system.clone();
        let making = Making::begin(source)?;
        let library = making.library;
        making.take_over(source);
        // SAFETY: the mount was made.
        let mounted = checked(unsafe { (library.ceph_mount)(making.handle, c"/".as_ptr()) });
        mounted.map_err(|why| refused(source, why))?;
        // SAFETY: it is mounted. The umask counts from here on, too: no umask is applied to what clients make.
        unsafe { (library.ceph_umask)(making.handle, 0) };
        let number = making.number();
        let (handle, server) = (making.handle, making.server);
        making.keep();
        Ok(Self { library, handle, server, name, number, is_unmounted: AtomicBool::new(false) })
    }

    /// The name of the file system.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A number that is made of the ids of the cluster and of the file system: the same for each mount of it, never 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The server itself.
    #[must_use]
    pub fn server(&self) -> CephCaller<'_> {
        CephCaller { handle: self.server, owned: None }
    }

    /// A user with these groups.
    #[must_use]
    pub fn who(&self, uid: u32, gid: u32, groups: &[u32]) -> CephCaller<'_> {
        let mut groups = groups.to_vec();
        let count = c_int::try_from(groups.len()).unwrap_or(0);
        // SAFETY: the groups live as long as the handle, in the value.
        let handle = unsafe { (self.library.ceph_userperm_new)(uid, gid, count, groups.as_mut_ptr()) };
        CephCaller { handle, owned: Some((self, groups)) }
    }

    /// The root of the file system.
    ///
    /// # Errors
    /// The number of Linux.
    pub fn root(self: &Arc<Self>) -> Result<Inode, Errno> {
        let mut inode = null_mut();
        // SAFETY: it is mounted; the inode is written.
        checked(unsafe { (self.library.ceph_ll_lookup_root)(self.handle, &mut inode) })?;
        Ok(Inode::of(self.clone(), inode))
    }

    /// The file with a number, as it is now ([`LIVE`]) or in a snapshot, wherever it is.
    ///
    /// # Errors
    /// ENOENT or ESTALE: it is gone.
    pub fn find(self: &Arc<Self>, inode: u64, snapshot: u64) -> Result<Inode, Errno> {
        let (number, mut inode) = (Number { inode, snapshot }, null_mut());
        // SAFETY: it is mounted; the inode is written.
        checked(unsafe { (self.library.ceph_ll_lookup_vino)(self.handle, number, &mut inode) })?;
        Ok(Inode::of(self.clone(), inode))
    }

    /// Puts everything on the disks of the cluster.
    ///
    /// # Errors
    /// The number of Linux.
    pub fn sync(&self) -> Result<(), Errno> {
        // SAFETY: it is mounted.
        checked(unsafe { (self.library.ceph_sync_fs)(self.handle) }).map(drop)
    }
}

/// Ends the process at once, with its mounts: nothing is written any more. No destructor runs. Those of the client library must not run while
/// its threads do: a process with a mount that ends otherwise may crash.
pub fn exit(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

/// Ends all mounts, when the process ends and no call is made any more. The cluster then need not wait for this client to
/// time out. Answers whether that took no longer than `within`.
#[must_use]
pub fn unmount_all(within: Duration) -> bool {
    let mounts: Vec<Arc<Mount>> =
        MOUNTS.lock().iter().flat_map(HashMap::values).filter_map(Weak::upgrade).collect();
    if mounts.is_empty() {
        return true;
    }
    let (done, is_done) = mpsc::channel();
    let unmount = move || {
        for mount in &mounts {
            if !mount.is_unmounted.swap(true, Ordering::AcqRel) {
                // SAFETY: it was mounted. What is still open is closed by the library, and never used again.
                unsafe { (mount.library.ceph_unmount)(mount.handle) };
            }
        }
        let _ = done.send(()); // too late for who waited
        std::mem::forget(mounts); // the process ends
    };
    thread::Builder::new().name("unmount".into()).spawn(unmount).is_ok()
        && is_done.recv_timeout(within).is_ok()
}

impl Mount {
    /// Whether files can be given back.
    pub(crate) fn is_mounted(&self) -> bool {
        !self.is_unmounted.load(Ordering::Acquire)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if !self.is_mounted() {
            return;
        }
        // SAFETY: inodes and files hold the mount, so none is left. Unmounting writes what is still in memory.
        unsafe { (self.library.ceph_unmount)(self.handle) };
        drop(Making { library: self.library, handle: self.handle, server: self.server });
    }
}

/// A mount that is not mounted yet, or not any more.
pub(crate) struct Making {
    library: &'static Library,
    handle: Handle,
    server: Handle,
}

/// Why the file system is not mounted.
fn refused(source: &Source, why: Errno) -> CephRefusal {
    let (name, user) = (source.file_system.clone(), source.user.clone());
    match why {
        Errno::NOENT => CephRefusal::NoFileSystem { name },
        Errno::ACCESS | Errno::PERM => CephRefusal::NotAllowed { user, why },
        why => CephRefusal::Mount { name, why },
    }
}

impl Making {
    /// A client that has logged in to the cluster and knows the file system.
    pub(crate) fn begin(source: &Source) -> Result<Self, CephRefusal> {
        let library = Library::open()?;
        let name = source.file_system.clone();
        let failed = |why| CephRefusal::Mount { name: name.clone(), why };
        let text = |text: &[u8]| c_name(text).map_err(failed);
        let mut making = Self { library, handle: null_mut(), server: null_mut() };
        let user = text(source.user.as_bytes())?;
        // SAFETY: the handle is written; the name lives during the call.
        checked(unsafe { (library.ceph_create)(&mut making.handle, user.as_ptr()) }).map_err(failed)?;
        let conf = source::conf();
        let file = conf.map(|path| text(path.as_os_str().as_bytes())).transpose()?;
        let file = file.as_ref().map_or(std::ptr::null(), |file| file.as_ptr());
        // SAFETY: the mount was made, and the path lives during the call or is null, which means Ceph's own places.
        checked(unsafe { (library.ceph_conf_read_file)(making.handle, file) }).map_err(|why| {
            CephRefusal::Conf {
                from: conf.map_or_else(|| "/etc/ceph/ceph.conf".into(), |path| path.display().to_string()),
                why,
            }
        })?;
        for (option, value) in OPTIONS {
            // SAFETY: constant texts. Options that the version does not have are refused, and are not needed then.
            let _ = unsafe { (library.ceph_conf_set)(making.handle, option.as_ptr(), value.as_ptr()) };
        }
        // SAFETY: the mount was made.
        checked(unsafe { (library.ceph_init)(making.handle) }).map_err(|why| match why {
            Errno::NOENT | Errno::ACCESS | Errno::PERM => {
                CephRefusal::NotAllowed { user: source.user.clone(), why }
            }
            why => failed(why),
        })?;
        let c_name = text(name.as_bytes())?;
        // SAFETY: likewise; the ids are copied.
        let selected = unsafe {
            making.server = (library.ceph_userperm_new)(0, 0, 0, null_mut());
            (library.ceph_mount_perms_set)(making.handle, making.server);
            checked((library.ceph_select_filesystem)(making.handle, c_name.as_ptr()))
        };
        selected.map_err(|why| refused(source, why))?;
        Ok(making)
    }

    /// It is mounted: what was made is given back by [`Mount`].
    fn keep(self) {
        std::mem::forget(self);
    }

    /// Ends the mount of an earlier process of the same identity, which does not exist any more.
    fn take_over(&self, source: &Source) {
        let Some(identity) = source::identity().map(|own| source.session_of(own)) else { return };
        let _ = self.reset(&identity); // without such a mount there is nothing to end
        let Ok(identity) = c_name(identity.as_bytes()) else { return };
        // SAFETY: the mount was made, and the text is copied.
        unsafe { (self.library.ceph_set_uuid)(self.handle, identity.as_ptr()) };
    }

    /// Ends the session with this text. The metadata servers take its rights away, and the OSDs accept nothing of it any more.
    pub(crate) fn reset(&self, identity: &str) -> Result<(), Errno> {
        /// CEPH_RECLAIM_RESET
        const RESET: u32 = 1;
        let identity = c_name(identity.as_bytes())?;
        // SAFETY: the mount was made, and the text is copied.
        unsafe {
            checked((self.library.ceph_start_reclaim)(self.handle, identity.as_ptr(), RESET))?;
            (self.library.ceph_finish_reclaim)(self.handle);
        }
        Ok(())
    }

    fn number(&self) -> u64 {
        let mut cluster = [0; 64];
        // SAFETY: at most so many bytes are written, with a zero at the end; else it fails.
        let told = unsafe {
            (self.library.ceph_conf_get)(
                self.handle,
                c"fsid".as_ptr(),
                cluster.as_mut_ptr().cast(),
                cluster.len(),
            )
        };
        // SAFETY: it is mounted.
        let file_system = unsafe { (self.library.ceph_get_fs_cid)(self.handle) };
        let end = cluster.iter().position(|byte| *byte == 0).unwrap_or(cluster.len());
        let cluster = if told == 0 { &cluster[..end] } else { &[] };
        folded(cluster.iter().copied().chain(file_system.to_be_bytes())).max(1)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        // SAFETY: what was made is given back once.
        unsafe {
            if !self.server.is_null() {
                (self.library.ceph_userperm_destroy)(self.server);
            }
            if !self.handle.is_null() {
                (self.library.ceph_release)(self.handle);
            }
        }
    }
}

/// FNV-1a, 64 bits.
fn folded(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
