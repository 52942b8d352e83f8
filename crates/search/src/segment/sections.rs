//! The parts of a segment's file: where they are, how they are written, and how they are read from end to end.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use wire::Reader;

use super::Segment;
use crate::error::{At, IndexFailure};

/// "FFSE" and the version of the format.
const MAGIC: &[u8; 8] = b"FFSE\0\0\0\x01";
/// Bytes of the footer: entries, folders, then end and checksum of each part, then checksum of this, then magic.
pub(super) const FOOTER: usize = 8 + Section::ALL.len() * 12 + 4 + 8;
/// How much of a part is read at once.
const PIECE: usize = 256 << 10;

/// A part of a segment, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Folders,
    Rows,
    Refs,
    Folded,
    Names,
    Facts,
    Posts,
    Words,
    WordBlocks,
}

impl Section {
    pub(super) const ALL: [Self; 9] = [
        Self::Folders,
        Self::Rows,
        Self::Refs,
        Self::Folded,
        Self::Names,
        Self::Facts,
        Self::Posts,
        Self::Words,
        Self::WordBlocks,
    ];
}

/// Where the parts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) entries: u32,
    pub(super) folders: u32,
    /// The end and the checksum of each part.
    parts: [(u64, u32); Section::ALL.len()],
}

impl Footer {
    pub(super) fn range(&self, section: Section) -> (u64, u64) {
        let at = section as usize;
        (if at == 0 { 0 } else { self.parts[at - 1].0 }, self.parts[at].0)
    }

    pub(super) fn length(&self, section: Section) -> u64 {
        let (start, end) = self.range(section);
        end - start
    }

    pub(super) fn checksum(&self, section: Section) -> u32 {
        self.parts[section as usize].1
    }

    /// Where it begins.
    pub(super) fn end(&self) -> u64 {
        self.parts[Section::ALL.len() - 1].0
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FOOTER);
        bytes.extend(self.entries.to_le_bytes());
        bytes.extend(self.folders.to_le_bytes());
        for (end, sum) in self.parts {
            bytes.extend(end.to_le_bytes());
            bytes.extend(sum.to_le_bytes());
        }
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }

    /// `start`: where the footer begins in the file.
    pub(super) fn decode(bytes: &[u8; FOOTER], start: u64) -> Result<Self, &'static str> {
        let (body, end) = bytes.split_at(FOOTER - 12);
        let (sum, magic) = end.split_at(4);
        if magic != MAGIC {
            return Err("it does not end as a part of an index");
        }
        if sum != crc32c::crc32c(body).to_le_bytes() {
            return Err("the checksum of its end is wrong");
        }
        let footer = Self::read(&mut Reader::new(body)).map_err(|_| "its end is cut off")?;
        let ends = footer.parts.iter().map(|(end, _)| *end);
        match ends.is_sorted() && footer.end() == start {
            true => Ok(footer),
            false => Err("its parts overlap"),
        }
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, wire::Malformed> {
        let (entries, folders) = (r.u32_le()?, r.u32_le()?);
        let mut parts = [(0, 0); Section::ALL.len()];
        for part in &mut parts {
            *part = (r.u64_le()?, r.u32_le()?);
        }
        Ok(Self { entries, folders, parts })
    }
}

/// Writes the parts of a new segment, one after the other.
pub(super) struct SectionWriter {
    path: PathBuf,
    file: BufWriter<File>,
    at: u64,
    sum: u32,
    parts: Vec<(u64, u32)>,
}

impl SectionWriter {
    pub(super) fn create(path: &Path) -> Result<Self, IndexFailure> {
        let file = BufWriter::with_capacity(PIECE, File::create(path).at(path)?);
        Ok(Self { path: path.to_owned(), file, at: 0, sum: 0, parts: Vec::new() })
    }

    /// Adds to the present part.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), IndexFailure> {
        self.file.write_all(bytes).at(&self.path)?;
        self.sum = crc32c::crc32c_append(self.sum, bytes);
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// The next part begins.
    pub(super) fn next(&mut self) {
        self.parts.push((self.at, self.sum));
        self.sum = 0;
    }

    /// All parts are there. The segment is on the disk on return.
    pub(super) fn finish(mut self, entries: u32, folders: u32) -> Result<(), IndexFailure> {
        let parts = self.parts.as_slice().try_into();
        let parts = parts.map_err(|_| IndexFailure::damaged(&self.path, "a part was not written"))?;
        let footer = Footer { entries, folders, parts }.encode();
        self.file.write_all(&footer).at(&self.path)?;
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error).at(&self.path)?;
        file.sync_all().at(&self.path)
    }
}

/// Reads a part from its beginning to its end.
pub(crate) struct Stream<'a> {
    segment: &'a Segment,
    section: Section,
    buffer: Vec<u8>,
    /// What of the buffer was taken.
    taken: usize,
    /// How much of the part is in the buffer or was.
    read: u64,
}

impl<'a> Stream<'a> {
    pub(crate) fn of(segment: &'a Segment, section: Section) -> Self {
        Self { segment, section, buffer: Vec::new(), taken: 0, read: 0 }
    }

    /// The next bytes; `None` at the end of the part.
    pub(crate) fn take(&mut self, count: usize) -> Result<Option<Vec<u8>>, IndexFailure> {
        if !self.fill(count)? {
            return Ok(None);
        }
        let bytes = self.buffer[self.taken..self.taken + count].to_vec();
        self.taken += count;
        Ok(Some(bytes))
    }

    /// Skips bytes.
    pub(crate) fn skip(&mut self, count: u64) {
        let here = (self.buffer.len() - self.taken) as u64;
        if count <= here {
            self.taken += count as usize;
        } else {
            self.read += count - here;
            self.buffer.clear();
            self.taken = 0;
        }
    }

    /// Makes sure that so many bytes are in the buffer.
    fn fill(&mut self, count: usize) -> Result<bool, IndexFailure> {
        let here = self.buffer.len() - self.taken;
        if here >= count {
            return Ok(true);
        }
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let left = self.segment.footer.length(self.section).saturating_sub(self.read);
        if left < (count - here) as u64 {
            return Ok(false);
        }
        let more = left.min((count - here).max(PIECE) as u64) as usize;
        self.buffer.extend(self.segment.read(self.section, self.read, more)?);
        self.read += more as u64;
        Ok(true)
    }
}
