//! What a client writes and reads over one connection with one presentation context.

use wire::{Malformed, Reader};

use crate::Syntax;
use crate::pdu::{
    Bind, HEADER, Header, PresentationContext, Request, Trailer, auth_level, auth_service, flags, kind,
};

/// The longest fragment that a server may send. `max_receive` of the bind says so.
pub const LONGEST_FRAGMENT: u16 = 5_840;
/// The longest arguments of a call: they are sent in one fragment.
pub const LONGEST_STUB: usize = 60_000;
/// What encrypted data are padded to.
const SEALED_TO: usize = 16;
/// The length of the fields of a response or a fault before its data.
const CALL: usize = 8;

/// A fragment of a server's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The interface may be called.
    Bound,
    /// It may not be called; the reason's number.
    NotBound(u16),
    /// Data of an answer.
    Response(Part<'a>),
    /// The call has failed. A status of C706 E, or of Windows.
    Fault(u32),
}

/// The data of an answer, which may be sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// With padding, if there is a token.
    pub data: &'a [u8],
    /// How much of the data's end is padding.
    pub padding: usize,
    /// The security token; may be empty.
    pub token: &'a [u8],
}

/// A bind to an interface, with a token of Netlogon if the messages are to be sealed.
#[must_use]
pub fn bind(call: u32, interface: Syntax, token: Option<&[u8]>) -> Vec<u8> {
    let context = PresentationContext { id: 0, interface, transfers: vec![Syntax::NDR] };
    let bind = Bind {
        max_transmit: LONGEST_FRAGMENT,
        max_receive: LONGEST_FRAGMENT,
        group: 0, // a new association
        contexts: vec![context],
    };
    header(kind::BIND, call, token.unwrap_or_default()).message(|w| {
        bind.encode(w);
        if let Some(token) = token {
            sealed(0).encode(w);
            w.put(token);
        }
    })
}

/// A call of the operation with this number, in the clear. The arguments are at most [`LONGEST_STUB`].
#[must_use]
pub fn request(call: u32, operation: u16, stub: &[u8]) -> Vec<u8> {
    header(kind::REQUEST, call, b"").message(|w| request_of(operation, stub, stub.len()).encode(w))
}

/// A call with arguments of at most [`LONGEST_STUB`] that `seal` encrypts. It returns the token.
#[must_use]
pub fn sealed_request(
    (call, operation): (u32, u16),
    stub: &[u8],
    seal: impl FnOnce(&mut [u8]) -> Vec<u8>,
) -> Vec<u8> {
    let padding = stub.len().wrapping_neg() % SEALED_TO;
    let mut data = stub.to_vec();
    data.resize(stub.len() + padding, 0);
    let token = seal(&mut data);
    header(kind::REQUEST, call, &token).message(|w| {
        request_of(operation, &data, stub.len()).encode(w);
        sealed(padding as u8).encode(w);
        w.put(&token);
    })
}

fn header(kind: u8, call: u32, token: &[u8]) -> Header {
    Header { auth_length: token.len() as u16, ..Header::new(kind, call) }
}

fn request_of(operation: u16, stub: &[u8], length: usize) -> Request<'_> {
    Request { allocation_hint: length as u32, context: 0, operation, object: None, stub }
}

/// The trailer of a message that Netlogon seals.
fn sealed(padding: u8) -> Trailer {
    Trailer { service: auth_service::NETLOGON, level: auth_level::PRIVACY, padding, context: 0 }
}

/// The header of an answer.
///
/// # Errors
/// It is not of this protocol, or the fragment is too long.
pub fn answer_header(bytes: &[u8]) -> Result<Header, Malformed> {
    let header = Header::decode(&mut Reader::new(bytes))?;
    match header.minor {
        0 if header.length <= LONGEST_FRAGMENT => Ok(header),
        0 => Err(Malformed("a fragment of a length that is not allowed")),
        _ => Err(Malformed("another version of DCE/RPC")),
    }
}

impl<'a> Answer<'a> {
    /// Reads the fragment after its header.
    ///
    /// # Errors
    /// It is cut, or is of another kind than answers are.
    pub fn decode(header: &Header, body: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(body);
        match header.kind {
            kind::BIND_ACK => Self::bound(&mut r),
            kind::BIND_NAK => Ok(Self::NotBound(r.u16_le()?)),
            kind::FAULT => {
                r.skip(CALL)?;
                Ok(Self::Fault(r.u32_le()?))
            }
            kind::RESPONSE => {
                r.skip(CALL)?;
                Part::decode(header, r.rest()).map(Self::Response)
            }
            _ => Err(Malformed("a message that is no answer")),
        }
    }

