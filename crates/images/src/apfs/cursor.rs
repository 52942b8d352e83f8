//! B-trees: finding entries, and going through them in their order.

use std::cmp::Ordering;
use std::sync::Arc;

use super::blocks::{Blocks, Object, damaged};
use super::btree::Node;
use super::checkpoint::Checkpoint;
use super::object::{Decoded, kind};
use super::object_map::ObjectMap;
use super::xts::Xts;
use crate::{Error, Result};

/// How many levels a tree may have. One of 4 KiB nodes with eight levels has more entries than fit on any disk.
const MOST_LEVELS: u16 = 16;
/// How many leaves one cursor goes through: those of some five million records of one file or folder. Without a limit, nodes that each
/// lead to one node by all of their entries would have it read for ever.
const MOST_LEAVES: u32 = 1 << 16;

/// How the object ids in a tree lead to blocks.
#[derive(Clone)]
pub(super) enum Placement {
    /// An id is a block.
    Physical,
    /// An object map has the ids; objects that are newer than `xid` do not exist yet. `key` decrypts.
    Virtual { map: Arc<ObjectMap>, xid: u64, key: Option<Arc<Xts>> },
    /// The maps of a checkpoint have the ids.
    Ephemeral(Arc<Checkpoint>),
}

/// A tree.
#[derive(Clone)]
pub(super) struct Tree {
    pub(super) blocks: Arc<Blocks>,
    /// What its nodes are called in errors.
    pub(super) name: &'static str,
    /// The subtype of its nodes.
    pub(super) subtype: u32,
    pub(super) placement: Placement,
    pub(super) root: Arc<Node>,
}

impl Tree {
    pub(super) fn open(
        blocks: Arc<Blocks>,
        name: &'static str,
        subtype: u32,
        placement: Placement,
        root: u64,
    ) -> Result<Self> {
        let unread = Unread { blocks: &blocks, name, subtype, placement: &placement };
        let root = unread.node(root, None)?;
        if !root.is_root() || root.level >= MOST_LEVELS {
            return Err(unread.damaged(&root, "it is no root"));
        }
        let node_size = root.footer.map_or(0, |footer| footer.node_size);
        if node_size as usize != blocks.size {
            return Err(Error::NotSupported(format!("an APFS {name} with nodes of {node_size} bytes")));
        }
        let root = Arc::new(root);
        Ok(Self { blocks, name, subtype, placement, root })
    }

    /// The node that an entry of an index leads to.
    pub(super) fn child(&self, parent: &Node, index: usize) -> Result<Node> {
        let unread = self.unread();
        let id = parent.child(index).map_err(|malformed| unread.damaged(parent, malformed.0))?;
        let id = if parent.is_hashed() { self.root.oid.wrapping_add(id) } else { id };
        let node = unread.node(id, self.root.fixed())?;
        if node.level.checked_add(1) != Some(parent.level) {
            return Err(unread.damaged(&node, "its level is not one below that of its parent"));
        }
        if node.is_root() {
            return Err(unread.damaged(&node, "it is marked as a root"));
        }
        if node.count == 0 {
            return Err(unread.damaged(&node, "it has no entries"));
        }
        Ok(node)
    }

    /// A cursor at the last entry that is not after what is searched for, or at the first entry. `compare` says where an entry
    /// is, as seen from there.
    pub(super) fn seek(&self, compare: &dyn Fn(&[u8]) -> Decoded<Ordering>) -> Result<Cursor<'_>> {
        let mut path = Vec::new();
        let mut node = Arc::clone(&self.root);
        loop {
            let index =
                last_not_after(&node, compare).map_err(|malformed| self.damaged(&node, malformed.0))?;
            if node.is_leaf() {
                path.push((node, index));
                return Ok(Cursor { tree: self, path, leaves: 0 });
            }
            let child = Arc::new(self.child(&node, index)?);
            path.push((node, index));
            node = child;
        }
    }

    /// A cursor at the first entry that is not before what is searched for.
    pub(super) fn seek_from(&self, compare: &dyn Fn(&[u8]) -> Decoded<Ordering>) -> Result<Cursor<'_>> {
        let mut cursor = self.seek(compare)?;
        // Where `seek` ends before it, it is the next entry.
        if cursor.is_before(compare)? {
            cursor.advance()?;
            if cursor.is_before(compare)? {
                return Err(cursor.damaged("its entries are not in their order"));
            }
        }
        Ok(cursor)
    }

    pub(super) fn damaged(&self, node: &Node, problem: &str) -> Error {
        self.unread().damaged(node, problem)
    }

    fn unread(&self) -> Unread<'_> {
        Unread { blocks: &self.blocks, name: self.name, subtype: self.subtype, placement: &self.placement }
    }
}

