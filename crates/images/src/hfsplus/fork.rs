//! Forks: the extents of a file's bytes, of which the first eight are in its record and the others in the extents
//! overflow file. TN1150, "Fork Data Structure".

use std::sync::Arc;

use wire::{Malformed, Reader};

use super::btree::Tree;
use super::keys::ExtentsKey;
use crate::part::check_range;
use crate::{Error, ReadAt, Result, decode};

/// Extents of a record.
pub(super) const EXTENTS: usize = 8;
/// The kind of a data fork, and of a resource fork, in the keys of the extents overflow file.
pub(super) const DATA: u8 = 0;
pub(super) const RESOURCE: u8 = 0xFF;

/// The blocks of a volume.
pub(super) struct Disk {
    pub(super) bytes: Arc<dyn ReadAt>,
    /// Bytes of a block.
    pub(super) block: u64,
    pub(super) blocks: u32,
}

/// Blocks that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Extent {
    pub(super) start: u32,
    pub(super) count: u32,
}

impl Extent {
    fn decode(r: &mut Reader<'_>) -> std::result::Result<Self, Malformed> {
        Ok(Self { start: r.u32_be()?, count: r.u32_be()? })
    }

    /// A record of extents.
    pub(super) fn decode_all(r: &mut Reader<'_>) -> std::result::Result<[Self; EXTENTS], Malformed> {
        let mut extents = [Self::default(); EXTENTS];
        for extent in &mut extents {
            *extent = Self::decode(r)?;
        }
        Ok(extents)
    }
}

/// What a record says of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ForkData {
    /// In bytes.
    pub(super) size: u64,
    /// All blocks, those of the extents overflow file too.
    pub(super) blocks: u32,
    pub(super) extents: [Extent; EXTENTS],
}

impl ForkData {
    pub(super) fn decode(r: &mut Reader<'_>) -> std::result::Result<Self, Malformed> {
        let size = r.u64_be()?;
        r.skip(4)?; // clump size
        Ok(Self { size, blocks: r.u32_be()?, extents: Extent::decode_all(r)? })
    }
}

/// The bytes of a fork.
pub(super) struct ForkReader {
    disk: Arc<Disk>,
    data: ForkData,
    /// The file, and the kind of fork.
    owner: (u32, u8),
    /// The extents overflow file. It has no extents there itself.
    overflow: Option<Arc<Tree>>,
}

impl ForkReader {
    pub(super) fn new(
        disk: Arc<Disk>,
        data: ForkData,
        owner: (u32, u8),
        overflow: Option<Arc<Tree>>,
    ) -> Self {
        Self { disk, data, owner, overflow }
    }

    fn name(&self) -> String {
        match self.owner {
            (3, _) => "extents overflow file".into(),
            (4, _) => "catalogue file".into(),
            (6, _) => "allocation file".into(),
            (8, _) => "attributes file".into(),
            (file, RESOURCE) => format!("resource fork of file {file}"),
            (file, _) => format!("data fork of file {file}"),
        }
    }

    fn damaged(&self, offset: u64, problem: &str) -> Error {
        Error::damaged(self.name(), offset, problem)
    }

    /// Where a block of the fork is, and how many blocks follow each other there.
    fn locate(&self, block: u32) -> Result<(u32, u32)> {
        let mut first = 0;
        if let Some(found) = within(&self.data.extents, &mut first, block) {
            return Ok(found);
        }
        let missing = || self.damaged(u64::from(block) * self.disk.block, "a block has no extent");
        let overflow = self.overflow.as_ref().ok_or_else(missing)?;
        let (file, fork) = self.owner;
        let key = ExtentsKey { fork, file, block }.encode();
        let found = overflow.floor(&key)?.ok_or_else(missing)?;
        let (key, record) = found.record()?;
        let place = found.place();
        let key = decode("extents overflow record", place, key, |r| ExtentsKey::decode(r.rest()))?;
        if (key.file, key.fork) != self.owner {
            return Err(missing());
        }
        let extents = decode("extents overflow record", place, record, Extent::decode_all)?;
        let mut first = key.block;
        within(&extents, &mut first, block).ok_or_else(missing)
    }

    /// Where a byte of the fork is on the volume, for messages; the offset in the fork if it is nowhere.
    pub(super) fn place(&self, offset: u64) -> u64 {
        let block = u32::try_from(offset / self.disk.block).unwrap_or(u32::MAX);
        match self.locate(block) {
            Ok((at, _)) => u64::from(at) * self.disk.block + offset % self.disk.block,
            Err(_) => offset,
        }
    }
}

/// Finds a block in extents, of which the first one has the block `first` of the fork. `first` becomes the block behind them.
fn within(extents: &[Extent], first: &mut u32, block: u32) -> Option<(u32, u32)> {
    for extent in extents.iter().take_while(|extent| extent.count > 0) {
        let inside = block.checked_sub(*first)?;
        if inside < extent.count {
            return Some((extent.start.checked_add(inside)?, extent.count - inside));
        }
        *first = first.checked_add(extent.count)?;
    }
    None
}

impl ReadAt for ForkReader {
    fn length(&self) -> u64 {
        self.data.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(&self.name(), self.data.size, offset, buffer.len())?;
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            let block = u32::try_from(at / self.disk.block);
            let block = block.map_err(|_| self.damaged(at, "it has more blocks than a volume can have"))?;
            let (start, count) = self.locate(block)?;
            if start.checked_add(count).is_none_or(|end| end > self.disk.blocks) {
                return Err(self.damaged(at, "an extent ends beyond the volume"));
            }
            let inside = at % self.disk.block;
            let room = u64::from(count) * self.disk.block - inside;
            let count = left.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            let (piece, rest) = left.split_at_mut(count);
            self.disk.bytes.read_at(u64::from(start) * self.disk.block + inside, piece)?;
            at += count as u64;
            left = rest;
        }
        Ok(())
    }
}
