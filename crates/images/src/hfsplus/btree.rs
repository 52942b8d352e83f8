//! B-trees: TN1150, "B-Trees". Nodes of one size in a file; the first one describes the tree.

use std::cmp::Ordering;
use std::sync::Arc;

use super::fork::ForkReader;
use super::keys::Order;
use crate::cache::Cache;
use crate::part::read_vec;
use crate::{Error, Result, decode};

/// The kinds of nodes.
pub(super) const LEAF: i8 = -1;
pub(super) const INDEX: i8 = 0;
pub(super) const HEADER: i8 = 1;
pub(super) const MAP: i8 = 2;

/// Bytes of the descriptor that each node begins with.
pub(super) const DESCRIPTOR: usize = 14;
/// The most levels of a tree. 16 levels of nodes with two records have more than all records of a volume.
pub(super) const MAX_DEPTH: u16 = 16;
const NODE_SIZES: std::ops::RangeInclusive<u16> = 512..=32768;
/// Keys of index nodes have the length that they say; or else all have the greatest length.
const VARIABLE_INDEX_KEYS: u32 = 4;
/// How many leaves one cursor goes through, in a tree of however many nodes.
const MOST_LEAVES: u32 = 1 << 18;
/// Bytes of nodes that are kept.
const CACHE: usize = 4 << 20;

/// The header record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeHeader {
    pub(super) depth: u16,
    pub(super) root: u32,
    pub(super) leaf_records: u32,
    pub(super) first_leaf: u32,
    pub(super) last_leaf: u32,
    pub(super) node_size: u16,
    pub(super) max_key: u16,
    pub(super) nodes: u32,
    pub(super) free: u32,
    /// How names are compared: 0xBC is case-sensitive. Only HFSX has it.
    pub(super) comparison: u8,
    pub(super) attributes: u32,
}

/// A tree in a file.
pub(super) struct Tree {
    /// "catalogue", "extents overflow", "attributes".
    pub(super) name: &'static str,
    pub(super) header: TreeHeader,
    pub(super) order: Order,
    file: ForkReader,
    nodes: Cache<u32, Arc<TreeNode>>,
}

impl Tree {
    /// Opens the tree in a file. `order` says how keys are ordered.
    pub(super) fn open(
        file: ForkReader,
        name: &'static str,
        order: impl FnOnce(&TreeHeader) -> Order,
    ) -> Result<Self> {
        let structure = format!("{name} B-tree header");
        let place = file.place(0);
        let bytes = read_vec(&file, 0, 512)?;
        let header = decode(&structure, place, &bytes, |r| {
            r.skip(DESCRIPTOR)?;
            let (depth, root) = (r.u16_be()?, r.u32_be()?);
            let (leaf_records, first_leaf, last_leaf) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
            let (node_size, max_key) = (r.u16_be()?, r.u16_be()?);
            let (nodes, free) = (r.u32_be()?, r.u32_be()?);
            r.skip(2 + 4 + 1)?; // reserved, clump size, type
            let (comparison, attributes) = (r.u8()?, r.u32_be()?);
            Ok(TreeHeader {
                depth,
                root,
                leaf_records,
                first_leaf,
                last_leaf,
                node_size,
                max_key,
                nodes,
                free,
                comparison,
                attributes,
            })
        })?;
        let damaged = |problem: &str| Err(Error::damaged(structure.clone(), place, problem));
        if !NODE_SIZES.contains(&header.node_size) || !header.node_size.is_power_of_two() {
            return damaged("the size of its nodes is not possible");
        }
        if header.depth > MAX_DEPTH {
            return damaged("it has more levels than is possible");
        }
        if header.depth > 0 && (header.root == 0 || header.root >= header.nodes) {
            return damaged("its root is no node of the tree");
        }
        Ok(Self { name, order: order(&header), header, file, nodes: Cache::new(CACHE) })
    }

    /// The file of the tree.
    pub(super) fn file(&self) -> &ForkReader {
        &self.file
    }

    /// Where a node is on the volume.
    pub(super) fn place(&self, number: u32) -> u64 {
        self.file.place(u64::from(number) * u64::from(self.header.node_size))
    }

