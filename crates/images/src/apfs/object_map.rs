//! Object maps: from the ids of virtual objects to blocks ("Object Maps").

use std::cmp::Ordering;
use std::sync::Arc;

use wire::{Malformed, Reader};

use super::blocks::{Blocks, Object, damaged};
use super::cursor::{Placement, Tree};
use super::object::{Decoded, Header, kind};
use super::xts::Xts;
use crate::{Error, Result};

/// "Object Map Value Flags".
pub(super) mod flag {
    pub(in super::super) const DELETED: u32 = 1;
    pub(in super::super) const ENCRYPTED: u32 = 4;
    pub(in super::super) const NO_HEADER: u32 = 8;
}

/// Where a version of an object is (omap_key_t, omap_val_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectVersion {
    pub(super) oid: u64,
    pub(super) xid: u64,
    pub(super) flags: u32,
    pub(super) size: u32,
    pub(super) block: u64,
}

impl ObjectVersion {
    pub(super) fn decode(key: &[u8], value: &[u8]) -> Decoded<Self> {
        let (oid, xid) = decode_key(key)?;
        let mut r = Reader::new(value);
        Ok(Self { oid, xid, flags: r.u32_le()?, size: r.u32_le()?, block: r.u64_le()? })
    }
}

fn decode_key(key: &[u8]) -> Decoded<(u64, u64)> {
    let mut r = Reader::new(key);
    Ok((r.u64_le()?, r.u64_le()?))
}

/// An object map (omap_phys_t).
pub(super) struct ObjectMap {
    pub(super) tree: Tree,
    /// The block that it is in.
    pub(super) block: u64,
    pub(super) snapshot_count: u32,
    /// The root of the tree of snapshots, or 0.
    pub(super) snapshot_tree: u64,
}

impl ObjectMap {
    pub(super) fn open(blocks: &Arc<Blocks>, block: u64) -> Result<Self> {
        let structure = "object map";
        let object = blocks.physical(block, kind::OBJECT_MAP, structure)?;
        let fields = |bytes: &[u8]| {
            let mut r = Reader::new(bytes);
            Header::decode(&mut r)?;
            r.skip(4)?; // flags
            let snapshot_count = r.u32_le()?;
            r.skip(8)?; // types of the trees
            Ok((snapshot_count, r.u64_le()?, r.u64_le()?))
        };
        let (snapshot_count, root, snapshot_tree) = fields(&object.bytes)
            .map_err(|malformed: Malformed| damaged(structure, blocks.place(block), malformed.0))?;
        let tree = Tree::open(Arc::clone(blocks), structure, kind::OBJECT_MAP, Placement::Physical, root)?;
        Ok(Self { tree, block, snapshot_count, snapshot_tree })
    }

    /// The newest version of an object that is not newer than `xid`.
    pub(super) fn find(&self, oid: u64, xid: u64) -> Result<Option<ObjectVersion>> {
        let compare = |key: &[u8]| Ok::<Ordering, Malformed>(decode_key(key)?.cmp(&(oid, xid)));
        let cursor = self.tree.seek(&compare)?;
        let Some((key, value)) = cursor.entry()? else { return Ok(None) };
        let found = ObjectVersion::decode(key, value).map_err(|malformed| cursor.damaged(malformed.0))?;
        Ok((found.oid == oid && found.xid <= xid).then_some(found))
    }

    /// Reads an object of one block, and says whether it has a header, which sealed volumes' nodes have not.
    pub(super) fn object(&self, oid: u64, xid: u64, key: Option<&Xts>, what: &str) -> Result<(Object, bool)> {
        let blocks = &self.tree.blocks;
        let place = blocks.place(self.block);
        let found = self.find(oid, xid)?.filter(|found| found.flags & flag::DELETED == 0);
        let found = found.ok_or_else(|| damaged(what, place, "the object map does not have it"))?;
        if found.size as usize != blocks.size {
            return Err(Error::NotSupported(format!("an APFS object of {} bytes", found.size)));
        }
        let mut bytes = blocks.read(found.block, 1, what)?;
        if found.flags & flag::ENCRYPTED != 0 {
            let key = key.ok_or(Error::Passphrase)?;
            key.decrypt(&mut bytes, Xts::units(found.block, blocks.size));
        }
        if found.flags & flag::NO_HEADER != 0 {
            let header = Header { checksum: 0, oid, xid: found.xid, kind: 0, subtype: 0 };
            return Ok((Object { header, bytes, block: found.block }, false));
        }
        let object = blocks.verified(bytes, found.block, what)?;
        // A write that a disk has lost leaves an older object with a right checksum.
        if object.header.xid != found.xid {
            return Err(damaged(
                what,
                blocks.place(found.block),
                "it is of another transaction than the object map says",
            ));
        }
        Ok((object, true))
    }
}