    /// Whether the only context is accepted, C706 12.6.4.4.
    fn bound(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(2 + 2 + 4)?; // lengths of fragments, the association
        let address = r.u16_le()?;
        r.skip(address.into())?;
        r.skip((HEADER + r.position()).wrapping_neg() % 4)?;
        if r.u32_le()? & 0xFF != 1 {
            return Err(Malformed("an answer for another number of contexts"));
        }
        let (result, reason) = (r.u16_le()?, r.u16_le()?);
        Ok(if result == 0 { Self::Bound } else { Self::NotBound(reason) })
    }
}

impl<'a> Part<'a> {
    fn decode(header: &Header, rest: &'a [u8]) -> Result<Self, Malformed> {
        if header.auth_length == 0 {
            return Ok(Self { data: rest, padding: 0, token: &[] });
        }
        let end = rest.len().checked_sub(Trailer::LEN + usize::from(header.auth_length));
        let (data, end) = rest.split_at(end.ok_or(Malformed("a token longer than its fragment"))?);
        let mut r = Reader::new(end);
        let trailer = Trailer::decode(&mut r)?;
        let padding = usize::from(trailer.padding);
        let is_sealed = (trailer.service, trailer.level) == (auth_service::NETLOGON, auth_level::PRIVACY);
        if !is_sealed || padding > data.len() {
            return Err(Malformed("a security trailer of another kind"));
        }
        Ok(Self { data, padding, token: r.rest() })
    }
}

/// Whether a fragment is the last one of its message.
#[must_use]
pub fn is_last(header: &Header) -> bool {
    header.flags & flags::LAST != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERFACE: Syntax = Syntax::NETLOGON;

    /// C706 12.6.4.3: 72 bytes with one context and one transfer syntax.
    #[test]
    fn a_bind_names_the_interface_and_ndr() {
        let plain = bind(7, INTERFACE, None);
        assert_eq!(plain.len(), 72);
        assert_eq!(plain[..16], [5, 0, 11, 3, 0x10, 0, 0, 0, 72, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(plain[32..52], [&INTERFACE.uuid.0[..], &[1, 0, 0, 0]].concat());
        let sealed = bind(7, INTERFACE, Some(b"token"));
        assert_eq!(sealed[8..12], [85, 0, 5, 0]);
        assert_eq!(sealed[72..], *b"\x44\x06\0\0\0\0\0\0token");
    }

    #[test]
    fn sealed_data_are_padded_and_have_a_trailer() {
        let request = sealed_request((9, 39), &[1; 5], |data| {
            assert_eq!(data, [&[1; 5][..], &[0; 11]].concat());
            data.fill(7);
            vec![8; 32]
        });
        assert_eq!(request.len(), HEADER + CALL + 16 + Trailer::LEN + 32);
        assert_eq!(request[16..24], [5, 0, 0, 0, 0, 0, 39, 0]);
        assert_eq!(
            request[24..48],
            *b"\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x44\x06\x0b\0\0\0\0\0"
        );
    }

    #[test]
    fn answers_are_accepted_refused_faults_or_data() {
        let read = |kind: u8, token: u8, body: &[u8]| {
            let length = (HEADER + body.len()) as u8;
            let head = [5, 0, kind, 3, 0x10, 0, 0, 0, length, 0, token, 0, 1, 0, 0, 0];
            Answer::decode(&answer_header(&head)?, body).map(|found| format!("{found:?}"))
        };
        let accepted = b"\xd0\x16\xd0\x16\x01\0\0\0\x04\x00135\0\0\0\x01\0\0\0\0\0\0\0";
        assert_eq!(read(kind::BIND_ACK, 0, accepted).unwrap(), "Bound");
        let refused = b"\xd0\x16\xd0\x16\x01\0\0\0\x04\x00135\0\0\0\x01\0\0\0\x02\0\x01\0";
        assert_eq!(read(kind::BIND_ACK, 0, refused).unwrap(), "NotBound(1)");
        assert_eq!(read(kind::FAULT, 0, b"\0\0\0\0\0\0\0\0\x05\0\0\0").unwrap(), "Fault(5)");
        let data = b"\0\0\0\0\0\0\0\0dataPP\x44\x06\x02\0\0\0\0\0TT";
        let expected = Part { data: b"dataPP", padding: 2, token: b"TT" };
        assert_eq!(read(kind::RESPONSE, 2, data).unwrap(), format!("{:?}", Answer::Response(expected)));
        assert!(read(kind::RESPONSE, 40, data).is_err() && read(kind::REQUEST, 0, data).is_err());
        let short = [5, 0, 2, 3, 0x10, 0, 0, 0, 15, 0, 0, 0, 1, 0, 0, 0];
        assert!(answer_header(&short).is_err() && answer_header(&short[..8]).is_err());
    }
}
