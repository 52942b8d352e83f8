//! The files of a volume, as [`FileSystem`] shows them.

use std::cmp::Ordering;
use std::sync::Arc;

use formats::Kind;
use wire::Malformed;

use super::cursor::Cursor;
use super::names::is_recent;
use super::object::Decoded;
use super::records::{Attribute, COMPRESSED, Entry as EntryValue, Inode, Key, Stream, kind};
use super::volume::{Volume, time};
use crate::decmpfs::Compressed;
use crate::tree::{Entry, FileSystem, Fork, Node, NodeId, Page};
use crate::{Error, ReadAt, Result};

/// The folder at the top ("Inode Numbers", ROOT_DIR_INO_NUM).
pub(super) const ROOT: u64 = 2;
/// How large an extended attribute may be that is read as a whole. macOS makes none of more than 128 KiB but resource forks.
const MOST_ATTRIBUTE: usize = 16 << 20;
/// How many extended attributes of a file are listed.
const MOST_ATTRIBUTES: usize = 10_000;
/// How long the path of a link may be (PATH_MAX of macOS, four times).
const MOST_TARGET: usize = 4096;

/// How many entries with wrong hashes a page of a folder may have beyond what was asked for.
const MOST_MISPLACED: usize = 10_000;

/// Attributes that are no attributes for programs.
mod own {
    pub(super) const RESOURCE_FORK: &str = "com.apple.ResourceFork";
    pub(super) const FINDER_INFO: &str = "com.apple.FinderInfo";
    pub(super) const COMPRESSED: &str = "com.apple.decmpfs";
    pub(super) const LINK_TARGET: &str = "com.apple.fs.symlink";
    pub(super) const ACCESS_LIST: &str = "com.apple.system.Security";
    pub(super) const ALL: [&str; 5] = [RESOURCE_FORK, FINDER_INFO, COMPRESSED, LINK_TARGET, ACCESS_LIST];
}

/// An attribute, apart from its record.
enum Value {
    Embedded(Vec<u8>),
    Stream(Stream),
}

/// The resource fork of a compressed file, which may have the data.
struct StoredFork<'a> {
    volume: &'a Volume,
    fork: Option<Value>,
}

