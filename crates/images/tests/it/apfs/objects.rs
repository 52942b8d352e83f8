//! Objects and B-trees, written by the Apple File System Reference.

use wire::Writer;

use super::disk::BLOCK;

pub(crate) const PHYSICAL: u32 = 0x4000_0000;
pub(crate) const EPHEMERAL: u32 = 0x8000_0000;
/// OBJ_ENCRYPTED.
pub(crate) const ENCRYPTED: u32 = 0x1000_0000;

/// Fletcher-64 as the reference has it, word by word.
pub(crate) fn fletcher64(object: &[u8]) -> u64 {
    let (mut sum, mut sums) = (0_u64, 0_u64);
    for word in object[8..].chunks_exact(4) {
        sum = (sum + u64::from(u32::from_le_bytes(word.try_into().unwrap()))) % 0xffff_ffff;
        sums = (sums + sum) % 0xffff_ffff;
    }
    let low = 0xffff_ffff - (sum + sums) % 0xffff_ffff;
    let high = 0xffff_ffff - (sum + low) % 0xffff_ffff;
    high << 32 | low
}

/// Sets the checksum of an object.
pub(crate) fn seal(object: &mut [u8]) {
    let sum = fletcher64(object);
    object[..8].copy_from_slice(&sum.to_le_bytes());
}

/// The header of an object, whose checksum is set later.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) oid: u64,
    pub(crate) xid: u64,
    pub(crate) kind: u32,
    pub(crate) subtype: u32,
}

impl Header {
    pub(crate) fn writer(self) -> Writer {
        let mut w = Writer::new();
        w.u64_le(0);
        w.u64_le(self.oid);
        w.u64_le(self.xid);
        w.u32_le(self.kind);
        w.u32_le(self.subtype);
        w
    }
}

/// An object of `blocks` blocks from what was written.
pub(crate) fn object(w: Writer, blocks: usize) -> Vec<u8> {
    let mut bytes = w.into_bytes();
    assert!(bytes.len() <= blocks * BLOCK, "an object fits into its blocks");
    bytes.resize(blocks * BLOCK, 0);
    seal(&mut bytes);
    bytes
}

/// What a tree is like.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) subtype: u32,
    /// Sizes of keys and values, if they are fixed.
    pub(crate) fixed: Option<(usize, usize)>,
    /// Flags of the footer.
    pub(crate) flags: u32,
    /// The flags of the type of its nodes: where they are stored, and whether they are encrypted.
    pub(crate) storage: u32,
}

impl Shape {
    /// Whether nodes have no headers, and indexes have hashes (BTREE_HASHED).
    fn is_sealed(self) -> bool {
        self.flags & 0x80 != 0
    }
}

/// A node that was built: its object id, and its bytes.
pub(crate) type Built = (u64, Vec<u8>);

/// Builds a tree from records in the order of their keys. `id` gives the object id of the node with a number: the root is 0.
pub(crate) fn tree(
    shape: Shape,
    xid: u64,
    records: &[(Vec<u8>, Vec<u8>)],
    id: &mut dyn FnMut(usize) -> u64,
) -> Vec<Built> {
    let root = id(0);
    let (mut nodes, mut level, mut number) = (Vec::new(), 0, 0);
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = records.to_vec();
    while !fits(shape, level, &entries, true) {
        let mut above = Vec::new();
        let mut rest = &entries[..];
        while !rest.is_empty() {
            let mut count = 1;
            while count < rest.len() && fits(shape, level, &rest[..=count], false) {
                count += 1;
            }
            number += 1;
            let oid = id(number);
            let bytes = node(shape, xid, oid, level, &rest[..count], None);
            above.push((
                rest[0].0.clone(),
                if shape.is_sealed() { hashed(oid - root, &bytes) } else { oid.to_le_bytes().to_vec() },
            ));
            nodes.push((oid, bytes));
            rest = &rest[count..];
        }
        entries = above;
        level += 1;
    }
    let longest = |of: fn(&(Vec<u8>, Vec<u8>)) -> usize| records.iter().map(of).max().unwrap_or(0) as u32;
    let (longest_key, longest_value) = match shape.fixed {
        Some((key, value)) => (key as u32, value as u32),
        None => (longest(|record| record.0.len()), longest(|record| record.1.len())),
    };
    let mut footer = Writer::new();
    let (key, value) = shape.fixed.unwrap_or((0, 0));
    for field in [shape.flags, BLOCK as u32, key as u32, value as u32, longest_key, longest_value] {
        footer.u32_le(field);
    }
    footer.u64_le(records.len() as u64);
    footer.u64_le(nodes.len() as u64 + 1);
    nodes.insert(0, (root, node(shape, xid, root, level, &entries, Some(footer.as_bytes()))));
    nodes
}

