//! The journal of ext3 and ext4 (jbd2), replayed in memory: blocks of committed transactions take the place of those on the
//! volume. Its numbers are big-endian.
//!
//! A transaction without its commit block does not count, and neither does what a later one has revoked. Fast commits are not
//! read: the state is then that of the last whole commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Volume;
use super::inode::Inode;
use crate::{Error, ReadAt, Result, decode};

const NAME: &str = "journal of ext4";
const MAGIC: u32 = 0xC03B_3998;
/// Kinds of blocks.
const DESCRIPTOR: u32 = 1;
const COMMIT: u32 = 2;
const REVOKE: u32 = 5;
/// Incompatible features.
const WIDE: u32 = 2;
const CHECKSUMS_2: u32 = 8;
const CHECKSUMS_3: u32 = 16;
/// Flags of a tag: the block began with the magic number; it has no UUID; it is the last one.
const ESCAPED: u32 = 1;
const SAME_UUID: u32 = 2;
const LAST: u32 = 8;
/// The most blocks of a journal that are looked at: 4 GiB in blocks of 4 KiB. `mke2fs` makes journals of at most 1 GiB by itself.
const MOST_BLOCKS: usize = 1 << 20;
/// The most blocks that transactions may revoke.
const MOST_REVOKED: usize = 1 << 20;

/// A volume with the blocks of its journal.
pub(super) struct Replayed {
    bytes: Arc<dyn ReadAt>,
    block: u64,
    /// By block of the volume: where it is, and whether its first four bytes are the magic number.
    replaced: BTreeMap<u64, (u64, bool)>,
}

/// The superblock of a journal.
struct JournalSuperblock {
    blocks: u64,
    first: u64,
    sequence: u32,
    start: u64,
    features: u32,
}

/// A block that a transaction has written.
struct Tag {
    block: u64,
    flags: u32,
}

/// The transactions of a journal, one after the other.
struct Replay<'a> {
    volume: &'a Volume,
    journal: &'a Inode,
    superblock: JournalSuperblock,
    /// Committed blocks: where each is on the volume, with the number of its transaction.
    committed: HashMap<u64, (u64, bool, u32)>,
    /// The last transaction that has revoked a block.
    revoked: HashMap<u64, u32>,
    /// Blocks of the journal that were looked at, and blocks that were revoked: several of the journal can be one of the volume.
    looked: usize,
    revocations: usize,
}

/// The volume after its journal.
pub(super) fn replayed(volume: &Volume, journal: &Inode) -> Result<Replayed> {
    let block = volume.superblock.block;
    let mut head = vec![0; 1024];
    volume.read_file(journal, 0, &mut head)?;
    let superblock = decode(NAME, journal.place, &head, |r| {
        let magic = r.u32_be()?;
        r.skip(8)?; // kind, sequence
        let (size, blocks, first) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        let (sequence, start) = (r.u32_be()?, r.u32_be()?);
        r.skip(8)?; // error, compatible features
        let features = r.u32_be()?;
        let is_sound = magic == MAGIC && u64::from(size) == block && first > 0 && first < blocks;
        Ok(is_sound.then_some(JournalSuperblock {
            blocks: blocks.into(),
            first: first.into(),
            sequence,
            start: start.into(),
            features,
        }))
    })?;
    let superblock =
        superblock.ok_or_else(|| Error::damaged(NAME, journal.place, "its superblock is not sound"))?;
    let (committed, revoked) = (HashMap::new(), HashMap::new());
    let mut replay = Replay { volume, journal, superblock, committed, revoked, looked: 0, revocations: 0 };
    if replay.superblock.start != 0 {
        replay.run()?;
    }
    let Replay { committed, revoked, .. } = replay;
    let counts = |block: &u64, sequence: u32| {
        revoked.get(block).is_none_or(|last| (sequence.wrapping_sub(*last) as i32) > 0)
    };
    let replaced = committed.into_iter().filter(|(block, (_, _, sequence))| counts(block, *sequence));
    let replaced = replaced.map(|(block, (at, escaped, _))| (block, (at, escaped))).collect();
    Ok(Replayed { bytes: volume.bytes.clone(), block, replaced })
}

