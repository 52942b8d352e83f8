//! The structure of a tree: each node is reached once, on its level, between its neighbours, with its keys in order.

use std::cmp::Ordering;
use std::sync::Arc;

use super::bits::{BitSet, Runs};
use super::report;
use crate::check::{Problem, Steps};
use crate::hfsplus::btree::{HEADER, INDEX, LEAF, MAP, MAX_DEPTH, Tree, TreeNode};
use crate::{Error, Result};

/// After how many nodes the observer is asked.
const PROGRESS: u64 = 64;

/// A record of a leaf.
pub(super) struct Leaf<'a> {
    pub(super) node: u32,
    /// Where the node is on the volume.
    pub(super) place: u64,
    pub(super) key: &'a [u8],
    pub(super) data: &'a [u8],
}

/// What a walk has found.
pub(super) struct Walked {
    /// Whether the whole tree could be read.
    pub(super) is_sound: bool,
    pub(super) records: u64,
    pub(super) first_leaf: u32,
    pub(super) last_leaf: u32,
    reached: BitSet,
}

/// What is called for each record.
type Visit<'v> = &'v mut dyn FnMut(&Leaf<'_>, &mut Steps<'_>) -> Result<()>;

/// The last node that was reached of a level.
#[derive(Clone, Default)]
enum Neighbour {
    /// None yet: the next one is the first.
    #[default]
    Edge,
    Node {
        number: u32,
        next: u32,
        last_key: Vec<u8>,
    },
    /// It was damaged, so that nothing is known of its links.
    Unknown,
}

struct Frame {
    node: Arc<TreeNode>,
    next: usize,
}

/// A walk from the root to all leaves, in the order of keys.
pub(super) struct Walk<'t> {
    tree: &'t Arc<Tree>,
    /// Whether damage is reported.
    reports: bool,
    levels: Vec<Neighbour>,
    walked: Walked,
    nodes: u64,
}

impl<'t> Walk<'t> {
    pub(super) fn new(tree: &'t Arc<Tree>, reports: bool) -> Result<Self> {
        let reached = BitSet::new(tree.header.nodes.into())?;
        let walked = Walked { is_sound: true, records: 0, first_leaf: 0, last_leaf: 0, reached };
        let levels = vec![Neighbour::default(); usize::from(MAX_DEPTH) + 1];
        Ok(Self { tree, reports, levels, walked, nodes: 0 })
    }

    fn problem(&mut self, steps: &mut Steps<'_>, number: u32, text: impl Into<String>) {
        self.walked.is_sound = false;
        if self.reports {
            let structure = format!("{} node {number}", self.tree.name);
            steps.problem(Problem::new(structure, Some(self.tree.place(number)), text));
        }
    }

    /// Walks the whole tree, unless the observer stops it.
    pub(super) fn run(mut self, steps: &mut Steps<'_>, visit: Visit<'_>) -> Result<Walked> {
        let header = self.tree.header;
        let mut stack: Vec<Frame> = Vec::new();
        if header.depth > 0 {
            stack.extend(self.enter(header.root, header.depth, None, steps, visit)?);
        }
        while let Some(frame) = stack.last_mut() {
            if frame.next >= frame.node.records() {
                stack.pop();
                continue;
            }
            let (node, index) = (frame.node.clone(), frame.next);
            frame.next += 1;
            let height = u16::from(node.height) - 1;
            let child = self.tree.record(&node, index).and_then(|(key, _)| {
                let child = self.tree.child(&node, index)?;
                Ok((child, key.to_vec()))
            });
            match child {
                Ok((child, key)) => stack.extend(self.enter(child, height, Some(&key), steps, visit)?),
                Err(Error::Damaged { .. }) => self.lose(height),
                Err(error) => return Err(error),
            }
            if self.nodes.is_multiple_of(PROGRESS) && !steps.at(self.nodes) {
                self.walked.is_sound = false;
                return Ok(self.walked);
            }
        }
        for level in std::mem::take(&mut self.levels) {
            if let Neighbour::Node { number, next, .. } = level
                && next != 0
            {
                self.problem(steps, number, format!("its next node is {next}, but it is the last one"));
            }
        }
        Ok(self.walked)
    }

