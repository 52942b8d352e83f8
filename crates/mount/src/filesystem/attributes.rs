//! Requests for extended attributes.

use std::ffi::OsStr;

use client::tree::Kind;
use fuser::{Errno, INodeNo};

use super::{Answer, Tree, changeable};
use crate::answers::errno;
use crate::forks::is_fixed;
use crate::parts::{self, PartRefusal};

impl Tree {
    fn part_of<'n>(
        &self,
        number: INodeNo,
        name: &'n OsStr,
    ) -> Answer<(String, client::metadata::Aspect<'n>)> {
        let name = name.to_str().ok_or(Errno::EILSEQ)?;
        let part = parts::part(name).ok_or(Errno::EOPNOTSUPP)?;
        Ok((changeable(self.path(number)?).map_err(|_| Errno::EOPNOTSUPP)?, part))
    }

    pub(super) fn part(&self, number: INodeNo, name: &OsStr) -> Answer<Vec<u8>> {
        let (path, part) = self.part_of(number, name)?;
        let found = self.sessions.repeat(|tree| {
            let native = tree.native(&path);
            parts::read(tree, &native, part)
        });
        found.map_err(|error| errno(&error))?.ok_or(Errno::ENODATA)
    }

    pub(super) fn part_names(&self, number: INodeNo) -> Answer<Vec<u8>> {
        let path = self.path(number)?;
        let kind = self.entry(&path)?.kind;
        if is_fixed(&path) || !matches!(kind, Kind::File | Kind::Folder) {
            return Ok(Vec::new());
        }
        let extra = self.sessions.repeat(|tree| {
            let native = tree.native(&path);
            tree.extra(&native, kind)
        });
        extra.map(|extra| parts::names(&extra)).map_err(|error| errno(&error))
    }

    pub(super) fn set_part(
        &self,
        number: INodeNo,
        name: &OsStr,
        value: Option<&[u8]>,
        flags: i32,
    ) -> Answer<()> {
        let (path, part) = self.part_of(number, name)?;
        let kind = self.entry(&path)?.kind;
        if value.is_none() || flags != 0 {
            let is_there = match self.part(number, name) {
                Err(error) if error.code() != libc::ENODATA => return Err(error),
                found => found.is_ok(),
            };
            match (value.is_some(), is_there) {
                (true, true) if flags & libc::XATTR_CREATE != 0 => return Err(Errno::EEXIST),
                (true, false) if flags & libc::XATTR_REPLACE != 0 => return Err(Errno::ENODATA),
                (false, false) => return Err(Errno::ENODATA),
                _ => {}
            }
        }
        let protocol = self.sessions.protocol();
        let mut refusal = None;
        let done = self.sessions.repeat(|tree| {
            let native = tree.native(&path);
            let done = match value {
                Some(bytes) => parts::write(tree, (&native, kind), protocol, part, bytes),
                None => parts::remove(tree, (&native, kind), protocol, part),
            };
            match done {
                Ok(()) => Ok(()),
                Err(PartRefusal::Server(error)) => Err(error),
                Err(other) => {
                    refusal = Some(other);
                    Ok(())
                }
            }
        });
        match (done, refusal) {
            (Err(error), _) => Err(errno(&error)),
            (Ok(()), Some(PartRefusal::Value)) => Err(Errno::EINVAL),
            (Ok(()), Some(_)) => Err(Errno::EOPNOTSUPP),
            (Ok(()), None) => Ok(()),
        }
    }
}
