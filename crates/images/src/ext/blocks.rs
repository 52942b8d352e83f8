//! Where the data of a file are: extents, or the block maps of ext2 and ext3.

use super::Volume;
use super::inode::Inode;
use crate::part::read_vec;
use crate::{Error, Result, decode};

const MAGIC: u16 = 0xF30A;
/// The deepest tree that Linux makes.
const DEEPEST: u16 = 5;
/// Blocks of an extent that is allocated and not written have this added.
const UNWRITTEN: u16 = 32_768;
/// Blocks that an inode of ext2 maps itself.
const DIRECT: u64 = 12;

/// Blocks of a file that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The first one on the volume; `None` reads as zeros.
    pub(super) start: Option<u64>,
    /// How many there are, at least one.
    pub(super) count: u64,
}

/// A record of a node: the first block of the file, and a block of the volume; of a leaf also how many.
struct Record {
    first: u64,
    start: u64,
    /// Of a leaf: how many, and whether they were written.
    blocks: Option<(u64, bool)>,
}

impl Volume {
    /// Reads from a file; returns how many bytes there were.
    pub(super) fn read_file(&self, inode: &Inode, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = inode.size.saturating_sub(offset);
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if inode.is_inline() {
            return self.read_inline(inode, offset, &mut buffer[..count]);
        }
        let block = self.superblock.block;
        let mut filled = 0;
        while filled < count {
            let at = offset + filled as u64;
            let run = self.run(inode, at / block)?;
            let inside = at % block;
            let bytes = run.count.saturating_mul(block) - inside;
            let piece = (count - filled).min(usize::try_from(bytes).unwrap_or(usize::MAX));
            let target = &mut buffer[filled..filled + piece];
            match run.start {
                Some(start) => self.bytes.read_at(start * block + inside, target)?,
                None => target.fill(0),
            }
            filled += piece;
        }
        Ok(count)
    }

    /// Data of at most 60 bytes are where the map of blocks would be. The rest is in an attribute, which is not read.
    fn read_inline(&self, inode: &Inode, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        if inode.size > inode.map.len() as u64 {
            return Err(Error::NotSupported("a file of ext4 whose data are in an attribute".into()));
        }
        if let Some(stored) = inode.map.get(offset as usize..offset as usize + buffer.len()) {
            buffer.copy_from_slice(stored);
        }
        Ok(buffer.len())
    }

    /// The run that begins with this block of a file.
    pub(super) fn run(&self, inode: &Inode, block: u64) -> Result<Run> {
        let run =
            if inode.has_extents() { self.run_of_extents(inode, block)? } else { self.mapped(inode, block)? };
        match run.start {
            Some(start) if start.checked_add(run.count).is_none_or(|end| end > self.superblock.blocks) => {
                Err(Error::damaged("inode of ext4", inode.place, "its blocks are behind the volume"))
            }
            _ => Ok(run),
        }
    }

    fn run_of_extents(&self, inode: &Inode, block: u64) -> Result<Run> {
        let (mut node, mut place, mut depth) = (inode.map.to_vec(), inode.place, DEEPEST + 1);
        // The first block behind this one that the nodes above have: a leaf does not know of those behind it.
        let mut end = None;
        loop {
            let (level, records) = records(&node, place)?;
            if level >= depth {
                return Err(Error::damaged(
                    "extents of ext4",
                    place,
                    "a node is not below the one that leads to it",
                ));
            }
            depth = level;
            let after = records.iter().map(|record| record.first).filter(|first| *first > block);
            end = after.chain(end).min();
            let hole =
                Run { start: None, count: end.map_or(u64::MAX / self.superblock.block, |end| end - block) };
            let Some(record) = records.iter().rev().find(|record| record.first <= block) else {
                return Ok(hole);
            };
            let skipped = block - record.first;
            match record.blocks {
                Some((count, _)) if skipped >= count => return Ok(hole),
                Some((count, is_written)) => {
                    let start = is_written.then_some(record.start + skipped);
                    return Ok(Run { start, count: count - skipped });
                }
                None => {
                    place = record.start.saturating_mul(self.superblock.block);
                    node = read_vec(self.bytes.as_ref(), place, self.superblock.block as usize)?;
                }
            }
        }
    }

    /// One block by the maps of ext2, or what a missing map stands for.
    fn mapped(&self, inode: &Inode, block: u64) -> Result<Run> {
        let each = self.superblock.block / 4;
        let one = |start: u32| Run { start: (start != 0).then_some(start.into()), count: 1 };
        if block < DIRECT {
            return Ok(one(self.number(&inode.map, block, inode.place)?));
        }
        let (mut block, mut levels, mut span) = (block - DIRECT, 1, each);
        while block >= span {
            block -= span;
            levels += 1;
            if levels > 3 {
                return Err(Error::damaged("inode of ext4", inode.place, "it is longer than its map"));
            }
            span = span.saturating_mul(each);
        }
        let mut map = self.number(&inode.map, DIRECT + levels - 1, inode.place)?;
        for _ in 0..levels {
            if map == 0 {
                return Ok(Run { start: None, count: span - block });
            }
            span /= each;
            let place = u64::from(map) * self.superblock.block;
            let index = block / span;
            let numbers = read_vec(self.bytes.as_ref(), place + index * 4, 4)?;
            map = self.number(&numbers, 0, place)?;
            block %= span;
        }
        Ok(one(map))
    }

    fn number(&self, map: &[u8], index: u64, place: u64) -> Result<u32> {
        decode("block map of ext4", place, map, |r| {
            r.skip(index as usize * 4)?;
            r.u32_le()
        })
    }
}

/// The level of a node above the leaves, and its records.
fn records(node: &[u8], place: u64) -> Result<(u16, Vec<Record>)> {
    let (magic, level, records) = decode("extents of ext4", place, node, |r| {
        let (magic, entries) = (r.u16_le()?, r.u16_le()?);
        r.skip(2)?; // room
        let level = r.u16_le()?;
        r.skip(4)?; // generation
        let mut records = Vec::new();
        for _ in 0..entries {
            let first = u64::from(r.u32_le()?);
            records.push(if level == 0 {
                let (count, high, low) = (r.u16_le()?, r.u16_le()?, r.u32_le()?);
                let is_written = count <= UNWRITTEN;
                let count = if is_written { count } else { count - UNWRITTEN };
                let start = u64::from(high) << 32 | u64::from(low);
                Record { first, start, blocks: Some((count.into(), is_written)) }
            } else {
                let (low, high) = (r.u32_le()?, r.u16_le()?);
                r.skip(2)?;
                Record { first, start: u64::from(high) << 32 | u64::from(low), blocks: None }
            });
        }
        Ok((magic, level, records))
    })?;
    if magic != MAGIC {
        return Err(Error::damaged("extents of ext4", place, "a node has another magic number"));
    }
    Ok((level, records))
}
