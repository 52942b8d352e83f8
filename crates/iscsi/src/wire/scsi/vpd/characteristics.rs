//! The VPD page of block device characteristics, SBC-3 6.6.2.

use wire::{Malformed, Reader, Writer};

/// Body of the block device characteristics page, SBC-3 6.6.2: 60 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Characteristics {
    /// MEDIUM ROTATION RATE: rotations per minute; 0 is unspecified, 1 stands for a non-rotating
    /// medium.
    pub rotation: u16,
    /// VBULS: VERIFY also compares unmapped blocks.
    pub verifies_unmapped: bool,
}

impl Characteristics {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.u16_be(self.rotation);
        w.zeros(2); // product type, form factor
        w.u8(u8::from(self.verifies_unmapped));
        w.zeros(55);
    }

    /// From its bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let rotation = r.u16_be()?;
        r.skip(2)?;
        let verifies_unmapped = r.u8()? & 1 != 0;
        r.skip(55)?;
        Ok(Self { rotation, verifies_unmapped })
    }
}
