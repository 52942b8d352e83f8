//! The functions of `libcephfs.so.2` that are used, with the types of `cephfs/libcephfs.h` of Ceph 16. Later versions of the
//! library have kept them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::Library as Object;

use crate::CephRefusal;

/// The library. Its number changes when its functions do.
const NAME: &str = "libcephfs.so.2";

/// `struct ceph_mount_info`, `struct Inode`, `struct Fh`, `struct ceph_dir_result`, `UserPerm`: the library's own.
pub(crate) type Handle = *mut c_void;
type Name = *const c_char;

/// `struct ceph_statx`.
#[repr(C)]
pub(crate) struct StatX {
    pub(crate) mask: u32,
    pub(crate) block_size: u32,
    pub(crate) links: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mode: u16,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) blocks: u64,
    /// The snapshot.
    pub(crate) device: libc::dev_t,
    pub(crate) special: libc::dev_t,
    pub(crate) accessed: libc::timespec,
    pub(crate) changed: libc::timespec,
    pub(crate) modified: libc::timespec,
    pub(crate) created: libc::timespec,
    pub(crate) version: u64,
}

/// `vinodeno_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Number {
    pub(crate) inode: u64,
    pub(crate) snapshot: u64,
}

/// Declares the functions once: their fields, types and names.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        /// The functions. The library is never closed: its threads outlive its mounts.
        pub(crate) struct Library {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Library {
            fn load() -> Result<Self, CephRefusal> {
                // SAFETY: the initialization of the library has no requirements.
                let object = unsafe { Object::new(NAME) }
                    .map_err(|why| CephRefusal::NoLibrary { why: why.to_string() })?;
                let object: &'static Object = Box::leak(Box::new(object));
                Ok(Self {$(
                    // SAFETY: the type is that of the function in libcephfs.h.
                    $name: *unsafe { object.get(concat!(stringify!($name), "\0").as_bytes()) }
                        .map_err(|_| CephRefusal::NoFunction { name: stringify!($name) })?,
                )*})
            }
        }
    };
}