impl Replay<'_> {
    /// Goes through the journal until a block is not of the next transaction.
    fn run(&mut self) -> Result<()> {
        let (mut at, mut sequence) = (self.superblock.start, self.superblock.sequence);
        let (mut written, mut revoked) = (Vec::new(), Vec::new());
        for _ in 0..self.superblock.blocks {
            let block = self.block(at)?;
            let (magic, kind, number) =
                decode(NAME, at, &block, |r| Ok((r.u32_be()?, r.u32_be()?, r.u32_be()?)))?;
            if magic != MAGIC || number != sequence {
                break;
            }
            at = self.after(at);
            match kind {
                DESCRIPTOR => {
                    let tags = self.tags(&block, at)?;
                    self.looked += tags.len();
                    for tag in tags {
                        written.push((tag.block, self.place(at)?, tag.flags & ESCAPED != 0));
                        at = self.after(at);
                    }
                }
                REVOKE => {
                    let blocks = self.revoked_by(&block, at)?;
                    self.revocations += blocks.len();
                    revoked.extend(blocks);
                }
                COMMIT => {
                    let now = written.drain(..).map(|(block, at, escaped)| (block, (at, escaped, sequence)));
                    self.committed.extend(now);
                    self.revoked.extend(revoked.drain(..).map(|block| (block, sequence)));
                    sequence = sequence.wrapping_add(1);
                }
                _ => break,
            }
            self.looked += 1;
            if self.looked > MOST_BLOCKS || self.revocations > MOST_REVOKED {
                return Err(Error::NotSupported("a journal of ext4 with so many blocks".into()));
            }
        }
        Ok(())
    }

    /// The block behind another one: the journal is a ring.
    fn after(&self, at: u64) -> u64 {
        if at + 1 >= self.superblock.blocks { self.superblock.first } else { at + 1 }
    }

    /// Where a block of the journal is on the volume.
    fn place(&self, at: u64) -> Result<u64> {
        let start = self.volume.run(self.journal, at)?.start;
        let start = start.ok_or_else(|| Error::damaged(NAME, self.journal.place, "it has a hole"))?;
        Ok(start * self.volume.superblock.block)
    }

    fn block(&self, at: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.volume.superblock.block as usize];
        self.volume.bytes.read_at(self.place(at)?, &mut bytes)?;
        Ok(bytes)
    }

    fn tags(&self, block: &[u8], at: u64) -> Result<Vec<Tag>> {
        let features = self.superblock.features;
        let is_3 = features & CHECKSUMS_3 != 0;
        let most = block.len() / 8;
        decode(NAME, at, block, |r| {
            r.skip(12)?;
            let mut tags = Vec::new();
            loop {
                let low = r.u32_be()?;
                let (flags, high) = if is_3 {
                    let (flags, high) = (r.u32_be()?, r.u32_be()?);
                    r.skip(4)?; // checksum
                    (flags, high)
                } else {
                    r.skip(2)?; // checksum
                    let flags = u32::from(r.u16_be()?);
                    let high = if features & WIDE != 0 { r.u32_be()? } else { 0 };
                    if features & CHECKSUMS_2 != 0 {
                        r.skip(2)?;
                    }
                    (flags, high)
                };
                if flags & SAME_UUID == 0 {
                    r.skip(16)?;
                }
                let high = if features & WIDE != 0 { high } else { 0 };
                tags.push(Tag { block: u64::from(high) << 32 | u64::from(low), flags });
                if flags & LAST != 0 || tags.len() > most {
                    return Ok(tags);
                }
            }
        })
    }

    fn revoked_by(&self, block: &[u8], at: u64) -> Result<Vec<u64>> {
        let is_wide = self.superblock.features & WIDE != 0;
        decode(NAME, at, block, |r| {
            r.skip(12)?;
            let bytes = r.u32_be()?.saturating_sub(16) as usize;
            let count = bytes.min(block.len()) / if is_wide { 8 } else { 4 };
            (0..count).map(|_| if is_wide { r.u64_be() } else { r.u32_be().map(u64::from) }).collect()
        })
    }
}

impl ReadAt for Replayed {
    fn length(&self) -> u64 {
        self.bytes.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.bytes.read_at(offset, buffer)?;
        let Some(end) = offset.checked_add(buffer.len() as u64) else { return Ok(()) };
        if self.replaced.is_empty() || buffer.is_empty() {
            return Ok(());
        }
        for (block, (at, is_escaped)) in self.replaced.range(offset / self.block..=(end - 1) / self.block) {
            let mut bytes = vec![0; self.block as usize];
            self.bytes.read_at(*at, &mut bytes)?;
            if *is_escaped {
                bytes[..4].copy_from_slice(&MAGIC.to_be_bytes());
            }
            let start = block * self.block;
            let (from, to) = (offset.max(start), end.min(start + self.block));
            let target = &mut buffer[(from - offset) as usize..(to - offset) as usize];
            target.copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
        }
        Ok(())
    }
}