/// The value of an index of a sealed volume: the id relative to the root's, and the hash of the node.
fn hashed(relative: u64, node: &[u8]) -> Vec<u8> {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, node);
    [&relative.to_le_bytes(), hash.as_ref()].concat()
}

fn table_length(shape: Shape, level: u16, count: usize) -> usize {
    match shape.fixed {
        // Nodes with fixed sizes have a table for as many entries as fit.
        Some((key, value)) => (BLOCK - 56) / (key + if level == 0 { value } else { 8 } + 4) * 4,
        None => count.max(1).next_multiple_of(8) * 8,
    }
}

fn fits(shape: Shape, level: u16, entries: &[(Vec<u8>, Vec<u8>)], is_root: bool) -> bool {
    let bytes: usize = entries.iter().map(|(key, value)| key.len() + value.len()).sum();
    let table = table_length(shape, level, entries.len());
    let entry = if shape.fixed.is_some() { 4 } else { 8 };
    entries.len() * entry <= table && 56 + table + bytes + if is_root { 40 } else { 0 } <= BLOCK
}

fn node(
    shape: Shape,
    xid: u64,
    oid: u64,
    level: u16,
    entries: &[(Vec<u8>, Vec<u8>)],
    footer: Option<&[u8]>,
) -> Vec<u8> {
    let kind = shape.storage | if footer.is_some() { 2 } else { 3 };
    let mut w = Header { oid, xid, kind, subtype: shape.subtype }.writer();
    let flags =
        u16::from(footer.is_some()) | u16::from(level == 0) << 1 | u16::from(shape.fixed.is_some()) << 2;
    w.u16_le(if shape.is_sealed() { flags | 0x18 } else { flags });
    w.u16_le(level);
    w.u32_le(entries.len() as u32);
    let table = table_length(shape, level, entries.len());
    let keys: usize = entries.iter().map(|entry| entry.0.len()).sum();
    let values: usize = entries.iter().map(|entry| entry.1.len()).sum();
    let end = BLOCK - footer.map_or(0, <[u8]>::len);
    let free = end - 56 - table - keys - values;
    for field in [0, table as u16, keys as u16, free as u16, 0xffff, 0, 0xffff, 0] {
        w.u16_le(field);
    }
    let (mut key_at, mut value_at) = (0, 0);
    for (key, value) in entries {
        value_at += value.len();
        w.u16_le(key_at as u16);
        if shape.fixed.is_none() {
            w.u16_le(key.len() as u16);
        }
        w.u16_le(value_at as u16);
        if shape.fixed.is_none() {
            w.u16_le(value.len() as u16);
        }
        key_at += key.len();
    }
    let mut bytes = w.into_bytes();
    bytes.resize(56 + table, 0);
    entries.iter().for_each(|entry| bytes.extend(&entry.0));
    bytes.resize(bytes.len() + free, 0);
    entries.iter().rev().for_each(|entry| bytes.extend(&entry.1));
    bytes.extend(footer.unwrap_or_default());
    assert_eq!(bytes.len(), BLOCK, "a node is a block");
    if shape.is_sealed() {
        bytes[..32].fill(0);
    } else {
        seal(&mut bytes);
    }
    bytes
}
