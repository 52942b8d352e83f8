//! FLUSH, MS-SMB2 2.2.17 and 2.2.18.

use wire::{Malformed, Writer};

use super::{FileKey, buffers};

/// FLUSH request, MS-SMB2 2.2.17.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Reserved in the specification; [`Self::FULL_SYNC`] of Mac clients.
    pub reserved: u16,
    pub file: FileKey,
}

impl Request {
    /// F_FULLFSYNC: the disk's cache is flushed as well. Only where the volume said that it can.
    pub const FULL_SYNC: u16 = 0xFFFF;

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 24)?;
        let reserved = r.u16_le()?;
        r.skip(4)?; // reserved
        Ok(Self { reserved, file: FileKey::decode(&mut r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(24);
        w.u16_le(self.reserved);
        w.u32_le(0); // reserved
        self.file.encode(w);
    }
}

/// FLUSH response, MS-SMB2 2.2.18.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response;

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        buffers::decode_empty(message).map(|()| Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        buffers::encode_empty(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_sync_is_in_the_reserved_field() {
        let file = FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 };
        laid_out!(
            Request,
            b"\x18\0\xff\xff\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11",
            Request { reserved: Request::FULL_SYNC, file }
        );
        laid_out!(Response, b"\x04\0\0\0", Response);
    }
}
