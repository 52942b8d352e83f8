//! The superblock of a container ("Container", nx_superblock_t).

use wire::{Malformed, Reader};

use super::object::{Decoded, HEADER_LEN, Header, is_intact, kind};
use crate::{Error, ReadAt, Result};

/// `NXSB`.
const MAGIC: u32 = 0x4253_584e;
/// How many volumes a container can have (NX_MAX_FILE_SYSTEMS).
const MOST_VOLUMES: usize = 100;
/// The sizes of blocks (NX_MINIMUM_BLOCK_SIZE, NX_MAXIMUM_BLOCK_SIZE).
pub(super) const BLOCK_SIZES: std::ops::RangeInclusive<usize> = 4096..=65536;
/// How far behind the first block superblocks of checkpoints are searched for if the first one is damaged.
const SEARCHED_BLOCKS: u64 = 300;

/// Features without which a container cannot be read ("Incompatible Container Feature Flags").
mod incompatible {
    pub(super) const VERSION_2: u64 = 2;
    pub(super) const FUSION: u64 = 0x100;
}

/// A run of blocks (prange_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BlockRun {
    pub(super) first: u64,
    pub(super) count: u64,
}

impl BlockRun {
    pub(super) fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self { first: r.u64_le()?, count: r.u64_le()? })
    }
}

/// The ring of blocks for descriptors or for data of checkpoints, and the part of it that a checkpoint uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CheckpointArea {
    /// How many blocks; the highest bit says that the area has fragments.
    pub(super) blocks: u32,
    pub(super) first: u64,
    pub(super) next: u32,
    pub(super) index: u32,
    pub(super) length: u32,
}

impl CheckpointArea {
    /// The block at `index` of the part that the checkpoint uses.
    pub(super) fn block(&self, index: u32) -> u64 {
        let at = (u64::from(self.index) + u64::from(index)) % u64::from(self.blocks.max(1));
        self.first.saturating_add(at)
    }
}

/// The superblock of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Superblock {
    pub(super) header: Header,
    pub(super) block_size: u32,
    pub(super) block_count: u64,
    pub(super) incompatible: u64,
    pub(super) uuid: [u8; 16],
    pub(super) next_oid: u64,
    pub(super) next_xid: u64,
    pub(super) descriptors: CheckpointArea,
    pub(super) data: CheckpointArea,
    pub(super) space_manager: u64,
    pub(super) object_map: u64,
    pub(super) reaper: u64,
    /// The object ids of volumes: virtual ones.
    pub(super) volumes: Vec<u64>,
    /// Whether the container is being made smaller: blocks are moved then.
    pub(super) is_resized: bool,
    pub(super) efi_jumpstart: u64,
    pub(super) keybag: BlockRun,
    pub(super) media_keybag: BlockRun,
}

impl Superblock {
    pub(super) fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(bytes);
        let header = Header::decode(&mut r)?;
        if r.u32_le()? != MAGIC {
            return Err(Malformed("it does not begin with NXSB"));
        }
        let (block_size, block_count) = (r.u32_le()?, r.u64_le()?);
        r.skip(16)?; // compatible and read-only compatible features
        let (incompatible, uuid) = (r.u64_le()?, r.array()?);
        let (next_oid, next_xid) = (r.u64_le()?, r.u64_le()?);
        let (mut descriptors, mut data) = (CheckpointArea::default(), CheckpointArea::default());
        (descriptors.blocks, data.blocks) = (r.u32_le()?, r.u32_le()?);
        (descriptors.first, data.first) = (r.u64_le()?, r.u64_le()?);
        (descriptors.next, data.next) = (r.u32_le()?, r.u32_le()?);
        (descriptors.index, descriptors.length) = (r.u32_le()?, r.u32_le()?);
        (data.index, data.length) = (r.u32_le()?, r.u32_le()?);
        let (space_manager, object_map, reaper) = (r.u64_le()?, r.u64_le()?, r.u64_le()?);
        r.skip(8)?; // type of tests, most volumes
        let mut volumes = Vec::new();
        for _ in 0..MOST_VOLUMES {
            volumes.extend(Some(r.u64_le()?).filter(|&oid| oid != 0));
        }
        r.skip(32 * 8)?; // counters
        let blocked = BlockRun::decode(&mut r)?;
        let is_resized = (blocked.count, r.u64_le()?) != (0, 0); // and the tree of evicted mappings
        r.skip(8)?; // flags
        let efi_jumpstart = r.u64_le()?;
        r.skip(16)?; // UUID of the Fusion set
        let keybag = BlockRun::decode(&mut r)?;
        r.skip(4 * 8 + 3 * 8 + 16 + 8)?; // ephemeral infos, objects of tests and of Fusion drives, mounted version
        let media_keybag = BlockRun::decode(&mut r)?;
        Ok(Self {
            header,
            block_size,
            block_count,
            incompatible,
            uuid,
            next_oid,
            next_xid,
            descriptors,
            data,
            space_manager,
            object_map,
            reaper,
            volumes,
            is_resized,
            efi_jumpstart,
            keybag,
            media_keybag,
        })
    }

    /// What this code does not read.
    pub(super) fn require_supported(&self) -> Result<()> {
        let what = if self.incompatible & incompatible::FUSION != 0 {
            "an APFS container of a Fusion drive".to_owned()
        } else if self.incompatible & !(incompatible::VERSION_2 | incompatible::FUSION) != 0 {
            format!("an APFS container with the features {:#x}", self.incompatible)
        } else if (self.descriptors.blocks | self.data.blocks) & 1 << 31 != 0 {
            "an APFS container with a fragmented checkpoint area".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::NotSupported(what))
    }

    fn is_plausible(&self) -> bool {
        let size = self.block_size as usize;
        size.is_power_of_two() && BLOCK_SIZES.contains(&size) && self.block_count > 0
    }
}

/// The superblock at a byte, whatever its checksum.
pub(super) fn read(source: &dyn ReadAt, place: u64) -> Option<Superblock> {
    let mut bytes = vec![0; *BLOCK_SIZES.start()];
    if place.checked_add(bytes.len() as u64)? > source.length() {
        return None;
    }
    source.read_at(place, &mut bytes).ok()?;
    Superblock::decode(&bytes).ok().filter(Superblock::is_plausible)
}

/// An intact superblock of a checkpoint near the beginning, for a container whose first block is damaged. `mkfs` puts
/// the descriptors of checkpoints into the blocks after the first.
pub(super) fn search(source: &dyn ReadAt) -> Option<Superblock> {
    let places = (1..SEARCHED_BLOCKS).map(|block| block * *BLOCK_SIZES.start() as u64);
    places.filter_map(|place| intact(source, place)).max_by_key(|found| found.header.xid)
}

fn intact(source: &dyn ReadAt, place: u64) -> Option<Superblock> {
    let found = read(source, place).filter(|found| found.header.object_type() == kind::SUPERBLOCK)?;
    let mut bytes = vec![0; found.block_size as usize];
    source.read_at(place, &mut bytes).ok()?;
    (bytes.len() > HEADER_LEN && is_intact(&bytes)).then_some(found)
}
