//! A part of an index in one file, which is never changed: entries in the order of their folders' keys and of their names.
//!
//! ```text
//! folders   72 bytes each: key, its first entry, the change time at which it was listed
//! rows      32 bytes for each entry: what most comparisons need
//! refs      28 bytes for each entry, and one more: where its texts begin, inode number, change time
//! folded    the names without case and accents, a zero byte after each: searched as one text
//! names     the stored names, a zero byte after each; left out where the folded form is the same
//! facts     for the entries that have more: entry, length, values
//! words     the words of contents in order, in blocks; the entries that have them are in posts
//! footer    where all this is, and checksums
//! ```
//!
//! An entry replaces that of an older segment. One that was removed is a row that says so, until its segment is merged with the
//! oldest one.

pub(crate) mod build;
pub(crate) mod codec;
pub(crate) mod merge;
mod sections;
pub(crate) mod vocabulary;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use query::{Facts, FileKind};
use vfs::HostKey;
use wire::Reader;

use self::sections::{FOOTER, Footer, Section};
use crate::entry::{Entry, FolderKey};
use crate::error::{At, IndexFailure};

/// Bytes of a folder's record.
const FOLDER: usize = 72;
/// Bytes of the longest key in one.
const MAX_KEY: usize = HostKey::MAX + 8;
/// Bytes of an entry's row.
pub(crate) const ROW: usize = 32;
/// Bytes of an entry's references.
pub(crate) const REFS: usize = 28;

/// The folder is to be listed.
pub(crate) const UNLISTED: i64 = i64::MIN;
/// The folder is gone, or is not indexed.
pub(crate) const GONE: i64 = i64::MIN + 1;
/// The record only has entries: an older segment says when the folder was listed.
pub(crate) const UNCHANGED: i64 = i64::MIN + 2;

/// The number of an entry in its segment.
pub(crate) type Number = u32;

/// An open segment.
pub(crate) struct Segment {
    path: PathBuf,
    file: File,
    footer: Footer,
    /// A merged one: its file goes with the last search that reads it.
    is_replaced: AtomicBool,
}

/// A folder's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderRecord {
    pub(crate) key: FolderKey,
    pub(crate) first: Number,
    /// Its change time in nanoseconds when it was listed, or [`UNLISTED`], or [`GONE`].
    pub(crate) listed: i64,
}

/// What most comparisons need of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: FileKind,
    pub(crate) flags: u8,
    pub(crate) uid: u32,
    pub(crate) size: u64,
    pub(crate) modified: i64,
    pub(crate) created: i64,
}

/// The entry was removed.
pub(crate) const REMOVED: u8 = 1;
/// Its contents were read.
pub(crate) const HAS_CONTENTS: u8 = 2;
/// It is a file.
pub(crate) const IS_FILE: u8 = 4;

/// Where the texts of an entry begin in their sections; they end where those of the next entry begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Refs {
    pub(crate) folded: u32,
    pub(crate) name: u32,
    pub(crate) facts: u32,
    pub(crate) inode: u64,
    pub(crate) changed: i64,
}

impl Row {
    pub(crate) fn of(entry: Option<&Entry>) -> Self {
        let Some(entry) = entry else {
            return Self { kind: FileKind::Other, flags: REMOVED, uid: 0, size: 0, modified: 0, created: 0 };
        };
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        Self {
            kind: entry.kind,
            flags: flag(entry.words.is_some(), HAS_CONTENTS) | flag(entry.is_file, IS_FILE),
            uid: entry.uid,
            size: entry.size,
            modified: entry.modified,
            created: entry.created,
        }
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.flags & REMOVED != 0
    }

    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        into.extend([self.kind as u8, self.flags, 0, 0]);
        into.extend(self.uid.to_le_bytes());
        into.extend(self.size.to_le_bytes());
        into.extend(self.modified.to_le_bytes());
        into.extend(self.created.to_le_bytes());
    }

    /// `None` if the bytes are too few.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let row = StoredRow(bytes.first_chunk()?);
        Some(Self {
            kind: row.kind(),
            flags: row.flags(),
            uid: row.uid(),
            size: row.size(),
            modified: row.modified(),
            created: row.created(),
        })
    }
}

