//! SESSION_SETUP, MS-SMB2 2.2.5 and 2.2.6.

use wire::{Malformed, Writer};

use super::{Capabilities, Header, SecurityMode, buffers};

wire::bits! {
    /// The client's request flags, MS-SMB2 2.2.5.
    pub RequestFlags: u8 {
        /// The session exists; this is another channel of it.
        BINDING = 1,
    }
}

wire::bits! {
    /// The properties of a session, MS-SMB2 2.2.6.
    pub SessionFlags: u16 {
        IS_GUEST = 1,
        IS_NULL = 2,
        ENCRYPT_DATA = 4,
    }
}

/// SESSION_SETUP request, MS-SMB2 2.2.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    pub flags: RequestFlags,
    /// One byte on the wire.
    pub security_mode: SecurityMode,
    pub capabilities: Capabilities,
    /// The session that the client had before it lost its connection; 0: none.
    pub previous_session_id: u64,
    /// A token of SPNEGO.
    pub security_buffer: &'a [u8],
}

/// How long the body of a request is before its buffer.
const REQUEST_FIXED: usize = 24;
/// How long the body of a response is before its buffer.
const RESPONSE_FIXED: usize = 8;

impl<'a> Request<'a> {
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 25)?;
        let (flags, security_mode) = (RequestFlags(r.u8()?), SecurityMode(r.u8()?.into()));
        let capabilities = Capabilities(r.u32_le()?);
        r.skip(4)?; // channel, reserved
        let (offset, length) = (r.u16_le()?, r.u16_le()?);
        let previous_session_id = r.u64_le()?;
        let security_buffer = buffers::buffer(message, REQUEST_FIXED, offset, length)?;
        Ok(Self { flags, security_mode, capabilities, previous_session_id, security_buffer })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(25);
        w.u8(self.flags.0);
        w.u8(self.security_mode.0 as u8);
        w.u32_le(self.capabilities.0);
        w.u32_le(0); // channel, reserved
        w.u16_le((Header::LEN + REQUEST_FIXED) as u16);
        w.u16_le(self.security_buffer.len() as u16);
        w.u64_le(self.previous_session_id);
        w.put(self.security_buffer);
    }
}

/// SESSION_SETUP response, MS-SMB2 2.2.6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub flags: SessionFlags,
    pub security_buffer: Vec<u8>,
}

impl Response {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 9)?;
        let (flags, offset, length) = (SessionFlags(r.u16_le()?), r.u16_le()?, r.u16_le()?);
        let security_buffer = buffers::buffer(message, RESPONSE_FIXED, offset, length)?.to_vec();
        Ok(Self { flags, security_buffer })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(9);
        w.u16_le(self.flags.0);
        w.u16_le((Header::LEN + RESPONSE_FIXED) as u16);
        w.u16_le(self.security_buffer.len() as u16);
        w.put(&self.security_buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_carry_a_token() {
        let body = b"\x19\0\x01\x02\x01\0\0\0\0\0\0\0\x58\0\x05\0\x08\x07\x06\x05\x04\x03\x02\x01token";
        let request = Request {
            flags: RequestFlags::BINDING,
            security_mode: SecurityMode::SIGNING_REQUIRED,
            capabilities: Capabilities::DFS,
            previous_session_id: 0x0102_0304_0506_0708,
            security_buffer: b"token",
        };
        laid_out!(Request<'_>, body, request);
        let response = Response { flags: SessionFlags::ENCRYPT_DATA, security_buffer: b"token".to_vec() };
        laid_out!(Response, b"\x09\0\x04\0\x48\0\x05\0token", response);
    }
}
