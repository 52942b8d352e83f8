//! The space manager: chunks, their bitmaps and counts, the free queues; and all of it against what is reachable
//! ("Space Manager").

use std::sync::Arc;

use wire::Reader;

use super::super::blocks::damaged;
use super::super::cursor::{Placement, Tree};
use super::super::object::{Decoded, kind};
use super::super::superblock::BlockRun;
use super::Check;
use super::trees::{Keys, Manner, undecoded};
use super::used::BlockSet;
use crate::Result;

/// How many chunks one container may have, by the most blocks that APFS has addresses for in practice: 2^45 blocks.
const MOST_CHUNKS: u64 = 1 << 30;
/// Where the fields after the fixed part of the first device are (spaceman_phys_t).
const DEVICE: usize = 48;
const AFTER_DEVICES: usize = 48 + 2 * 48;

/// The fields of the space manager that the check needs (spaceman_phys_t).
struct SpaceManager {
    block_size: u32,
    blocks_per_chunk: u32,
    chunks_per_block: u32,
    addresses_per_block: u32,
    block_count: u64,
    chunk_count: u64,
    info_blocks: u32,
    address_blocks: u32,
    free: u64,
    addresses: usize,
    second_device: u64,
    pool: BlockRun,
    pool_bitmap_blocks: u32,
    pool_bitmaps: BlockRun,
    /// Counts and roots of the queues of the pool and of the device.
    queues: [(u64, u64); 2],
    bitmap_offsets: usize,
}

impl SpaceManager {
    fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(bytes);
        r.skip(32)?;
        let (block_size, blocks_per_chunk) = (r.u32_le()?, r.u32_le()?);
        let (chunks_per_block, addresses_per_block) = (r.u32_le()?, r.u32_le()?);
        debug_assert_eq!(r.position(), DEVICE);
        let (block_count, chunk_count) = (r.u64_le()?, r.u64_le()?);
        let (info_blocks, address_blocks) = (r.u32_le()?, r.u32_le()?);
        let (free, addresses) = (r.u64_le()?, r.u32_le()? as usize);
        r.skip(12)?; // reserved
        let second_device = r.u64_le()?;
        r.skip(40)?;
        debug_assert_eq!(r.position(), AFTER_DEVICES);
        r.skip(8)?; // flags, copies of the pool's bitmap
        let pool_count = r.u64_le()?;
        let (pool_bitmap_blocks, bitmap_ring) = (r.u32_le()?, r.u32_le()?);
        let (bitmap_first, pool_first) = (r.u64_le()?, r.u64_le()?);
        r.skip(16)?; // reserved blocks
        let mut queues = [(0, 0); 2];
        for queue in &mut queues {
            *queue = (r.u64_le()?, r.u64_le()?);
            r.skip(24)?; // the oldest transaction, the most nodes, reserved
        }
        r.skip(40 + 4 + 4)?; // the queue of the second device, ends of the free bitmaps, place of their transactions
        let bitmap_offsets = r.u32_le()? as usize;
        Ok(Self {
            block_size,
            blocks_per_chunk,
            chunks_per_block,
            addresses_per_block,
            block_count,
            chunk_count,
            info_blocks,
            address_blocks,
            free,
            addresses,
            second_device,
            pool: BlockRun { first: pool_first, count: pool_count },
            pool_bitmap_blocks,
            pool_bitmaps: BlockRun { first: bitmap_first, count: bitmap_ring.into() },
            queues,
            bitmap_offsets,
        })
    }

    /// What is wrong with the sizes in it.
    fn problem(&self, size: usize, count: u64) -> Option<&'static str> {
        let per_chunk = u64::from(self.blocks_per_chunk);
        let information = u64::from(self.chunks_per_block);
        if self.block_size as usize != size || self.blocks_per_chunk as usize != size * 8 {
            Some("its sizes of blocks or chunks are wrong")
        } else if self.chunks_per_block as usize != (size - 40) / 32
            || self.addresses_per_block as usize != (size - 40) / 8
        {
            Some("its counts of chunks are wrong")
        } else if self.block_count != count {
            Some("it has another number of blocks than the container")
        } else if self.chunk_count != count.div_ceil(per_chunk) || self.chunk_count > MOST_CHUNKS {
            Some("its number of chunks is wrong")
        } else if u64::from(self.info_blocks) != self.chunk_count.div_ceil(information) {
            Some("its number of chunk information blocks is wrong")
        } else {
            None
        }
    }
}

