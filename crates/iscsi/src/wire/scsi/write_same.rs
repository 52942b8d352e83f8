//! The descriptor blocks of WRITE SAME, SBC-3 5.43 and 5.44.

use wire::{Malformed, Reader};

use super::Access;

/// WRITE SAME of 10 or 16 bytes, SBC-3 5.43 and 5.44.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteSame {
    /// WRPROTECT.
    pub protect: u8,
    /// ANCHOR: blocks that are unmapped keep their space.
    pub anchor: bool,
    /// UNMAP: the blocks may be unmapped.
    pub unmap: bool,
    /// PBDATA or LBDATA of earlier versions: the data differ in each block.
    pub numbered: bool,
    /// NDOB: no data; the block is all zeros. Only in a command of 16 bytes.
    pub no_data: bool,
    /// The first block.
    pub lba: u64,
    /// The number of blocks; 0: all up to the end, if that is allowed.
    pub count: u32,
}

impl WriteSame {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let access = Access::decode(r)?;
        let long = access.opcode >> 5 == 4;
        Ok(Self {
            protect: access.protect(),
            anchor: access.flag(4),
            unmap: access.flag(3),
            numbered: access.flag(2) || access.flag(1),
            no_data: long && access.flag(0),
            lba: access.lba,
            count: access.count,
        })
    }
}
