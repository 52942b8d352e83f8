//! AppleSingle and AppleDouble, RFC 1740 and the A/UX Toolbox appendix: a table of entries, each a range of the file.

use std::ops::Range;

use wire::{Malformed, Reader, Writer};

use super::problem::Problem;

/// Bytes before the table of entries.
pub const HEADER_LEN: usize = 26;
/// Bytes of one row of the table.
pub const ENTRY_LEN: usize = 12;
/// How many entries are read. Fifteen ids are Apple's and macOS refuses more than that; the rest is for private ids.
pub const MAX_ENTRIES: usize = 64;
/// How much of a file's beginning a reader needs to have: everything but forks and large attribute values lies in it.
pub const HEAD_LIMIT: usize = 65_536;

/// The version written, and the only one macOS and Netatalk read.
pub const VERSION_2: u32 = 0x0002_0000;

/// What macOS writes into the 16 filler bytes.
pub const FILLER_MACOS: [u8; 16] = *b"Mac OS X        ";
/// What Netatalk writes into the filler bytes of a `._` file.
pub const FILLER_NETATALK: [u8; 16] = *b"Netatalk        ";

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u32);

#[allow(missing_docs, reason = "the specification's names")]
impl EntryId {
    pub const DATA_FORK: Self = Self(1);
    pub const RESOURCE_FORK: Self = Self(2);
    pub const REAL_NAME: Self = Self(3);
    pub const COMMENT: Self = Self(4);
    pub const FILE_INFO_V1: Self = Self(7);
    pub const FILE_DATES: Self = Self(8);
    pub const FINDER_INFO: Self = Self(9);
    pub const MAC_FILE_INFO: Self = Self(10);
    pub const PRODOS_FILE_INFO: Self = Self(11);
    pub const SHORT_NAME: Self = Self(13);
    pub const SERVER_FILE_INFO: Self = Self(14);
    pub const DIRECTORY_ID: Self = Self(15);
    /// Netatalk's: device number.
    pub const NETATALK_DEV: Self = Self(0x8044_4556);
    /// Netatalk's: inode number.
    pub const NETATALK_INO: Self = Self(0x8049_4E4F);
    /// Netatalk's: stamp of its database.
    pub const NETATALK_SYN: Self = Self(0x8053_594E);
    /// Netatalk's: catalogue node id.
    pub const NETATALK_ID: Self = Self(0x8053_567E);

    /// Whether it holds one of the two forks.
    pub fn is_fork(self) -> bool {
        matches!(self, Self::DATA_FORK | Self::RESOURCE_FORK)
    }
}

/// Whether the data fork is inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// AppleSingle: both forks and everything else in one file.
    Single,
    /// AppleDouble: everything but the data fork.
    Double,
}

impl Container {
    fn magic(self) -> u32 {
        match self {
            Self::Single => 0x0005_1600,
            Self::Double => 0x0005_1607,
        }
    }
}

/// The byte order of a file's numbers. The specification says big-endian; some tools on little-endian machines wrote
/// AppleSingle in their own order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "obvious")]
pub enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    fn u16(self, r: &mut Reader<'_>) -> Result<u16, Malformed> {
        if self == Self::Big { r.u16_be() } else { r.u16_le() }
    }

    pub(super) fn u32(self, r: &mut Reader<'_>) -> Result<u32, Malformed> {
        if self == Self::Big { r.u32_be() } else { r.u32_le() }
    }
}

/// A row of the table: where an entry's bytes are, as the file says, which may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What it holds.
    pub id: EntryId,
    /// From the first byte of the file.
    pub offset: u32,
    /// Its length.
    pub length: u32,
}

impl Entry {
    fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.length)
    }
}