/// Information of a chunk (chunk_info_t).
struct Chunk {
    first: u64,
    blocks: u32,
    free: u32,
    /// The block of its bitmap; 0 if all of it is free.
    bitmap: u64,
}

impl Chunk {
    fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        r.skip(8)?; // transaction
        let first = r.u64_le()?;
        // The upper twelve bits of the counts are reserved.
        let (blocks, free) = (r.u32_le()? & 0x000f_ffff, r.u32_le()? & 0x000f_ffff);
        Ok(Self { first, blocks, free, bitmap: r.u64_le()? })
    }
}

/// What the chunks come to.
struct Total {
    next: u64,
    free: u64,
    /// Blocks of the pool that have chunk information and bitmaps.
    pool: BlockSet,
    /// Reachable blocks that are marked as free, and allocated ones that nothing reaches: how many, and the first.
    lost: (u64, Option<u64>),
    missing: (u64, Option<u64>),
}

impl Check<'_, '_> {
    /// The whole space manager, after everything else.
    pub(super) fn space(&mut self) -> Result<()> {
        if !self.may_go_on() {
            return Ok(());
        }
        let container = self.container;
        let superblock = &container.checkpoint.superblock;
        let what = "space manager";
        let mapping = container.checkpoint.mapping(superblock.space_manager);
        let Some(mapping) = mapping else {
            self.problem(what, 0, "the checkpoint has none");
            return Ok(());
        };
        let object = container.checkpoint.object(&container.blocks, mapping, what);
        // Its checksum was told with the other objects of the checkpoint.
        let Ok(object) = object else { return Ok(()) };
        let place = container.blocks.place(object.block);
        let manager = SpaceManager::decode(&object.bytes);
        let manager = manager.map_err(|malformed| damaged(what, place, malformed.0));
        let Some(manager) = self.told(manager)? else { return Ok(()) };
        if let Some(problem) = manager.problem(container.blocks.size, superblock.block_count) {
            self.problem(what, object.block, problem);
            return Ok(());
        }
        self.is_exact &= manager.second_device == 0;
        self.uses(manager.pool.first, manager.pool.count, "internal pool of the space manager");
        self.uses(manager.pool_bitmaps.first, manager.pool_bitmaps.count, "bitmaps of the internal pool");
        let mut total = Total {
            next: 0,
            free: 0,
            pool: BlockSet::new(container.blocks.count),
            lost: (0, None),
            missing: (0, None),
        };
        self.free_queues(&manager, &mut total)?;
        self.chunks(&object.bytes, &manager, &mut total)?;
        self.pool(&object.bytes, &manager, &total)?;
        self.tell_total(&manager, &total, object.block);
        Ok(())
    }

    /// The queues of blocks that become free: until then they are allocated.
    fn free_queues(&mut self, manager: &SpaceManager, total: &mut Total) -> Result<()> {
        let names = ["free queue of the internal pool", "free queue"];
        for (index, (name, (count, root))) in names.into_iter().zip(manager.queues).enumerate() {
            if root == 0 {
                continue;
            }
            let placement = Placement::Ephemeral(Arc::clone(&self.container.checkpoint));
            let blocks = Arc::clone(&self.container.blocks);
            let tree = Tree::open(blocks, name, kind::FREE_QUEUE, placement, root);
            let Some(tree) = self.told(tree)? else { continue };
            let mut queued = 0_u64;
            let manner = Manner { keys: Keys::Two, notes_blocks: false, skips_walked: false, checks: true };
            let is_whole = self.walk(&tree, manner, &mut |check, key, value| {
                let mut r = Reader::new(key);
                let run = r.skip(8).and_then(|()| r.u64_le()).map_err(undecoded)?;
                // A ghost is one block.
                let count =
                    if value.is_empty() { 1 } else { Reader::new(value).u64_le().map_err(undecoded)? };
                queued = queued.saturating_add(count);
                if index == 0 {
                    total.pool.add(run, count);
                } else {
                    check.uses(run, count, name);
                }
                Ok(())
            })?;
            if is_whole && queued != count {
                let problem = format!("the space manager says {count} blocks, and it has {queued}");
                self.problem(name, tree.root.block, problem);
            }
        }
        Ok(())
    }

