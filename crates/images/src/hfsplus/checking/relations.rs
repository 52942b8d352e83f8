//! What records say of each other: each file and folder has one thread record, which leads back to it; folders have as many
//! entries as they say; links lead to files, which have as many links as they say; attributes belong to a file.
//!
//! Numbers of files are taken in windows, so that memory does not grow with the volume. In each window the catalogue is read
//! once. What must be equal in two records is added once and subtracted once, and must be zero at the end.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::bits::BitSet;
use super::records::{PathNames, SYSTEM_FILES};
use super::walk::Leaf;
use super::{Checking, PLACE};
use crate::check::{Problem, Steps};
use crate::hfsplus::catalogue::{Item, ROOT, ROOT_PARENT, Record};
use crate::hfsplus::folding::folded;
use crate::hfsplus::keys::{AttributesKey, CatalogueKey, ExtentsKey, Order};
use crate::hfsplus::names::units;
use crate::hfsplus::volume::{FILE_INODES, FOLDER_INODES, stored};
use crate::{Result, decode};

/// How many numbers are checked at once: 72 MB of memory.
const WINDOW: usize = 1 << 22;
const WINDOWS: u64 = (1 << 32) / WINDOW as u64;
/// The most problems of one kind in a window that are reported one by one.
const MOST: usize = 200;

/// What was seen of a number.
const FILE: u8 = 1;
const FOLDER: u8 = 2;
const FILE_THREAD: u8 = 4;
const FOLDER_THREAD: u8 = 8;
const CHILDREN: u8 = 16;
const TWICE: u8 = 32;
const ATTRIBUTES: u8 = 64;
const EXTENTS: u8 = 128;

/// What is known of a number.
#[derive(Clone, Copy, Default)]
struct Known {
    seen: u8,
    /// Places that records have, and places that threads name: zero if they are equal.
    place: u32,
    /// Entries less the valence.
    entries: i32,
    /// Names less the links that the inode of this reference counts.
    file_links: i32,
    folder_links: i32,
}

/// All records, counted once.
#[derive(Default)]
struct Totals {
    files: u64,
    folders: u64,
}

struct Window<'c> {
    checking: &'c Checking,
    /// The number of the window.
    number: u64,
    /// What is known of its numbers, as far as one of them was seen.
    known: Vec<Known>,
    totals: Totals,
    /// The windows of which a number was seen.
    touched: BitSet,
    file_inodes: Option<u32>,
    folder_inodes: Option<u32>,
}

pub(super) fn check(checking: &Checking, steps: &mut Steps<'_>) -> Result<()> {
    let inodes = |name: &str| {
        let key = CatalogueKey { parent: ROOT, name: &stored(name) }.encode();
        let cursor = checking.catalogue.get(&key).ok()??;
        match Record::decode(cursor.record().ok()?.1) {
            Ok(Record::Folder(item, _)) => Some(item.id),
            _ => None,
        }
    };
    let (file_inodes, folder_inodes) = (inodes(FILE_INODES), inodes(FOLDER_INODES));
    let mut touched = BitSet::new(WINDOWS)?;
    for number in 0..WINDOWS {
        if number > 0 && !touched.get(number) {
            continue;
        }
        let mut window = Window {
            checking,
            number,
            known: Vec::new(),
            totals: Totals::default(),
            touched: BitSet::new(WINDOWS)?,
            file_inodes,
            folder_inodes,
        };
        if !window.fill(steps)? {
            return Ok(());
        }
        window.report(steps);
        if number == 0 {
            window.report_totals(steps);
            touched = window.touched;
        }
    }
    Ok(())
}

