//! WRITE, MS-SMB2 2.2.21 and 2.2.22.

use std::ops::Range;

use wire::{Malformed, Writer};

use super::layout::body;
use super::{FileKey, Header, buffers};

wire::bits! {
    /// MS-SMB2 2.2.21.
    pub Flags: u32 {
        WRITE_THROUGH = 1,
        UNBUFFERED = 2,
    }
}

/// WRITE request, MS-SMB2 2.2.21.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Where the data are in the message, so that the server can pass them on without a copy.
    pub data: Range<usize>,
    pub offset: u64,
    pub file: FileKey,
    /// 0; others are channels of RDMA, which are not offered.
    pub channel: u32,
    pub remaining_bytes: u32,
    pub flags: Flags,
}

impl Request {
    /// How long the body is before its data.
    pub const FIXED: usize = 48;
    /// Where our own requests have their data, from the start of the header.
    pub const DATA_OFFSET: usize = Header::LEN + Self::FIXED;

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        Self::decode_beginning(message, message.len())
    }

    /// The request at the beginning of a message of `length_of_all`, of which not all is here.
    pub fn decode_beginning(message: &[u8], length_of_all: usize) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 49)?;
        let (data_offset, length, offset) = (r.u16_le()?, r.u32_le()?, r.u64_le()?);
        let (file, channel, remaining_bytes) = (FileKey::decode(&mut r)?, r.u32_le()?, r.u32_le()?);
        r.skip(4)?; // the channel's buffer
        let flags = Flags(r.u32_le()?);
        let length = usize::try_from(length).map_err(|_| Malformed("a length larger than memory"))?;
        let data = buffers::range_in(length_of_all, Self::FIXED, data_offset.into(), length)?;
        Ok(Self { data, offset, file, channel, remaining_bytes, flags })
    }

    /// With `data`, at [`Self::DATA_OFFSET`]. The range field is ignored.
    pub fn encode(&self, data: &[u8], w: &mut Writer) {
        w.u16_le(49);
        w.u16_le(Self::DATA_OFFSET as u16);
        w.u32_le(data.len() as u32);
        w.u64_le(self.offset);
        self.file.encode(w);
        w.u32_le(self.channel);
        w.u32_le(self.remaining_bytes);
        w.u32_le(0); // the channel's buffer
        w.u32_le(self.flags.0);
        w.put(data);
    }
}

body! {
    /// WRITE response, MS-SMB2 2.2.22.
    pub struct Response (17) [2] {
        pub count: u32 [8],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"\x31\0\x72\0\x03\0\0\0\0\0\0\0\x02\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\
        \0\0\0\0\x07\0\0\0\0\0\0\0\x01\0\0\0..abc...";

    #[test]
    fn a_request_says_where_its_data_are() {
        let message = buffers::after_header(BODY);
        let request = Request {
            data: 114..117,
            offset: 0x0000_0002_0000_0000,
            file: FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 },
            channel: 0,
            remaining_bytes: 7,
            flags: Flags::WRITE_THROUGH,
        };
        assert_eq!(message[114..117], *b"abc");
        assert_eq!(Request::decode(&message), Ok(request.clone()));
        let mut w = Writer::new();
        request.encode(b"abc", &mut w);
        assert_eq!(w.as_bytes()[..2], BODY[..2]);
        assert_eq!(w.as_bytes()[2..4], [0x70, 0]);
        assert_eq!(w.as_bytes()[4..48], BODY[4..48]);
        assert_eq!(&w.as_bytes()[48..], b"abc");
        assert_eq!(Request::DATA_OFFSET, 0x70);
    }

    #[test]
    fn data_outside_of_the_message_or_inside_its_head_are_malformed() {
        let message = buffers::after_header(BODY);
        for (at, bytes) in [(66, [0x6f, 0]), (66, [0xff, 0xff]), (68, [9, 0]), (70, [0, 0xff]), (64, [48, 0])]
        {
            let mut message = message.clone();
            message[at..at + 2].copy_from_slice(&bytes);
            assert!(Request::decode(&message).is_err(), "{bytes:?} at {at}");
        }
        (0..117).for_each(|len| assert!(Request::decode(&message[..len]).is_err(), "{len}"));
    }

    #[test]
    fn no_data_may_be_anywhere() {
        let mut message = buffers::after_header(&BODY[..48]);
        message[66..72].copy_from_slice(&[0xff, 0xff, 0, 0, 0, 0]);
        assert!(Request::decode(&message).unwrap().data.is_empty());
    }

    #[test]
    fn the_response_counts_the_bytes() {
        let body = b"\x11\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0";
        laid_out!(Response, body, Response { count: 3 });
    }
}