    /// All chunks, by the blocks that have their information.
    fn chunks(&mut self, bytes: &[u8], manager: &SpaceManager, total: &mut Total) -> Result<()> {
        let has_addresses = manager.address_blocks > 0;
        let count = if has_addresses { manager.address_blocks } else { manager.info_blocks };
        let mut r = Reader::new(bytes.get(manager.addresses..).unwrap_or_default());
        for index in 0..count {
            let Ok(block) = r.u64_le() else {
                self.problem("space manager", 0, "the addresses of its chunk information do not fit");
                return Ok(());
            };
            if has_addresses {
                self.chunk_addresses(manager, block, index, total)?;
            } else {
                self.chunk_infos(manager, block, index, total)?;
            }
            if !self.steps.at(total.next) || !self.may_go_on() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn chunk_addresses(
        &mut self,
        manager: &SpaceManager,
        block: u64,
        index: u32,
        total: &mut Total,
    ) -> Result<()> {
        let what = format!("chunk information address block {index}");
        let object = self.container.blocks.physical(block, kind::CHUNK_ADDRESSES, &what);
        total.pool.add(block, 1);
        let Some(object) = self.told(object)? else { return Ok(()) };
        let mut r = Reader::new(object.bytes.get(36..).unwrap_or_default());
        let count = r.u32_le().unwrap_or(0).min(manager.addresses_per_block);
        for number in 0..count {
            let Ok(block) = r.u64_le() else { break };
            let first = index.saturating_mul(manager.addresses_per_block);
            self.chunk_infos(manager, block, first.saturating_add(number), total)?;
            if !self.may_go_on() {
                break;
            }
        }
        Ok(())
    }

    fn chunk_infos(
        &mut self,
        manager: &SpaceManager,
        block: u64,
        index: u32,
        total: &mut Total,
    ) -> Result<()> {
        let what = format!("chunk information block {index}");
        let object = self.container.blocks.physical(block, kind::CHUNK_INFOS, &what);
        total.pool.add(block, 1);
        let first =
            u64::from(index) * u64::from(manager.chunks_per_block) * u64::from(manager.blocks_per_chunk);
        total.next = first;
        let Some(object) = self.told(object)? else { return Ok(()) };
        let mut r = Reader::new(object.bytes.get(32..).unwrap_or_default());
        let head = r.u32_le().and_then(|index| Ok((index, r.u32_le()?)));
        let Ok((said, count)) = head else { return Ok(()) };
        let left = manager.chunk_count - first / u64::from(manager.blocks_per_chunk);
        if said != index || u64::from(count) != left.min(manager.chunks_per_block.into()) {
            self.problem(&what, block, "its index or its number of chunks is wrong");
        }
        for _ in 0..count.min(manager.chunks_per_block) {
            let Ok(chunk) = Chunk::decode(&mut r) else { break };
            self.chunk(manager, &chunk, block, total)?;
            if !self.may_go_on() {
                break;
            }
        }
        Ok(())
    }

    fn chunk(&mut self, manager: &SpaceManager, chunk: &Chunk, at: u64, total: &mut Total) -> Result<()> {
        let what = format!("chunk at block {}", chunk.first);
        let expected =
            u64::from(manager.blocks_per_chunk).min(manager.block_count.saturating_sub(total.next));
        if chunk.first != total.next || u64::from(chunk.blocks) != expected {
            self.problem(&what, at, format!("it should have {expected} blocks from block {}", total.next));
        }
        let first = total.next;
        total.next += expected;
        total.free += u64::from(chunk.free);
        let bitmap = match chunk.bitmap {
            0 => Some(Vec::new()),
            block => {
                total.pool.add(block, 1);
                if block < manager.pool.first || block - manager.pool.first >= manager.pool.count {
                    self.problem(&what, at, "its bitmap is not in the internal pool");
                }
                let bitmap = self.container.blocks.read(block, 1, "bitmap of a chunk");
                self.told(bitmap)?
            }
        };
        let Some(bitmap) = bitmap else { return Ok(()) };
        let free = self.compare(first, expected, &bitmap, total);
        if free != u64::from(chunk.free) {
            let problem = format!("it says {} free blocks, and its bitmap has {free}", chunk.free);
            self.problem(&what, at, problem);
        }
        Ok(())
    }

    /// Compares the bitmap of a chunk with what is reachable, and returns how many blocks it has as free.
    fn compare(&self, first: u64, count: u64, bitmap: &[u8], total: &mut Total) -> u64 {
        let mut free = 0;
        for number in 0..count.div_ceil(64) {
            let word = bitmap.get(number as usize * 8..).and_then(|bytes| bytes.first_chunk());
            let allocated = word.map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let valid = match count - number * 64 {
                64.. => u64::MAX,
                rest => (1 << rest) - 1,
            };
            let block = first + number * 64;
            let reachable = self.metadata.word(block / 64) | self.data.word(block / 64);
            free += u64::from((!allocated & valid).count_ones());
            add(&mut total.missing, block, reachable & !allocated & valid);
            add(&mut total.lost, block, allocated & !reachable & valid);
        }
        free
    }

    /// The internal pool: where chunk information and bitmaps are, by its own bitmap.
    fn pool(&mut self, bytes: &[u8], manager: &SpaceManager, total: &Total) -> Result<()> {
        let what = "bitmap of the internal pool";
        let size = self.container.blocks.size;
        let mut free = (0, None);
        for index in 0..manager.pool_bitmap_blocks as usize {
            let from = manager.bitmap_offsets.saturating_add(index * 2);
            let place = bytes.get(from..).and_then(|bytes| bytes.first_chunk::<2>());
            let Some(place) = place.map(|bytes| u64::from(u16::from_le_bytes(*bytes))) else { break };
            if place >= manager.pool_bitmaps.count {
                self.problem(what, manager.pool_bitmaps.first, "it is not in its ring");
                continue;
            }
            let bitmap = self.container.blocks.read(manager.pool_bitmaps.first + place, 1, what);
            let Some(bitmap) = self.told(bitmap)? else { continue };
            for (number, &byte) in bitmap.iter().enumerate() {
                let first = manager.pool.first + ((index * size + number) * 8) as u64;
                for bit in (0..8).filter(|bit| first + bit < manager.pool.first + manager.pool.count) {
                    if byte >> bit & 1 == 0 && total.pool.contains(first + bit) {
                        add(&mut free, first + bit, 1);
                    }
                }
            }
        }
        if let (count, Some(block)) = free {
            let problem = format!("{count} blocks of it are used and marked as free, the first is {block}");
            self.problem(what, manager.pool_bitmaps.first, problem);
        }
        Ok(())
    }

    fn tell_total(&mut self, manager: &SpaceManager, total: &Total, block: u64) {
        // What is reachable depends on everything having been read; what is marked as free and used does not.
        let was_exact = self.is_exact;
        if let (count, Some(first)) = total.missing {
            let problem = format!("{count} blocks are used and marked as free, the first is block {first}");
            self.problem("space manager", block, problem);
        }
        if total.free != manager.free {
            let problem = format!("it says {} free blocks, and the chunks have {}", manager.free, total.free);
            self.problem("space manager", block, problem);
        }
        if let (count, Some(first)) = total.lost
            && was_exact
            && self.may_go_on()
        {
            let problem =
                format!("{count} blocks are allocated and used by nothing, the first is block {first}");
            self.problem("space manager", block, problem);
        }
    }
}

/// Adds the bits of a word to a count, and remembers the first block.
fn add(total: &mut (u64, Option<u64>), block: u64, bits: u64) {
    if bits != 0 {
        total.0 += u64::from(bits.count_ones());
        total.1.get_or_insert(block + u64::from(bits.trailing_zeros()));
    }
}
