//! The files of a volume for a browser.

use formats::{Kind, Time};

use super::entries::{DirectoryEntry, MAX_FOLDER};
use super::{Extent, Volume};
use crate::fat::{found_by_name, listed_page};
use crate::tree::{Entry, FileSystem, Fork, Node, NodeId, Page};
use crate::{Error, Result};

const ROOT: NodeId = NodeId(1);
/// In the number of a node: its folder's clusters follow each other.
const CONTIGUOUS: u64 = 1 << 62;
/// Bits of the number of an entry in its folder, in front of which the folder's cluster is.
const INDEX_BITS: u32 = 24;
const READ_ONLY: u16 = 0x01;
const HIDDEN: u16 = 0x02;
/// The BSD flag of files that are not shown.
const UF_HIDDEN: u32 = 0x8000;

impl Volume {
    /// The entry of a node; `None` for the top folder.
    fn entry(&self, node: NodeId) -> Result<Option<DirectoryEntry>> {
        if node == ROOT {
            return Ok(None);
        }
        let first = u32::try_from((node.0 & !CONTIGUOUS) >> INDEX_BITS).map_err(|_| Error::NotFound)?;
        let index = node.0 & ((1 << INDEX_BITS) - 1);
        // The folder may be longer: as far as the longest set of entries it is enough.
        let is_contiguous = node.0 & CONTIGUOUS != 0;
        let length = if is_contiguous { self.cluster_end(index) } else { MAX_FOLDER };
        self.entry_at(Extent { first, is_contiguous, length }, index).map(Some)
    }

    /// Where the cluster ends that a set of entries can reach to, from the beginning of its folder.
    fn cluster_end(&self, index: u64) -> u64 {
        ((index + 19) * 32).next_multiple_of(self.heap.cluster)
    }

    /// Where the entries of a folder are.
    fn folder(&self, node: NodeId) -> Result<Extent> {
        match self.entry(node)? {
            None => Ok(self.root_extent()),
            Some(entry) if entry.is_folder() => Ok(entry.data),
            Some(_) => Err(Error::NotFound),
        }
    }
}

fn shown(folder: Extent, entry: &DirectoryEntry) -> Entry {
    let kind = if entry.is_folder() { Kind::Folder } else { Kind::File };
    let contiguous = if folder.is_contiguous { CONTIGUOUS } else { 0 };
    let node = NodeId(contiguous | u64::from(folder.first) << INDEX_BITS | entry.index);
    Entry { name: entry.name.clone(), node, kind }
}

impl FileSystem for Volume {
    fn name(&self) -> String {
        self.label().unwrap_or_default()
    }

    fn format(&self) -> String {
        "exFAT".into()
    }

    fn case_sensitive(&self) -> bool {
        false
    }

    /// The free clusters are not counted: the whole bitmap would have to be read.
    fn space(&self) -> (u64, u64) {
        (self.heap.bytes(), 0)
    }

    fn root(&self) -> NodeId {
        ROOT
    }

    fn node(&self, id: NodeId) -> Result<Node> {
        let entry = self.entry(id)?;
        let epoch = Time { secs: 0, nanos: 0 };
        let is_folder = entry.as_ref().is_none_or(DirectoryEntry::is_folder);
        let has = |flag: u16| entry.as_ref().is_some_and(|entry| entry.attributes & flag != 0);
        let mode = match (is_folder, has(READ_ONLY)) {
            (true, _) => 0o755,
            (_, true) => 0o444,
            (_, false) => 0o644,
        };
        let at = |of: fn(&DirectoryEntry) -> Time| entry.as_ref().map_or(epoch, of);
        Ok(Node {
            id,
            kind: if is_folder { Kind::Folder } else { Kind::File },
            mode,
            user: 0,
            group: 0,
            flags: if has(HIDDEN) { UF_HIDDEN } else { 0 },
            links: 1,
            size: entry.as_ref().filter(|_| !is_folder).map_or(0, |entry| entry.data.length),
            resource_size: 0,
            finder_info: [0; 32],
            created: at(|entry| entry.created),
            modified: at(|entry| entry.modified),
            changed: at(|entry| entry.modified),
            accessed: at(|entry| entry.accessed),
            backed_up: None,
        })
    }

    fn entries(&self, folder: NodeId, after: Option<&str>, most: usize) -> Result<Page> {
        let folder = self.folder(folder)?;
        listed_page(after, most, |tell| self.each_entry(folder, |entry| tell(shown(folder, &entry))))
    }

    fn lookup(&self, folder: NodeId, name: &str) -> Result<Entry> {
        let folder = self.folder(folder)?;
        found_by_name(name, |tell| self.each_entry(folder, |entry| tell(shown(folder, &entry))))
    }

    fn read(&self, file: NodeId, fork: Fork, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let entry = self.entry(file)?.filter(|entry| !entry.is_folder()).ok_or(Error::NotFound)?;
        let left = entry.data.length.saturating_sub(offset);
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if fork == Fork::Resource || count == 0 {
            return Ok(0);
        }
        let valid = entry.valid.min(entry.data.length).saturating_sub(offset);
        let written = count.min(usize::try_from(valid).unwrap_or(usize::MAX));
        let (stored, zeros) = buffer[..count].split_at_mut(written);
        if !stored.is_empty() {
            Volume::read(self, entry.data, offset, stored)?;
        }
        zeros.fill(0);
        Ok(count)
    }

    fn link_target(&self, _link: NodeId) -> Result<Vec<u8>> {
        Err(Error::NotFound)
    }

    fn attribute_names(&self, _node: NodeId) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn attribute(&self, _node: NodeId, _name: &str) -> Result<Vec<u8>> {
        Err(Error::NotFound)
    }
}
