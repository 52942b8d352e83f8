//! Checkpoints: the states of a container that were written whole ("Container", checkpoint_map_phys_t).

use wire::{Malformed, Reader};

use super::blocks::{Blocks, Object, damaged};
use super::object::{Decoded, HEADER_LEN, Header, kind};
use super::superblock::Superblock;
use crate::{Error, Result};

/// How many blocks of descriptors are read. `mkfs` makes 280 of them for the largest disks.
const MOST_DESCRIPTORS: u32 = 1 << 16;
/// How many objects a checkpoint may have in memory, as it were: the space manager, free queues, the reaper.
const MOST_MAPPINGS: usize = 1 << 16;
/// How many blocks an ephemeral object may have. The space manager has one for each 64 TiB, roughly.
const MOST_OBJECT_BLOCKS: u32 = 1 << 12;
/// The flag of the last map of a checkpoint (CHECKPOINT_MAP_LAST).
const LAST: u32 = 1;

/// Where an ephemeral object is (checkpoint_mapping_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) kind: u32,
    pub(super) subtype: u32,
    /// In bytes.
    pub(super) size: u32,
    pub(super) oid: u64,
    pub(super) block: u64,
}

impl Mapping {
    fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        let (kind, subtype, size) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        r.skip(4 + 8)?; // padding, the volume
        Ok(Self { kind, subtype, size, oid: r.u64_le()?, block: r.u64_le()? })
    }

    /// How many blocks the object takes.
    pub(super) fn blocks(&self, block_size: usize) -> Result<usize> {
        let count = self.size / block_size as u32;
        if count == 0 || count > MOST_OBJECT_BLOCKS || count as usize * block_size != self.size as usize {
            let problem = format!("the object {} has {} bytes", self.oid, self.size);
            return Err(damaged("checkpoint map", 0, problem));
        }
        Ok(count as usize)
    }
}

/// A checkpoint: its superblock, and where its ephemeral objects are.
#[derive(Debug, Clone)]
pub(super) struct Checkpoint {
    pub(super) superblock: Superblock,
    pub(super) mappings: Vec<Mapping>,
}

impl Checkpoint {
    pub(super) fn mapping(&self, oid: u64) -> Option<&Mapping> {
        self.mappings.iter().find(|mapping| mapping.oid == oid)
    }

    /// Reads an ephemeral object. One that reaches the end of the data area goes on at its beginning.
    pub(super) fn object(&self, blocks: &Blocks, mapping: &Mapping, what: &str) -> Result<Object> {
        let area = self.superblock.data;
        let place = mapping.block.checked_sub(area.first).filter(|&place| place < u64::from(area.blocks));
        let outside =
            || damaged(what, blocks.place(mapping.block), "it is outside of the checkpoint data area");
        let place = place.ok_or_else(outside)?;
        let mut bytes = Vec::new();
        for index in 0..mapping.blocks(blocks.size)? as u64 {
            let block = area.first + (place + index) % u64::from(area.blocks);
            bytes.extend(blocks.read(block, 1, what)?);
        }
        blocks.verified(bytes, mapping.block, what)
    }
}

/// The newest checkpoint that is whole, and the problems of newer ones.
pub(super) fn newest(blocks: &Blocks, first: &Superblock) -> Result<(Checkpoint, Vec<Error>)> {
    let area = first.descriptors;
    if area.blocks == 0 || area.blocks > MOST_DESCRIPTORS {
        return Err(damaged("container superblock", 0, format!("it says {} descriptor blocks", area.blocks)));
    }
    let mut candidates: Vec<(u64, Superblock)> = (0..u64::from(area.blocks))
        .filter_map(|index| candidate(blocks, area.first.checked_add(index)?, first))
        .collect();
    // A container that was here before may have left newer ones.
    if candidates.iter().any(|(_, superblock)| superblock.uuid == first.uuid) {
        candidates.retain(|(_, superblock)| superblock.uuid == first.uuid);
    }
    candidates.sort_by_key(|(_, superblock)| std::cmp::Reverse(superblock.header.xid));
    let mut problems = Vec::new();
    for (_, superblock) in candidates {
        match maps(blocks, &superblock) {
            Ok(mappings) => {
                return Ok((Checkpoint { superblock, mappings }, problems));
            }
            Err(error) => problems.push(error),
        }
    }
    let none = damaged("checkpoint descriptor area", blocks.place(area.first), "it has no intact superblock");
    Err(problems.into_iter().next().unwrap_or(none))
}

fn candidate(blocks: &Blocks, block: u64, first: &Superblock) -> Option<(u64, Superblock)> {
    let object = blocks.object(block, 1, "checkpoint superblock").ok()?;
    if object.header.object_type() != kind::SUPERBLOCK {
        return None;
    }
    let superblock = Superblock::decode(&object.bytes).ok()?;
    (superblock.block_size == first.block_size && superblock.descriptors.blocks == first.descriptors.blocks)
        .then_some((block, superblock))
}

/// The maps of a checkpoint, which are before its superblock.
fn maps(blocks: &Blocks, superblock: &Superblock) -> Result<Vec<Mapping>> {
    let area = superblock.descriptors;
    let structure = "checkpoint map";
    if area.length < 2 || area.length > area.blocks || area.index >= area.blocks {
        let problem = "the checkpoint has no maps within the descriptor area";
        return Err(damaged("checkpoint superblock", blocks.place(area.first), problem));
    }
    let (mut mappings, mut ended) = (Vec::new(), false);
    for index in 0..area.length - 1 {
        let block = area.block(index);
        let object = blocks.physical(block, kind::CHECKPOINT_MAP, structure)?;
        if object.header.xid != superblock.header.xid {
            return Err(damaged(structure, blocks.place(block), "it is of another checkpoint"));
        }
        let (last, more) =
            map(&object.bytes).map_err(|malformed| damaged(structure, blocks.place(block), malformed.0))?;
        mappings.extend(more);
        ended |= last;
        if mappings.len() > MOST_MAPPINGS {
            return Err(damaged(structure, blocks.place(block), "the checkpoint has too many objects"));
        }
    }
    if !ended {
        return Err(damaged(structure, blocks.place(area.block(0)), "no map is marked as the last one"));
    }
    Ok(mappings)
}

fn map(bytes: &[u8]) -> Decoded<(bool, Vec<Mapping>)> {
    let mut r = Reader::new(bytes);
    Header::decode(&mut r)?;
    let (flags, count) = (r.u32_le()?, r.u32_le()?);
    if count as usize > (bytes.len() - HEADER_LEN - 8) / 40 {
        return Err(Malformed("it has more entries than fit"));
    }
    let entries: std::result::Result<Vec<_>, _> = (0..count).map(|_| Mapping::decode(&mut r)).collect();
    Ok((flags & LAST != 0, entries?))
}