/// The table of a file, over the beginning of its bytes.
#[derive(Debug, Clone)]
pub struct AppleDouble<'a> {
    /// AppleSingle or AppleDouble.
    pub container: Container,
    /// 0x00010000 or 0x00020000.
    pub version: u32,
    /// Of the table and of the entries' numbers.
    pub order: ByteOrder,
    /// Zeros by the specification; by custom the name of the program that wrote it.
    pub filler: [u8; 16],
    /// In the order of the table, each id once.
    pub entries: Vec<Entry>,
    /// What is not as it should be.
    pub problems: Vec<Problem>,
    head: &'a [u8],
    total: u64,
}

/// Whether these first bytes of a file are those of an AppleDouble or AppleSingle file. A file whose name merely begins
/// with `._` is told apart by this.
pub fn recognize(head: &[u8]) -> Option<Container> {
    AppleDouble::header(&mut Reader::new(head)).ok().map(|(container, ..)| container)
}

impl<'a> AppleDouble<'a> {
    /// Reads the table. `head` is the beginning of the file ([`HEAD_LIMIT`] bytes, or all there are), `total` its whole
    /// length. Nothing is copied but the table.
    pub fn parse(head: &'a [u8], total: u64) -> Result<Self, Malformed> {
        let mut r = Reader::new(head);
        let (container, order, version) = Self::header(&mut r)?;
        let filler = r.array()?;
        let announced = order.u16(&mut r)?;
        let total = total.max(head.len() as u64);
        let mut file = Self {
            container,
            version,
            order,
            filler,
            entries: Vec::new(),
            problems: Vec::new(),
            head,
            total,
        };
        file.read_table(&mut r, announced);
        file.check();
        Ok(file)
    }

    fn header(r: &mut Reader<'_>) -> Result<(Container, ByteOrder, u32), Malformed> {
        let (container, order) = match r.u32_be()? {
            0x0005_1600 => (Container::Single, ByteOrder::Big),
            0x0005_1607 => (Container::Double, ByteOrder::Big),
            0x0016_0500 => (Container::Single, ByteOrder::Little),
            0x0716_0500 => (Container::Double, ByteOrder::Little),
            _ => return Err(Malformed("not AppleSingle or AppleDouble")),
        };
        let version = order.u32(r)?;
        match version >> 16 {
            1 | 2 => Ok((container, order, version)),
            _ => Err(Malformed("a version of AppleSingle or AppleDouble nobody knows")),
        }
    }

    fn read_table(&mut self, r: &mut Reader<'a>, announced: u16) {
        let present = (r.remaining() / ENTRY_LEN).min(usize::from(announced)).min(MAX_ENTRIES);
        self.entries.reserve_exact(present);
        for _ in 0..present {
            let Ok(entry) = self.read_entry(r) else { break };
            if self.entry(entry.id).is_some() {
                self.problems.push(Problem::EntryTwice(entry.id.0));
            } else {
                self.entries.push(entry);
            }
        }
        if present < usize::from(announced) {
            self.problems.push(Problem::MissingEntries { announced, read: present });
        }
    }

    fn read_entry(&self, r: &mut Reader<'a>) -> Result<Entry, Malformed> {
        let (id, offset) = (self.order.u32(r)?, self.order.u32(r)?);
        Ok(Entry { id: EntryId(id), offset, length: self.order.u32(r)? })
    }

    /// Notes entries that share bytes with the header or each other, end too late, or leave bytes after them.
    fn check(&mut self) {
        let mut sorted: Vec<Entry> = self.entries.iter().copied().filter(|entry| entry.length > 0).collect();
        sorted.sort_by_key(|entry| (entry.offset, entry.length));
        let table_end = HEADER_LEN + ENTRY_LEN * self.entries.len();
        let mut last: Option<Entry> = None;
        for entry in sorted {
            if (entry.offset as usize) < table_end {
                self.problems.push(Problem::EntryInHeader(entry.id.0));
            }
            if entry.end() > self.total {
                self.problems.push(Problem::EntryPastEnd(entry.id.0));
            }
            if let Some(before) = last.filter(|before| before.end() > u64::from(entry.offset)) {
                self.problems.push(Problem::EntriesOverlap(before.id.0, entry.id.0));
            }
            last = Some(last.filter(|before| before.end() > entry.end()).unwrap_or(entry));
        }
        self.check_end();
    }

