//! The files of a volume for a browser.

use formats::{Kind, Time};

use super::entries::{DirectoryEntry, ENTRY};
use super::{Volume, Width, read_runs};
use crate::part::read_vec;
use crate::tree::{Entry, FileSystem, Fork, Node, NodeId, Page};
use crate::{Error, Result};

const ROOT: NodeId = NodeId(1);
const READ_ONLY: u8 = 0x01;
/// The BSD flag of files that are not shown.
const UF_HIDDEN: u32 = 0x8000;
const HIDDEN: u8 = 0x02;

impl Volume {
    /// The entry of a node; `None` for the top folder.
    fn entry(&self, node: NodeId) -> Result<Option<DirectoryEntry>> {
        if node == ROOT {
            return Ok(None);
        }
        let is_entry = node.0.is_multiple_of(ENTRY as u64) && node.0 >= self.fixed_root.0;
        if !is_entry {
            return Err(Error::NotFound);
        }
        let bytes = read_vec(self.bytes.as_ref(), node.0, ENTRY).map_err(|error| match error {
            Error::Damaged { .. } => Error::NotFound,
            other => other,
        })?;
        DirectoryEntry::read(node.0, &bytes).map(Some)
    }

    fn folder(&self, node: NodeId) -> Result<Option<DirectoryEntry>> {
        match self.entry(node)? {
            Some(entry) if !entry.is_folder() => Err(Error::NotFound),
            entry => Ok(entry),
        }
    }
}

fn shown(entry: &DirectoryEntry) -> Entry {
    let kind = if entry.is_folder() { Kind::Folder } else { Kind::File };
    Entry { name: entry.name.clone(), node: NodeId(entry.place), kind }
}

impl FileSystem for Volume {
    fn name(&self) -> String {
        self.label().unwrap_or_default()
    }

    fn format(&self) -> String {
        match self.width {
            Width::Bits12 => "FAT12",
            Width::Bits16 => "FAT16",
            Width::Bits32 => "FAT32",
        }
        .into()
    }

    fn case_sensitive(&self) -> bool {
        false
    }

    /// The free clusters are not counted: the whole table would have to be read.
    fn space(&self) -> (u64, u64) {
        (self.heap.bytes(), 0)
    }

    fn root(&self) -> NodeId {
        ROOT
    }

    fn node(&self, id: NodeId) -> Result<Node> {
        let entry = self.entry(id)?;
        let epoch = Time { secs: 0, nanos: 0 };
        let kind =
            if entry.as_ref().is_none_or(DirectoryEntry::is_folder) { Kind::Folder } else { Kind::File };
        let has = |flag: u8| entry.as_ref().is_some_and(|entry| entry.attributes & flag != 0);
        let mode = match (kind, has(READ_ONLY)) {
            (Kind::Folder, _) => 0o755,
            (_, true) => 0o444,
            (_, false) => 0o644,
        };
        let at = |of: fn(&DirectoryEntry) -> Time| entry.as_ref().map_or(epoch, of);
        Ok(Node {
            id,
            kind,
            mode,
            user: 0,
            group: 0,
            flags: if has(HIDDEN) { UF_HIDDEN } else { 0 },
            links: 1,
            size: entry.as_ref().filter(|_| kind == Kind::File).map_or(0, |entry| entry.size.into()),
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
        listed_page(after, most, |tell| self.each_entry(folder.as_ref(), |entry| tell(shown(&entry))))
    }

    fn lookup(&self, folder: NodeId, name: &str) -> Result<Entry> {
        let folder = self.folder(folder)?;
        found_by_name(name, |tell| self.each_entry(folder.as_ref(), |entry| tell(shown(&entry))))
    }

    fn read(&self, file: NodeId, fork: Fork, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let entry = self.entry(file)?.filter(|entry| !entry.is_folder()).ok_or(Error::NotFound)?;
        let left = u64::from(entry.size).saturating_sub(offset);
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if fork == Fork::Resource || count == 0 {
            return Ok(0);
        }
        let runs = self.runs(entry.first, entry.size.into())?;
        let filled = read_runs(self.bytes.as_ref(), &runs, offset, &mut buffer[..count])?;
        match filled == count {
            true => Ok(count),
            false => Err(Error::damaged(
                "file of FAT",
                entry.place,
                "its chain of clusters is shorter than the file",
            )),
        }
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

/// A page of a folder: `each` tells its entries in their order, for as long as it is answered true. It begins behind the last entry of
/// the name `after`: the pages of a damaged folder, which has a name twice, come to an end, too.
pub(crate) fn listed_page(
    after: Option<&str>,
    most: usize,
    each: impl FnOnce(&mut dyn FnMut(Entry) -> bool) -> Result<()>,
) -> Result<Page> {
    let (mut page, mut is_behind, mut has_more) = (Page::default(), after.is_none(), false);
    each(&mut |entry| {
        if after == Some(entry.name.as_str()) {
            (page, is_behind, has_more) = (Page::default(), true, false);
        } else if is_behind && page.entries.len() < most {
            page.entries.push(entry);
        } else {
            has_more |= is_behind;
        }
        after.is_some() || !has_more
    })?;
    page.next = page.entries.last().filter(|_| has_more).map(|entry| entry.name.clone());
    Ok(page)
}

/// The entry of this name, whatever its case: `each` tells the entries of the folder.
pub(crate) fn found_by_name(
    name: &str,
    each: impl FnOnce(&mut dyn FnMut(Entry) -> bool) -> Result<()>,
) -> Result<Entry> {
    let (wanted, mut found) = (name.to_lowercase(), None);
    each(&mut |entry| {
        let is_it = entry.name.to_lowercase() == wanted;
        if is_it {
            found = Some(entry);
        }
        !is_it
    })?;
    found.ok_or(Error::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_folder_with_names_twice_end() {
        let names: Vec<String> = (0..300).map(|at| format!("name {}", at % 8)).collect();
        let (mut after, mut shown) = (None::<String>, 0);
        loop {
            let page = listed_page(after.as_deref(), 7, |tell| {
                let mut entries =
                    names.iter().map(|name| Entry { name: name.clone(), node: ROOT, kind: Kind::File });
                let _ = entries.all(tell);
                Ok(())
            });
            let page = page.unwrap();
            shown += page.entries.len();
            assert!(shown <= names.len(), "no entry comes twice");
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
}
