//! The journal, replayed in memory: TN1150, "Journal"; the order of transactions and the checksums as Apple's public
//! `hfs_journal.c` has them.
//!
//! What is replayed is a table of places: blocks of the volume that are read from the journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use wire::{Malformed, Reader};

use crate::part::{check_range, read_vec};
use crate::{Error, ReadAt, Result, decode};

const MAGIC: u32 = 0x4A4E_4C78;
const ENDIAN: u32 = 0x1234_5678;
/// Bytes of the journal's header that its checksum covers.
const SUMMED: usize = 44;
/// The same for the header of a list of blocks.
const LIST_SUMMED: usize = 32;
/// Flags of the journal info block.
const IN_VOLUME: u32 = 1;
const NEEDS_INITIALIZATION: u32 = 4;
/// A list whose blocks have checksums.
const HAS_CHECKSUMS: u32 = 1;
/// A block that was freed later in the transaction.
const KILLED: u64 = u64::MAX;
/// The largest list of blocks that is read, and the largest block.
const MAX_LIST: usize = 1 << 20;
const MAX_BLOCK: usize = 1 << 20;
/// The most pieces that are replaced: 100 MB of memory.
const MAX_PIECES: usize = 1 << 21;
const NAME: &str = "journal";

/// What a journal says.
pub(super) enum Journal {
    /// There is none, or it is on another disk.
    None,
    /// All of it is on the volume already.
    Clean,
    /// These blocks of the volume are in the journal.
    Replayed(Arc<ReplayedVolume>),
}

/// Numbers in the byte order of the machine that wrote the journal.
#[derive(Clone, Copy)]
struct Numbers {
    is_little: bool,
}

impl Numbers {
    fn u16(self, r: &mut Reader<'_>) -> std::result::Result<u16, Malformed> {
        if self.is_little { r.u16_le() } else { r.u16_be() }
    }

    fn u32(self, r: &mut Reader<'_>) -> std::result::Result<u32, Malformed> {
        if self.is_little { r.u32_le() } else { r.u32_be() }
    }

    fn u64(self, r: &mut Reader<'_>) -> std::result::Result<u64, Malformed> {
        if self.is_little { r.u64_le() } else { r.u64_be() }
    }
}

/// The checksum of headers and blocks.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(0u32, |sum, byte| (sum << 8) ^ sum.wrapping_add(u32::from(*byte)))
}

/// An open journal.
struct OpenJournal {
    bytes: Arc<dyn ReadAt>,
    /// Where it begins on the volume.
    place: u64,
    numbers: Numbers,
    start: u64,
    end: u64,
    size: u64,
    list_size: usize,
    /// Bytes of the header, and of the unit of block numbers.
    block: u64,
}

/// Reads the journal of a volume.
///
/// # Errors
///
/// [`Error::Damaged`] if the header is damaged: then nothing of it can be replayed.
pub(super) fn read(bytes: &Arc<dyn ReadAt>, info_place: u64) -> Result<Journal> {
    let info = read_vec(bytes.as_ref(), info_place, 52)?;
    let (flags, place, size) = decode("journal info block", info_place, &info, |r| {
        let flags = r.u32_be()?;
        r.skip(32)?; // signature of the device
        Ok((flags, r.u64_be()?, r.u64_be()?))
    })?;
    if flags & IN_VOLUME == 0 || flags & NEEDS_INITIALIZATION != 0 {
        return Ok(Journal::None);
    }
    let Some(journal) = OpenJournal::open(bytes.clone(), place, size)? else { return Ok(Journal::Clean) };
    let replaced = journal.replay()?;
    match replaced.is_empty() {
        true => Ok(Journal::Clean),
        false => Ok(Journal::Replayed(Arc::new(ReplayedVolume { bytes: bytes.clone(), replaced }))),
    }
}