/// A row as [`Row::encode`] writes it, of which only what is asked for is decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredRow<'a>(pub(crate) &'a [u8; ROW]);

impl StoredRow<'_> {
    pub(crate) fn kind(self) -> FileKind {
        FileKind::of_number(self.0[0]).unwrap_or(FileKind::Other)
    }

    pub(crate) fn flags(self) -> u8 {
        self.0[1]
    }

    pub(crate) fn uid(self) -> u32 {
        u32::from_le_bytes(self.field::<4, 4>())
    }

    pub(crate) fn size(self) -> u64 {
        u64::from_le_bytes(self.field::<8, 8>())
    }

    pub(crate) fn modified(self) -> i64 {
        i64::from_le_bytes(self.field::<16, 8>())
    }

    pub(crate) fn created(self) -> i64 {
        i64::from_le_bytes(self.field::<24, 8>())
    }

    fn field<const AT: usize, const LENGTH: usize>(self) -> [u8; LENGTH] {
        std::array::from_fn(|at| self.0[AT + at])
    }
}

impl Refs {
    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.folded.to_le_bytes());
        into.extend(self.name.to_le_bytes());
        into.extend(self.facts.to_le_bytes());
        into.extend(self.inode.to_le_bytes());
        into.extend(self.changed.to_le_bytes());
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        Some(Self {
            folded: r.u32_le().ok()?,
            name: r.u32_le().ok()?,
            facts: r.u32_le().ok()?,
            inode: r.u64_le().ok()?,
            changed: r.i64_le().ok()?,
        })
    }
}

impl FolderRecord {
    fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.push(self.key.len() as u8);
        into.extend(&self.key[..]);
        into.resize(start + 1 + MAX_KEY, 0);
        into.extend(self.first.to_le_bytes());
        into.extend(self.listed.to_le_bytes());
        into.resize(start + FOLDER, 0);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        let length = usize::from(r.u8().ok()?);
        let key = r.take(MAX_KEY).ok()?.get(..length)?;
        Some(Self { key: key.into(), first: r.u32_le().ok()?, listed: r.i64_le().ok()? })
    }
}

impl Segment {
    pub(crate) fn path_of(folder: &Path, number: u64) -> PathBuf {
        folder.join(format!("{number:08}.segment"))
    }

    /// Opens a segment of an index.
    pub(crate) fn open(folder: &Path, number: u64) -> Result<Self, IndexFailure> {
        let path = Self::path_of(folder, number);
        let file = File::open(&path).at(&path)?;
        let length = file.metadata().at(&path)?.len();
        let start =
            length.checked_sub(FOOTER as u64).ok_or(IndexFailure::damaged(&path, "it is too short"))?;
        let mut bytes = [0; FOOTER];
        file.read_exact_at(&mut bytes, start).at(&path)?;
        let footer =
            Footer::decode(&bytes, start).map_err(|problem| IndexFailure::damaged(&path, problem))?;
        let is_sound = footer.length(Section::Folders) == footer.folders as u64 * FOLDER as u64
            && footer.length(Section::Rows) == u64::from(footer.entries) * ROW as u64
            && footer.length(Section::Refs) == (u64::from(footer.entries) + 1) * REFS as u64;
        if !is_sound {
            return Err(IndexFailure::damaged(&path, "its parts do not fit together"));
        }
        Ok(Self { path, file, footer, is_replaced: AtomicBool::new(false) })
    }

    /// Reads everything and compares the checksums.
    pub(crate) fn verify(&self, mut goes_on: impl FnMut() -> bool) -> Result<(), IndexFailure> {
        let mut buffer = vec![0; 1 << 20];
        for section in Section::ALL {
            let (mut at, end) = self.footer.range(section);
            let mut sum = 0;
            while at < end {
                if !goes_on() {
                    return Ok(());
                }
                let piece = &mut buffer[..(end - at).min(1 << 20) as usize];
                self.file.read_exact_at(piece, at).at(&self.path)?;
                sum = crc32c::crc32c_append(sum, piece);
                at += piece.len() as u64;
            }
            if sum != self.footer.checksum(section) {
                return Err(self.damaged("its checksum is wrong"));
            }
        }
        Ok(())
    }