impl Window<'_> {
    fn at(&mut self, number: u32) -> Option<&mut Known> {
        let (window, index) = (u64::from(number) / WINDOW as u64, number as usize % WINDOW);
        self.touched.set(window);
        if window != self.number {
            return None;
        }
        if index >= self.known.len() {
            let length = (index + 1).next_power_of_two().clamp(1024, WINDOW);
            self.known.resize(length, Known::default());
        }
        self.known.get_mut(index)
    }

    /// Reads all trees. `false` if one of them is damaged: then records that are missed would be reported as missing.
    fn fill(&mut self, steps: &mut Steps<'_>) -> Result<bool> {
        let checking = self.checking;
        let is_whole = checking.each_record(&checking.catalogue, steps, &mut |leaf, _| {
            self.catalogue(leaf);
            Ok(())
        })?;
        if !is_whole {
            return Ok(false);
        }
        let of_extents = checking.each_record(&checking.extents, steps, &mut |leaf, _| {
            let key = decode("extents key", leaf.place, leaf.key, |r| ExtentsKey::decode(r.rest()))?;
            if !SYSTEM_FILES.contains(&key.file) {
                self.mark(key.file, EXTENTS);
            }
            Ok(())
        })?;
        let Some(tree) = &checking.attributes else { return Ok(of_extents) };
        let of_attributes = checking.each_record(tree, steps, &mut |leaf, _| {
            let key = decode("attribute key", leaf.place, leaf.key, |r| AttributesKey::decode(r.rest()))?;
            self.mark(key.file, ATTRIBUTES);
            Ok(())
        })?;
        Ok(of_extents && of_attributes)
    }

    fn mark(&mut self, number: u32, seen: u8) {
        if let Some(known) = self.at(number) {
            known.seen |= seen;
        }
    }

    fn catalogue(&mut self, leaf: &Leaf<'_>) {
        let (Ok(key), Ok(record)) = (CatalogueKey::decode(leaf.key), Record::decode(leaf.data)) else {
            return;
        };
        match record {
            Record::Folder(item, part) => {
                self.totals.folders += 1;
                self.item(&key, &item, FOLDER);
                if let Some(known) = self.at(item.id) {
                    known.entries = known.entries.wrapping_sub_unsigned(part.valence);
                }
                if Some(key.parent) == self.folder_inodes
                    && let Some(number) = reference(key.name, "dir_")
                    && let Some(known) = self.at(number)
                {
                    known.folder_links = known.folder_links.wrapping_sub_unsigned(item.special);
                }
            }
            Record::File(item, _) => {
                self.totals.files += 1;
                self.item(&key, &item, FILE);
                self.links(&key, &item);
            }
            Record::Thread { is_folder, parent, name } => {
                let place = self.place(parent, name);
                if let Some(known) = self.at(key.parent) {
                    known.seen |= if is_folder { FOLDER_THREAD } else { FILE_THREAD };
                    known.place ^= place;
                }
            }
        }
    }

    fn item(&mut self, key: &CatalogueKey<'_>, item: &Item, kind: u8) {
        let place = self.place(key.parent, key.name);
        if let Some(known) = self.at(item.id) {
            let again = if known.seen & (FILE | FOLDER) != 0 { TWICE } else { 0 };
            known.seen |= kind | again;
            known.place ^= place;
        }
        if key.parent != ROOT_PARENT
            && let Some(known) = self.at(key.parent)
        {
            known.seen |= CHILDREN;
            known.entries = known.entries.wrapping_add(1);
        }
    }

    fn links(&mut self, key: &CatalogueKey<'_>, item: &Item) {
        let is_inode = self.file_inodes.is_some() && Some(key.parent) == self.file_inodes;
        if is_inode
            && let Some(number) = reference(key.name, "iNode")
            && let Some(known) = self.at(number)
        {
            known.file_links = known.file_links.wrapping_sub_unsigned(item.special);
        } else if item.is_file_link()
            && self.file_inodes.is_some()
            && let Some(known) = self.at(item.special)
        {
            known.file_links = known.file_links.wrapping_add(1);
        } else if item.is_folder_link()
            && self.folder_inodes.is_some()
            && let Some(known) = self.at(item.special)
        {
            known.folder_links = known.folder_links.wrapping_add(1);
        }
    }

    /// A number for a place, which is the same for names that the catalogue compares as equal.
    fn place(&self, folder: u32, name: &[u8]) -> u32 {
        let mut hasher = DefaultHasher::new();
        folder.hash(&mut hasher);
        match self.checking.catalogue.order {
            Order::Catalogue { case_sensitive: false } => {
                units(name).filter_map(folded).for_each(|unit| unit.hash(&mut hasher));
            }
            _ => name.hash(&mut hasher),
        }
        hasher.finish() as u32 | 1
    }

    fn report(&self, steps: &mut Steps<'_>) {
        let names = PathNames::new(self.checking.catalogue.clone());
        let mut count = 0;
        for (index, known) in self.known.iter().enumerate() {
            let number = (self.number * WINDOW as u64 + index as u64) as u32;
            for (structure, text) in known.problems(number) {
                count += 1;
                if count <= MOST {
                    let problem = Problem::new(structure, None, text);
                    steps.problem(problem.of_file(names.of(number)));
                }
            }
        }
        if count > MOST {
            let text = format!("{} more of the kinds before are not listed", count - MOST);
            steps.problem(Problem::new("relations of catalogue records", None, text));
        }
    }

    fn report_totals(&self, steps: &mut Steps<'_>) {
        let header = &self.checking.header;
        if !self.checking.has_final_counts() {
            return;
        }
        let folders = self.totals.folders.saturating_sub(1); // without the top folder
        for (what, said, found) in
            [("files", header.files, self.totals.files), ("folders", header.folders, folders)]
        {
            if u64::from(said) != found {
                let text = format!("it says {said} {what}, but the catalogue has {found}");
                steps.problem(Problem::new("volume header", Some(PLACE), text));
            }
        }
    }
}