    pub(super) fn damaged(&self, number: u32, problem: &str) -> Error {
        Error::damaged(format!("{} node {number}", self.name), self.place(number), problem)
    }

    /// Reads a node whose structure is sound.
    pub(super) fn node(&self, number: u32) -> Result<Arc<TreeNode>> {
        if let Some(node) = self.nodes.get(&number) {
            return Ok(node);
        }
        let size = usize::from(self.header.node_size);
        if number >= self.header.nodes {
            return Err(self.damaged(number, "the tree has no such node"));
        }
        let bytes = read_vec(&self.file, u64::from(number) * size as u64, size)?;
        let node = TreeNode::parse(number, bytes).map_err(|error| self.damaged(number, error.0))?;
        let node = Arc::new(node);
        self.nodes.insert(number, node.clone(), size);
        Ok(node)
    }

    /// The key and the data of a record.
    pub(super) fn record<'a>(&self, node: &'a TreeNode, index: usize) -> Result<(&'a [u8], &'a [u8])> {
        let has_full_key = node.kind == INDEX && self.header.attributes & VARIABLE_INDEX_KEYS == 0;
        let padded = has_full_key.then_some(usize::from(self.header.max_key));
        node.record(index, padded).map_err(|error| self.damaged(node.number, error.0))
    }

    pub(super) fn compare(&self, node: &TreeNode, key: &[u8], wanted: &[u8]) -> Result<Ordering> {
        self.order.compare(key, wanted).map_err(|error| self.damaged(node.number, error.0))
    }

    /// The node below a record of an index node.
    pub(super) fn child(&self, node: &TreeNode, index: usize) -> Result<u32> {
        let (_, data) = self.record(node, index)?;
        decode(&format!("{} node {}", self.name, node.number), 0, data, |r| r.u32_be())
    }

    /// The first record that is not before `key`. `None` in an empty tree.
    pub(super) fn search(self: &Arc<Self>, key: &[u8]) -> Result<Option<Cursor>> {
        if self.header.depth == 0 {
            return Ok(None);
        }
        let mut node = self.node(self.header.root)?;
        for height in (1..=self.header.depth).rev() {
            let kind = if height == 1 { LEAF } else { INDEX };
            if u16::from(node.height) != height || node.kind != kind {
                return Err(self.damaged(node.number, "it is not on the level where the tree has it"));
            }
            let at = self.first_from(&node, key)?;
            if height == 1 {
                return Ok(Some(Cursor { tree: self.clone(), node, index: at.0, is_exact: at.1, steps: 0 }));
            }
            // The child of the last record that is not behind the key.
            let below = if at.1 { at.0 } else { at.0.saturating_sub(1) };
            node = self.node(self.child(&node, below)?)?;
        }
        Ok(None)
    }

    /// The first record of a node that is not before `key`, and whether it has this key.
    fn first_from(&self, node: &TreeNode, key: &[u8]) -> Result<(usize, bool)> {
        let (mut low, mut high) = (0, node.records());
        while low < high {
            let middle = low.midpoint(high);
            let (found, _) = self.record(node, middle)?;
            match self.compare(node, found, key)? {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok((middle, true)),
                Ordering::Greater => high = middle,
            }
        }
        Ok((low, false))
    }

    /// The last record that is not behind `key`.
    pub(super) fn floor(self: &Arc<Self>, key: &[u8]) -> Result<Option<Cursor>> {
        let Some(mut cursor) = self.search(key)? else { return Ok(None) };
        if !cursor.is_exact {
            match cursor.index.checked_sub(1) {
                Some(before) => cursor.index = before,
                None => return Ok(None),
            }
        }
        Ok(Some(cursor))
    }

    /// The data of the record with this key.
    pub(super) fn get(self: &Arc<Self>, key: &[u8]) -> Result<Option<Cursor>> {
        Ok(self.search(key)?.filter(|cursor| cursor.is_exact))
    }
}

/// A place in the leaves of a tree.
pub(super) struct Cursor {
    tree: Arc<Tree>,
    node: Arc<TreeNode>,
    index: usize,
    /// Whether the record has the key that was searched.
    pub(super) is_exact: bool,
    /// How many leaves were read. More than the tree has are a cycle.
    steps: u32,
}

