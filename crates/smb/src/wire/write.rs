//! WRITE, MS-SMB2 2.2.21 and 2.2.22.

use std::ops::Range;

use wire::{Malformed, Writer};

use super::{FileKey, Header, buffers};

bits! {
    /// MS-SMB2 2.2.21.
    Flags: u32 {
        WRITE_THROUGH = 1,
        UNBUFFERED = 2,
    }
}

/// WRITE request, MS-SMB2 2.2.21.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Where the data are in the message, so that they can be passed on without a copy.
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
        let mut r = buffers::body(message, 49)?;
        let (data_offset, length, offset) = (r.u16_le()?, r.u32_le()?, r.u64_le()?);
        let (file, channel, remaining_bytes) = (FileKey::decode(&mut r)?, r.u32_le()?, r.u32_le()?);
        r.skip(4)?; // the channel's buffer
        let flags = Flags(r.u32_le()?);
        let length = usize::try_from(length).map_err(|_| Malformed("a length larger than memory"))?;
        let data = buffers::range(message, Self::FIXED, data_offset.into(), length)?;
        Ok(Self { data, offset, file, channel, remaining_bytes, flags })
    }

    /// With `data`, at [`Self::DATA_OFFSET`]; the range is not looked at.
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

/// WRITE response, MS-SMB2 2.2.22.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    pub count: u32,
}

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 17)?;
        r.skip(2)?; // reserved
        let count = r.u32_le()?;
        r.skip(8)?; // remaining, and the channel's buffer: unused
        Ok(Self { count })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(17);
        w.u16_le(0); // reserved
        w.u32_le(self.count);
        w.u64_le(0); // remaining, and the channel's buffer: unused
    }
}
