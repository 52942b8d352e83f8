//! Each record by itself: its type, its length, and numbers that are possible.

use std::sync::Arc;

use super::walk::Leaf;
use crate::check::Problem;
use crate::hfsplus::attributes::AttributeRecord;
use crate::hfsplus::btree::Tree;
use crate::hfsplus::catalogue::{FILE_LEN, FIRST_USER, FOLDER_LEN, ROOT, ROOT_PARENT, Record};
use crate::hfsplus::fork::{DATA, EXTENTS, Extent, RESOURCE};
use crate::hfsplus::header::VolumeHeader;
use crate::hfsplus::keys::{AttributesKey, CatalogueKey, ExtentsKey};
use crate::hfsplus::names;

/// Catalogue numbers are used again.
const IDS_REUSED: u32 = 1 << 12;
/// Files of the volume itself that may have records in the extents overflow file: the bad blocks have nothing else.
pub(super) const SYSTEM_FILES: std::ops::RangeInclusive<u32> = 4..=8;
/// How deep a path is followed.
const MAX_PATH: usize = 64;

/// The paths of files, as far as the catalogue has them.
pub(super) struct PathNames {
    catalogue: Arc<Tree>,
}

impl PathNames {
    pub(super) fn new(catalogue: Arc<Tree>) -> Self {
        Self { catalogue }
    }

    /// The path of a file or folder; its number if that is not known.
    pub(super) fn of(&self, id: u32) -> String {
        match self.thread(id) {
            Some((parent, name)) if id != ROOT => self.entry(parent, &name),
            _ if id == ROOT => "/".into(),
            _ => format!("number {id}"),
        }
    }

    /// The path of an entry of a folder.
    pub(super) fn entry(&self, folder: u32, name: &[u8]) -> String {
        let mut names = vec![names::to_posix(name)];
        let mut at = folder;
        for _ in 0..MAX_PATH {
            if at == ROOT || at == ROOT_PARENT {
                names.push(String::new());
                break;
            }
            match self.thread(at) {
                Some((parent, name)) => {
                    names.push(names::to_posix(&name));
                    at = parent;
                }
                None => {
                    names.push(format!("number {at}"));
                    break;
                }
            }
        }
        names.reverse();
        names.join("/")
    }

    fn thread(&self, id: u32) -> Option<(u32, Vec<u8>)> {
        let cursor = self.catalogue.get(&CatalogueKey { parent: id, name: &[] }.encode()).ok()??;
        match Record::decode(cursor.record().ok()?.1).ok()? {
            Record::Thread { parent, name, .. } => Some((parent, name.to_vec())),
            _ => None,
        }
    }
}

/// What records are compared with.
pub(super) struct RecordContext<'a> {
    pub(super) header: &'a VolumeHeader,
    pub(super) names: Option<&'a PathNames>,
}

impl RecordContext<'_> {
    /// What is wrong with a record of a tree.
    pub(super) fn problems(&self, tree: &str, leaf: &Leaf<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |file: Option<String>, text: String| {
            let problem = Problem::new(format!("{tree} node {}", leaf.node), Some(leaf.place), text);
            problems.push(Problem { file, ..problem });
        };
        match tree {
            "catalogue" => self.catalogue(leaf, &mut add),
            "attributes" => self.attributes(leaf, &mut add),
            _ => self.extents(leaf, &mut add),
        }
        problems
    }

    fn path(&self, id: u32) -> Option<String> {
        self.names.map(|names| names.of(id))
    }

    fn catalogue(&self, leaf: &Leaf<'_>, add: &mut dyn FnMut(Option<String>, String)) {
        let Ok(key) = CatalogueKey::decode(leaf.key) else { return }; // the walk has reported it
        let file = || self.names.map(|names| names.entry(key.parent, key.name));
        let record = match Record::decode(leaf.data) {
            Ok(record) => record,
            Err(error) => return add(file(), error.0.to_owned()),
        };
        let is_thread = matches!(record, Record::Thread { .. });
        if key.name.is_empty() != is_thread || key.name.len() > 2 * names::MAX_NAME {
            add(file(), format!("a name of {} characters is not possible here", key.name.len() / 2));
        }
        let (id, length) = match &record {
            Record::Folder(item, _) => (item.id, FOLDER_LEN),
            Record::File(item, _) => (item.id, FILE_LEN),
            Record::Thread { .. } => return,
        };
        if leaf.data.len() != length {
            add(file(), format!("its record has {} bytes instead of {length}", leaf.data.len()));
        }
        let is_root = matches!(record, Record::Folder(..)) && id == ROOT && key.parent == ROOT_PARENT;
        let is_known = id < self.header.next_id || self.header.attributes & IDS_REUSED != 0;
        if !is_root && id < FIRST_USER || !is_known {
            add(file(), format!("its number {id} is not possible; the next one is {}", self.header.next_id));
        }
    }

    fn extents(&self, leaf: &Leaf<'_>, add: &mut dyn FnMut(Option<String>, String)) {
        let Ok(key) = ExtentsKey::decode(leaf.key) else { return };
        let file = self.path(key.file);
        if !matches!(key.fork, DATA | RESOURCE) {
            add(file.clone(), format!("a fork of type {} is not known", key.fork));
        }
        let extents = Extent::decode_all(&mut wire::Reader::new(leaf.data));
        match extents {
            Ok(_) if leaf.data.len() != EXTENTS * 8 => {
                add(file, format!("a record of extents has {} bytes", leaf.data.len()));
            }
            Ok(extents) if extents[0].count == 0 => add(file, "a record of extents is empty".into()),
            Ok(_) => {}
            Err(error) => add(file, error.0.to_owned()),
        }
    }

    fn attributes(&self, leaf: &Leaf<'_>, add: &mut dyn FnMut(Option<String>, String)) {
        let Ok(key) = AttributesKey::decode(leaf.key) else { return };
        if let Err(error) = AttributeRecord::decode(leaf.data) {
            let name = String::from_utf16_lossy(&names::units(key.name).collect::<Vec<u16>>());
            add(self.path(key.file), format!("attribute “{name}”: {}", error.0));
        }
    }
}
