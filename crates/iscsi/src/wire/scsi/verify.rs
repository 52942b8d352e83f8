use wire::{Malformed, Reader};

use super::Access;

/// VERIFY of 10, 12 or 16 bytes, SBC-3 5.29 to 5.31; WRITE AND VERIFY, 5.37 to 5.39, looks the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verify {
    /// VRPROTECT or WRPROTECT.
    pub protect: u8,
    /// Not to be kept in memory for this.
    pub dpo: bool,
    /// BYTCHK: what the blocks are compared with.
    pub check: ByteCheck,
    /// The first block.
    pub lba: u64,
    /// How many.
    pub count: u32,
}

/// BYTCHK, SBC-3 5.29.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteCheck {
    /// With nothing: that they can be read is enough.
    Nothing,
    /// With as many blocks that the initiator sends.
    Blocks,
    /// A value that is kept for later.
    Reserved,
    /// With one block that the initiator sends, each of them.
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
