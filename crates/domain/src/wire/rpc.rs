//! The client's side of DCE/RPC over TCP: C706 12, MS-RPCE 2.2.2. Little-endian, and NDR.

use wire::{Malformed, Reader, Writer};

/// The length of the head of each fragment.
pub const HEAD: usize = 16;
/// The longest fragment that a server may send. `max_recv_frag` of our bind says so.
pub const LONGEST_FRAGMENT: u16 = 5_840;
/// The length of the head of a security trailer, MS-RPCE 2.2.2.11.
pub const TRAILER: usize = 8;
/// What encrypted data are padded to.
const SEALED_TO: usize = 16;
/// The length of the heads of requests and responses, before their data.
const CALL: usize = 8;

const REQUEST: u8 = 0;
const RESPONSE: u8 = 2;
const FAULT: u8 = 3;
const BIND: u8 = 11;
const BIND_ACK: u8 = 12;
const BIND_NAK: u8 = 13;
/// The only fragment: PFC_FIRST_FRAG and PFC_LAST_FRAG.
const WHOLE: u8 = 3;
const LAST: u8 = 2;

/// The security provider Netlogon, MS-RPCE 2.2.1.1.7.
const NETLOGON: u8 = 0x44;
/// RPC_C_AUTHN_LEVEL_PKT_PRIVACY, MS-RPCE 2.2.1.1.8.
const PRIVACY: u8 = 6;

/// An interface and its version, such as NETLOGON 1.0. The number is that of the UUID, as it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interface {
    /// Its UUID.
    pub uuid: [u8; 16],
    /// Its major version; the minor one is 0.
    pub version: u16,
}

/// NDR 2.0, the transfer syntax: 8a885d04-1ceb-11c9-9fe8-08002b104860.
pub const NDR: Interface = Interface {
    uuid: [0x04, 0x5d, 0x88, 0x8a, 0xeb, 0x1c, 0xc9, 0x11, 0x9f, 0xe8, 0x08, 0x00, 0x2b, 0x10, 0x48, 0x60],
    version: 2,
};

/// The head of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its length, with the head.
    pub length: u16,
    /// The length of the security token at its end.
    pub token: u16,
    /// It is the last one of its message.
    pub is_last: bool,
    /// The call that it answers.
    pub call: u32,
    kind: u8,
}

/// A fragment of a server's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fragment<'a> {
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
pub fn bind(call: u32, interface: &Interface, token: Option<&[u8]>) -> Vec<u8> {
    let mut w = head(BIND, call);
    w.u16_le(LONGEST_FRAGMENT);
    w.u16_le(LONGEST_FRAGMENT);
    w.u32_le(0); // a new association
    w.u32_le(1); // one context, and padding
    w.u16_le(0); // its number
    w.u16_le(1); // one transfer syntax
    for Interface { uuid, version } in [interface, &NDR] {
        w.put(uuid);
        w.u32_le((*version).into());
    }
    if let Some(token) = token {
        trailer(&mut w, 0);
        w.put(token);
    }
    finish(w, token.map_or(0, <[u8]>::len))
}

/// A call of the operation with this number, in the clear.
#[must_use]
pub fn request(call: u32, operation: u16, stub: &[u8]) -> Vec<u8> {
    let mut w = call_head(call, operation, stub.len());
    w.put(stub);
    finish(w, 0)
}

/// The same for data that `seal` encrypts. It returns the token, which must have `token` bytes.
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
    let mut w = call_head(call, operation, stub.len());
    w.put(&data);
    trailer(&mut w, padding as u8);
    w.put(&token);
    finish(w, token.len())
}

fn head(kind: u8, call: u32) -> Writer {
    let mut w = Writer::new();
    w.put(&[5, 0, kind, WHOLE, 0x10, 0, 0, 0]); // version, kind, flags, representation of data
    w.u32_le(0); // the lengths: `finish` writes them
    w.u32_le(call);
    w
}

fn call_head(call: u32, operation: u16, length: usize) -> Writer {
    let mut w = head(REQUEST, call);
    w.u32_le(length as u32);
    w.u16_le(0); // the context
    w.u16_le(operation);
    w
}

fn trailer(w: &mut Writer, padding: u8) {
    w.put(&[NETLOGON, PRIVACY, padding, 0]);
    w.u32_le(0); // the security context
}

fn finish(mut w: Writer, token: usize) -> Vec<u8> {
    w.patch_u16_le(8, w.len() as u16);
    w.patch_u16_le(10, token as u16);
    w.into_bytes()
}

