//! The head of a frame.

use wire::{Malformed, Reader, Writer};

/// Bytes of a head.
pub const HEAD: usize = 12;
/// The longest payload: an entry with all its attributes, or a piece of data.
pub const MAX_PAYLOAD: usize = 8 << 20;

/// What is before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Which message it is.
    pub kind: u8,
    /// Bytes of the payload.
    pub length: u32,
    /// CRC-32C of the payload.
    pub checksum: u32,
}

impl Head {
    /// Reads a head.
    ///
    /// # Errors
    /// It is no head, or the payload is too long.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let kind = r.u8()?;
        if r.array()? != [0; 3] {
            return Err(Malformed("the zeros of a head"));
        }
        let (length, checksum) = (r.u32_be()?, r.u32_be()?);
        r.finish()?;
        if length as usize > MAX_PAYLOAD {
            return Err(Malformed("a payload of at most 8 MiB"));
        }
        Ok(Self { kind, length, checksum })
    }

    /// Writes it.
    pub fn encode(&self, w: &mut Writer) {
        w.u8(self.kind);
        w.zeros(3);
        w.u32_be(self.length);
        w.u32_be(self.checksum);
    }
}
