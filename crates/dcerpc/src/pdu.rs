//! The messages of connection-oriented DCE/RPC, C706 12.6.4 and MS-RPCE 2.2.2. Integers little-endian only: no client
//! sends others.

mod bind;
mod call;
mod trailer;

pub use bind::{Bind, BindAck, BindNak, ContextResult, PresentationContext, Verdict};
pub use call::{Fault, Request, Response};
pub use trailer::{AuthVerifier, Trailer, auth_level, auth_service};

use wire::{Malformed, Reader, Writer};

/// The length of a [`Header`].
pub const HEADER: usize = 16;

/// The fragment size that every peer accepts, `MustRecvFragSize` of C706 12.6.3.1.
pub const LEAST_FRAGMENT: u16 = 1432;

/// Kinds of message, `PTYPE` in C706 12.6.4.1.
pub mod kind {
    pub const REQUEST: u8 = 0;
    pub const RESPONSE: u8 = 2;
    pub const FAULT: u8 = 3;
    pub const BIND: u8 = 11;
    pub const BIND_ACK: u8 = 12;
    pub const BIND_NAK: u8 = 13;
    pub const ALTER_CONTEXT: u8 = 14;
    pub const ALTER_CONTEXT_RESP: u8 = 15;
    pub const AUTH3: u8 = 16;
    pub const CO_CANCEL: u8 = 18;
    pub const ORPHANED: u8 = 19;
}

/// Bits of [`Header::flags`], C706 12.6.3.1.
pub mod flags {
    pub const FIRST: u8 = 0x01;
    pub const LAST: u8 = 0x02;
    /// In a bind and its answer: signatures cover the whole message, MS-RPCE 2.2.2.3.
    pub const SUPPORT_HEADER_SIGN: u8 = 0x04;
    /// In a bind and its answer: calls need not be answered in their order.
    pub const CONCURRENT: u8 = 0x10;
    pub const DID_NOT_EXECUTE: u8 = 0x20;
    pub const OBJECT_UUID: u8 = 0x80;
    pub const WHOLE: u8 = FIRST | LAST;
}

/// The start of every message, C706 12.6.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub minor: u8,
    pub kind: u8,
    pub flags: u8,
    /// The whole message, this header included.
    pub length: u16,
    pub auth_length: u16,
    pub call: u32,
}

impl Header {
    /// The header of a message that is not in fragments.
    pub fn new(kind: u8, call: u32) -> Self {
        Self { minor: 0, kind, flags: flags::WHOLE, length: 0, auth_length: 0, call }
    }

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        if r.u8()? != 5 {
            return Err(Malformed("not version 5 of DCE/RPC"));
        }
        let (minor, kind, flags) = (r.u8()?, r.u8()?, r.u8()?);
        if r.array::<4>()?[0] != 0x10 {
            return Err(Malformed("not little-endian and ASCII"));
        }
        let (length, auth_length, call) = (r.u16_le()?, r.u16_le()?, r.u32_le()?);
        if usize::from(length) < HEADER + usize::from(auth_length) {
            return Err(Malformed("a message shorter than its header"));
        }
        Ok(Self { minor, kind, flags, length, auth_length, call })
    }

    /// The message of this header and `body`, with its length.
    ///
    /// # Panics
    /// When the body is 64 KiB or longer: a mistake of the caller, which cuts messages into
    /// fragments.
    pub fn message(self, body: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        w.put(&[5, self.minor, self.kind, self.flags, 0x10, 0, 0, 0]);
        w.u16_le(0);
        w.u16_le(self.auth_length);
        w.u32_le(self.call);
        body(&mut w);
        let mut bytes = w.into_bytes();
        let length = u16::try_from(bytes.len()).expect("a fragment shorter than 64 KiB");
        bytes[8..10].copy_from_slice(&length.to_le_bytes());
        bytes
    }
}