    /// A damaged node has no known links, and neither have the first nodes below it.
    fn lose(&mut self, height: u16) {
        self.walked.is_sound = false;
        for level in 0..=usize::from(height).min(self.levels.len() - 1) {
            self.levels[level] = Neighbour::Unknown;
        }
    }

    /// Checks a node, and visits its records if it is a leaf. An index node is returned, for its children.
    fn enter(
        &mut self,
        number: u32,
        height: u16,
        parent_key: Option<&[u8]>,
        steps: &mut Steps<'_>,
        visit: Visit<'_>,
    ) -> Result<Option<Frame>> {
        self.nodes += 1;
        if number == 0 || number >= self.tree.header.nodes {
            self.problem(steps, number, "an index record names it, but the tree has no such node");
            self.lose(height);
            return Ok(None);
        }
        if self.walked.reached.set(number.into()) {
            self.problem(steps, number, "it is in the tree twice");
            self.lose(height);
            return Ok(None);
        }
        let node = match self.tree.node(number) {
            Ok(node) => node,
            Err(error @ Error::Damaged { .. }) => {
                if self.reports {
                    report::<()>(Err(error), steps)?;
                }
                self.lose(height);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let kind = if height == 1 { LEAF } else { INDEX };
        if node.kind != kind || u16::from(node.height) != height {
            let text = format!("its kind is {} and its height {}, on level {height}", node.kind, node.height);
            self.problem(steps, number, text);
            self.lose(height);
            return Ok(None);
        }
        self.check_links(&node, steps);
        let last_key = self.check_keys(&node, parent_key, steps, visit)?;
        let next = node.next;
        self.levels[usize::from(height)] = Neighbour::Node { number, next, last_key };
        if kind == INDEX {
            return Ok(Some(Frame { node, next: 0 }));
        }
        if self.walked.first_leaf == 0 {
            self.walked.first_leaf = number;
        }
        self.walked.last_leaf = number;
        Ok(None)
    }

    fn check_links(&mut self, node: &TreeNode, steps: &mut Steps<'_>) {
        match self.levels[usize::from(node.height)].clone() {
            Neighbour::Edge if node.previous != 0 => {
                let text = format!("its previous node is {}, but it is the first one", node.previous);
                self.problem(steps, node.number, text);
            }
            Neighbour::Node { number, next, .. } => {
                if next != node.number {
                    self.problem(
                        steps,
                        number,
                        format!("its next node is {next} instead of {}", node.number),
                    );
                }
                if node.previous != number {
                    let text = format!("its previous node is {} instead of {number}", node.previous);
                    self.problem(steps, node.number, text);
                }
            }
            Neighbour::Edge | Neighbour::Unknown => {}
        }
    }

    /// Checks the order of keys, and visits the records of a leaf. Returns the last key.
    fn check_keys(
        &mut self,
        node: &TreeNode,
        parent_key: Option<&[u8]>,
        steps: &mut Steps<'_>,
        visit: Visit<'_>,
    ) -> Result<Vec<u8>> {
        let mut last = match &self.levels[usize::from(node.height)] {
            Neighbour::Node { last_key, .. } => last_key.clone(),
            Neighbour::Edge | Neighbour::Unknown => Vec::new(),
        };
        if node.records() == 0 && (node.kind == INDEX || self.tree.header.depth > 1 && node.next == 0) {
            self.problem(steps, node.number, "it has no records");
        }
        let place = self.tree.place(node.number);
        for index in 0..node.records() {
            let (key, data) = match self.tree.record(node, index) {
                Ok(record) => record,
                Err(_) => {
                    self.problem(steps, node.number, format!("record {index} is shorter than its key"));
                    continue;
                }
            };
            if key.len() > usize::from(self.tree.header.max_key) {
                let text = format!("the key of record {index} has {} bytes", key.len());
                self.problem(steps, node.number, text);
            }
            if index == 0
                && let Some(parent_key) = parent_key
                && self.tree.order.compare(parent_key, key) != Ok(Ordering::Equal)
            {
                self.problem(steps, node.number, "its first key is not the one that the index has for it");
            }
            match (last.is_empty(), self.tree.order.compare(&last, key)) {
                (false, Ok(Ordering::Equal | Ordering::Greater)) => {
                    self.problem(
                        steps,
                        node.number,
                        format!("record {index} is not behind the one before it"),
                    );
                }
                _ if self.tree.order.compare(key, key).is_err() => {
                    self.problem(steps, node.number, format!("the key of record {index} is malformed"));
                }
                _ => {}
            }
            last = key.to_vec();
            if node.kind == LEAF {
                self.walked.records += 1;
                visit(&Leaf { node: node.number, place, key, data }, steps)?;
            }
        }
        Ok(last)
    }
}

/// Compares the header record and the maps of nodes with what a walk has reached.
pub(super) fn check_header(tree: &Arc<Tree>, walked: &Walked, steps: &mut Steps<'_>) -> Result<()> {
    let header = &tree.header;
    let place = tree.place(0);
    let mut problem = |text: String| {
        steps.problem(Problem::new(format!("{} B-tree header", tree.name), Some(place), text));
    };
    if walked.is_sound {
        if u64::from(header.leaf_records) != walked.records {
            problem(format!(
                "it says {} records, but the leaves have {}",
                header.leaf_records, walked.records
            ));
        }
        if (header.first_leaf, header.last_leaf) != (walked.first_leaf, walked.last_leaf) {
            problem(format!(
                "its first and last leaf are {} and {} instead of {} and {}",
                header.first_leaf, header.last_leaf, walked.first_leaf, walked.last_leaf
            ));
        }
    }
    let size = u64::from(header.nodes) * u64::from(header.node_size);
    if size > crate::ReadAt::length(tree.file()) {
        problem(format!("{} nodes are more than its file has", header.nodes));
        return Ok(());
    }
    check_maps(tree, walked, steps)
}

/// The map of used nodes: the third record of the header node, and map nodes behind it.
fn check_maps(tree: &Arc<Tree>, walked: &Walked, steps: &mut Steps<'_>) -> Result<()> {
    let total = u64::from(tree.header.nodes);
    let mut map = BitSet::new(total)?;
    let mut own = BitSet::new(total)?;
    let (mut number, mut record, mut bit) = (0u32, 2, 0u64);
    while bit < total {
        let Some(node) = report(tree.node(number), steps)? else { return Ok(()) };
        let kind = if number == 0 { HEADER } else { MAP };
        if node.kind != kind || own.set(number.into()) {
            let text = format!("its kind is {} where the tree has its map of nodes", node.kind);
            steps.problem(Problem::new(
                format!("{} node {number}", tree.name),
                Some(tree.place(number)),
                text,
            ));
            return Ok(());
        }
        for byte in node.bytes_of(record) {
            for at in 0..8 {
                if byte & (0x80 >> at) != 0 && bit + at < total {
                    map.set(bit + at);
                }
            }
            bit += 8;
        }
        (number, record) = (node.next, 0);
        if number == 0 && bit < total {
            let text = format!("it has {bit} bits for {total} nodes");
            steps.problem(Problem::new(format!("{} map of nodes", tree.name), Some(tree.place(0)), text));
            return Ok(());
        }
    }
    let (mut lost, mut free) = (Runs::default(), Runs::default());
    for node in 0..total {
        let is_used = walked.reached.get(node) || own.get(node);
        match (is_used, map.get(node)) {
            (true, false) => free.add(node),
            (false, true) if walked.is_sound => lost.add(node),
            _ => {}
        }
    }
    let mut problem = |(first, count): (u64, u64), text: &str| {
        let structure = format!("{} map of nodes", tree.name);
        let range = if count == 1 {
            format!("node {first}")
        } else {
            format!("nodes {first} to {}", first + count - 1)
        };
        steps.problem(Problem::new(structure, Some(tree.place(0)), format!("{range} {text}")));
    };
    free.list.iter().for_each(|run| problem(*run, "marked as free, but in the tree"));
    lost.list.iter().for_each(|run| problem(*run, "marked as used, but not in the tree"));
    let unused = total - map.count();
    if u64::from(tree.header.free) != unused && walked.is_sound {
        let text = format!("it says {} free nodes, but its map has {unused}", tree.header.free);
        steps.problem(Problem::new(format!("{} B-tree header", tree.name), Some(tree.place(0)), text));
    }
    Ok(())
}
