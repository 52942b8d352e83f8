//! The volume header, its copy, and the wrapper of HFS: TN1150, "Volume Header", "HFS Wrapper".

use std::sync::Arc;

use super::fork::ForkData;
use crate::part::{Part, read_vec};
use crate::{Error, ReadAt, Result, decode};

/// Where the volume header is; its copy is as far from the end.
pub(super) const PLACE: u64 = 1024;
pub(super) const LENGTH: usize = 512;

/// Attributes of a volume.
pub(super) const UNMOUNTED: u32 = 1 << 8;
pub(super) const JOURNALED: u32 = 1 << 13;
pub(super) const INCONSISTENT: u32 = 1 << 14;

/// The volume header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VolumeHeader {
    /// Whether it is HFSX.
    pub(super) is_hfsx: bool,
    pub(super) attributes: u32,
    pub(super) last_mounted: [u8; 4],
    pub(super) journal_info_block: u32,
    pub(super) created: u32,
    pub(super) files: u32,
    pub(super) folders: u32,
    pub(super) block_size: u32,
    pub(super) blocks: u32,
    pub(super) free_blocks: u32,
    pub(super) next_id: u32,
    pub(super) allocation: ForkData,
    pub(super) extents: ForkData,
    pub(super) catalogue: ForkData,
    pub(super) attribute_file: ForkData,
    pub(super) startup: ForkData,
}

impl VolumeHeader {
    /// The header at this place.
    pub(super) fn read(bytes: &dyn ReadAt, place: u64, name: &str) -> Result<Self> {
        let data = read_vec(bytes, place, LENGTH)?;
        let header = decode(name, place, &data, |r| {
            let (signature, version) = (r.array::<2>()?, r.u16_be()?);
            let is_hfsx = match (&signature, version) {
                (b"H+", 4) => false,
                (b"HX", 5) => true,
                _ => return Err(wire::Malformed("it has no signature of HFS+")),
            };
            let (attributes, last_mounted, journal_info_block) = (r.u32_be()?, r.array()?, r.u32_be()?);
            let created = r.u32_be()?;
            r.skip(12)?; // modified, backed up, checked
            let (files, folders, block_size) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
            let (blocks, free_blocks) = (r.u32_be()?, r.u32_be()?);
            r.skip(12)?; // next allocation, clump sizes
            let next_id = r.u32_be()?;
            r.skip(4 + 8 + 32)?; // writes, encodings, Finder information
            Ok(Self {
                is_hfsx,
                attributes,
                last_mounted,
                journal_info_block,
                created,
                files,
                folders,
                block_size,
                blocks,
                free_blocks,
                next_id,
                allocation: ForkData::decode(r)?,
                extents: ForkData::decode(r)?,
                catalogue: ForkData::decode(r)?,
                attribute_file: ForkData::decode(r)?,
                startup: ForkData::decode(r)?,
            })
        })?;
        if !header.block_size.is_power_of_two() || !(512..=1 << 26).contains(&header.block_size) {
            return Err(Error::damaged(name, place, "the size of its blocks is not possible"));
        }
        Ok(header)
    }

    /// Bytes of all blocks.
    pub(super) fn volume_length(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.block_size)
    }
}

/// Both headers of a volume.
pub(super) struct Headers {
    pub(super) first: Result<VolumeHeader>,
    pub(super) copy: Result<VolumeHeader>,
    /// Where the copy is.
    pub(super) copy_place: u64,
}

impl Headers {
    /// Reads both headers. The volume may be shorter than what has it.
    pub(super) fn read(bytes: &dyn ReadAt) -> Self {
        let first = VolumeHeader::read(bytes, PLACE, "volume header");
        // The copy is in the second-to-last 512 bytes of the volume, which may have a part of a block behind all blocks.
        let end = |length: u64| (length / 512 * 512).saturating_sub(PLACE);
        let mut places = vec![end(bytes.length())];
        if let Ok(header) = &first {
            places.push(end(header.volume_length()));
        }
        let mut copy_place = places[0];
        let mut copy = Err(Error::damaged("alternate volume header", copy_place, "it is missing"));
        for place in places {
            let read = VolumeHeader::read(bytes, place, "alternate volume header");
            if read.is_ok() {
                (copy, copy_place) = (read, place);
                break;
            }
            copy = read;
        }
        Self { first, copy, copy_place }
    }

    /// The header that counts: the first one if it is sound.
    pub(super) fn best(&self) -> Result<VolumeHeader> {
        match (&self.first, &self.copy) {
            (Ok(header), _) | (Err(_), Ok(header)) => Ok(*header),
            (Err(error), Err(_)) => Err(error.clone()),
        }
    }
}

/// The bytes of the volume: those in the wrapper if it has one.
pub(super) fn unwrapped(bytes: Arc<dyn ReadAt>) -> Result<Arc<dyn ReadAt>> {
    let Ok(head) = read_vec(bytes.as_ref(), PLACE, LENGTH) else { return Ok(bytes) };
    if !head.starts_with(b"BD") {
        return Ok(bytes);
    }
    let name = "master directory block of the HFS wrapper";
    let (block, first, is_wrapper, start, count) = decode(name, PLACE, &head, |r| {
        r.skip(20)?;
        let block = u64::from(r.u32_be()?);
        r.skip(4)?; // clump size
        let first = u64::from(r.u16_be()?);
        r.skip(124 - 30)?;
        let is_wrapper = r.array::<2>()? == *b"H+";
        Ok((block, first, is_wrapper, u64::from(r.u16_be()?), u64::from(r.u16_be()?)))
    })?;
    if !is_wrapper {
        return Err(Error::NotSupported("HFS of the classic Mac OS".into()));
    }
    Ok(Arc::new(Part::new(bytes, first * 512 + start * block, count * block)))
}
