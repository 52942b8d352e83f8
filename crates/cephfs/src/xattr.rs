//! Extended attributes of a file.

use std::ffi::{c_char, c_int, c_void};

use rustix::io::Errno;

use crate::mount::{c_name, checked};
use crate::{CephCaller, Inode};

/// The most bytes of a value or a list of names: the limit of the cluster is lower (`mds_max_xattr_pairs_size`).
const LONGEST: usize = 1 << 20;

impl Inode {
    /// The value of an extended attribute, or of one that the cluster makes (`ceph.…`).
    ///
    /// # Errors
    /// ENODATA: the attribute does not exist.
    pub fn xattr(&self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        let (name, mount) = (c_name(name)?, &self.mount);
        grown(512, |value| {
            // SAFETY: at most so many bytes are written.
            checked(unsafe {
                (mount.library.ceph_ll_getxattr)(
                    mount.handle,
                    self.handle,
                    name.as_ptr(),
                    value.as_mut_ptr().cast::<c_void>(),
                    value.len(),
                    mount.server().handle,
                )
            })
        })
    }

    /// Sets an extended attribute; `flags` are XATTR_CREATE and XATTR_REPLACE.
    ///
    /// # Errors
    /// See above.
    pub fn set_xattr(
        &self,
        who: &CephCaller<'_>,
        name: &[u8],
        value: &[u8],
        flags: c_int,
    ) -> Result<(), Errno> {
        let (name, mount) = (c_name(name)?, &self.mount);
        // SAFETY: all handles and bytes live during the call.
        let set = unsafe {
            (mount.library.ceph_ll_setxattr)(
                mount.handle,
                self.handle,
                name.as_ptr(),
                value.as_ptr().cast(),
                value.len(),
                flags,
                who.handle,
            )
        };
        checked(set).map(drop)
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// See above.
    pub fn remove_xattr(&self, who: &CephCaller<'_>, name: &[u8]) -> Result<(), Errno> {
        let (name, mount) = (c_name(name)?, &self.mount);
        // SAFETY: all handles are held during the call.
        let removed = unsafe {
            (mount.library.ceph_ll_removexattr)(mount.handle, self.handle, name.as_ptr(), who.handle)
        };
        checked(removed).map(drop)
    }

    /// The names of all extended attributes, without those that the cluster makes.
    ///
    /// # Errors
    /// See above.
    pub fn xattrs(&self) -> Result<Vec<Vec<u8>>, Errno> {
        let mount = &self.mount;
        let list = grown(512, |list| {
            let mut length = 0;
            // SAFETY: at most so many bytes are written, and their number.
            checked(unsafe {
                (mount.library.ceph_ll_listxattr)(
                    mount.handle,
                    self.handle,
                    list.as_mut_ptr().cast::<c_char>(),
                    list.len(),
                    &mut length,
                    mount.server().handle,
                )
            })?;
            Ok(length)
        })?;
        let names =
            list.split(|byte| *byte == 0).filter(|name| !name.is_empty() && !name.starts_with(b"ceph."));
        Ok(names.map(<[u8]>::to_vec).collect())
    }
}

/// What a call gives that says when its buffer is too small.
fn grown(likely: usize, mut call: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; likely];
    loop {
        match call(&mut buffer) {
            Ok(length) if length <= buffer.len() => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Ok(_) | Err(Errno::RANGE) if buffer.len() < LONGEST => {
                buffer.resize((buffer.len() * 8).min(LONGEST), 0)
            }
            Ok(_) => return Err(Errno::RANGE),
            Err(error) => return Err(error),
        }
    }
}
