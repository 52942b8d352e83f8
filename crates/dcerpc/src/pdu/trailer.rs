//! The security trailer of a message, MS-RPCE 2.2.2.11.

use wire::{Malformed, Reader, Writer};

use super::{HEADER, Header};

/// How much of a message is protected, MS-RPCE 2.2.1.1.8.
pub mod auth_level {
    pub const CONNECT: u8 = 2;
    /// With NTLM the same as [`INTEGRITY`].
    pub const PACKET: u8 = 4;
    pub const INTEGRITY: u8 = 5;
    pub const PRIVACY: u8 = 6;
}

/// The security provider, MS-RPCE 2.2.1.1.7.
pub mod auth_service {
    /// SPNEGO.
    pub const NEGOTIATE: u8 = 9;
    /// NTLM.
    pub const NTLM: u8 = 10;
    /// Netlogon, MS-NRPC 3.3.
    pub const NETLOGON: u8 = 0x44;
}

/// `sec_trailer`, MS-RPCE 2.2.2.11: it stands before the token at the end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer {
    /// Of [`auth_service`].
    pub service: u8,
    /// Of [`auth_level`].
    pub level: u8,
    /// How many bytes before the trailer belong to nothing.
    pub padding: u8,
    /// The security context: a connection may have several.
    pub context: u32,
}

impl Trailer {
    /// How long it is, without the token.
    pub const LEN: usize = 8;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (service, level, padding) = (r.u8()?, r.u8()?, r.u8()?);
        r.skip(1)?; // reserved
        Ok(Self { service, level, padding, context: r.u32_le()? })
    }

    pub fn encode(self, w: &mut Writer) {
        w.put(&[self.service, self.level, self.padding, 0]);
        w.u32_le(self.context);
    }
}

/// The security trailer of a message, where it stands, and its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthVerifier<'a> {
    /// Where the trailer begins, from the start of the message.
    pub at: usize,
    pub trailer: Trailer,
    pub token: &'a [u8],
}

impl<'a> AuthVerifier<'a> {
    /// The trailer of a whole message; `None` if it has none.
    pub fn decode(header: &Header, message: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let token_length = usize::from(header.auth_length);
        if token_length == 0 {
            return Ok(None);
        }
        let at = message.len().checked_sub(token_length + Trailer::LEN).filter(|at| *at >= HEADER);
        let at = at.ok_or(Malformed("a token longer than its message"))?;
        let mut r = Reader::new(&message[at..]);
        let trailer = Trailer::decode(&mut r)?;
        if usize::from(trailer.padding) > at - HEADER {
            return Err(Malformed("more padding than the message has bytes"));
        }
        Ok(Some(Self { at, trailer, token: r.rest() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdu::kind;

    fn message(auth_length: u16, body: &[u8]) -> (Header, Vec<u8>) {
        let header = Header { auth_length, ..Header::new(kind::REQUEST, 1) };
        (header, header.message(|w| w.put(body)))
    }

    /// MS-RPCE 2.2.2.11.
    #[test]
    fn a_trailer_stands_before_the_token_at_the_end() {
        let (header, bytes) = message(3, b"stub\0\0\x0a\x05\x02\0\x07\0\0\0tok");
        let trailer = Trailer { service: 10, level: 5, padding: 2, context: 7 };
        let expected = AuthVerifier { at: 22, trailer, token: b"tok" };
        assert_eq!(AuthVerifier::decode(&header, &bytes), Ok(Some(expected)));
        let mut w = Writer::new();
        trailer.encode(&mut w);
        assert_eq!(w.as_bytes(), &bytes[22..30]);
        assert_eq!(AuthVerifier::decode(&message(0, b"stub").0, b""), Ok(None));
    }

    #[test]
    fn a_token_or_padding_that_is_longer_than_the_message_is_refused() {
        let (header, bytes) = message(3, b"\x0a\x05\0\0\0\0\0\0tok");
        assert!(AuthVerifier::decode(&header, &bytes).is_ok());
        assert!(AuthVerifier::decode(&header, &bytes[1..]).is_err());
        let (header, bytes) = message(3, b"\x0a\x05\x01\0\0\0\0\0tok");
        assert!(AuthVerifier::decode(&header, &bytes).is_err());
    }
}
