//! The files of a volume for a browser.

use std::sync::Arc;

use formats::{Kind, Time};

use super::catalogue::{FilePart, HAS_LINK_CHAIN, Item, ROOT, Record, time};
use super::fork::{DATA, RESOURCE};
use super::header::JOURNALED;
use super::keys::CatalogueKey;
use super::names;
use super::volume::{Found, Volume, find_posix, stored};
use crate::decmpfs::{self, Compressed};
use crate::tree::{Entry, FileSystem, Fork, Node, NodeId, Page};
use crate::{Error, ReadAt, Result};

/// The longest target of a symbolic link that is read.
const MAX_TARGET: u64 = 64 << 10;
/// Attributes that are shown as something else.
const NOT_SHOWN: [&str; 3] = [decmpfs::ATTRIBUTE, "com.apple.ResourceFork", "com.apple.FinderInfo"];
/// Names the first name of a folder that has several.
const FIRST_LINK: &str = "com.apple.system.hfs.firstlink";
/// Attributes of the file system itself.
const SYSTEM: &str = "com.apple.system.";

fn number(node: NodeId) -> Result<u32> {
    u32::try_from(node.0).map_err(|_| Error::NotFound)
}

/// The first bytes of `source` from `offset` that fit into `buffer`.
fn read_some(source: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    let left = source.length().saturating_sub(offset);
    let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
    source.read_at(offset, &mut buffer[..count])?;
    Ok(count)
}

impl Volume {
    fn file(&self, node: NodeId) -> Result<(Item, FilePart)> {
        match self.item(number(node)?)? {
            Found::File(item, part) => Ok((item, part)),
            Found::Folder(_) => Err(Error::NotFound),
        }
    }

    /// How a file is compressed, if it is.
    fn compression(&self, item: &Item) -> Result<Option<Arc<Compressed>>> {
        let Some(attributes) = self.attributes.as_ref().filter(|_| item.is_compressed()) else {
            return Ok(None);
        };
        if let Some(known) = self.compressed.get(&item.id) {
            return Ok(Some(known));
        }
        let Some(value) = attributes.value(item.id, &stored(decmpfs::ATTRIBUTE))? else { return Ok(None) };
        let compressed = Arc::new(Compressed::parse(value)?);
        self.compressed.insert(item.id, compressed.clone(), 1);
        Ok(Some(compressed))
    }

    fn entry_of(&self, name: &[u8], found: Found) -> Result<Entry> {
        let found = self.resolved(found)?;
        let (kind, _) = found.item().kind_and_mode(matches!(found, Found::Folder(_)));
        let node = NodeId(found.item().id.into());
        Ok(Entry { name: names::to_posix(name), node, kind })
    }

    /// How many names a file or folder has.
    fn links(&self, item: &Item, parent: u32) -> u32 {
        let is_inode = Some(parent) == self.file_inodes
            || Some(parent) == self.folder_inodes && item.flags & HAS_LINK_CHAIN != 0;
        if is_inode { item.special.max(1) } else { 1 }
    }

    /// The folder of the first name of a folder that has several.
    fn folder_of_first_link(&self, folder: u32) -> Result<Option<u32>> {
        let Some(attributes) = &self.attributes else { return Ok(None) };
        let Some(value) = attributes.value(folder, &stored(FIRST_LINK))? else { return Ok(None) };
        let text = String::from_utf8_lossy(&value);
        let Ok(link) = text.trim_matches(char::from(0)).trim().parse() else { return Ok(None) };
        Ok(self.thread(link)?.map(|(parent, _)| parent))
    }
}

impl FileSystem for Volume {
    fn name(&self) -> String {
        let name = self.thread(ROOT).ok().flatten().map(|(_, name)| name);
        name.map(|name| names::to_posix(&name)).unwrap_or_default()
    }

    fn format(&self) -> String {
        let mut notes = Vec::new();
        if self.is_case_sensitive() {
            notes.push("case-sensitive");
        }
        if self.header.attributes & JOURNALED != 0 {
            notes.push("journaled");
        }
        let name = if self.header.is_hfsx { "HFSX" } else { "HFS+" };
        if notes.is_empty() { name.into() } else { format!("{name} ({})", notes.join(", ")) }
    }

    fn case_sensitive(&self) -> bool {
        self.is_case_sensitive()
    }

    fn space(&self) -> (u64, u64) {
        let free = u64::from(self.header.free_blocks) * u64::from(self.header.block_size);
        (self.header.volume_length(), free)
    }

    fn root(&self) -> NodeId {
        NodeId(ROOT.into())
    }

