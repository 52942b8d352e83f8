//! Nodes of B-trees ("B-Trees", btree_node_phys_t).

use wire::{Malformed, Reader};

use super::object::{Decoded, HEADER_LEN, Header};

/// How many bytes the header of an object and that of a node take.
const NODE_HEADER: usize = HEADER_LEN + 24;
/// How many bytes the footer of a root takes (btree_info_t).
pub(super) const FOOTER: usize = 40;
/// An offset that leads nowhere (BTOFF_INVALID): the key has no value.
const NOWHERE: u16 = 0xffff;

/// "B-Tree Node Flags".
mod flag {
    pub(super) const ROOT: u16 = 1;
    pub(super) const LEAF: u16 = 2;
    pub(super) const FIXED: u16 = 4;
    pub(super) const HASHED: u16 = 8;
}

/// The footer of a root (btree_info_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) flags: u32,
    pub(super) node_size: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) longest_key: u32,
    pub(super) longest_value: u32,
    pub(super) key_count: u64,
    pub(super) node_count: u64,
}

impl Footer {
    fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self {
            flags: r.u32_le()?,
            node_size: r.u32_le()?,
            key_size: r.u32_le()?,
            value_size: r.u32_le()?,
            longest_key: r.u32_le()?,
            longest_value: r.u32_le()?,
            key_count: r.u64_le()?,
            node_count: r.u64_le()?,
        })
    }
}

/// A place in one of the areas of a node (nloc_t).
#[derive(Debug, Clone, Copy)]
struct Location {
    offset: u16,
    length: u16,
}

impl Location {
    fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self { offset: r.u16_le()?, length: r.u16_le()? })
    }
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    /// The block that it is in.
    pub(super) block: u64,
    /// Its object id, as its parent names it.
    pub(super) oid: u64,
    pub(super) level: u16,
    /// How many entries it has.
    pub(super) count: usize,
    /// Present in a root.
    pub(super) footer: Option<Footer>,
    flags: u16,
    bytes: Vec<u8>,
    table: usize,
    keys: usize,
    keys_end: usize,
    values: usize,
    values_end: usize,
    /// The sizes of keys and values of leaves, where these are fixed.
    fixed: Option<(usize, usize)>,
}

impl Node {
    /// `fixed` are the sizes that the root says.
    pub(super) fn decode(
        bytes: Vec<u8>,
        block: u64,
        oid: u64,
        fixed: Option<(usize, usize)>,
    ) -> Decoded<Self> {
        let mut r = Reader::new(&bytes);
        Header::decode(&mut r)?;
        let (flags, level, count) = (r.u16_le()?, r.u16_le()?, r.u32_le()? as usize);
        let (table, free) = (Location::decode(&mut r)?, Location::decode(&mut r)?);
        let mut values_end = bytes.len();
        let mut footer = None;
        if flags & flag::ROOT != 0 {
            values_end =
                bytes.len().checked_sub(FOOTER).ok_or(Malformed("it is too short for its footer"))?;
            footer = Some(Footer::decode(&mut Reader::new(&bytes[values_end..]))?);
        }
        let start = NODE_HEADER + usize::from(table.offset);
        let keys = start + usize::from(table.length);
        let keys_end = keys + usize::from(free.offset);
        let values = keys_end + usize::from(free.length);
        if values > values_end {
            return Err(Malformed("its areas are larger than the node"));
        }
        let is_fixed = flags & flag::FIXED != 0;
        if count > usize::from(table.length) / if is_fixed { 4 } else { 8 } {
            return Err(Malformed("its table of contents is too short"));
        }
        let of_root = footer.map(|footer| (footer.key_size as usize, footer.value_size as usize));
        let fixed = if is_fixed { fixed.or(of_root) } else { None };
        if is_fixed && fixed.is_none_or(|(key, value)| key == 0 || key > bytes.len() || value > bytes.len()) {
            return Err(Malformed("the sizes of its keys are not known"));
        }
        let node = Self {
            block,
            oid,
            level,
            count,
            footer,
            flags,
            table: start,
            keys,
            keys_end,
            values,
            values_end,
            fixed,
            bytes,
        };
        if node.is_leaf() == (level > 0) {
            return Err(Malformed("its level and its flags contradict each other"));
        }
        Ok(node)
    }

    pub(super) fn is_root(&self) -> bool {
        self.flags & flag::ROOT != 0
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.flags & flag::LEAF != 0
    }

    /// Whether the entries of an index have hashes of what they lead to: trees of sealed volumes.
    pub(super) fn is_hashed(&self) -> bool {
        self.flags & flag::HASHED != 0
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The sizes of keys and values, where these are fixed.
    pub(super) fn fixed(&self) -> Option<(usize, usize)> {
        self.fixed
    }

    /// The key of an entry.
    pub(super) fn key(&self, index: usize) -> Decoded<&[u8]> {
        let (range, _) = self.ranges(index)?;
        self.bytes.get(range).ok_or(Malformed("a key is outside of it"))
    }

    /// The value of an entry; empty for a ghost.
    pub(super) fn value(&self, index: usize) -> Decoded<&[u8]> {
        let (_, range) = self.ranges(index)?;
        self.bytes.get(range).ok_or(Malformed("a value is outside of it"))
    }

    /// Where the key and the value of an entry are in the block.
    pub(super) fn ranges(&self, index: usize) -> Decoded<(std::ops::Range<usize>, std::ops::Range<usize>)> {
        if index >= self.count {
            return Err(Malformed("it has fewer entries"));
        }
        let (key, value) = match self.fixed {
            Some((key_size, value_size)) => {
                let mut r = Reader::new(self.bytes.get(self.table + index * 4..).unwrap_or_default());
                let (key, value) = (r.u16_le()?, r.u16_le()?);
                let value_size = if self.is_leaf() { value_size } else { 8 };
                let value_size = if value == NOWHERE { 0 } else { value_size };
                ((key, key_size), (value, value_size))
            }
            None => {
                let mut r = Reader::new(self.bytes.get(self.table + index * 8..).unwrap_or_default());
                let (key, value) = (Location::decode(&mut r)?, Location::decode(&mut r)?);
                let value_size = if value.offset == NOWHERE { 0 } else { usize::from(value.length) };
                ((key.offset, usize::from(key.length)), (value.offset, value_size))
            }
        };
        let from = self.keys + usize::from(key.0);
        let key = from..from + key.1;
        if key.end > self.keys_end {
            return Err(Malformed("a key is outside of the area of keys"));
        }
        if value.0 == NOWHERE {
            return Ok((key, self.values_end..self.values_end));
        }
        let from = self.values_end.checked_sub(usize::from(value.0));
        let from = from.filter(|&from| from >= self.values && from + value.1 <= self.values_end);
        let from = from.ok_or(Malformed("a value is outside of the area of values"))?;
        Ok((key, from..from + value.1))
    }

    /// The object id of the node that an entry of an index leads to; of a hashed one relative to its root.
    pub(super) fn child(&self, index: usize) -> Decoded<u64> {
        Reader::new(self.value(index)?).u64_le()
    }

    /// The hash of the node that an entry of a hashed index leads to.
    pub(super) fn child_hash(&self, index: usize) -> Decoded<&[u8]> {
        self.value(index)?.get(8..).ok_or(Malformed("a hash is missing"))
    }
}
