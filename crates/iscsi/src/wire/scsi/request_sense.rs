//! REQUEST SENSE, SPC-4 6.39.

use wire::{Malformed, Reader, Writer};

/// REQUEST SENSE, SPC-4 6.39.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSense {
    /// DESC: the answer has descriptor format.
    pub descriptors: bool,
    /// The allocation length.
    pub allocation_length: u8,
}

impl RequestSense {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let descriptors = r.u8()? & 1 != 0;
        r.skip(2)?;
        Ok(Self { descriptors, allocation_length: r.u8()? })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&[0x03, u8::from(self.descriptors), 0, 0, self.allocation_length, 0]);
    }
}