    fn node(&self, id: NodeId) -> Result<Node> {
        let found = self.item(number(id)?)?;
        let (parent, _) = self.thread(number(id)?)?.ok_or(Error::NotFound)?;
        let item = found.item();
        let (kind, mode) = item.kind_and_mode(matches!(found, Found::Folder(_)));
        let (mut size, mut resource_size) = match &found {
            Found::File(_, part) => (part.data.size, part.resource.size),
            Found::Folder(_) => (0, 0),
        };
        if kind == Kind::File
            && let Some(compressed) = self.compression(item)?
        {
            size = compressed.size();
            resource_size = if compressed.is_in_resource_fork() { 0 } else { resource_size };
        }
        let at = |seconds: u32| time(seconds).unwrap_or(Time { secs: 0, nanos: 0 });
        Ok(Node {
            id,
            kind,
            mode,
            user: item.owner,
            group: item.group,
            flags: item.shown_flags(),
            links: self.links(item, parent),
            size,
            resource_size,
            finder_info: item.finder_info,
            created: at(item.created),
            modified: at(item.modified),
            changed: at(item.changed),
            accessed: at(item.accessed),
            backed_up: time(item.backed_up),
        })
    }

    fn entries(&self, folder: NodeId, after: Option<&str>, most: usize) -> Result<Page> {
        let folder = number(folder)?;
        let name = after.map(names::from_posix).unwrap_or_default();
        let begin = CatalogueKey { parent: folder, name: &name }.encode();
        let mut cursor = self.catalogue.search(&begin)?.ok_or(Error::NotFound)?;
        if after.is_none() && !matches!(self.item(folder)?, Found::Folder(_)) {
            return Err(Error::NotFound);
        }
        let mut page = Page::default();
        if cursor.is_exact {
            cursor.advance(); // the entry itself; without one, the thread record
        }
        while cursor.settle()? {
            let (key, record) = self.entry(&cursor)?;
            if key.parent != folder {
                break;
            }
            let found = match record {
                Record::Folder(item, _) => Some(Found::Folder(item)),
                Record::File(item, part) => Some(Found::File(item, part)),
                Record::Thread { .. } => None,
            };
            // In a damaged tree, too: pages whose entries are behind the one before do not go in a circle.
            let is_behind = cursor.is_behind(&begin)?;
            let found = found.filter(|found| is_behind && !self.is_hidden(folder, key.name, found.item().id));
            if let Some(found) = found {
                if page.entries.len() >= most {
                    page.next = page.entries.last().map(|entry| entry.name.clone());
                    break;
                }
                page.entries.push(self.entry_of(key.name, found)?);
            }
            cursor.advance();
        }
        Ok(page)
    }

    fn lookup(&self, folder: NodeId, name: &str) -> Result<Entry> {
        let folder = number(folder)?;
        let (name, found) = find_posix(self, folder, name)?.ok_or(Error::NotFound)?;
        match self.is_hidden(folder, &name, found.item().id) {
            true => Err(Error::NotFound),
            // The name as it is stored, which may differ in case.
            false => {
                let key = CatalogueKey { parent: folder, name: &name }.encode();
                let cursor = self.catalogue.get(&key)?.ok_or(Error::NotFound)?;
                let (key, _) = self.entry(&cursor)?;
                self.entry_of(key.name, found)
            }
        }
    }

    fn parent(&self, folder: NodeId) -> Result<NodeId> {
        let folder = number(folder)?;
        let (parent, _) = self.thread(folder)?.ok_or(Error::NotFound)?;
        if Some(parent) == self.folder_inodes {
            let above = self.folder_of_first_link(folder)?.unwrap_or(ROOT);
            return Ok(NodeId(above.into()));
        }
        Ok(NodeId(parent.max(ROOT).into()))
    }

    fn read(&self, file: NodeId, fork: Fork, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let (item, part) = self.file(file)?;
        let compressed = self.compression(&item)?;
        match (fork, compressed) {
            (Fork::Data, Some(compressed)) => {
                compressed.read(&self.fork(item.id, &part, RESOURCE), offset, buffer)
            }
            (Fork::Data, None) => read_some(&self.fork(item.id, &part, DATA), offset, buffer),
            (Fork::Resource, Some(compressed)) if compressed.is_in_resource_fork() => Ok(0),
            (Fork::Resource, _) => read_some(&self.fork(item.id, &part, RESOURCE), offset, buffer),
        }
    }

    fn link_target(&self, link: NodeId) -> Result<Vec<u8>> {
        let (item, part) = self.file(link)?;
        if item.kind_and_mode(false).0 != Kind::Link {
            return Err(Error::NotFound);
        }
        if part.data.size > MAX_TARGET {
            return Err(Error::NotSupported(format!("a symbolic link of {} bytes", part.data.size)));
        }
        let mut target = vec![0; part.data.size as usize];
        self.fork(item.id, &part, DATA).read_at(0, &mut target)?;
        Ok(target)
    }

    fn attribute_names(&self, node: NodeId) -> Result<Vec<String>> {
        let Some(attributes) = &self.attributes else { return Ok(Vec::new()) };
        let mut names = attributes.names(number(node)?)?;
        names.retain(|name| !NOT_SHOWN.contains(&name.as_str()) && !name.starts_with(SYSTEM));
        Ok(names)
    }

    fn attribute(&self, node: NodeId, name: &str) -> Result<Vec<u8>> {
        let attributes = self.attributes.as_ref().ok_or(Error::NotFound)?;
        attributes.value(number(node)?, &stored(name))?.ok_or(Error::NotFound)
    }
}