/// The index of the last entry that is not after what is searched for, or 0.
fn last_not_after(node: &Node, compare: &dyn Fn(&[u8]) -> Decoded<Ordering>) -> Decoded<usize> {
    let (mut low, mut high) = (0, node.count);
    while low < high {
        let middle = usize::midpoint(low, high);
        match compare(node.key(middle)?)? {
            Ordering::Greater => high = middle,
            _ => low = middle + 1,
        }
    }
    Ok(low.saturating_sub(1))
}

/// What it takes to read a node.
struct Unread<'a> {
    blocks: &'a Blocks,
    name: &'static str,
    subtype: u32,
    placement: &'a Placement,
}

impl Unread<'_> {
    fn node(&self, oid: u64, fixed: Option<(usize, usize)>) -> Result<Node> {
        let what = format!("{} node {oid}", self.name);
        let (object, has_header) = self.object(oid, &what)?;
        if has_header {
            self.check_header(&object, oid, &what)?;
        }
        let place = self.blocks.place(object.block);
        Node::decode(object.bytes, object.block, oid, fixed)
            .map_err(|malformed| damaged(what, place, malformed.0))
    }

    /// The object, and whether it has a header: nodes of sealed volumes have none.
    fn object(&self, oid: u64, what: &str) -> Result<(Object, bool)> {
        match self.placement {
            Placement::Physical => Ok((self.blocks.object(oid, 1, what)?, true)),
            Placement::Virtual { map, xid, key } => map.object(oid, *xid, key.as_deref(), what),
            Placement::Ephemeral(checkpoint) => {
                let mapping = checkpoint.mapping(oid);
                let mapping = mapping.ok_or_else(|| damaged(what, 0, "the checkpoint has no such object"))?;
                Ok((checkpoint.object(self.blocks, mapping, what)?, true))
            }
        }
    }

    fn check_header(&self, object: &Object, oid: u64, what: &str) -> Result<()> {
        let header = object.header;
        let problem = if header.oid != oid {
            "its object id is another one"
        } else if !matches!(header.object_type(), kind::BTREE | kind::BTREE_NODE) {
            "it is no node"
        } else if header.subtype != self.subtype {
            "it belongs to another tree"
        } else {
            return Ok(());
        };
        Err(damaged(what, self.blocks.place(object.block), problem))
    }

    fn damaged(&self, node: &Node, problem: &str) -> Error {
        damaged(format!("{} node {}", self.name, node.oid), self.blocks.place(node.block), problem)
    }
}

/// A place in a tree.
pub(super) struct Cursor<'a> {
    tree: &'a Tree,
    /// The nodes from the root to a leaf, with the entry in each. The levels go down by one, so that this is short.
    path: Vec<(Arc<Node>, usize)>,
    /// How many leaves it has left behind.
    leaves: u32,
}