    fn check_end(&mut self) {
        // Entries without bytes count too: an empty resource fork at the end of the header marks that end.
        let end = self.entries.iter().map(Entry::end).max().unwrap_or(self.total);
        if end < self.total && self.container == Container::Double {
            self.problems.push(Problem::TrailingBytes(self.total - end));
        }
    }

    /// The row for an id.
    pub fn entry(&self, id: EntryId) -> Option<Entry> {
        self.entries.iter().copied().find(|entry| entry.id == id)
    }

    /// The bytes of an entry as a range of the file, cut to what is there.
    pub fn range(&self, id: EntryId) -> Option<Range<u64>> {
        let entry = self.entry(id)?;
        let start = u64::from(entry.offset).min(self.total);
        Some(start..entry.end().min(self.total))
    }

    /// The resource fork, when it is the last entry, up to the end of the file: Netatalk goes by that in what it wrote,
    /// also past 4 GiB, because the row may be from before the last write.
    pub fn resource_to_end(&self) -> Option<Range<u64>> {
        let fork = self.entry(EntryId::RESOURCE_FORK)?;
        let last = self.entries.iter().all(|entry| entry.offset <= fork.offset);
        last.then(|| u64::from(fork.offset).min(self.total)..self.total)
    }

    /// The bytes of an entry as far as they lie in the head and in the file.
    pub fn bytes(&self, id: EntryId) -> Option<&'a [u8]> {
        let range = self.range(id)?;
        let len = self.head.len() as u64;
        Some(&self.head[range.start.min(len) as usize..range.end.min(len) as usize])
    }

    /// The beginning of the file, as it was given.
    pub fn head(&self) -> &'a [u8] {
        self.head
    }

    /// The length of the file.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// An entry to write: its place in the file, the length in its row, and the bytes to write there.
/// They are fewer than the length if the caller writes the rest itself, as with a fork.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "as above")]
pub struct Slot<'a> {
    pub id: EntryId,
    pub offset: u32,
    pub length: u32,
    pub bytes: &'a [u8],
}

impl<'a> Slot<'a> {
    /// An entry whose bytes are all given.
    pub fn new(id: EntryId, offset: u32, bytes: &'a [u8]) -> Self {
        Self { id, offset, length: u32::try_from(bytes.len()).unwrap_or(u32::MAX), bytes }
    }
}