impl Cursor {
    /// Moves to the next leaf while this one has no record here. `false` at the end of the tree.
    pub(super) fn settle(&mut self) -> Result<bool> {
        while self.index >= self.node.records() {
            if self.node.next == 0 {
                return Ok(false);
            }
            self.steps += 1;
            if self.steps > self.tree.header.nodes {
                return Err(self.tree.damaged(self.node.number, "the leaves of the tree form a cycle"));
            }
            if self.steps > MOST_LEAVES {
                let problem = "more leaves follow than one file or folder can have";
                return Err(self.tree.damaged(self.node.number, problem));
            }
            let next = self.tree.node(self.node.next)?;
            if next.kind != LEAF {
                return Err(self.tree.damaged(next.number, "it is no leaf, but follows one"));
            }
            self.node = next;
            self.index = 0;
        }
        Ok(true)
    }

    /// The key and the data of the record here.
    pub(super) fn record(&self) -> Result<(&[u8], &[u8])> {
        self.tree.record(&self.node, self.index)
    }

    /// Whether the record here is behind `key`.
    pub(super) fn is_behind(&self, key: &[u8]) -> Result<bool> {
        let (found, _) = self.record()?;
        Ok(self.tree.compare(&self.node, found, key)? == Ordering::Greater)
    }

    pub(super) fn advance(&mut self) {
        self.index += 1;
        self.is_exact = false;
    }

    /// Where the node of the record is on the volume.
    pub(super) fn place(&self) -> u64 {
        self.tree.place(self.node.number)
    }
}

/// A node. Its descriptor and the places of its records are sound.
pub(super) struct TreeNode {
    pub(super) number: u32,
    pub(super) next: u32,
    pub(super) previous: u32,
    pub(super) kind: i8,
    pub(super) height: u8,
    bytes: Vec<u8>,
    /// Where the records begin, and where the last one ends.
    offsets: Vec<u16>,
}

impl TreeNode {
    pub(super) fn parse(number: u32, bytes: Vec<u8>) -> std::result::Result<Self, wire::Malformed> {
        let mut r = wire::Reader::new(&bytes);
        let (next, previous) = (r.u32_be()?, r.u32_be()?);
        let (kind, height, records) = (r.u8()? as i8, r.u8()?, usize::from(r.u16_be()?));
        if !(LEAF..=MAP).contains(&kind) {
            return Err(wire::Malformed("its kind is not known"));
        }
        let room = (bytes.len() - DESCRIPTOR) / 2;
        if records >= room {
            return Err(wire::Malformed("it has more records than fit in"));
        }
        // The offsets are at the end, the first one last.
        let mut offsets = Vec::with_capacity(records + 1);
        let mut r = wire::Reader::new(&bytes[bytes.len() - 2 * (records + 1)..]);
        for _ in 0..=records {
            offsets.push(r.u16_be()?);
        }
        offsets.reverse();
        let end = bytes.len() - 2 * (records + 1);
        let is_sound = usize::from(offsets[0]) == DESCRIPTOR
            && offsets.windows(2).all(|pair| pair[0] < pair[1] && pair[1] % 2 == 0)
            && usize::from(offsets[records]) <= end;
        match is_sound {
            true => Ok(Self { number, next, previous, kind, height, bytes, offsets }),
            false => Err(wire::Malformed("the places of its records are wrong")),
        }
    }

    /// How many records it has.
    pub(super) fn records(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The bytes of a record.
    pub(super) fn bytes_of(&self, index: usize) -> &[u8] {
        match self.offsets.get(index..index + 2) {
            Some(range) => &self.bytes[usize::from(range[0])..usize::from(range[1])],
            None => &[],
        }
    }

    /// The key and the data of a record. `padded` is the length that all keys have, whatever they say.
    fn record(
        &self,
        index: usize,
        padded: Option<usize>,
    ) -> std::result::Result<(&[u8], &[u8]), wire::Malformed> {
        let mut r = wire::Reader::new(self.bytes_of(index));
        let length = usize::from(r.u16_be()?);
        let key = r.take(length)?;
        let padding = padded.map_or(0, |padded| padded.saturating_sub(length));
        r.skip(padding + (length + padding) % 2)?;
        Ok((key, r.rest()))
    }
}
