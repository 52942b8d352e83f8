//! READ DEFECT DATA, SBC-3 5.17 and 5.18.

use wire::{Malformed, Reader, Writer};

/// The command, of 10 or 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadDefectData {
    /// The longer command, whose answer has a longer header.
    pub long: bool,
    /// REQ_PLIST, REQ_GLIST and DEFECT LIST FORMAT, in the positions of the answer.
    pub lists: u8,
    /// Room for the answer, in bytes.
    pub allocation_length: u32,
}

impl ReadDefectData {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let long = r.u8()? >> 5 == 5;
        let (first, second) = (r.u8()?, r.u8()?);
        if long {
            r.skip(3)?; // the rest of the ADDRESS DESCRIPTOR INDEX
            return Ok(Self { long, lists: first & 0x1f, allocation_length: r.u32_be()? });
        }
        r.skip(4)?; // reserved
        Ok(Self { long, lists: second & 0x1f, allocation_length: u32::from(r.u16_be()?) })
    }

    /// The answer: the requested lists exist and are empty, SBC-3 5.17.2 and 5.18.2.
    pub fn encode_empty(&self, w: &mut Writer) {
        w.put(&[0, self.lists, 0, 0]); // the length or the generation code follows
        if self.long {
            w.u32_be(0);
        }
    }
}