/// Writes a version 2 file: the table in the order of `slots`, each slot's bytes at its offset, zeros between, `size`
/// bytes in all.
pub fn build(container: Container, filler: [u8; 16], slots: &[Slot<'_>], size: usize) -> Vec<u8> {
    let mut w = Writer::onto(Vec::with_capacity(size));
    w.u32_be(container.magic());
    w.u32_be(VERSION_2);
    w.put(&filler);
    w.u16_be(u16::try_from(slots.len()).unwrap_or(u16::MAX));
    for slot in slots {
        w.u32_be(slot.id.0);
        w.u32_be(slot.offset);
        w.u32_be(slot.length);
    }
    let mut file = w.into_bytes();
    file.resize(size.max(file.len()), 0);
    for slot in slots {
        let place = file.get_mut(slot.offset as usize..slot.offset as usize + slot.bytes.len());
        place.expect("slots lie inside the size").copy_from_slice(slot.bytes);
    }
    file
}

/// Writes entries one after the other behind the table, in the order given.
pub fn pack(container: Container, filler: [u8; 16], entries: &[(EntryId, &[u8])]) -> Vec<u8> {
    let mut at = HEADER_LEN + ENTRY_LEN * entries.len();
    let mut slots = Vec::with_capacity(entries.len());
    for (id, bytes) in entries {
        slots.push(Slot::new(*id, u32::try_from(at).unwrap_or(u32::MAX), bytes));
        at += bytes.len();
    }
    build(container, filler, &slots, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by hand from RFC 1740 appendix A: magic, version, filler, count, one row, its bytes.
    fn by_hand(offset: u32, length: u32) -> Vec<u8> {
        let mut bytes = vec![0, 5, 0x16, 7, 0, 2, 0, 0];
        bytes.extend_from_slice(&[0; 16]);
        bytes.extend_from_slice(&[0, 1, 0, 0, 0, 4]);
        bytes.extend_from_slice(&offset.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(b"hello");
        bytes
    }

    #[test]
    fn reads_an_entry_by_its_id() {
        let bytes = by_hand(38, 5);
        let file = AppleDouble::parse(&bytes, 43).unwrap();
        assert_eq!(
            (file.container, file.version, file.order),
            (Container::Double, VERSION_2, ByteOrder::Big)
        );
        assert_eq!(file.bytes(EntryId::COMMENT), Some(&b"hello"[..]));
        assert_eq!(file.problems, []);
        assert_eq!(pack(Container::Double, [0; 16], &[(EntryId::COMMENT, b"hello")]), bytes);
    }

    #[test]
    fn entries_that_lie_are_cut_and_named() {
        for (offset, length, problem) in [
            (38, 6, Problem::EntryPastEnd(4)),
            (u32::MAX, u32::MAX, Problem::EntryPastEnd(4)),
            (30, 13, Problem::EntryInHeader(4)),
            (38, 4, Problem::TrailingBytes(1)),
        ] {
            let bytes = by_hand(offset, length);
            let file = AppleDouble::parse(&bytes, 43).unwrap();
            assert_eq!(file.problems, [problem]);
            assert!(file.bytes(EntryId::COMMENT).unwrap().len() <= 13);
        }
    }

    #[test]
    fn overlapping_and_repeated_entries_are_named() {
        let slots = [
            Slot::new(EntryId::FINDER_INFO, 62, &[7; 32]),
            Slot::new(EntryId::COMMENT, 90, b"both"),
            Slot::new(EntryId::COMMENT, 62, b""),
        ];
        let bytes = build(Container::Double, [0; 16], &slots, 94);
        let file = AppleDouble::parse(&bytes, 94).unwrap();
        assert_eq!(file.problems, [Problem::EntryTwice(4), Problem::EntriesOverlap(9, 4)]);
        assert_eq!(file.bytes(EntryId::COMMENT), Some(&b"both"[..]));
    }

    #[test]
    fn a_table_longer_than_the_file_gives_what_is_there() {
        let mut bytes = by_hand(38, 5);
        bytes[24..26].copy_from_slice(&[0xFF, 0xFF]);
        let file = AppleDouble::parse(&bytes, 43).unwrap();
        assert_eq!(file.problems[0], Problem::MissingEntries { announced: 0xFFFF, read: 1 });
        assert_eq!(file.bytes(EntryId::COMMENT), Some(&b"hello"[..]));
    }

    #[test]
    fn other_files_are_not_apple_double() {
        assert_eq!(recognize(b"...other text that merely lives in a ._ file"), None);
        assert_eq!(recognize(&[0, 5, 0x16, 7, 0, 9, 0, 0]), None);
        assert_eq!(recognize(&[0, 5, 0x16]), None);
        assert_eq!(recognize(&[0, 5, 0x16, 0, 0, 1, 0, 0]), Some(Container::Single));
    }

    #[test]
    fn a_fork_longer_than_the_head_is_a_range_only() {
        let slots = [Slot { id: EntryId::RESOURCE_FORK, offset: 38, length: 1 << 30, bytes: b"" }];
        let head = build(Container::Double, FILLER_MACOS, &slots, 38);
        let file = AppleDouble::parse(&head, 38 + (1 << 30)).unwrap();
        assert_eq!(file.range(EntryId::RESOURCE_FORK), Some(38..38 + (1 << 30)));
        assert_eq!((file.bytes(EntryId::RESOURCE_FORK), file.problems.len()), (Some(&b""[..]), 0));
    }
}
