//! The descriptor blocks of VERIFY and WRITE AND VERIFY, SBC-3 5.29 and 5.37.

use wire::{Malformed, Reader};

use super::Access;

/// VERIFY of 10, 12 or 16 bytes, SBC-3 5.29 to 5.31; WRITE AND VERIFY, 5.37 to 5.39, has the same
/// fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verify {
    /// VRPROTECT or WRPROTECT.
    pub protect: u8,
    /// DPO: the data need not stay in the cache.
    pub dpo: bool,
    /// BYTCHK: the data to compare with.
    pub check: ByteCheck,
    /// The first block.
    pub lba: u64,
    /// The number of blocks.
    pub count: u32,
}

/// BYTCHK, SBC-3 5.29.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteCheck {
    /// No comparison: the blocks must only be readable.
    Nothing,
    /// The initiator sends as many blocks.
    Blocks,
    /// A reserved value.
    Reserved,
    /// The initiator sends one block, and each block is compared with it.
    OneBlock,
}

impl Verify {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let access = Access::decode(r)?;
        let check = match (access.flags >> 1) & 3 {
            0 => ByteCheck::Nothing,
            1 => ByteCheck::Blocks,
            2 => ByteCheck::Reserved,
            _ => ByteCheck::OneBlock,
        };
        let (lba, count) = (access.lba, access.count);
        Ok(Self { protect: access.protect(), dpo: access.flag(4), check, lba, count })
    }
}
