//! READ, MS-SMB2 2.2.19 and 2.2.20.

use wire::{Malformed, Writer};

use super::{FileKey, Header, buffers};

wire::bits! {
    /// MS-SMB2 2.2.19.
    pub Flags: u8 {
        UNBUFFERED = 1,
        REQUEST_COMPRESSED = 2,
    }
}

/// READ request, MS-SMB2 2.2.19.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub flags: Flags,
    pub length: u32,
    pub offset: u64,
    pub file: FileKey,
    pub minimum_count: u32,
    /// 0; others are channels of RDMA, which are not offered.
    pub channel: u32,
    pub remaining_bytes: u32,
}

impl Request {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 49)?;
        r.skip(1)?; // padding: where the client would like the data
        let (flags, length, offset) = (Flags(r.u8()?), r.u32_le()?, r.u64_le()?);
        let (file, minimum_count) = (FileKey::decode(&mut r)?, r.u32_le()?);
        let (channel, remaining_bytes) = (r.u32_le()?, r.u32_le()?);
        r.skip(4)?; // the channel's buffer
        Ok(Self { flags, length, offset, file, minimum_count, channel, remaining_bytes })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(49);
        w.u8(Head::DATA_OFFSET as u8); // padding
        w.u8(self.flags.0);
        w.u32_le(self.length);
        w.u64_le(self.offset);
        self.file.encode(w);
        w.u32_le(self.minimum_count);
        w.u32_le(self.channel);
        w.u32_le(self.remaining_bytes);
        w.u32_le(0); // the channel's buffer
        w.u8(0); // the buffer has at least one byte
    }
}

/// READ response without its data, which comes after it from elsewhere. MS-SMB2 2.2.20.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub data_length: u32,
    /// Of the channels that are not offered: 0.
    pub data_remaining: u32,
    /// Reserved before 3.1.1.
    pub flags: u32,
}

impl Head {
    /// How long it is.
    pub const LEN: usize = 16;
    /// Where the data begin, from the start of the header: right behind.
    pub const DATA_OFFSET: usize = Header::LEN + Self::LEN;

    /// The head of an answer with `data_length` bytes.
    pub fn of(data_length: u32) -> Self {
        Self { data_length, data_remaining: 0, flags: 0 }
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(17);
        w.u8(Self::DATA_OFFSET as u8);
        w.u8(0); // reserved
        w.u32_le(self.data_length);
        w.u32_le(self.data_remaining);
        w.u32_le(self.flags);
    }
}

/// READ response, MS-SMB2 2.2.20.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub data_remaining: u32,
    pub flags: u32,
    pub data: Vec<u8>,
}

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 17)?;
        let offset = r.u8()?;
        r.skip(1)?; // reserved
        let (length, data_remaining, flags) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        let data = buffers::buffer(message, Head::LEN, offset, length)?.to_vec();
        Ok(Self { data_remaining, flags, data })
    }

    pub fn encode(&self, w: &mut Writer) {
        let (data_length, data_remaining) = (self.data.len() as u32, self.data_remaining);
        Head { data_length, data_remaining, flags: self.flags }.encode(w);
        w.put(&self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_a_range_of_a_file() {
        let request = Request {
            flags: Flags::UNBUFFERED,
            length: 0x0001_0000,
            offset: 0x0000_0002_0000_0000,
            file: FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 },
            minimum_count: 1,
            channel: 0,
            remaining_bytes: 3,
        };
        let body = b"\x31\0\x50\x01\0\0\x01\0\0\0\0\0\x02\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\
            \x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0";
        laid_out!(Request, body, request, 1);
    }

    #[test]
    fn data_begin_80_bytes_after_the_start_of_the_header() {
        let body = b"\x11\0\x50\0\x05\0\0\0\0\0\0\0\0\0\0\0hello";
        laid_out!(Response, body, Response { data_remaining: 0, flags: 0, data: b"hello".to_vec() });
        let mut w = Writer::new();
        Head::of(5).encode(&mut w);
        assert_eq!(w.as_bytes(), &body[..Head::LEN]);
        assert_eq!(Head::DATA_OFFSET, 80);
    }

    #[test]
    fn data_inside_the_response_itself_are_malformed() {
        let body = b"\x11\0\x4f\0\x05\0\0\0\0\0\0\0\0\0\0\0hello";
        assert!(Response::decode(&buffers::after_header(body)).is_err());
    }
}
