//! CLOSE, MS-SMB2 2.2.15 and 2.2.16.

use wire::{Malformed, Writer};

use super::{FileKey, NetworkOpen, buffers};

bits! {
    /// MS-SMB2 2.2.15.
    Flags: u16 {
        /// The response says what the file is like after the close.
        POSTQUERY_ATTRIB = 1,
    }
}

/// CLOSE request, MS-SMB2 2.2.15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub flags: Flags,
    pub file: FileKey,
}

impl Request {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 24)?;
        let flags = Flags(r.u16_le()?);
        r.skip(4)?; // reserved
        Ok(Self { flags, file: FileKey::decode(&mut r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(24);
        w.u16_le(self.flags.0);
        w.u32_le(0); // reserved
        self.file.encode(w);
    }
}

/// CLOSE response, MS-SMB2 2.2.16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    pub flags: Flags,
    /// All zeros unless the flags say that it was asked for.
    pub info: NetworkOpen,
}

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 60)?;
        let flags = Flags(r.u16_le()?);
        r.skip(4)?; // reserved
        Ok(Self { flags, info: NetworkOpen::decode(&mut r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(60);
        w.u16_le(self.flags.0);
        w.u32_le(0); // reserved
        self.info.encode(w);
    }
}