    pub(crate) fn damaged(&self, problem: &'static str) -> IndexFailure {
        IndexFailure::damaged(&self.path, problem)
    }

    /// Its file is removed when nothing reads it any more.
    pub(crate) fn replace(&self) {
        self.is_replaced.store(true, Ordering::Relaxed);
    }

    /// How many entries it has, removed ones included.
    pub(crate) fn entries(&self) -> Number {
        self.footer.entries
    }

    pub(crate) fn folders(&self) -> u32 {
        self.footer.folders
    }

    /// Bytes of its file.
    pub(crate) fn bytes(&self) -> u64 {
        self.footer.end() + FOOTER as u64
    }

    /// Bytes of a section from a place in it.
    fn read(&self, section: Section, at: u64, length: usize) -> Result<Vec<u8>, IndexFailure> {
        let (start, end) = self.footer.range(section);
        let from = start.checked_add(at).filter(|from| *from <= end && length as u64 <= end - from);
        let from = from.ok_or_else(|| self.damaged("a place is outside of its part"))?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, from).at(&self.path)?;
        Ok(bytes)
    }

    pub(crate) fn rows(&self, first: Number, count: usize) -> Result<Vec<u8>, IndexFailure> {
        self.read(Section::Rows, u64::from(first) * ROW as u64, count * ROW)
    }

    /// The references of so many entries, and of the one after them.
    pub(crate) fn refs(&self, first: Number, count: usize) -> Result<Vec<Refs>, IndexFailure> {
        Ok(self.encoded_refs(first, count)?.chunks_exact(REFS).filter_map(Refs::decode).collect())
    }

    /// The same as bytes.
    pub(crate) fn encoded_refs(&self, first: Number, count: usize) -> Result<Vec<u8>, IndexFailure> {
        self.read(Section::Refs, u64::from(first) * REFS as u64, (count + 1) * REFS)
    }

    /// The folded names between two places.
    pub(crate) fn folded(&self, from: u32, to: u32) -> Result<Vec<u8>, IndexFailure> {
        self.span(Section::Folded, from, to)
    }

    pub(crate) fn names(&self, from: u32, to: u32) -> Result<Vec<u8>, IndexFailure> {
        self.span(Section::Names, from, to)
    }

    fn span(&self, section: Section, from: u32, to: u32) -> Result<Vec<u8>, IndexFailure> {
        let length = to.checked_sub(from).ok_or_else(|| self.damaged("texts are out of order"))?;
        self.read(section, u64::from(from), length as usize)
    }

    pub(crate) fn row(&self, entry: Number) -> Result<Row, IndexFailure> {
        Row::decode(&self.rows(entry, 1)?).ok_or_else(|| self.damaged("a row is cut off"))
    }

    /// The references of an entry and of the one after it.
    pub(crate) fn refs_of(&self, entry: Number) -> Result<[Refs; 2], IndexFailure> {
        self.refs(entry, 1)?.try_into().map_err(|_| self.damaged("a reference is missing"))
    }

    /// The stored name of an entry.
    pub(crate) fn name(&self, [here, next]: &[Refs; 2]) -> Result<Vec<u8>, IndexFailure> {
        let mut name = match here.name == next.name {
            true => self.folded(here.folded, next.folded)?,
            false => self.names(here.name, next.name)?,
        };
        match name.pop() {
            Some(0) => Ok(name),
            _ => Err(self.damaged("a name has no end")),
        }
    }

    /// An entry without the words of its contents; `None` if it was removed.
    pub(crate) fn entry(&self, row: Row, refs: &[Refs; 2]) -> Result<Option<Entry>, IndexFailure> {
        if row.is_removed() {
            return Ok(None);
        }
        Ok(Some(Entry {
            kind: row.kind,
            is_file: row.flags & IS_FILE != 0,
            uid: row.uid,
            size: row.size,
            modified: row.modified,
            created: row.created,
            inode: refs[0].inode,
            changed: refs[0].changed,
            extra: self.facts(refs)?,
            words: None,
        }))
    }

    /// What few entries have.
    pub(crate) fn facts(&self, [here, next]: &[Refs; 2]) -> Result<Facts, IndexFailure> {
        let bytes = self.span(Section::Facts, here.facts, next.facts)?;
        match bytes.get(8..) {
            Some(bytes) => codec::decode(bytes).ok_or_else(|| self.damaged("facts are cut off")),
            None => Ok(Facts::default()),
        }
    }

    /// Calls `each` with the facts of all entries that have more than each entry has.
    pub(crate) fn each_facts(&self, mut each: impl FnMut(Number, Facts)) -> Result<(), IndexFailure> {
        let mut cursor = sections::Stream::of(self, Section::Facts);
        while let Some(head) = cursor.take(8)? {
            let mut r = Reader::new(&head);
            let (Ok(entry), Ok(length)) = (r.u32_le(), r.u32_le()) else { break };
            let bytes = cursor.take(length as usize)?.ok_or_else(|| self.damaged("facts are cut off"))?;
            let facts = codec::decode(&bytes).ok_or_else(|| self.damaged("facts are cut off"))?;
            each(entry, facts);
        }
        Ok(())
    }

    /// The record of the folder with this place in the order.
    pub(crate) fn folder(&self, place: u32) -> Result<FolderRecord, IndexFailure> {
        let bytes = self.read(Section::Folders, u64::from(place) * FOLDER as u64, FOLDER)?;
        FolderRecord::decode(&bytes).ok_or_else(|| self.damaged("a folder's record is cut off"))
    }

    /// The folder with this key: its record, and the entry after its last one.
    pub(crate) fn find_folder(&self, key: &[u8]) -> Result<Option<(FolderRecord, Number)>, IndexFailure> {
        let place = self.folder_from(key)?;
        if place == self.folders() {
            return Ok(None);
        }
        let record = self.folder(place)?;
        if record.key[..] != *key {
            return Ok(None);
        }
        Ok(Some((record, self.end_of_folder(place)?)))
    }

    pub(crate) fn end_of_folder(&self, place: u32) -> Result<Number, IndexFailure> {
        if place + 1 < self.folders() { Ok(self.folder(place + 1)?.first) } else { Ok(self.entries()) }
    }

    /// The place of the first folder whose key is not less.
    pub(crate) fn folder_from(&self, key: &[u8]) -> Result<u32, IndexFailure> {
        let (mut low, mut high) = (0, self.folders());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.folder(middle)?.key[..] < *key { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The place of the folder that an entry is in.
    pub(crate) fn folder_of(&self, entry: Number) -> Result<u32, IndexFailure> {
        let (mut low, mut high) = (0, self.folders());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.folder(middle)?.first <= entry { low = middle + 1 } else { high = middle }
        }
        low.checked_sub(1).ok_or_else(|| self.damaged("an entry is in no folder"))
    }

    /// The first entry of a range whose name is not less; the range is of one folder.
    pub(crate) fn entry_from(
        &self,
        range: std::ops::Range<Number>,
        name: &[u8],
    ) -> Result<Number, IndexFailure> {
        let (mut low, mut high) = (range.start, range.end.min(self.entries()));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.name(&self.refs_of(middle)?)?[..] < *name { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The entry of a folder with this name, also if it says that the entry was removed.
    pub(crate) fn find(&self, folder: &[u8], name: &[u8]) -> Result<Option<Number>, IndexFailure> {
        let Some((record, end)) = self.find_folder(folder)? else { return Ok(None) };
        let entry = self.entry_from(record.first..end, name)?;
        if entry >= end || self.name(&self.refs_of(entry)?)?[..] != *name {
            return Ok(None);
        }
        Ok(Some(entry))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if self.is_replaced.load(Ordering::Relaxed)
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::debug!(%error, file = %self.path.display(), "a merged part of an index was not removed");
        }
    }
}
