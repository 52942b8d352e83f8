//! All named attributes and all extended attributes of a file: RFC 8881 5.3, RFC 8276.

use ::nfs::wire::v4::OperationNumber as Number;
use ::nfs::wire::v4::attributes as attribute;
use ::nfs::wire::v4::files::CompoundOperation;
use ::nfs::wire::v4::xattrs::ListXattrs;
use ::nfs::wire::xdr::Opaque;
use vfs::mac::plist;

use super::compound::CompoundResults;
use super::metadata::{FINDER_INFO, FORK, found};
use super::{LIST_BYTES, Nfs4, put};
use crate::metadata::{Aspect, AspectState, COMMENT, MetadataValue};
use crate::session::pages::Pages;
use crate::tree::Extra;
use crate::{Error, Result};

/// The most named attributes of a file, and the most extended attributes.
const MOST: usize = 10_000;

impl Nfs4 {
    /// Reads the named attributes of a file. `false`: it has none, or the server keeps none.
    pub(super) fn add_named(&mut self, path: &str, extra: &mut Extra) -> Result<bool> {
        let folder = match self.attributes_of(path, false) {
            Err(Error::Missing(_) | Error::Unsupported(_)) => return Ok(false),
            other => other?,
        };
        let mut names = Vec::new();
        self.pages(&folder, path, &[attribute::SIZE, attribute::RDATTR_ERROR], &mut |name, _| {
            names.push(name.to_vec());
            if names.len() > MOST {
                Err(Error::Other("more named attributes than are carried".into()))
            } else {
                Ok(())
            }
        })?;
        for name in names.iter().filter_map(|name| std::str::from_utf8(name).ok()) {
            let value = match self.read_in(&folder, name) {
                Err(Error::Missing(_)) => continue, // it was removed meanwhile
                other => other?,
            };
            match (name, plist::read_text(&value)) {
                (FINDER_INFO, _) => extra.finder_info = Some(value),
                (FORK, _) => extra.fork = value,
                (COMMENT, Some(comment)) => extra.comment = Some(comment),
                _ => extra.streams.push((name.to_owned(), value)),
            }
            extra.within_limits(name)?;
        }
        Ok(!names.is_empty())
    }

    /// Reads the extended attributes of a file, where the server has them.
    pub(super) fn add_xattrs(&mut self, path: &str, extra: &mut Extra) -> Result<()> {
        if !self.has_xattrs {
            return Ok(());
        }
        for name in self.xattr_names(path)?.iter().filter_map(|name| std::str::from_utf8(name).ok()) {
            if let AspectState::Value(MetadataValue::Bytes(value)) = self.xattr(path, name)? {
                extra.attributes.push((name.to_owned(), value));
                extra.within_limits(path)?;
            }
        }
        Ok(())
    }

    fn xattr_names(&mut self, path: &str) -> Result<Vec<Vec<u8>>> {
        let (mut cookie, mut names, mut pages) = (0, Vec::new(), Pages::of(path));
        loop {
            let list = CompoundOperation::ListXattrs(ListXattrs { cookie, max_count: LIST_BYTES });
            let answer = self.on_name(path, list)?;
            let mut results = match found(&answer, path) {
                Err(Error::Missing(_)) => return Ok(names),
                other => other?,
            };
            match results.names(&mut names) {
                Ok((_, true)) => return Ok(names),
                Ok((next, false)) => {
                    pages.go_on_behind(next)?;
                    cookie = next;
                }
                // Such a file has none, or may not have any.
                Err(Error::Unsupported(_) | Error::Refused(_)) => return Ok(names),
                Err(error) => return Err(error),
            }
            if names.len() > MOST {
                break;
            }
        }
        Err(Error::Other(format!("{path}: more extended attributes than are carried")))
    }

    /// Removes a named attribute or an extended one.
    pub(super) fn drop_named(&mut self, path: &str, part: Aspect<'_>) -> Result<bool> {
        let name = match part {
            Aspect::Attribute(name) => name,
            Aspect::FinderInfo => FINDER_INFO,
            Aspect::Fork => FORK,
            Aspect::Comment => COMMENT,
            Aspect::Ea(name) if self.has_xattrs => {
                let answer =
                    self.on_name(path, CompoundOperation::RemoveXattr(Opaque::new(name.as_bytes())))?;
                return found(&answer, path)?.skip(Number::REMOVEXATTR).map(|()| true);
            }
            _ => return Ok(false),
        };
        let folder = match self.attributes_of(path, false) {
            Err(Error::Unsupported(_)) => return Ok(false),
            other => other?,
        };
        let answer =
            self.call(&[put(&folder), CompoundOperation::Remove(Opaque::new(name.as_bytes()))], path)?;
        let mut results = CompoundResults::of(&answer, path)?;
        results.skip(Number::PUTFH)?;
        results.skip(Number::REMOVE).map(|()| true)
    }

    /// Whether the server keeps named attributes. A file is asked for its own, which are made if it can have them.
    pub(super) fn keeps_named(&mut self, path: &str) -> Result<bool> {
        if let Some(known) = self.has_named {
            return Ok(known);
        }
        let known = match self.attributes_of(path, true) {
            Ok(_) => true,
            Err(Error::Unsupported(_)) => false,
            Err(error) => return Err(error),
        };
        self.has_named = Some(known);
        Ok(known)
    }
}
