//! A file system in memory, for tests: what HFS+ can have, without bytes of a disk.

use std::collections::BTreeMap;

use formats::{Kind, Time};

use crate::tree::{Entry, FileSystem, Fork, Node, NodeId, Page};
use crate::{Error, Result};

/// The top folder.
const ROOT: u64 = 2;
/// The size that the volume says, and what is free of it.
const SPACE: (u64, u64) = (1 << 30, 1 << 20);

/// A file system in memory.
#[derive(Debug, Clone)]
pub struct MemoryFiles {
    name: String,
    case_sensitive: bool,
    nodes: BTreeMap<NodeId, MemoryNode>,
}

/// What a node of it has.
#[derive(Debug, Clone)]
struct MemoryNode {
    node: Node,
    data: Vec<u8>,
    resource: Vec<u8>,
    attributes: BTreeMap<String, Vec<u8>>,
    entries: BTreeMap<String, NodeId>,
    parent: NodeId,
}

impl MemoryFiles {
    /// An empty volume that ignores the case of letters.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut files = Self { name: name.into(), case_sensitive: false, nodes: BTreeMap::new() };
        files.nodes.insert(NodeId(ROOT), empty(NodeId(ROOT), Kind::Folder, NodeId(ROOT)));
        files
    }

    /// The same, where case counts.
    #[must_use]
    pub fn case_sensitive(self) -> Self {
        Self { case_sensitive: true, ..self }
    }

    /// Makes a folder.
    pub fn folder(&mut self, within: NodeId, name: &str) -> NodeId {
        self.make(within, name, Kind::Folder, b"")
    }

    /// Makes a file with these data.
    pub fn file(&mut self, within: NodeId, name: &str, data: &[u8]) -> NodeId {
        self.make(within, name, Kind::File, data)
    }

    /// Makes a symbolic link.
    pub fn symbolic_link(&mut self, within: NodeId, name: &str, target: &str) -> NodeId {
        self.make(within, name, Kind::Link, target.as_bytes())
    }

    /// Makes another name of a file or folder.
    pub fn hard_link(&mut self, within: NodeId, name: &str, node: NodeId) {
        self.change(node, |node| node.links += 1);
        self.insert(within, name, node);
    }

    /// Changes what is known of a node.
    pub fn change(&mut self, node: NodeId, change: impl FnOnce(&mut Node)) {
        if let Some(there) = self.nodes.get_mut(&node) {
            change(&mut there.node);
        }
    }

    /// Gives a file a resource fork.
    pub fn set_resource(&mut self, file: NodeId, fork: &[u8]) {
        if let Some(there) = self.nodes.get_mut(&file) {
            there.resource = fork.to_vec();
            there.node.resource_size = fork.len() as u64;
        }
    }

    /// Gives a node an extended attribute.
    pub fn set_attribute(&mut self, node: NodeId, name: &str, value: &[u8]) {
        if let Some(there) = self.nodes.get_mut(&node) {
            there.attributes.insert(name.into(), value.to_vec());
        }
    }

    fn make(&mut self, within: NodeId, name: &str, kind: Kind, data: &[u8]) -> NodeId {
        let id = NodeId(ROOT + 14 + self.nodes.len() as u64);
        let mut made = empty(id, kind, within);
        made.data = data.to_vec();
        made.node.size = data.len() as u64;
        self.nodes.insert(id, made);
        self.insert(within, name, id);
        id
    }

    fn insert(&mut self, within: NodeId, name: &str, node: NodeId) {
        if let Some(folder) = self.nodes.get_mut(&within) {
            folder.entries.insert(name.into(), node);
        }
    }

    fn at(&self, node: NodeId) -> Result<&MemoryNode> {
        self.nodes.get(&node).ok_or(Error::NotFound)
    }

    fn entry(&self, name: &str, node: NodeId) -> Result<Entry> {
        Ok(Entry { name: name.into(), node, kind: self.at(node)?.node.kind })
    }
}

fn empty(id: NodeId, kind: Kind, parent: NodeId) -> MemoryNode {
    let time = |secs| Time { secs, nanos: 0 };
    let node = Node {
        id,
        kind,
        mode: if kind == Kind::Folder { 0o755 } else { 0o644 },
        user: 501,
        group: 20,
        flags: 0,
        links: 1,
        size: 0,
        resource_size: 0,
        finder_info: [0; 32],
        created: time(1_000_000_000),
        modified: time(1_100_000_000),
        changed: time(1_200_000_000),
        accessed: time(1_300_000_000),
        backed_up: None,
    };
    let (data, resource, attributes, entries) = Default::default();
    MemoryNode { node, data, resource, attributes, entries, parent }
}

impl FileSystem for MemoryFiles {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn format(&self) -> String {
        "in memory".into()
    }

    fn case_sensitive(&self) -> bool {
        self.case_sensitive
    }

    fn space(&self) -> (u64, u64) {
        SPACE
    }

    fn root(&self) -> NodeId {
        NodeId(ROOT)
    }

    fn node(&self, id: NodeId) -> Result<Node> {
        Ok(self.at(id)?.node.clone())
    }

    fn entries(&self, folder: NodeId, after: Option<&str>, most: usize) -> Result<Page> {
        let there = self.at(folder)?;
        if there.node.kind != Kind::Folder {
            return Err(Error::NotFound);
        }
        let rest = there.entries.iter().filter(|(name, _)| after.is_none_or(|after| name.as_str() > after));
        let mut entries: Vec<Entry> =
            rest.take(most + 1).map(|(name, node)| self.entry(name, *node)).collect::<Result<_>>()?;
        let is_more = entries.len() > most;
        entries.truncate(most);
        let next = entries.last().filter(|_| is_more).map(|last| last.name.clone());
        Ok(Page { entries, next })
    }

    fn lookup(&self, folder: NodeId, name: &str) -> Result<Entry> {
        let is_it = |one: &str| match self.case_sensitive {
            true => one == name,
            false => one.to_lowercase() == name.to_lowercase(),
        };
        let entries = &self.at(folder)?.entries;
        let found = entries.iter().find(|(one, _)| is_it(one)).ok_or(Error::NotFound)?;
        self.entry(found.0, *found.1)
    }

    fn parent(&self, folder: NodeId) -> Result<NodeId> {
        Ok(self.at(folder)?.parent)
    }

    fn read(&self, file: NodeId, fork: Fork, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let there = self.at(file)?;
        let bytes = match fork {
            Fork::Data => &there.data,
            Fork::Resource => &there.resource,
        };
        let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn link_target(&self, link: NodeId) -> Result<Vec<u8>> {
        let there = self.at(link)?;
        if there.node.kind == Kind::Link { Ok(there.data.clone()) } else { Err(Error::NotFound) }
    }

    fn attribute_names(&self, node: NodeId) -> Result<Vec<String>> {
        Ok(self.at(node)?.attributes.keys().cloned().collect())
    }

    fn attribute(&self, node: NodeId, name: &str) -> Result<Vec<u8>> {
        self.at(node)?.attributes.get(name).cloned().ok_or(Error::NotFound)
    }
}