impl Head {
    /// Reads the first [`HEAD`] bytes.
    ///
    /// # Errors
    /// They are not of this protocol, or the fragment is too long.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        if r.array()? != [5, 0] {
            return Err(Malformed("another version of DCE/RPC"));
        }
        let (kind, flags) = (r.u8()?, r.u8()?);
        if r.u8()? != 0x10 {
            return Err(Malformed("data that are not little-endian"));
        }
        r.skip(3)?;
        let (length, token, call) = (r.u16_le()?, r.u16_le()?, r.u32_le()?);
        if usize::from(length) < HEAD || length > LONGEST_FRAGMENT {
            return Err(Malformed("a fragment of a length that is not allowed"));
        }
        Ok(Self { length, token, is_last: flags & LAST != 0, call, kind })
    }

    /// Reads the rest of the fragment.
    ///
    /// # Errors
    /// It is cut, or is of another kind than answers are.
    pub fn fragment<'a>(&self, body: &'a [u8]) -> Result<Fragment<'a>, Malformed> {
        let mut r = Reader::new(body);
        match self.kind {
            BIND_ACK => bound(&mut r),
            BIND_NAK => Ok(Fragment::NotBound(r.u16_le()?)),
            FAULT => {
                r.skip(CALL)?;
                Ok(Fragment::Fault(r.u32_le()?))
            }
            RESPONSE => {
                r.skip(CALL)?;
                self.part(r.rest()).map(Fragment::Response)
            }
            _ => Err(Malformed("a message that is no answer")),
        }
    }

    fn part<'a>(&self, rest: &'a [u8]) -> Result<Part<'a>, Malformed> {
        if self.token == 0 {
            return Ok(Part { data: rest, padding: 0, token: &[] });
        }
        let end = rest.len().checked_sub(TRAILER + usize::from(self.token));
        let (data, end) = rest.split_at(end.ok_or(Malformed("a token longer than its fragment"))?);
        let (trailer, token) = end.split_at(TRAILER);
        let padding = usize::from(trailer[2]);
        if trailer[..2] != [NETLOGON, PRIVACY] || padding > data.len() {
            return Err(Malformed("a security trailer of another kind"));
        }
        Ok(Part { data, padding, token })
    }
}

/// Whether the only context is accepted, C706 12.6.4.4.
fn bound<'a>(r: &mut Reader<'_>) -> Result<Fragment<'a>, Malformed> {
    r.skip(2 + 2 + 4)?; // lengths of fragments, the association
    let address = r.u16_le()?;
    r.skip(address.into())?;
    r.skip((HEAD + r.position()).wrapping_neg() % 4)?;
    if r.u32_le()? & 0xFF != 1 {
        return Err(Malformed("an answer for another number of contexts"));
    }
    let (result, reason) = (r.u16_le()?, r.u16_le()?);
    Ok(if result == 0 { Fragment::Bound } else { Fragment::NotBound(reason) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::netlogon::NETLOGON as INTERFACE;

    /// C706 12.6.4.3: 72 bytes with one context and one transfer syntax.
    #[test]
    fn a_bind_names_the_interface_and_ndr() {
        let plain = bind(7, &INTERFACE, None);
        assert_eq!(plain.len(), 72);
        assert_eq!(plain[..16], [5, 0, 11, 3, 0x10, 0, 0, 0, 72, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(plain[32..52], [&INTERFACE.uuid[..], &[1, 0, 0, 0]].concat());
        let sealed = bind(7, &INTERFACE, Some(b"token"));
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
        assert_eq!(request.len(), HEAD + CALL + 16 + TRAILER + 32);
        assert_eq!(request[16..24], [5, 0, 0, 0, 0, 0, 39, 0]);
        assert_eq!(
            request[24..48],
            *b"\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x44\x06\x0b\0\0\0\0\0"
        );
    }

    #[test]
    fn answers_are_accepted_refused_faults_or_data() {
        let read = |kind: u8, token: u8, body: &[u8]| {
            let length = (HEAD + body.len()) as u8;
            let head = [5, 0, kind, 3, 0x10, 0, 0, 0, length, 0, token, 0, 1, 0, 0, 0];
            Head::decode(&head).unwrap().fragment(body).map(|found| format!("{found:?}"))
        };
        let accepted = b"\xd0\x16\xd0\x16\x01\0\0\0\x04\x00135\0\0\0\x01\0\0\0\0\0\0\0";
        assert_eq!(read(BIND_ACK, 0, accepted).unwrap(), "Bound");
        let refused = b"\xd0\x16\xd0\x16\x01\0\0\0\x04\x00135\0\0\0\x01\0\0\0\x02\0\x01\0";
        assert_eq!(read(BIND_ACK, 0, refused).unwrap(), "NotBound(1)");
        assert_eq!(read(FAULT, 0, b"\0\0\0\0\0\0\0\0\x05\0\0\0").unwrap(), "Fault(5)");
        let data = b"\0\0\0\0\0\0\0\0dataPP\x44\x06\x02\0\0\0\0\0TT";
        let expected = Part { data: b"dataPP", padding: 2, token: b"TT" };
        assert_eq!(read(RESPONSE, 2, data).unwrap(), format!("{:?}", Fragment::Response(expected)));
        assert!(read(RESPONSE, 40, data).is_err() && read(REQUEST, 0, data).is_err());
        let short = [5, 0, 2, 3, 0x10, 0, 0, 0, 15, 0, 0, 0, 1, 0, 0, 0];
        assert!(Head::decode(&short).is_err() && Head::decode(&short[..8]).is_err());
    }
}
