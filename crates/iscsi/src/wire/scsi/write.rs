use wire::{Malformed, Reader};

use super::Access;

/// WRITE of 6 (SBC-2 5.24), 10, 12 or 16 bytes, SBC-3 5.33 to 5.35; ORWRITE (16), 5.5, looks the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// WRPROTECT.
    pub protect: u8,
    /// Not to be kept in memory for this.
    pub dpo: bool,
    /// On the disk when the command ends.
    pub fua: bool,
    /// The first block.
    pub lba: u64,
    /// How many.
    pub count: u32,
}

impl Write {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let access = Access::decode(r)?;
        let (lba, count) = (access.lba, access.count);
        Ok(Self { protect: access.protect(), dpo: access.flag(4), fua: access.flag(3), lba, count })
    }
}
