//! The files of a volume for a browser. Extended attributes are not shown.

use formats::Kind;

use super::inode::Inode;
use super::{CASE_FOLDED, ROOT, Volume};
use crate::tree::{Entry, FileSystem, Fork, Node, NodeId, Page};
use crate::{Error, Result};

/// The longest target of a link.
const LONGEST_TARGET: u64 = 4096;

impl Volume {
    /// The inode of a node. One that is not in use is none.
    fn at(&self, node: NodeId) -> Result<Inode> {
        let inode = self.inode(u32::try_from(node.0).map_err(|_| Error::NotFound)?)?;
        if inode.mode == 0 || inode.links == 0 { Err(Error::NotFound) } else { Ok(inode) }
    }

    fn folder(&self, node: NodeId) -> Result<Inode> {
        let inode = self.at(node)?;
        if inode.kind() == Kind::Folder { Ok(inode) } else { Err(Error::NotFound) }
    }

    /// An entry, unless its inode is damaged: the others of the folder are shown.
    fn shown(&self, name: &[u8], inode: u32) -> Option<Entry> {
        let node = NodeId(inode.into());
        let kind = self.at(node).ok()?.kind();
        Some(Entry { name: String::from_utf8_lossy(name).into_owned(), node, kind })
    }
}

impl FileSystem for Volume {
    fn name(&self) -> String {
        self.superblock.label.clone()
    }

    fn format(&self) -> String {
        const EXTENTS: u32 = 0x40;
        if self.superblock.features & EXTENTS != 0 { "ext4" } else { "ext2 or ext3" }.into()
    }

    fn case_sensitive(&self) -> bool {
        self.superblock.features & CASE_FOLDED == 0
    }

    fn space(&self) -> (u64, u64) {
        let of = |blocks: u64| blocks.saturating_mul(self.superblock.block);
        (of(self.superblock.blocks), of(self.superblock.free))
    }

    fn root(&self) -> NodeId {
        NodeId(ROOT.into())
    }

    fn node(&self, id: NodeId) -> Result<Node> {
        let inode = self.at(id)?;
        let kind = inode.kind();
        Ok(Node {
            id,
            kind,
            mode: inode.mode & 0o7777,
            user: inode.user,
            group: inode.group,
            flags: 0,
            links: if kind == Kind::Folder { 1 } else { inode.links.into() },
            size: if matches!(kind, Kind::File | Kind::Link) { inode.size } else { 0 },
            resource_size: 0,
            finder_info: [0; 32],
            created: inode.created.unwrap_or(inode.modified),
            modified: inode.modified,
            changed: inode.changed,
            accessed: inode.accessed,
            backed_up: None,
        })
    }

    /// A page begins behind the last entry of the name `after`: the pages of a damaged folder, which has a name twice, come to an end, too.
    fn entries(&self, folder: NodeId, after: Option<&str>, most: usize) -> Result<Page> {
        let folder = self.folder(folder)?;
        let (mut page, mut is_behind, mut has_more) = (Page::default(), after.is_none(), false);
        self.each_entry(&folder, |name, inode| {
            if matches!(name, b"." | b"..") {
                return Ok(true);
            }
            if after.is_some_and(|after| String::from_utf8_lossy(name) == after) {
                (page, is_behind, has_more) = (Page::default(), true, false);
            } else if is_behind && page.entries.len() < most {
                page.entries.extend(self.shown(name, inode));
            } else {
                has_more |= is_behind;
            }
            Ok(after.is_some() || !has_more)
        })?;
        page.next = page.entries.last().filter(|_| has_more).map(|entry| entry.name.clone());
        Ok(page)
    }

    fn lookup(&self, folder: NodeId, name: &str) -> Result<Entry> {
        let folder = self.folder(folder)?;
        let folds = !self.case_sensitive();
        let mut found = None;
        self.each_entry(&folder, |entry, inode| {
            let text = String::from_utf8_lossy(entry);
            let is_it = text == name || folds && text.to_lowercase() == name.to_lowercase();
            if is_it && !matches!(entry, b"." | b"..") {
                found = self.shown(entry, inode);
            }
            Ok(found.is_none())
        })?;
        found.ok_or(Error::NotFound)
    }

    fn parent(&self, folder: NodeId) -> Result<NodeId> {
        let mut above = None;
        self.each_entry(&self.folder(folder)?, |name, inode| {
            above = (name == b"..").then_some(inode);
            Ok(above.is_none())
        })?;
        above.map(|inode| NodeId(inode.into())).ok_or(Error::NotFound)
    }

    fn read(&self, file: NodeId, fork: Fork, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let inode = self.at(file)?;
        if inode.kind() != Kind::File {
            return Err(Error::NotFound);
        }
        if fork == Fork::Resource { Ok(0) } else { self.read_file(&inode, offset, buffer) }
    }

    fn link_target(&self, link: NodeId) -> Result<Vec<u8>> {
        let inode = self.at(link)?;
        if inode.kind() != Kind::Link {
            return Err(Error::NotFound);
        }
        let length = inode.size.min(LONGEST_TARGET) as usize;
        if let Some(short) = inode.map.get(..length).filter(|_| !inode.has_extents() && length < 60) {
            return Ok(short.to_vec());
        }
        let mut target = vec![0; length];
        let count = self.read_file(&inode, 0, &mut target)?;
        target.truncate(count);
        Ok(target)
    }

    fn attribute_names(&self, _node: NodeId) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn attribute(&self, _node: NodeId, _name: &str) -> Result<Vec<u8>> {
        Err(Error::NotFound)
    }
}
