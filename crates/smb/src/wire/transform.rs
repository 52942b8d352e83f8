//! The header of an encrypted message, MS-SMB2 2.2.41.

use wire::{Malformed, Reader, Writer};

/// The first four bytes of an encrypted message.
pub const PROTOCOL_ID: [u8; 4] = [0xFD, b'S', b'M', b'B'];

/// MS-SMB2 2.2.41.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transform {
    pub signature: [u8; 16],
    /// Its first 11 bytes (CCM) or 12 (GCM) are used.
    pub nonce: [u8; 16],
    pub original_message_size: u32,
    /// 1, encrypted. In 3.0 and 3.0.2 the field is the algorithm, where 1 is AES-128-CCM, the only one.
    pub flags: u16,
    pub session_id: u64,
}

impl Transform {
    /// How long it is.
    pub const LEN: usize = 52;
    /// The value that `flags` must have.
    pub const ENCRYPTED: u16 = 1;
    /// Where the bytes begin that are authenticated, up to [`Self::LEN`]: the nonce and all behind it.
    pub const AUTHENTICATED: usize = 20;

    /// The header that `message` begins with.
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(message);
        if r.array()? != PROTOCOL_ID {
            return Err(Malformed("another protocol id"));
        }
        let (signature, nonce, original_message_size) = (r.array()?, r.array()?, r.u32_le()?);
        r.skip(2)?; // reserved
        let (flags, session_id) = (r.u16_le()?, r.u64_le()?);
        Ok(Self { signature, nonce, original_message_size, flags, session_id })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.put(&PROTOCOL_ID);
        w.put(&self.signature);
        w.put(&self.nonce);
        w.u32_le(self.original_message_size);
        w.u16_le(0); // reserved
        w.u16_le(self.flags);
        w.u64_le(self.session_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_laid_out_as_the_specification_says() {
        let bytes = b"\xfdSMBABCDEFGHIJKLMNOPabcdefghijklmnop\x04\x03\x02\x01\0\0\x01\0\x08\x07\x06\x05\x04\x03\x02\x01";
        let transform = Transform {
            signature: *b"ABCDEFGHIJKLMNOP",
            nonce: *b"abcdefghijklmnop",
            original_message_size: 0x0102_0304,
            flags: Transform::ENCRYPTED,
            session_id: 0x0102_0304_0506_0708,
        };
        assert_eq!(Transform::decode(bytes), Ok(transform));
        let mut w = Writer::new();
        transform.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
        assert_eq!(bytes.len(), Transform::LEN);
        assert_eq!(bytes[Transform::AUTHENTICATED..][..16], *b"abcdefghijklmnop");
        assert!(Transform::decode(&bytes[..51]).is_err());
    }
}