impl Volume {
    fn key<'a>(&self, key: &'a [u8]) -> Decoded<Key<'a>> {
        Key::decode(key, self.comparison)
    }

    /// A cursor at the first record that is not before `wanted`.
    pub(super) fn records(&self, wanted: Key<'_>) -> Result<Cursor<'_>> {
        let comparison = self.comparison;
        self.catalogue.seek_from(&|key| Ok::<Ordering, Malformed>(Key::decode(key, comparison)?.cmp(&wanted)))
    }

    /// The value of the record with exactly this key.
    fn record<T>(&self, wanted: Key<'_>, decode: fn(&[u8]) -> Decoded<T>) -> Result<T> {
        let cursor = self.records(wanted)?;
        let (key, value) = cursor.entry()?.ok_or(Error::NotFound)?;
        let damaged = |malformed: Malformed| cursor.damaged(malformed.0);
        if self.key(key).map_err(damaged)? != wanted {
            return Err(Error::NotFound);
        }
        decode(value).map_err(damaged)
    }

    pub(super) fn inode(&self, id: u64) -> Result<Inode> {
        self.record(Key::first(id, kind::INODE), Inode::decode)
    }

    /// Calls `each` for the attributes of a file until it returns `false`.
    fn each_attribute(
        &self,
        file: u64,
        each: &mut dyn FnMut(&str, Attribute<'_>) -> Result<bool>,
    ) -> Result<()> {
        let mut cursor = self.records(Key::first(file, kind::ATTRIBUTE))?;
        while let Some((key, value)) = cursor.entry()? {
            let damaged = |malformed: Malformed| cursor.damaged(malformed.0);
            let key = self.key(key).map_err(damaged)?;
            if (key.oid, key.kind) != (file, kind::ATTRIBUTE) {
                break;
            }
            let value = Attribute::decode(value).map_err(damaged)?;
            if !each(&String::from_utf8_lossy(key.name), value)? {
                break;
            }
            cursor.advance()?;
        }
        Ok(())
    }

    fn attribute_value(&self, file: u64, name: &str) -> Result<Value> {
        let wanted = Key { name: name.as_bytes(), ..Key::first(file, kind::ATTRIBUTE) };
        self.record(wanted, |value| {
            Ok(match Attribute::decode(value)? {
                Attribute::Embedded(bytes) => Value::Embedded(bytes.to_vec()),
                Attribute::Stream(stream) => Value::Stream(stream),
            })
        })
    }

    fn optional_attribute(&self, file: u64, name: &str) -> Result<Option<Value>> {
        match self.attribute_value(file, name) {
            Err(Error::NotFound) => Ok(None),
            found => found.map(Some),
        }
    }

    fn whole(&self, value: Value, most: usize) -> Result<Vec<u8>> {
        match value {
            Value::Embedded(bytes) => Ok(bytes),
            Value::Stream(stream) => self.whole_stream(stream, most, "an extended attribute"),
        }
    }

    fn read_value(&self, value: &Value, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        match value {
            Value::Stream(stream) => self.read_stream(*stream, offset, buffer),
            Value::Embedded(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let length = buffer.len().min(bytes.len() - from);
                buffer[..length].copy_from_slice(&bytes[from..from + length]);
                Ok(length)
            }
        }
    }

    /// The attribute that says how a file is compressed, if it is.
    fn compression(&self, id: u64, inode: &Inode) -> Result<Option<Vec<u8>>> {
        if inode.bsd_flags & COMPRESSED == 0 {
            return Ok(None);
        }
        let Some(value) = self.optional_attribute(id, own::COMPRESSED)? else { return Ok(None) };
        self.whole(value, MOST_ATTRIBUTE).map(Some)
    }

    /// How a file is decompressed, if it is compressed. Files that are read again keep the chunks that they have.
    fn compressed(&self, id: u64, inode: &Inode) -> Result<Option<Arc<Compressed>>> {
        if let Some(known) = self.compressed.get(&id) {
            return Ok(Some(known));
        }
        let Some(attribute) = self.compression(id, inode)? else { return Ok(None) };
        let compressed = Arc::new(Compressed::parse(attribute)?);
        self.compressed.insert(id, Arc::clone(&compressed), 1);
        Ok(Some(compressed))
    }

    /// An entry of a folder from its record; `None` for a whiteout.
    fn entry(&self, name: &[u8], value: EntryValue) -> Option<Entry> {
        // A slash cannot be in a name; one that damage made must not become a path.
        let name = String::from_utf8_lossy(name).replace('/', ":");
        Some(Entry { name, node: NodeId(value.file), kind: file_kind(value.file_type)? })
    }

    /// Where the entry with a name is, or would be.
    fn entry_key<'a>(&self, folder: NodeId, name: &'a str) -> Key<'a> {
        let hash = if self.comparison.is_hashed() { self.comparison.hash(name) } else { 0 };
        Key { number: hash.into(), name: name.as_bytes(), ..Key::first(folder.0, kind::ENTRY) }
    }

    /// Searches all entries of a folder for one of this form, whose hash may be that of another version of Unicode.
    fn search(&self, folder: NodeId, form: &str) -> Result<Entry> {
        let mut cursor = self.records(Key::first(folder.0, kind::ENTRY))?;
        while let Some((key, value)) = cursor.entry()? {
            let damaged = |malformed: Malformed| cursor.damaged(malformed.0);
            let key = self.key(key).map_err(damaged)?;
            if (key.oid, key.kind) != (folder.0, kind::ENTRY) {
                break;
            }
            if self.comparison.form(&String::from_utf8_lossy(key.name)) == form {
                let value = EntryValue::decode(value).map_err(damaged)?;
                return self.entry(key.name, value).ok_or(Error::NotFound);
            }
            cursor.advance()?;
        }
        Err(Error::NotFound)
    }

    fn require_folder(&self, folder: NodeId) -> Result<Inode> {
        let inode = self.inode(folder.0)?;
        if file_kind(inode.file_type()) == Some(Kind::Folder) { Ok(inode) } else { Err(Error::NotFound) }
    }
}

