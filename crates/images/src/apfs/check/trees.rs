//! Trees: the order of keys, the areas of nodes, levels, and the counts in the footer.

use std::ops::Range;

use wire::{Malformed, Reader};

use super::super::btree::Node;
use super::super::cursor::{Placement, Tree};
use super::super::names::Comparison;
use super::super::object::Decoded;
use super::super::object_map::ObjectVersion;
use super::super::records::Key;
use super::Check;
use crate::{Error, Result};

/// How often progress is told, in nodes.
const PROGRESS_EVERY: u64 = 64;

/// How the keys of a tree are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// A number.
    One,
    /// Two numbers: object maps, free queues, extents of sealed volumes.
    Two,
    /// As in the catalogue.
    Records(Comparison),
}

/// A key as it is compared.
type Rank = (u64, u8, u64, Vec<u8>);

impl Keys {
    fn rank(self, key: &[u8]) -> Decoded<Rank> {
        let mut r = Reader::new(key);
        Ok(match self {
            Self::One => (r.u64_le()?, 0, 0, Vec::new()),
            Self::Two => (r.u64_le()?, 0, r.u64_le()?, Vec::new()),
            Self::Records(comparison) => {
                let key = Key::decode(key, comparison)?;
                (key.oid, key.kind, key.number, key.name.to_vec())
            }
        })
    }
}

/// What is done with each record of the leaves.
pub(super) type EachRecord<'f> = &'f mut dyn FnMut(&mut Check<'_, '_>, &[u8], &[u8]) -> Result<()>;

/// How a tree is gone through.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) keys: Keys,
    /// Whether its nodes' blocks are noted as metadata. Those of virtual trees are noted by their object map.
    pub(super) notes_blocks: bool,
    /// Whether nodes that were read before are passed over: those that snapshots share.
    pub(super) skips_walked: bool,
    /// Whether structure is checked. A second pass only counts.
    pub(super) checks: bool,
}

/// A walk through a tree.
struct Walk<'t, 'f> {
    tree: &'t Tree,
    manner: Manner,
    each: EachRecord<'f>,
    last: Option<Rank>,
    keys: u64,
    nodes: u64,
    is_complete: bool,
}

impl Check<'_, '_> {
    /// Goes through a tree. Damage in one part of it does not hide the rest.
    pub(super) fn walk(&mut self, tree: &Tree, manner: Manner, each: EachRecord<'_>) -> Result<bool> {
        let mut walk = Walk { tree, manner, each, last: None, keys: 0, nodes: 0, is_complete: true };
        let total = tree.root.footer.map_or(0, |footer| footer.node_count);
        if !self.begin(tree.name, total) {
            return Ok(false);
        }
        walk.node(self, &tree.root)?;
        let (keys, nodes, is_complete) = (walk.keys, walk.nodes, walk.is_complete);
        if let Some(footer) = tree.root.footer.filter(|_| is_complete && manner.checks) {
            let what = format!("{} node {}", tree.name, tree.root.oid);
            if footer.key_count != keys {
                let problem = format!("its footer says {} keys, and the tree has {keys}", footer.key_count);
                self.problem(&what, tree.root.block, problem);
            }
            if footer.node_count != nodes {
                let problem =
                    format!("its footer says {} nodes, and the tree has {nodes}", footer.node_count);
                self.problem(&what, tree.root.block, problem);
            }
        }
        Ok(is_complete)
    }
}

impl Walk<'_, '_> {
    /// A node and what is below it. The level goes down with each call, so that the depth is bounded.
    fn node(&mut self, check: &mut Check<'_, '_>, node: &Node) -> Result<()> {
        self.nodes += 1;
        check.nodes += 1;
        if check.nodes.is_multiple_of(PROGRESS_EVERY) && !check.steps.at(check.nodes) || !check.may_go_on() {
            self.is_complete = false;
            return Ok(());
        }
        self.note(check, node);
        if self.manner.checks
            && let Some(problem) = areas(node)
        {
            check.problem(self.name(node), node.block, problem);
        }
        for index in 0..node.count {
            let key = match node.key(index).and_then(|key| Ok((key, self.manner.keys.rank(key)?))) {
                Ok((key, rank)) => self.in_order(check, node, index, rank).then_some(key),
                Err(malformed) => self.bad(check, node, malformed),
            };
            let Some(key) = key else { continue };
            if node.is_leaf() {
                self.keys += 1;
                match node.value(index) {
                    Ok(value) => self.record(check, node, key, value)?,
                    Err(malformed) => drop(self.bad::<()>(check, node, malformed)),
                }
            } else {
                self.child(check, node, index)?;
            }
        }
        Ok(())
    }