impl OpenJournal {
    /// `None` if it has nothing to replay.
    fn open(bytes: Arc<dyn ReadAt>, place: u64, size: u64) -> Result<Option<Self>> {
        let damaged = |problem: &str| Error::damaged("journal header", place, problem);
        let head = read_vec(bytes.as_ref(), place, SUMMED)?;
        let is_little = match &head[..4] {
            magic if magic == MAGIC.to_le_bytes() => true,
            magic if magic == MAGIC.to_be_bytes() => false,
            _ => return Err(damaged("it has no signature")),
        };
        let numbers = Numbers { is_little };
        let (endian, start, end, own_size, list_size, sum, block) =
            decode("journal header", place, &head, |r| {
                r.skip(4)?; // signature
                let endian = numbers.u32(r)?;
                let (start, end, size) = (numbers.u64(r)?, numbers.u64(r)?, numbers.u64(r)?);
                let (list_size, sum, block) = (numbers.u32(r)?, numbers.u32(r)?, numbers.u32(r)?);
                Ok((endian, start, end, size, list_size as usize, sum, u64::from(block)))
            })?;
        let mut summed = head;
        summed[36..40].fill(0);
        if endian != ENDIAN || checksum(&summed) != sum {
            return Err(damaged("its checksum is wrong"));
        }
        let is_inside = |at: u64| (block..=own_size).contains(&at);
        let are_sizes = own_size == size
            && block >= 512
            && block.is_power_of_two()
            && size > block
            && (LIST_SUMMED..=MAX_LIST).contains(&list_size)
            && place.checked_add(size).is_some_and(|end| end <= bytes.length());
        if !are_sizes || !is_inside(start) || !is_inside(end) {
            return Err(damaged("its sizes are not possible"));
        }
        let wrapped = |at: u64| if at == size { block } else { at };
        let (start, end) = (wrapped(start), wrapped(end));
        let journal = Self { bytes, place, numbers, start, end, size, list_size, block };
        Ok((start != end).then_some(journal))
    }

    /// The places on the volume of bytes of the journal, which is a ring behind its header.
    fn pieces(&self, at: u64, length: usize) -> [(u64, usize); 2] {
        let first = length.min((self.size - at) as usize);
        [(self.place + at, first), (self.place + self.block, length - first)]
    }

    fn read(&self, at: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for (place, count) in self.pieces(at, length) {
            bytes.extend(read_vec(self.bytes.as_ref(), place, count)?);
        }
        Ok(bytes)
    }

    /// `at` moved on by `by` bytes, around the end of the ring.
    fn after(&self, at: u64, by: u64) -> Option<u64> {
        let next = at + by;
        match next < self.size {
            true => Some(next),
            false => Some(self.block + (next - self.size)).filter(|next| *next < self.size),
        }
    }

    /// The blocks of all whole transactions. Replaying ends where the journal ends, or where it is not sound.
    fn replay(&self) -> Result<Replaced> {
        let mut replaced = Replaced::default();
        let (mut at, mut sequence, mut used) = (self.start, 0, 0);
        // Transactions behind the end count if their numbers follow: the header is written last, and lazily.
        let mut is_behind = false;
        while used < self.size {
            is_behind |= at == self.end;
            let list = match self.list(at, sequence)? {
                Some(list) if !is_behind || list.sequence != 0 => list,
                _ => break,
            };
            for (number, place, length) in &list.blocks {
                let mut to = number.checked_mul(self.block).ok_or_else(|| self.impossible(at))?;
                for (from, count) in self.pieces(*place, *length) {
                    replaced.insert(to, from, count as u64).ok_or_else(|| self.impossible(at))?;
                    to = to.saturating_add(count as u64);
                }
            }
            (sequence, used) = (list.sequence, used + list.used);
            at = self.after(at, list.used).ok_or_else(|| self.impossible(at))?;
        }
        Ok(replaced)
    }

    fn impossible(&self, at: u64) -> Error {
        Error::damaged(NAME, self.place + at, "a transaction has numbers that are not possible")
    }