impl Cursor<'_> {
    /// Whether the entry here is before what is searched for.
    fn is_before(&self, compare: &dyn Fn(&[u8]) -> Decoded<Ordering>) -> Result<bool> {
        let Some((key, _)) = self.entry()? else { return Ok(false) };
        compare(key).map(|order| order == Ordering::Less).map_err(|malformed| self.damaged(malformed.0))
    }

    /// The key and the value here; `None` behind the last entry.
    pub(super) fn entry(&self) -> Result<Option<(&[u8], &[u8])>> {
        let Some((leaf, index)) = self.path.last().filter(|(leaf, index)| *index < leaf.count) else {
            return Ok(None);
        };
        let entry = leaf.key(*index).and_then(|key| Ok((key, leaf.value(*index)?)));
        entry.map(Some).map_err(|malformed| self.damaged(malformed.0))
    }

    /// Goes to the next entry.
    pub(super) fn advance(&mut self) -> Result<()> {
        let Some((leaf, index)) = self.path.last_mut() else { return Ok(()) };
        *index += 1;
        if *index < leaf.count {
            return Ok(());
        }
        self.leaves += 1;
        if self.leaves > MOST_LEAVES {
            return Err(self.damaged("more leaves follow than one file or folder can have"));
        }
        // Up to the first index with another entry, and down again to a leaf.
        while let Some((node, index)) = self.path.last_mut() {
            if !node.is_leaf() {
                *index += 1;
                if *index < node.count {
                    break;
                }
            }
            self.path.pop();
        }
        while let Some((node, index)) = self.path.last().filter(|(node, _)| !node.is_leaf()) {
            let child = Arc::new(self.tree.child(node, *index)?);
            self.path.push((child, 0));
        }
        Ok(())
    }

    /// The error for the leaf here.
    pub(super) fn damaged(&self, problem: &str) -> Error {
        match self.path.last() {
            Some((leaf, _)) => self.tree.damaged(leaf, problem),
            None => damaged(self.tree.name, 0, problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::fletcher64;
    use super::*;

    const BLOCK: usize = 4096;
    const ENTRIES: u16 = 100;

    /// A node: an index whose entries all lead to the block behind it, or a leaf.
    fn node(block: u64, level: u16) -> Vec<u8> {
        let (count, is_root) = if level == 0 { (1, false) } else { (ENTRIES, block == 0) };
        let flags = u16::from(is_root) | if level == 0 { 2 } else { 0 };
        let object = if is_root { kind::BTREE } else { kind::BTREE_NODE };
        let mut bytes = vec![0; BLOCK];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(8, &block.to_le_bytes());
        put(24, &object.to_le_bytes());
        put(28, &kind::FREE_QUEUE.to_le_bytes());
        put(32, &flags.to_le_bytes());
        put(34, &level.to_le_bytes());
        put(36, &u32::from(count).to_le_bytes());
        let (table, keys) = (8 * ENTRIES, 8 * ENTRIES);
        put(42, &table.to_le_bytes());
        put(44, &keys.to_le_bytes());
        let end = if is_root { BLOCK - super::super::btree::FOOTER } else { BLOCK };
        for index in 0..count {
            let entry = [8 * index, 8, 8, 8];
            let entry: Vec<u8> = entry.iter().flat_map(|field| field.to_le_bytes()).collect();
            put(56 + 8 * usize::from(index), &entry);
            put(56 + usize::from(table) + 8 * usize::from(index), &u64::from(index).to_le_bytes());
        }
        put(end - 8, &(block + 1).to_le_bytes());
        if is_root {
            put(end + 4, &(BLOCK as u32).to_le_bytes());
        }
        let checksum = fletcher64(&bytes).to_le_bytes();
        bytes[..8].copy_from_slice(&checksum);
        bytes
    }

    #[test]
    fn nodes_that_lead_to_one_node_are_not_read_for_ever() {
        let levels = MOST_LEVELS - 1;
        let disk: Vec<u8> = (0..=levels).flat_map(|block| node(block.into(), levels - block)).collect();
        let blocks = Arc::new(Blocks::new(Arc::new(disk), BLOCK, u64::from(levels) + 1));
        let tree = Tree::open(blocks, "tree", kind::FREE_QUEUE, Placement::Physical, 0).unwrap();
        let mut cursor = tree.seek(&|_| Ok(Ordering::Greater)).unwrap();
        let mut entries = 0;
        while let Ok(Some(_)) = cursor.entry() {
            entries += 1;
            assert!(entries <= 2 * MOST_LEAVES, "a walk through a small disk ends");
            if cursor.advance().is_err() {
                break;
            }
        }
        // Between the first entry of each node and the second one: all leaves have the first one only.
        let found = tree.seek_from(&|key| Ok(if key == [0; 8] { Ordering::Less } else { Ordering::Greater }));
        assert!(
            matches!(found.err(), Some(Error::Damaged { .. })),
            "the leaves are not in the order of the indexes"
        );
    }
}