/// The number in the name of an inode.
fn reference(name: &[u8], prefix: &str) -> Option<u32> {
    let text = String::from_utf16(&units(name).collect::<Vec<u16>>()).ok()?;
    text.strip_prefix(prefix)?.parse().ok()
}

impl Known {
    /// What is wrong with the records of a number: the structure, and why.
    fn problems(&self, number: u32) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let mut add = |structure: &'static str, text: String| problems.push((structure, text));
        let has = |seen: u8| self.seen & seen != 0;
        let exists = has(FILE | FOLDER);
        let has_thread = has(FILE_THREAD | FOLDER_THREAD);
        if has(TWICE) {
            add("catalogue record", format!("the number {number} is used twice"));
        } else if exists && !has_thread {
            add("catalogue thread record", format!("number {number} has none"));
        } else if !exists && has_thread {
            add(
                "catalogue thread record",
                format!("number {number} has a thread record, but is no file or folder"),
            );
        } else if has(FILE) && has(FOLDER_THREAD) || has(FOLDER) && has(FILE_THREAD) {
            add("catalogue thread record", format!("that of number {number} has the wrong type"));
        } else if self.place != 0 && exists {
            add("catalogue thread record", format!("that of number {number} names another place"));
        }
        if has(CHILDREN) && !has(FOLDER) {
            add("catalogue folder record", format!("number {number} has entries, but is no folder"));
        } else if has(FOLDER) && self.entries != 0 {
            let text = format!("the folder says {} entries less than it has", self.entries);
            add("catalogue folder record", text);
        }
        if self.file_links != 0 {
            let text = format!("iNode{number} has {} names more than it counts", self.file_links);
            add("hard links of a file", text);
        }
        if self.folder_links != 0 {
            let text = format!("dir_{number} has {} names more than it counts", self.folder_links);
            add("hard links of a folder", text);
        }
        if has(ATTRIBUTES) && !exists {
            add("attributes", format!("number {number} has some, but is no file or folder"));
        }
        if has(EXTENTS) && !has(FILE) {
            add("extents overflow records", format!("number {number} has some, but is no file"));
        }
        problems
    }
}
