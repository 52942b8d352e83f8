//! The descriptor blocks of READ, SBC-3 5.11 to 5.13.

use wire::{Malformed, Reader};

use super::Access;

/// READ of 6 (SBC-2 5.5), 10, 12 or 16 bytes, SBC-3 5.11 to 5.13.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadCommand {
    /// RDPROTECT.
    pub protect: u8,
    /// DPO: the data need not stay in the cache.
    pub dpo: bool,
    /// FUA: the data are on the disk before they are returned.
    pub fua: bool,
    /// The first block.
    pub lba: u64,
    /// The number of blocks.
    pub count: u32,
}

impl ReadCommand {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let access = Access::decode(r)?;
        let (lba, count) = (access.lba, access.count);
        Ok(Self { protect: access.protect(), dpo: access.flag(4), fua: access.flag(3), lba, count })
    }
}