functions! {
    ceph_version: fn(*mut c_int, *mut c_int, *mut c_int) -> Name;
    ceph_create: fn(*mut Handle, Name) -> c_int;
    ceph_conf_read_file: fn(Handle, Name) -> c_int;
    ceph_conf_set: fn(Handle, Name, Name) -> c_int;
    ceph_conf_get: fn(Handle, Name, *mut c_char, usize) -> c_int;
    ceph_init: fn(Handle) -> c_int;
    ceph_select_filesystem: fn(Handle, Name) -> c_int;
    ceph_mount_perms_set: fn(Handle, Handle) -> c_int;
    ceph_set_uuid: fn(Handle, Name);
    ceph_start_reclaim: fn(Handle, Name, c_uint) -> c_int;
    ceph_finish_reclaim: fn(Handle);
    ceph_mount: fn(Handle, Name) -> c_int;
    ceph_umask: fn(Handle, libc::mode_t) -> libc::mode_t;
    ceph_unmount: fn(Handle) -> c_int;
    ceph_release: fn(Handle) -> c_int;
    ceph_get_fs_cid: fn(Handle) -> i64;
    ceph_sync_fs: fn(Handle) -> c_int;
    ceph_userperm_new: fn(libc::uid_t, libc::gid_t, c_int, *mut libc::gid_t) -> Handle;
    ceph_userperm_destroy: fn(Handle);
    ceph_ll_lookup_root: fn(Handle, *mut Handle) -> c_int;
    ceph_ll_lookup_vino: fn(Handle, Number, *mut Handle) -> c_int;
    ceph_ll_lookup: fn(Handle, Handle, Name, *mut Handle, *mut StatX, c_uint, c_uint, Handle) -> c_int;
    ceph_ll_put: fn(Handle, Handle) -> c_int;
    ceph_ll_getattr: fn(Handle, Handle, *mut StatX, c_uint, c_uint, Handle) -> c_int;
    ceph_ll_setattr: fn(Handle, Handle, *mut StatX, c_int, Handle) -> c_int;
    ceph_ll_open: fn(Handle, Handle, c_int, *mut Handle, Handle) -> c_int;
    ceph_ll_create: fn(
        Handle, Handle, Name, libc::mode_t, c_int, *mut Handle, *mut Handle, *mut StatX, c_uint, c_uint, Handle,
    ) -> c_int;
    ceph_ll_close: fn(Handle, Handle) -> c_int;
    ceph_ll_read: fn(Handle, Handle, i64, u64, *mut c_char) -> c_int;
    ceph_ll_write: fn(Handle, Handle, i64, u64, *const c_char) -> c_int;
    ceph_ll_lseek: fn(Handle, Handle, libc::off_t, c_int) -> libc::off_t;
    ceph_ll_fsync: fn(Handle, Handle, c_int) -> c_int;
    ceph_ll_sync_inode: fn(Handle, Handle, c_int) -> c_int;
    ceph_ll_fallocate: fn(Handle, Handle, c_int, i64, i64) -> c_int;
    ceph_ll_getxattr: fn(Handle, Handle, Name, *mut c_void, usize, Handle) -> c_int;
    ceph_ll_setxattr: fn(Handle, Handle, Name, *const c_void, usize, c_int, Handle) -> c_int;
    ceph_ll_listxattr: fn(Handle, Handle, *mut c_char, usize, *mut usize, Handle) -> c_int;
    ceph_ll_removexattr: fn(Handle, Handle, Name, Handle) -> c_int;
    ceph_ll_mknod: fn(
        Handle, Handle, Name, libc::mode_t, libc::dev_t, *mut Handle, *mut StatX, c_uint, c_uint, Handle,
    ) -> c_int;
    ceph_ll_mkdir: fn(
        Handle, Handle, Name, libc::mode_t, *mut Handle, *mut StatX, c_uint, c_uint, Handle,
    ) -> c_int;
    ceph_ll_symlink: fn(
        Handle, Handle, Name, Name, *mut Handle, *mut StatX, c_uint, c_uint, Handle,
    ) -> c_int;
    ceph_ll_readlink: fn(Handle, Handle, *mut c_char, usize, Handle) -> c_int;
    ceph_ll_link: fn(Handle, Handle, Handle, Name, Handle) -> c_int;
    ceph_ll_rename: fn(Handle, Handle, Name, Handle, Name, Handle) -> c_int;
    ceph_ll_unlink: fn(Handle, Handle, Name, Handle) -> c_int;
    ceph_ll_rmdir: fn(Handle, Handle, Name, Handle) -> c_int;
    ceph_ll_statfs: fn(Handle, Handle, *mut libc::statvfs) -> c_int;
    ceph_ll_opendir: fn(Handle, Handle, *mut Handle, Handle) -> c_int;
    ceph_ll_releasedir: fn(Handle, Handle) -> c_int;
    ceph_readdir_r: fn(Handle, Handle, *mut libc::dirent64) -> c_int;
    ceph_seekdir: fn(Handle, Handle, i64);
}

impl Library {
    /// The library, opened once.
    pub(crate) fn open() -> Result<&'static Self, CephRefusal> {
        static LIBRARY: OnceLock<Result<Library, CephRefusal>> = OnceLock::new();
        LIBRARY.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }
}

/// The version of the library.
///
/// # Errors
/// It cannot be opened.
pub fn version() -> Result<String, CephRefusal> {
    let library = Library::open()?;
    let mut numbers = [0; 3];
    let [major, minor, patch] = &mut numbers;
    // SAFETY: the numbers are written; the text is constant.
    let text = unsafe { CStr::from_ptr((library.ceph_version)(major, minor, patch)) };
    Ok(text.to_string_lossy().into_owned())
}
