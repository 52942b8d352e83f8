//! Extended attributes, through the descriptor's path: a path-only descriptor has no calls of its own for them.

use std::ffi::CString;

use rustix::fs::XattrFlags;

use super::fact;
use super::object::HostObject;
use crate::backend::XattrMode;
use crate::{Error, Kind, Result};

/// Linux holds no larger value and no longer list of names.
const LARGEST: usize = 65_536;

impl HostObject {
    /// Who asked has been checked. A caller who may not read the file may be told of what describes it.
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
        let name = CString::new(name).map_err(|_| Error::InvalidName)?;
        let mut value = vec![0; 512];
        loop {
            match rustix::fs::getxattr(self.path(), &name, &mut value[..]) {
                Ok(length) => {
                    value.truncate(length);
                    return Ok(value);
                }
                Err(rustix::io::Errno::RANGE) if value.len() < LARGEST => value.resize(LARGEST, 0),
                Err(error) => return Err(fact(error)),
            }
        }
    }

    pub(super) fn write_xattr(&self, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.has_xattrs()?;
        let name = CString::new(name).map_err(|_| Error::InvalidName)?;
        let flags = match mode {
            XattrMode::Set => XattrFlags::empty(),
            XattrMode::Create => XattrFlags::CREATE,
            XattrMode::Replace => XattrFlags::REPLACE,
        };
        rustix::fs::setxattr(self.path(), &name, value, flags).map_err(fact)
    }

    pub(super) fn drop_xattr(&self, name: &[u8]) -> Result<()> {
        self.has_xattrs()?;
        let name = CString::new(name).map_err(|_| Error::InvalidName)?;
        rustix::fs::removexattr(self.path(), &name).map_err(fact)
    }

    pub(super) fn xattr_names(&self) -> Result<Vec<Vec<u8>>> {
        self.has_xattrs()?;
        let mut list = vec![0; LARGEST];
        let length = rustix::fs::listxattr(self.path(), &mut list[..]).map_err(fact)?;
        let names = list[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(<[u8]>::to_vec).collect())
    }

    /// The path of a link's descriptor would lead to its target.
    fn has_xattrs(&self) -> Result<()> {
        match crate::backend::Object::kind(self) {
            Kind::File | Kind::Folder => Ok(()),
            _ => Err(Error::NotSupported),
        }
    }
}