impl ReadAt for StoredFork<'_> {
    fn length(&self) -> u64 {
        match &self.fork {
            None => 0,
            Some(Value::Embedded(bytes)) => bytes.len() as u64,
            Some(Value::Stream(stream)) => stream.size,
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let read = match &self.fork {
            Some(fork) => self.volume.read_value(fork, offset, buffer)?,
            None => 0,
        };
        if read < buffer.len() {
            return Err(super::blocks::damaged(
                "resource fork of a compressed file",
                offset,
                "it is too short",
            ));
        }
        Ok(())
    }
}

impl FileSystem for Volume {
    fn name(&self) -> String {
        self.superblock.name.clone()
    }

    fn format(&self) -> String {
        let case = if self.case_sensitive() { "APFS (case-sensitive)" } else { "APFS" };
        if self.key.is_some() { format!("{case}, encrypted") } else { case.to_owned() }
    }

    fn case_sensitive(&self) -> bool {
        self.comparison != super::names::Comparison::Folded
    }

    fn space(&self) -> (u64, u64) {
        let blocks = &self.container.blocks;
        (blocks.place(blocks.count), blocks.place(self.container.free_blocks()))
    }

    fn root(&self) -> NodeId {
        NodeId(ROOT)
    }

    fn node(&self, id: NodeId) -> Result<Node> {
        let inode = self.inode(id.0)?;
        let kind = file_kind(inode.file_type()).ok_or(Error::NotFound)?;
        let mut size = inode.stream.map_or(0, |stream| stream.size);
        let mut resource_size = 0;
        let mut finder_info = inode.finder_info.unwrap_or_default();
        self.each_attribute(id.0, &mut |name, value| {
            match (name, value) {
                (own::RESOURCE_FORK, value) => resource_size = value.size(),
                (own::LINK_TARGET, value) if kind == Kind::Link => size = value.size().saturating_sub(1),
                (own::FINDER_INFO, Attribute::Embedded(bytes)) => {
                    finder_info.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                }
                _ => {}
            }
            Ok(true)
        })?;
        if let Some(attribute) = self.compression(id.0, &inode)? {
            size = uncompressed_size(&attribute).unwrap_or(size);
            // A compression that is not known has its data in the fork, as most have.
            let has_own_fork = Compressed::parse(attribute).is_ok_and(|found| !found.is_in_resource_fork());
            resource_size = if has_own_fork { resource_size } else { 0 };
        }
        Ok(Node {
            id,
            kind,
            mode: inode.mode & 0o7777,
            user: inode.user,
            group: inode.group,
            flags: inode.bsd_flags,
            links: if kind == Kind::Folder { 1 } else { inode.children_or_links },
            size,
            resource_size,
            finder_info,
            created: time(inode.created),
            modified: time(inode.modified),
            changed: time(inode.changed),
            accessed: time(inode.accessed),
            backed_up: None,
        })
    }

    fn entries(&self, folder: NodeId, after: Option<&str>, most: usize) -> Result<Page> {
        self.require_folder(folder)?;
        let begin = after.map_or(Key::first(folder.0, kind::ENTRY), |after| self.entry_key(folder, after));
        let mut cursor = self.records(begin)?;
        let mut page = Page::default();
        // A page ends only after an entry whose place follows from its name: damage cannot make the pages go in a circle.
        let mut may_end = true;
        while let Some((key, value)) = cursor.entry()? {
            let damaged = |malformed: Malformed| cursor.damaged(malformed.0);
            let key = self.key(key).map_err(damaged)?;
            if (key.oid, key.kind) != (folder.0, kind::ENTRY) {
                break;
            }
            if after.is_none() || key > begin {
                if page.entries.len() >= most && may_end {
                    page.next = page.entries.last().map(|entry| entry.name.clone());
                    break;
                }
                if page.entries.len() >= most.saturating_add(MOST_MISPLACED) {
                    return Err(cursor.damaged("the names of a folder do not have their hashes"));
                }
                let value = EntryValue::decode(value).map_err(damaged)?;
                if let Some(entry) = self.entry(key.name, value) {
                    may_end = self.entry_key(folder, &entry.name) == key;
                    page.entries.push(entry);
                }
            }
            cursor.advance()?;
        }
        Ok(page)
    }

