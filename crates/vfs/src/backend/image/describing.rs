//! What a file is besides its data, in the layout that the tree reads: attributes, and a sidecar with the resource fork.

use images::tree::{Fork, Node};

use super::{ImageState, Place, fact};
use crate::mac::layout::{NETATALK_METADATA, stored_xattr};
use crate::mac::{FileBits, FinderInfo, Metadata};
use crate::names::long;
use crate::{Error, Result};

/// `UF_IMMUTABLE` and `SF_IMMUTABLE` of BSD's `chflags`: nothing of the file may be changed.
const IMMUTABLE: u32 = 0x0000_0002 | 0x0002_0000;
/// `UF_HIDDEN`.
const HIDDEN: u32 = 0x0000_8000;
/// The prefix of attributes that clients set.
const USER: &[u8] = b"user.";

/// What Macs know of a file.
fn metadata(node: &Node) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.set_finder_info(FinderInfo::new(node.finder_info));
    metadata.times.backup = node.backed_up;
    if node.flags & IMMUTABLE != 0 {
        metadata.bits |= FileBits::LOCKED;
    }
    if node.flags & HIDDEN != 0 {
        metadata.set_hidden(true);
    }
    metadata
}

impl ImageState {
    /// The names of the attributes of a file.
    pub(super) fn xattrs(&self, place: Place, long_name: Option<&[u8]>) -> Result<Vec<Vec<u8>>> {
        let node = self.files.node(place.node).map_err(|error| fact(&error))?;
        let mut names: Vec<Vec<u8>> = Vec::new();
        if metadata(&node).concerns_macs() {
            names.push(NETATALK_METADATA.to_vec());
        }
        names.extend(long_name.map(|_| long::ATTRIBUTE.to_vec()));
        let stored = self.files.attribute_names(place.node).map_err(|error| fact(&error))?;
        names.extend(stored.iter().filter_map(|name| stored_xattr(name.as_bytes())));
        Ok(names)
    }

    /// The value of an attribute of a file.
    pub(super) fn xattr(&self, place: Place, long_name: Option<&[u8]>, name: &[u8]) -> Result<Vec<u8>> {
        if name == NETATALK_METADATA {
            let node = self.files.node(place.node).map_err(|error| fact(&error))?;
            let metadata = metadata(&node);
            let concerns = metadata.concerns_macs();
            return if concerns { Ok(metadata.to_netatalk()) } else { Err(Error::NoSuchAttribute) };
        }
        if name == long::ATTRIBUTE {
            return long_name.map(|name| long::encode(&[name])).ok_or(Error::NoSuchAttribute);
        }
        let own = name.strip_prefix(USER).filter(|own| stored_xattr(own).as_deref() == Some(name));
        let own = own.and_then(|own| std::str::from_utf8(own).ok()).ok_or(Error::NoSuchAttribute)?;
        match self.files.attribute(place.node, own) {
            Err(images::Error::NotFound) => Err(Error::NoSuchAttribute),
            value => value.map_err(|error| fact(&error)),
        }
    }

    /// The beginning of the sidecar of a file, before the resource fork.
    pub(super) fn sidecar_head(node: &Node) -> Vec<u8> {
        metadata(node).to_sidecar(&[], node.resource_size).0
    }

    /// Reads a part of a fork. `length` was cut off at its end.
    pub(super) fn read(
        &self,
        place: Place,
        fork: Fork,
        (offset, length): (u64, usize),
        into: &mut Vec<u8>,
    ) -> Result<usize> {
        let start = into.len();
        into.resize(start + length, 0);
        let mut done = 0;
        while done < length {
            let buffer = &mut into[start + done..];
            match self.files.read(place.node, fork, offset + done as u64, buffer) {
                Ok(0) => break,
                Ok(count) => done += count.min(length - done),
                Err(error) => {
                    into.truncate(start);
                    return Err(fact(&error));
                }
            }
        }
        into.truncate(start + done);
        Ok(done)
    }
}
