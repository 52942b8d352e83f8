//! The descriptor blocks of WRITE and ORWRITE, SBC-3 5.33 and 5.5.

use wire::{Malformed, Reader};

use super::Access;

/// WRITE of 6 (SBC-2 5.24), 10, 12 or 16 bytes, SBC-3 5.33 to 5.35; ORWRITE (16), 5.5, has the same
/// fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteCommand {
    /// WRPROTECT.
    pub protect: u8,
    /// DPO: the data need not stay in the cache.
    pub dpo: bool,
    /// FUA: the data are on the disk when the command ends.
    pub fua: bool,
    /// The first block.
    pub lba: u64,
    /// The number of blocks.
    pub count: u32,
}

impl WriteCommand {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let access = Access::decode(r)?;
        let (lba, count) = (access.lba, access.count);
        Ok(Self { protect: access.protect(), dpo: access.flag(4), fua: access.flag(3), lba, count })
    }
}
