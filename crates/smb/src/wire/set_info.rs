//! SET_INFO, MS-SMB2 2.2.39 and 2.2.40.

use wire::{Malformed, Writer};

use super::buffers::{body, buffer};
use super::{FileKey, Header, InfoType};

/// SET_INFO request, MS-SMB2 2.2.39.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    pub info_type: InfoType,
    /// MS-FSCC 2.4 for a file, 2.5 for a file system.
    pub information_class: u8,
    /// Of security information: which parts.
    pub additional_information: u32,
    pub file: FileKey,
    pub data: &'a [u8],
}

/// How long the body of a request is before its buffer.
const FIXED: usize = 32;

impl<'a> Request<'a> {
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = body(message, 33)?;
        let (info_type, information_class) = (InfoType(r.u8()?), r.u8()?);
        let (length, offset) = (r.u32_le()?, r.u16_le()?);
        r.skip(2)?; // reserved
        let (additional_information, file) = (r.u32_le()?, FileKey::decode(&mut r)?);
        let data = buffer(message, FIXED, offset, length)?;
        Ok(Self { info_type, information_class, additional_information, file, data })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(33);
        w.u8(self.info_type.0);
        w.u8(self.information_class);
        w.u32_le(self.data.len() as u32);
        w.u16_le((Header::LEN + FIXED) as u16);
        w.u16_le(0); // reserved
        w.u32_le(self.additional_information);
        self.file.encode(w);
        w.put(self.data);
    }
}

/// SET_INFO response, MS-SMB2 2.2.40.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response;

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        body(message, 2).map(|_| Self)
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_what_is_set() {
        let body = b"\x21\0\x03\0\x04\0\0\0\x60\0\0\0\x04\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11acls";
        let request = Request {
            info_type: InfoType::SECURITY,
            information_class: 0,
            additional_information: 4,
            file: FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 },
            data: b"acls",
        };
        laid_out!(Request<'_>, body, request);
    }

    #[test]
    fn the_response_is_its_structure_size() {
        laid_out!(Response, b"\x02\0", Response);
    }
}
