//! Commands for the cache of the disk.

use wire::{Malformed, Reader};

use super::Access;

/// SYNCHRONIZE CACHE of 10 or 16 bytes, SBC-3 5.26 and 5.27; PRE-FETCH, 5.8 and 5.9, has the same
/// fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRange {
    /// The command may end before the work does.
    pub immediate: bool,
    /// The first block.
    pub lba: u64,
    /// The number of blocks; 0: all up to the end.
    pub count: u32,
}

impl CacheRange {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let access = Access::decode(r)?;
        Ok(Self { immediate: access.flag(1), lba: access.lba, count: access.count })
    }
}
