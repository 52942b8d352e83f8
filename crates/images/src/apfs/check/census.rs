//! Counts of files and of extents, by windows: memory does not grow with the volume.
//!
//! The names of a file are anywhere in the catalogue. A pass counts what is in its window; if that has too many, the window
//! ends earlier, and another pass continues there.

use std::collections::BTreeMap;

use super::super::records::Inode;

/// How many files or extents a pass counts: some 100 MB.
const MOST_COUNTED: usize = 1 << 20;

/// How many physical extents a run of a file is looked for in. One is made for it when it is written.
const MOST_RUNS: usize = 1 << 12;

/// A part of all ids that a pass counts.
pub(super) struct Window<V> {
    first: u64,
    /// Behind the last id; absent if all ids are counted.
    end: Option<u64>,
    pub(super) counts: BTreeMap<u64, V>,
    most: usize,
}

impl<V> Window<V> {
    /// The first window.
    pub(super) fn new() -> Self {
        Self { first: 0, end: None, counts: BTreeMap::new(), most: MOST_COUNTED }
    }

    /// The window after this one, if any.
    pub(super) fn next(&self) -> Option<Self> {
        let first = self.end?;
        Some(Self { first, end: None, counts: BTreeMap::new(), most: self.most })
    }

    /// The counts of an id, if it is in the window.
    pub(super) fn count(&mut self, id: u64) -> Option<&mut V>
    where
        V: Default,
    {
        self.insert(id, V::default);
        self.counts.get_mut(&id)
    }

    /// Adds an id that is new.
    pub(super) fn insert(&mut self, id: u64, value: impl FnOnce() -> V) {
        if id < self.first || self.end.is_some_and(|end| id >= end) {
            return;
        }
        self.counts.entry(id).or_insert_with(value);
        if self.counts.len() > self.most
            && let Some((last, _)) = self.counts.pop_last()
        {
            self.end = Some(last);
        }
    }
}

/// The folder of files that have no name any more but are in use ("Inode Numbers", PRIV_DIR_INO_NUM).
const PRIVATE_FOLDER: u64 = 3;
/// The parent of the top folder, which does not exist (ROOT_DIR_PARENT), and that of files that may be removed, whose
/// entries are no names.
const ROOT_PARENT: u64 = 1;
pub(super) const PURGEABLE_FOLDER: u64 = 7;

/// What a pass counts of a file or folder.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FileCounts {
    /// Whether there is an inode.
    pub(super) is_there: bool,
    pub(super) file_type: u8,
    /// What the inode says: entries of a folder, names of another.
    pub(super) said: u32,
    /// Entries that lead to it.
    pub(super) names: u32,
    /// The folder of one of them.
    pub(super) parent: u64,
    /// The type that they say, if it is another one than that of the inode.
    pub(super) other_type: u8,
    /// Entries in it.
    pub(super) entries: u32,
    /// Records of its names.
    pub(super) siblings: u32,
    /// Whether there are entries, attributes or extents of it that need an inode.
    pub(super) has_records: bool,
}

impl FileCounts {
    pub(super) fn inode(&mut self, inode: &Inode) {
        (self.is_there, self.file_type, self.said) = (true, inode.file_type(), inode.children_or_links);
    }

    /// What is wrong with the inode `id`.
    pub(super) fn problem(&self, id: u64) -> Option<String> {
        const FOLDER: u8 = 4;
        if !self.is_there {
            let leads = self.names > 0 && self.parent != PURGEABLE_FOLDER;
            let from = format!("an entry of folder {} leads to it, and there is no such inode", self.parent);
            let has = self.has_records && id != ROOT_PARENT && id != PURGEABLE_FOLDER;
            return leads
                .then_some(from)
                .or(has.then(|| "it has records, and there is no such inode".to_owned()));
        }
        if self.names == 0 {
            return Some("no entry leads to it".to_owned());
        }
        if self.other_type != 0 && self.other_type != self.file_type {
            return Some(format!("its type is {}, and an entry says {}", self.file_type, self.other_type));
        }
        if self.file_type == FOLDER {
            if self.names > 1 {
                return Some(format!("{} entries lead to the folder", self.names));
            }
            let differs = self.said != self.entries;
            return differs.then(|| format!("it says {} entries, and it has {}", self.said, self.entries));
        }
        if self.parent == PRIVATE_FOLDER {
            return None;
        }
        if self.said != self.names {
            return Some(format!("its link count is {}, and {} entries lead to it", self.said, self.names));
        }
        let differs = self.siblings != 0 && self.siblings != self.names;
        differs.then(|| format!("it has {} records of its {} names", self.siblings, self.names))
    }
}

/// What a pass counts of an extent of blocks. Streams share it block by block: two that have different blocks of it are one
/// stream for each block.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExtentCounts {
    blocks: u64,
    /// How many streams each block has, by the record.
    said: u32,
    /// How many blocks streams have of it, together.
    used: u64,
    /// The last of them, and the blocks that it has.
    last: (u64, u64, u64),
}

impl ExtentCounts {
    pub(super) fn new(blocks: u64, said: u32) -> Self {
        Self { blocks, said, used: 0, last: (0, 0, 0) }
    }

    /// Counts a stream that has the blocks `from..to`; blocks that it has twice count once.
    fn add(&mut self, stream: u64, from: u64, to: u64) {
        let (last, first, end) = self.last;
        if last != stream {
            (self.used, self.last) = (self.used + to - from, (stream, from, to));
            return;
        }
        let shared = to.min(end).saturating_sub(from.max(first));
        self.used += to - from - shared;
        self.last = (stream, first.min(from), end.max(to));
    }

    /// What is wrong with the extent.
    pub(super) fn problem(&self) -> Option<String> {
        let counted = self.blocks.saturating_mul(self.said.into());
        if self.used == 0 {
            return Some(format!("it counts {} streams, and no file has it", self.said));
        }
        let is_over = self.used > counted;
        is_over.then(|| format!("it counts {counted} blocks of streams, and files have {} of it", self.used))
    }
}

impl Window<ExtentCounts> {
    /// Counts a stream that has blocks.
    pub(super) fn used_by(&mut self, stream: u64, first: u64, count: u64) {
        let end = first.saturating_add(count);
        let begin = self.counts.range(..=first).next_back().map_or(first, |(&begin, _)| begin);
        for (&begin, extent) in self.counts.range_mut(begin..end).take(MOST_RUNS) {
            let (from, to) = (first.max(begin), end.min(begin.saturating_add(extent.blocks)));
            if from < to {
                extent.add(stream, from, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_count_each_id_once_and_all_of_them() {
        let ids = [5, 900, 17, 3, 44, 8, 1000, 900];
        let mut window = Window::<u32> { most: 3, ..Window::new() };
        let (mut all, mut passes) = (BTreeMap::new(), 0);
        loop {
            for id in ids {
                if let Some(count) = window.count(id) {
                    *count += 1;
                }
            }
            assert!(window.counts.len() <= 3);
            all.extend(std::mem::take(&mut window.counts));
            passes += 1;
            match window.next() {
                Some(next) => window = next,
                None => break,
            }
        }
        let expected = BTreeMap::from([(3, 1), (5, 1), (8, 1), (17, 1), (44, 1), (900, 2), (1000, 1)]);
        assert_eq!((all, passes), (expected, 3));
    }
}