    fn note(&self, check: &mut Check<'_, '_>, node: &Node) {
        if self.manner.notes_blocks {
            check.uses(node.block, 1, &self.name(node));
        } else {
            check.walked.add(node.block, 1);
        }
    }

    fn record(&mut self, check: &mut Check<'_, '_>, node: &Node, key: &[u8], value: &[u8]) -> Result<()> {
        match (self.each)(check, key, value) {
            // A record that cannot be decoded: the place is that of its node.
            Err(Error::Damaged { structure, problem, .. }) if structure.is_empty() => {
                check.problem(self.name(node), node.block, problem);
                Ok(())
            }
            Err(error) => check.tell(error),
            Ok(()) => Ok(()),
        }
    }

    fn child(&mut self, check: &mut Check<'_, '_>, node: &Node, index: usize) -> Result<()> {
        if self.manner.skips_walked
            && self.child_block(node, index).is_some_and(|block| check.walked.contains(block))
        {
            self.is_complete = false;
            return Ok(());
        }
        let child = self.tree.child(node, index);
        self.is_complete &= child.is_ok();
        let Some(child) = check.told(child)? else { return Ok(()) };
        if self.manner.checks && node.is_hashed() {
            self.hash(check, node, index, &child);
        }
        self.node(check, &child)
    }

    fn hash(&self, check: &mut Check<'_, '_>, node: &Node, index: usize, child: &Node) {
        let actual = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, child.bytes());
        // Seals with longer hashes exist in the specification, but no image with one is known.
        if node.child_hash(index).is_ok_and(|stored| stored.len() == 32 && stored != actual.as_ref()) {
            check.problem(self.name(child), child.block, "its hash in the sealed volume is wrong");
        }
    }

    fn child_block(&self, node: &Node, index: usize) -> Option<u64> {
        let Placement::Virtual { map, xid, .. } = &self.tree.placement else { return None };
        let oid = node.child(index).ok()?;
        let version: Option<ObjectVersion> = map.find(oid, *xid).ok()?;
        version.map(|version| version.block)
    }

    fn in_order(&mut self, check: &mut Check<'_, '_>, node: &Node, index: usize, rank: Rank) -> bool {
        // The first key of a node may be the one that its parent has for it.
        let may_repeat = index == 0;
        let wrong = self.last.as_ref().is_some_and(|last| rank < *last || rank == *last && !may_repeat);
        if wrong && self.manner.checks {
            check.problem(self.name(node), node.block, "its keys are out of order");
        }
        self.last = Some(rank);
        true
    }

    fn bad<T>(&mut self, check: &mut Check<'_, '_>, node: &Node, malformed: Malformed) -> Option<T> {
        self.is_complete = false;
        if self.manner.checks {
            check.problem(self.name(node), node.block, malformed.0);
        }
        None
    }

    fn name(&self, node: &Node) -> String {
        format!("{} node {}", self.tree.name, node.oid)
    }
}

/// What is wrong with the places of keys and values: two must not share bytes.
fn areas(node: &Node) -> Option<&'static str> {
    let mut taken: Vec<Range<usize>> = Vec::with_capacity(node.count * 2);
    for index in 0..node.count {
        let Ok((key, value)) = node.ranges(index) else { continue };
        taken.extend([key, value]);
    }
    taken.retain(|range| !range.is_empty());
    taken.sort_unstable_by_key(|range| range.start);
    taken.windows(2).any(|pair| pair[0].end > pair[1].start).then_some("two of its keys or values overlap")
}

/// The error of a record that cannot be decoded. The walk knows its node.
pub(super) fn undecoded(malformed: Malformed) -> Error {
    Error::Damaged { structure: String::new(), place: 0, problem: malformed.0.to_owned() }
}
