//! The descriptor block of COMPARE AND WRITE, SBC-3 5.2.

use wire::{Malformed, Reader};

/// COMPARE AND WRITE, SBC-3 5.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompareAndWrite {
    /// WRPROTECT.
    pub protect: u8,
    /// DPO: the data need not stay in the cache.
    pub dpo: bool,
    /// FUA: the data are on the disk when the command ends.
    pub fua: bool,
    /// The first block.
    pub lba: u64,
    /// The number of blocks to compare, and then to write.
    pub count: u8,
}

impl CompareAndWrite {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // the operation code
        let (flags, lba) = (r.u8()?, r.u64_be()?);
        r.skip(3)?; // reserved
        let count = r.u8()?;
        r.skip(2)?; // group number, control
        Ok(Self { protect: flags >> 5, dpo: flags & 0x10 != 0, fua: flags & 0x08 != 0, lba, count })
    }
}
