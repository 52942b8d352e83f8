//! The header of a compressed message, MS-SMB2 2.2.42. Compression is not offered: the server
//! decodes the header only to refuse the message.

use wire::{Malformed, Reader, Writer};

/// The first four bytes of a compressed message.
pub const PROTOCOL_ID: [u8; 4] = [0xFC, b'S', b'M', b'B'];

/// MS-SMB2 2.2.42.1, and the same bytes of 2.2.42.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    pub original_compressed_segment_size: u32,
    pub algorithm: u16,
    /// 1: chained, and more such headers follow.
    pub flags: u16,
    /// Of the compressed part; its length when chained.
    pub offset: u32,
}

impl Compression {
    /// The header that `message` begins with.
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(message);
        if r.array()? != PROTOCOL_ID {
            return Err(Malformed("another protocol id"));
        }
        let (original_compressed_segment_size, algorithm) = (r.u32_le()?, r.u16_le()?);
        let (flags, offset) = (r.u16_le()?, r.u32_le()?);
        Ok(Self { original_compressed_segment_size, algorithm, flags, offset })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.put(&PROTOCOL_ID);
        w.u32_le(self.original_compressed_segment_size);
        w.u16_le(self.algorithm);
        w.u16_le(self.flags);
        w.u32_le(self.offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_laid_out_as_the_specification_says() {
        let bytes = b"\xfcSMB\x00\x01\0\0\x02\0\x01\0\x10\0\0\0";
        let header =
            Compression { original_compressed_segment_size: 256, algorithm: 2, flags: 1, offset: 16 };
        assert_eq!(Compression::decode(bytes), Ok(header));
        let mut w = Writer::new();
        header.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
        assert!(Compression::decode(&bytes[..15]).is_err());
    }
}
