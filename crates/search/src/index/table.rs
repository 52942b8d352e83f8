//! The entries that are in no segment yet.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use vfs::SearchPlace;

use crate::entry::{Entry, FolderKey};

/// What changed in folders since the last segment was written.
#[derive(Default)]
pub(crate) struct Table {
    folders: BTreeMap<FolderKey, FolderPart>,
    /// Memory that it takes, about.
    bytes: usize,
    entries: usize,
}

/// What changed in one folder.
#[derive(Default)]
pub(crate) struct FolderPart {
    /// When it was listed; `None`: as older segments say.
    pub(crate) listed: Option<i64>,
    /// Entries by their stored names; `None`: removed.
    pub(crate) entries: BTreeMap<Vec<u8>, Option<Arc<Entry>>>,
}

/// What a folder costs beyond its entries.
const FOLDER_COST: usize = 160;
/// What an entry costs beyond what it has.
const ENTRY_COST: usize = 96;

impl Table {
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// In the order of a segment.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (&FolderKey, &FolderPart)> {
        self.folders.iter()
    }

    pub(crate) fn folder(&self, key: &[u8]) -> Option<&FolderPart> {
        self.folders.get(key)
    }

    fn part(&mut self, folder: &FolderKey) -> &mut FolderPart {
        let bytes = &mut self.bytes;
        self.folders.entry(folder.clone()).or_insert_with(|| {
            *bytes += FOLDER_COST;
            FolderPart::default()
        })
    }

    pub(crate) fn set_listed(&mut self, folder: &FolderKey, listed: i64) {
        self.part(folder).listed = Some(listed);
    }

    /// Puts an entry, or that it was removed.
    pub(crate) fn put(&mut self, folder: &FolderKey, name: Vec<u8>, entry: Option<Arc<Entry>>) {
        let more = name.len() + ENTRY_COST + entry.as_ref().map_or(0, |entry| entry.bytes());
        let old = self.part(folder).entries.insert(name, entry);
        self.bytes += more;
        match old {
            Some(old) => self.bytes -= ENTRY_COST + old.map_or(0, |old| old.bytes()),
            None => self.entries += 1,
        }
    }

    /// What is known of this place; `Some(None)`: it was removed.
    pub(crate) fn entry(&self, folder: &[u8], name: &[u8]) -> Option<&Option<Arc<Entry>>> {
        self.folders.get(folder)?.entries.get(name)
    }

    /// The entries after a place, in order.
    pub(crate) fn after(
        &self,
        place: Option<&SearchPlace>,
    ) -> impl Iterator<Item = (&FolderKey, &Vec<u8>, &Option<Arc<Entry>>)> {
        let from = place.map_or(Bound::Unbounded, |place| Bound::Included(&place.folder[..]));
        let folders = self.folders.range::<[u8], _>((from, Bound::Unbounded));
        folders.flat_map(move |(key, part)| {
            let same = place.filter(|place| place.folder[..] == key[..]);
            let from = same.map_or(Bound::Unbounded, |place| Bound::Excluded(&place.name));
            let entries = part.entries.range::<Vec<u8>, _>((from, Bound::Unbounded));
            entries.map(move |(name, entry)| (key, name, entry))
        })
    }
}
