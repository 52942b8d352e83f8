//! A new segment of entries that are in memory.

use std::collections::BTreeMap;
use std::path::Path;

use query::folded;
use vfs::names::text_view;

use super::sections::SectionWriter;
use super::vocabulary::VocabularyWriter;
use super::{FolderRecord, Number, Refs, Row, Segment, codec};
use crate::entry::Entry;
use crate::error::IndexFailure;
use crate::index::table::Table;

/// The parts of a segment that is being made.
#[derive(Default)]
struct Parts<'a> {
    folders: Vec<u8>,
    rows: Vec<u8>,
    refs: Vec<u8>,
    folded: Vec<u8>,
    names: Vec<u8>,
    facts: Vec<u8>,
    words: BTreeMap<&'a str, Vec<Number>>,
    entries: Number,
}

impl<'a> Parts<'a> {
    fn place(&self, inode: u64, changed: i64) -> Refs {
        let [folded, name, facts] = [&self.folded, &self.names, &self.facts].map(|part| part.len() as u32);
        Refs { folded, name, facts, inode, changed }
    }

    fn add(&mut self, name: &[u8], entry: Option<&'a Entry>) {
        let (inode, changed) = entry.map_or((0, 0), |entry| (entry.inode, entry.changed));
        self.place(inode, changed).encode(&mut self.refs);
        Row::of(entry).encode(&mut self.rows);
        let form = folded(&text_view(name));
        self.folded.extend(form.as_bytes());
        self.folded.push(0);
        if form.as_bytes() != name {
            self.names.extend(name);
            self.names.push(0);
        }
        let extra = entry.map(|entry| &entry.extra).filter(|extra| !extra.all().is_empty());
        if let Some(extra) = extra {
            let mut bytes = Vec::new();
            codec::encode(extra, &mut bytes);
            self.facts.extend(self.entries.to_le_bytes());
            self.facts.extend((bytes.len() as u32).to_le_bytes());
            self.facts.extend(bytes);
        }
        let words = entry.and_then(|entry| entry.words.as_ref());
        for word in words.into_iter().flatten() {
            self.words.entry(word).or_default().push(self.entries);
        }
        self.entries += 1;
    }
}

impl Segment {
    /// Writes what is in memory as a new segment; it is on the disk on return.
    pub(crate) fn write(folder: &Path, number: u64, table: &Table) -> Result<Self, IndexFailure> {
        let mut parts = Parts::default();
        let mut folders = 0;
        for (key, part) in table.folders() {
            let first = parts.entries;
            let listed = part.listed.unwrap_or(super::UNCHANGED);
            FolderRecord { key: key.clone(), first, listed }.encode(&mut parts.folders);
            folders += 1;
            for (name, entry) in &part.entries {
                parts.add(name, entry.as_deref());
            }
        }
        parts.place(0, 0).encode(&mut parts.refs);
        let path = Self::path_of(folder, number);
        let mut writer = SectionWriter::create(&path)?;
        for part in [&parts.folders, &parts.rows, &parts.refs, &parts.folded, &parts.names, &parts.facts] {
            writer.put(part)?;
            writer.next();
        }
        let mut vocabulary = VocabularyWriter::default();
        for (word, entries) in &parts.words {
            vocabulary.put(&mut writer, word.as_bytes(), entries)?;
        }
        vocabulary.finish(&mut writer)?;
        writer.finish(parts.entries, folders)?;
        Self::open(folder, number)
    }
}
