//! Extended attributes, through the descriptor's path: a path-only descriptor has no calls of its own for them.

use std::ffi::CString;

use rustix::fs::XattrFlags;

use super::failure;
use super::object::HostObject;
use crate::backend::{Glance, XattrMode};
use crate::{Caller, Error, Kind, Result};

/// Linux holds no larger value and no longer list of names.
const LARGEST: usize = 65_536;
/// A file system with no more free blocks counts as full.
const FEW_BLOCKS: u64 = 16;
/// Enough for the names that most files have.
const LIKELY_NAMES: usize = 512;

impl HostObject {
    /// The caller has been checked. A caller that may not read the file may still get its metadata.
    pub(super) fn read_xattr(&self, name: &[u8]) -> Result<Vec<u8>> {
        match self.try_read_xattr(name) {
            Err(Error::AccessDenied) => {
                self.shared.act_as_ourselves()?;
                self.try_read_xattr(name)
            }
            other => other,
        }
    }

    fn try_read_xattr(&self, name: &[u8]) -> Result<Vec<u8>> {
        self.has_xattrs()?;
        let (path, name) = (self.path(), CString::new(name).map_err(|_| Error::InvalidName)?);
        grown(512, |value| rustix::fs::getxattr(&path, &name, value))
    }

    /// An attribute of an entry of this folder.
    pub(super) fn xattr_at(&self, caller: &Caller, entry: &[u8], name: &[u8]) -> Result<Vec<u8>> {
        let (path, name) = (self.path_of(entry), CString::new(name).map_err(|_| Error::InvalidName)?);
        let read = || grown(512, |value| rustix::fs::lgetxattr(&path[..], &name, value));
        self.shared.act_as(caller)?;
        match read() {
            Err(Error::AccessDenied) => {
                self.shared.act_as_ourselves()?;
                read()
            }
            other => other,
        }
    }

    /// The facts about an entry of this folder, by its name: three calls.
    pub(super) fn glance_at(&self, caller: &Caller, name: &[u8]) -> Result<Glance> {
        self.shared.act_as(caller)?;
        let (key, attributes) = self.entry_at(caller, name)?;
        let xattrs = match attributes.kind {
            Kind::File | Kind::Folder => {
                let path = self.path_of(name);
                match grown(LIKELY_NAMES, |list| rustix::fs::llistxattr(&path[..], list)) {
                    Err(Error::NotSupported) => Vec::new(),
                    list => split(&list?),
                }
            }
            _ => Vec::new(),
        };
        Ok(Glance { key, attributes, xattrs })
    }

    fn path_of(&self, entry: &[u8]) -> Vec<u8> {
        [self.path().as_bytes(), b"/", entry].concat()
    }

    pub(super) fn write_xattr(&self, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.has_xattrs()?;
        let name = CString::new(name).map_err(|_| Error::InvalidName)?;
        let flags = match mode {
            XattrMode::Set => XattrFlags::empty(),
            XattrMode::Create => XattrFlags::CREATE,
            XattrMode::Replace => XattrFlags::REPLACE,
        };
        rustix::fs::setxattr(self.path(), &name, value, flags).map_err(|errno| match errno {
            // ext4 and btrfs answer so, too, if one file has no room for the attribute.
            rustix::io::Errno::NOSPC if self.has_free_blocks() => Error::NoRoomForAttribute,
            errno => failure::of("setxattr", self.fd())(errno),
        })
    }

    pub(super) fn drop_xattr(&self, name: &[u8]) -> Result<()> {
        self.has_xattrs()?;
        let name = CString::new(name).map_err(|_| Error::InvalidName)?;
        rustix::fs::removexattr(self.path(), &name).map_err(failure::of("removexattr", self.fd()))
    }

    pub(super) fn xattr_names(&self) -> Result<Vec<Vec<u8>>> {
        self.has_xattrs()?;
        let path = self.path();
        grown(LIKELY_NAMES, |list| rustix::fs::listxattr(&path, list)).map(|list| split(&list))
    }

    /// Whether the file system has more free blocks than the attributes of one file take.
    fn has_free_blocks(&self) -> bool {
        rustix::fs::fstatvfs(self.fd()).is_ok_and(|space| space.f_bavail > FEW_BLOCKS)
    }

    /// The path of a link's descriptor would lead to its target.
    fn has_xattrs(&self) -> Result<()> {
        match crate::backend::Object::kind(self) {
            Kind::File | Kind::Folder => Ok(()),
            _ => Err(Error::NotSupported),
        }
    }
}

/// What a call gives that says when its buffer is too small.
fn grown(likely: usize, mut call: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>) -> Result<Vec<u8>> {
    let mut buffer = vec![0; likely];
    loop {
        match call(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(rustix::io::Errno::RANGE) if buffer.len() < LARGEST => buffer.resize(LARGEST, 0),
            Err(error) => return Err(failure::of_call("getxattr or listxattr", error)),
        }
    }
}

fn split(list: &[u8]) -> Vec<Vec<u8>> {
    list.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
}
