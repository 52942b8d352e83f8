//! GET LBA STATUS, SBC-3 5.4.

use wire::{Malformed, Reader, Writer};

use super::Access;

/// Bytes before the descriptors.
pub const LBA_STATUS_HEADER: usize = 8;
/// Bytes of a descriptor.
pub const LBA_STATUS_DESCRIPTOR: usize = 16;

/// The command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetLbaStatus {
    /// The first block to report.
    pub lba: u64,
    /// Room for the answer, in bytes.
    pub allocation_length: u32,
}

impl GetLbaStatus {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let access = Access::decode(r)?;
        Ok(Self { lba: access.lba, allocation_length: access.count })
    }
}

/// PROVISIONING STATUS, SBC-3 5.4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    /// The blocks are mapped, or their state is unknown.
    Mapped,
    /// The blocks are not mapped.
    Deallocated,
}

/// Consecutive blocks with the same status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LbaStatus {
    /// The first block.
    pub lba: u64,
    /// The number of blocks.
    pub count: u32,
    /// Their status.
    pub provisioning: Provisioning,
}

impl LbaStatus {
    /// The answer.
    pub fn encode_list(list: &[Self], w: &mut Writer) {
        w.u32_be((4 + list.len() * LBA_STATUS_DESCRIPTOR) as u32); // the length of the rest
        w.u32_be(0);
        for status in list {
            w.u64_be(status.lba);
            w.u32_be(status.count);
            w.u8(match status.provisioning {
                Provisioning::Mapped => 0,
                Provisioning::Deallocated => 1,
            });
            w.zeros(3);
        }
    }
}
