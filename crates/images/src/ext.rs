//! ext2, ext3 and ext4, as LUNs of Linux have them: "ext4 Data Structures and Algorithms" of Linux's documentation. All numbers
//! are little-endian, but for those of the journal. It is shown, and not checked.
//!
//! A journal that was not written back, as in a snapshot of a disk in use, is replayed in memory. A node has its inode number.

mod blocks;
mod files;
mod folders;
mod inode;
mod journal;

use std::sync::Arc;

use self::inode::Inode;
use crate::part::read_vec;
use crate::tree::FileSystem;
use crate::{Error, ReadAt, Result, decode};

const NAME: &str = "superblock of ext4";
/// Where the superblock is, and how much of it is read.
const PLACE: u64 = 1024;
const LENGTH: usize = 1024;
const MAGIC: u16 = 0xEF53;
/// The longest volume: 1 EiB, the most that ext4 can have.
const MOST_BYTES: u64 = 1 << 60;
const ROOT: u32 = 2;
const JOURNAL: u32 = 8;
/// Incompatible features that a reader has to know.
const RECOVER: u32 = 0x4;
const WIDE: u32 = 0x80;
const CASE_FOLDED: u32 = 0x2_0000;
/// Those that are known here: file types, a journal to replay, extents, 64 bits, multiple mounts, flexible groups, attributes in
/// inodes, a seed of checksums, large folders, data in inodes, folders without case.
const KNOWN: u32 =
    0x2 | RECOVER | 0x40 | WIDE | 0x100 | 0x200 | 0x400 | 0x2000 | 0x4000 | 0x8000 | CASE_FOLDED;

/// Opens a volume.
///
/// # Errors
///
/// [`Error::Damaged`] if its superblock has numbers that are not possible, [`Error::NotSupported`] for features that are not known.
pub fn open(bytes: Arc<dyn ReadAt>) -> Result<Arc<dyn FileSystem>> {
    Ok(Arc::new(Volume::open(bytes)?))
}

/// Opens a volume, to be listed with the others of its image.
pub fn volume(bytes: Arc<dyn ReadAt>) -> crate::Volume {
    let (name, format, files) = match open(bytes) {
        Ok(files) => (files.name(), files.format(), Ok(files)),
        Err(error) => (String::new(), "ext4".into(), Err(error)),
    };
    crate::Volume { name, format, files, snapshots: Vec::new() }
}

/// An open volume.
struct Volume {
    bytes: Arc<dyn ReadAt>,
    superblock: Superblock,
}

/// The superblock, as far as a reader needs it.
#[derive(Debug, Clone)]
struct Superblock {
    inodes: u32,
    blocks: u64,
    free: u64,
    first_block: u32,
    /// Bytes of a block.
    block: u64,
    inodes_per_group: u32,
    inode_size: u64,
    /// Bytes of a group's descriptor.
    descriptor: u64,
    features: u32,
    label: String,
}

impl Superblock {
    fn read(bytes: &dyn ReadAt) -> Result<Self> {
        let text = read_vec(bytes, PLACE, LENGTH)?;
        let damaged = |problem: &str| Error::damaged(NAME, PLACE, problem);
        let mut found = decode(NAME, PLACE, &text, |r| {
            let (inodes, low_blocks) = (r.u32_le()?, r.u32_le()?);
            r.skip(4)?; // reserved blocks
            let low_free = r.u32_le()?;
            r.skip(4)?; // free inodes
            let (first_block, shift) = (r.u32_le()?, r.u32_le()?);
            r.skip(12)?; // clusters, blocks of a group
            let inodes_per_group = r.u32_le()?;
            r.skip(12)?; // times, mounts
            let magic = r.u16_le()?;
            r.skip(18)?; // state, errors, check
            let revision = r.u32_le()?;
            r.skip(8)?; // owner of reserved blocks, first inode
            let inode_size = r.u16_le()?;
            r.skip(6)?; // group, compatible features
            let features = r.u32_le()?;
            r.skip(20)?; // read-only features, UUID
            let label: [u8; 16] = r.array()?;
            r.skip(118)?;
            let descriptor = r.u16_le()?;
            r.skip(80)?;
            let high_blocks = r.u32_le()?;
            r.skip(4)?;
            let high_free = r.u32_le()?;
            let is_wide = features & WIDE != 0;
            let wide = |high: u32, low: u32| {
                if is_wide { u64::from(high) << 32 | u64::from(low) } else { low.into() }
            };
            let label = label.split(|byte| *byte == 0).next().unwrap_or_default();
            Ok(Self {
                inodes,
                blocks: wide(high_blocks, low_blocks),
                free: wide(high_free, low_free),
                first_block,
                block: if magic == MAGIC && shift <= 6 { 1024 << shift } else { 0 },
                inodes_per_group,
                inode_size: if revision == 0 { 128 } else { inode_size.into() },
                descriptor: if is_wide { descriptor.into() } else { 32 },
                features,
                label: String::from_utf8_lossy(label).into_owned(),
            })
        })?;
        if found.block == 0 {
            return Err(damaged("it has another magic number, or blocks of an impossible size"));
        }
        let is_size = found.inode_size.is_power_of_two() && (128..=found.block).contains(&found.inode_size);
        if !is_size || found.inodes_per_group == 0 || !(32..=1024).contains(&found.descriptor) {
            return Err(damaged("its inodes or groups have an impossible size"));
        }
        if found.blocks.checked_mul(found.block).is_none_or(|bytes| bytes > MOST_BYTES) {
            return Err(damaged("it has more blocks than any disk"));
        }
        if found.features & !KNOWN != 0 {
            return Err(Error::NotSupported(format!(
                "ext4 with the features {:#x}",
                found.features & !KNOWN
            )));
        }
        found.free = found.free.min(found.blocks);
        Ok(found)
    }
}

impl Volume {
    fn open(bytes: Arc<dyn ReadAt>) -> Result<Self> {
        let superblock = Superblock::read(bytes.as_ref())?;
        let needs_journal = superblock.features & RECOVER != 0;
        let volume = Self { bytes, superblock };
        if !needs_journal {
            return Ok(volume);
        }
        let journal = volume.inode(JOURNAL)?;
        let replayed: Arc<dyn ReadAt> = Arc::new(journal::replayed(&volume, &journal)?);
        let superblock = Superblock::read(replayed.as_ref())?;
        Ok(Self { bytes: replayed, superblock })
    }

    fn inode(&self, number: u32) -> Result<Inode> {
        let Superblock { block, inodes_per_group, inode_size, descriptor, first_block, .. } = self.superblock;
        let index =
            number.checked_sub(1).filter(|index| *index < self.superblock.inodes).ok_or(Error::NotFound)?;
        let (group, index) = (u64::from(index / inodes_per_group), u64::from(index % inodes_per_group));
        let place = (u64::from(first_block) + 1) * block + group * descriptor;
        let text = read_vec(self.bytes.as_ref(), place, descriptor as usize)?;
        let table = decode("group descriptor of ext4", place, &text, |r| {
            r.skip(8)?; // bitmaps
            let low = r.u32_le()?;
            if descriptor < 64 {
                return Ok(u64::from(low));
            }
            r.skip(28)?;
            Ok(u64::from(r.u32_le()?) << 32 | u64::from(low))
        })?;
        if table >= self.superblock.blocks {
            return Err(Error::damaged(
                "group descriptor of ext4",
                place,
                "its inodes are behind the volume",
            ));
        }
        let place = table * block + index * inode_size;
        Inode::read(number, place, &read_vec(self.bytes.as_ref(), place, inode_size as usize)?)
    }
}