    fn lookup(&self, folder: NodeId, name: &str) -> Result<Entry> {
        self.require_folder(folder)?;
        let wanted = self.entry_key(folder, name);
        let form = self.comparison.form(name);
        // Names with one hash are next to each other; among them the forms decide.
        let mut cursor = self
            .records(Key { name: if self.comparison.is_hashed() { &[] } else { wanted.name }, ..wanted })?;
        while let Some((key, value)) = cursor.entry()? {
            let damaged = |malformed: Malformed| cursor.damaged(malformed.0);
            let key = self.key(key).map_err(damaged)?;
            if (key.oid, key.kind, key.number) != (wanted.oid, wanted.kind, wanted.number) {
                break;
            }
            if self.comparison.form(&String::from_utf8_lossy(key.name)) == form {
                let value = EntryValue::decode(value).map_err(damaged)?;
                return self.entry(key.name, value).ok_or(Error::NotFound);
            }
            if !self.comparison.is_hashed() {
                break;
            }
            cursor.advance()?;
        }
        if self.comparison.is_hashed() && is_recent(name) {
            self.search(folder, &form)
        } else {
            Err(Error::NotFound)
        }
    }

    fn parent(&self, folder: NodeId) -> Result<NodeId> {
        let inode = self.require_folder(folder)?;
        Ok(if folder.0 == ROOT { folder } else { NodeId(inode.parent) })
    }

    fn read(&self, file: NodeId, fork: Fork, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let inode = self.inode(file.0)?;
        if file_kind(inode.file_type()) != Some(Kind::File) {
            return Err(Error::NotFound);
        }
        let compressed = self.compressed(file.0, &inode)?;
        if fork == Fork::Data && compressed.is_none() {
            return inode.stream.map_or(Ok(0), |stream| self.read_stream(stream, offset, buffer));
        }
        let resource = self.optional_attribute(file.0, own::RESOURCE_FORK)?;
        match (fork, compressed) {
            (Fork::Data, Some(compressed)) => {
                compressed.read(&StoredFork { volume: self, fork: resource }, offset, buffer)
            }
            (Fork::Resource, Some(compressed)) if compressed.is_in_resource_fork() => Ok(0),
            _ => resource.map_or(Ok(0), |value| self.read_value(&value, offset, buffer)),
        }
    }

    fn link_target(&self, link: NodeId) -> Result<Vec<u8>> {
        let value = self.attribute_value(link.0, own::LINK_TARGET)?;
        let mut target = self.whole(value, MOST_TARGET)?;
        let end = target.iter().position(|&byte| byte == 0).unwrap_or(target.len());
        target.truncate(end);
        Ok(target)
    }

    fn attribute_names(&self, node: NodeId) -> Result<Vec<String>> {
        self.inode(node.0)?;
        let mut names = Vec::new();
        self.each_attribute(node.0, &mut |name, _| {
            if !own::ALL.contains(&name) {
                names.push(name.to_owned());
            }
            Ok(names.len() < MOST_ATTRIBUTES)
        })?;
        Ok(names)
    }

    fn attribute(&self, node: NodeId, name: &str) -> Result<Vec<u8>> {
        if own::ALL.contains(&name) {
            return Err(Error::NotFound);
        }
        let value = self.attribute_value(node.0, name)?;
        self.whole(value, MOST_ATTRIBUTE)
    }
}

/// The size that the attribute of a compressed file says, behind its signature and its type.
fn uncompressed_size(attribute: &[u8]) -> Option<u64> {
    attribute.get(8..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// What an entry's or an inode's type is ("Directory Entry File Types"); `None` for a whiteout and for types that do not exist.
pub(super) fn file_kind(file_type: u8) -> Option<Kind> {
    Some(match file_type {
        1 => Kind::Fifo,
        2 => Kind::CharDevice,
        4 => Kind::Folder,
        6 => Kind::BlockDevice,
        8 => Kind::File,
        10 => Kind::Link,
        12 => Kind::Socket,
        _ => return None,
    })
}
