//! QUERY_DIRECTORY, MS-SMB2 2.2.33 and 2.2.34.

use wire::{Malformed, Writer};

use super::buffers::{BufferResponse, body, buffer, put_utf16, utf16};
use super::{FileKey, Header};

wire::bits! {
    /// MS-SMB2 2.2.33.
    pub Flags: u8 {
        RESTART_SCANS = 0x01,
        RETURN_SINGLE_ENTRY = 0x02,
        INDEX_SPECIFIED = 0x04,
        REOPEN = 0x10,
    }
}

/// QUERY_DIRECTORY request, MS-SMB2 2.2.33.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The layout of the entries, MS-FSCC 2.4.
    pub information_class: u8,
    pub flags: Flags,
    pub file_index: u32,
    pub file: FileKey,
    pub output_buffer_length: u32,
    /// The pattern of the wanted names, in UTF-16.
    pub pattern: Vec<u16>,
}

/// How long the body of a request is before its buffer.
const FIXED: usize = 32;

impl Request {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = body(message, 33)?;
        let (information_class, flags, file_index) = (r.u8()?, Flags(r.u8()?), r.u32_le()?);
        let file = FileKey::decode(&mut r)?;
        let (offset, length, output_buffer_length) = (r.u16_le()?, r.u16_le()?, r.u32_le()?);
        let pattern = utf16(buffer(message, FIXED, offset, length)?)?;
        Ok(Self { information_class, flags, file_index, file, output_buffer_length, pattern })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(33);
        w.u8(self.information_class);
        w.u8(self.flags.0);
        w.u32_le(self.file_index);
        self.file.encode(w);
        w.u16_le((Header::LEN + FIXED) as u16);
        w.u16_le((self.pattern.len() * 2) as u16);
        w.u32_le(self.output_buffer_length);
        put_utf16(w, &self.pattern);
    }
}

/// QUERY_DIRECTORY response, MS-SMB2 2.2.34.
pub type Response = BufferResponse;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_pattern() {
        let body = b"\x21\0\x25\x03\x07\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\x60\0\x04\0\0\0\x01\0*\0\xe9\0";
        let request = Request {
            information_class: 37,
            flags: Flags::RESTART_SCANS | Flags::RETURN_SINGLE_ENTRY,
            file_index: 7,
            file: FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 },
            output_buffer_length: 0x0001_0000,
            pattern: "*é".encode_utf16().collect(),
        };
        laid_out!(Request, body, request);
    }

    #[test]
    fn half_a_code_unit_is_malformed() {
        let mut message = super::super::buffers::after_header(&[0; 36]);
        message[64] = 33;
        message[88..92].copy_from_slice(&[0x60, 0, 3, 0]);
        assert_eq!(Request::decode(&message), Err(Malformed("half a UTF-16 unit")));
    }
}
