//! SERVER_TO_CLIENT_NOTIFICATION, MS-SMB2 2.2.44.

use wire::{Malformed, Writer};

use super::buffers;

/// MS-SMB2 2.2.44.1, of the one type there is: the session of the header is closed (2.2.44.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionClosed;

/// SmbNotifySessionClosed, MS-SMB2 2.2.44.1.
const SESSION_CLOSED: u32 = 0;

impl SessionClosed {
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 4)?;
        r.skip(2)?; // reserved
        let kind = r.u32_le()?;
        r.skip(4)?; // reserved
        if kind == SESSION_CLOSED { Ok(Self) } else { Err(Malformed("an unknown notification")) }
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(4);
        w.u16_le(0); // reserved
        w.u32_le(SESSION_CLOSED);
        w.u32_le(0); // reserved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_session_is_type_zero() {
        laid_out!(SessionClosed, b"\x04\0\0\0\0\0\0\0\0\0\0\0", SessionClosed);
        assert!(SessionClosed::decode(&buffers::after_header(b"\x04\0\0\0\x01\0\0\0\0\0\0\0")).is_err());
    }
}