    /// The list of blocks at a place; `None` if it is not sound.
    fn list(&self, at: u64, last_sequence: u32) -> Result<Option<BlockList>> {
        let mut bytes = self.read(at, self.list_size)?;
        let read = |r: &mut Reader<'_>| {
            let numbers = self.numbers;
            let (_, count, used) = (numbers.u16(r)?, usize::from(numbers.u16(r)?), numbers.u32(r)?);
            let (sum, flags) = (numbers.u32(r)?, numbers.u32(r)?);
            r.skip(8 + 4)?; // the first entry is no block
            let sequence = numbers.u32(r)?;
            let mut entries = Vec::new();
            for _ in 1..count {
                entries.push((numbers.u64(r)?, numbers.u32(r)? as usize, numbers.u32(r)?));
            }
            Ok((sum, flags, u64::from(used), count, sequence, entries))
        };
        let decoded: std::result::Result<_, Malformed> = read(&mut Reader::new(&bytes));
        let Ok((sum, flags, used, count, sequence, entries)) = decoded else { return Ok(None) };
        bytes[8..12].fill(0);
        let follows = last_sequence == 0
            || sequence == 0
            || sequence == last_sequence
            || sequence == last_sequence.wrapping_add(1);
        if checksum(&bytes[..LIST_SUMMED]) != sum || !follows || count == 0 || used < self.list_size as u64 {
            return Ok(None);
        }
        let Some(mut place) = self.after(at, self.list_size as u64) else { return Ok(None) };
        let (mut blocks, mut total) = (Vec::new(), self.list_size as u64);
        for (number, length, sum) in entries {
            total += length as u64;
            // Blocks that are not in what the list takes would be other ones, read again and again.
            if length > MAX_BLOCK || used > self.size || total > used {
                return Ok(None);
            }
            if number != KILLED {
                let has_sum = flags & HAS_CHECKSUMS != 0 && sum != 0;
                if has_sum && checksum(&self.read(place, length)?) != sum {
                    return Ok(None);
                }
                blocks.push((number, place, length));
            }
            match self.after(place, length as u64) {
                Some(next) => place = next,
                None => return Ok(None),
            }
        }
        Ok(Some(BlockList { sequence, used, blocks }))
    }
}

/// A part of a transaction.
struct BlockList {
    sequence: u32,
    /// Bytes of the journal that it takes.
    used: u64,
    /// The number of a block on the volume, where its bytes are in the journal, and how many.
    blocks: Vec<(u64, u64, usize)>,
}

/// Ranges of the volume that are read from elsewhere on it: by their beginnings, where from, and how many bytes.
#[derive(Default)]
struct Replaced(BTreeMap<u64, (u64, u64)>);

impl Replaced {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces `count` bytes at `to`. `None` if there are too many ranges, or the numbers overflow.
    fn insert(&mut self, to: u64, from: u64, count: u64) -> Option<()> {
        let end = to.checked_add(count)?;
        if count == 0 {
            return Some(());
        }
        // What is left of earlier ranges that overlap this one.
        let overlapping: Vec<(u64, (u64, u64))> = self
            .0
            .range(..end)
            .rev()
            .take_while(|(start, (_, length))| *start + *length > to)
            .map(|(start, range)| (*start, *range))
            .collect();
        for (start, (source, length)) in overlapping {
            self.0.remove(&start);
            if start < to {
                self.0.insert(start, (source, to - start));
            }
            if start + length > end {
                self.0.insert(end, (source + (end - start), start + length - end));
            }
        }
        self.0.insert(to, (from, count));
        (self.0.len() <= MAX_PIECES).then_some(())
    }
}

/// A volume with what its journal has for it.
pub(super) struct ReplayedVolume {
    bytes: Arc<dyn ReadAt>,
    replaced: Replaced,
}

impl ReadAt for ReplayedVolume {
    fn length(&self) -> u64 {
        self.bytes.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range("volume", self.length(), offset, buffer.len())?;
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            let before = self.replaced.0.range(..=at).next_back();
            let replaced = before.filter(|(start, (_, length))| at < **start + *length);
            let (from, room) = match replaced {
                Some((start, (source, length))) => (source + (at - start), start + length - at),
                None => {
                    let next = self.replaced.0.range(at..).next().map_or(u64::MAX, |(start, _)| *start);
                    (at, next - at)
                }
            };
            let count = left.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            let (piece, rest) = left.split_at_mut(count);
            self.bytes.read_at(from, piece)?;
            at += count as u64;
            left = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_blocks_replace_parts_of_earlier_ones() {
        let mut replaced = Replaced::default();
        replaced.insert(100, 1000, 100).unwrap();
        replaced.insert(120, 2000, 20).unwrap();
        replaced.insert(190, 3000, 20).unwrap();
        let all: Vec<_> = replaced.0.into_iter().collect();
        assert_eq!(all, [(100, (1000, 20)), (120, (2000, 20)), (140, (1040, 50)), (190, (3000, 20))]);
    }
}
