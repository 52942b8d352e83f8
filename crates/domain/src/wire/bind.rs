//! The bind of LDAP by SASL (RFC 4511 4.2, RFC 4752), in BER.

use wire::{Malformed, Reader};

/// The longest answer to a bind.
pub const LONGEST: usize = 256 << 10;
/// An answer that asks for the next token.
pub const IN_PROGRESS: u32 = 14;

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const ENUMERATED: u8 = 0x0a;
const SEQUENCE: u8 = 0x30;
const BIND_REQUEST: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
const SASL: u8 = 0xa3;
const SASL_CREDENTIALS: u8 = 0x87;

/// The answer to a bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// 0: logged in; [`IN_PROGRESS`]; anything else is a refusal.
    pub code: u32,
    /// What the server says about a refusal.
    pub text: String,
    /// The server's token.
    pub token: Vec<u8>,
}

/// A request with the next token of the mechanism GSSAPI.
#[must_use]
pub fn request(id: u8, token: &[u8]) -> Vec<u8> {
    let sasl = [value(OCTETS, b"GSSAPI"), value(OCTETS, token)].concat();
    let bind = [value(INTEGER, &[3]), value(OCTETS, b""), value(SASL, &sasl)].concat();
    value(SEQUENCE, &[value(INTEGER, &[id]), value(BIND_REQUEST, &bind)].concat())
}

/// A tag, the length of the content, and the content.
fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32;
    let mut bytes = vec![tag];
    match length {
        0..=0x7f => bytes.push(length as u8),
        _ => {
            bytes.push(0x84);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend(content);
    bytes
}

/// How long a message is, with its head, from its first bytes. `None` if more of them are needed.
///
/// # Errors
/// It is no message, or is too long.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let mut r = Reader::new(bytes);
    if bytes.len() < 6 {
        return Ok(None); // every answer to a bind has more
    }
    let content = head(&mut r, SEQUENCE)?;
    let whole = r.position() + content;
    if whole > LONGEST { Err(Malformed("an answer that is too long")) } else { Ok(Some(whole)) }
}

/// Reads a whole answer.
///
/// # Errors
/// The bytes are not an answer to a bind.
pub fn response(bytes: &[u8]) -> Result<Response, Malformed> {
    let mut r = Reader::new(bytes);
    let mut message = Reader::new(content(&mut r, SEQUENCE)?);
    content(&mut message, INTEGER)?; // one request is in flight
    let mut r = Reader::new(content(&mut message, BIND_RESPONSE)?);
    let code = match content(&mut r, ENUMERATED)? {
        [] | [_, _, _, _, _, ..] => return Err(Malformed("a result code of another length")),
        digits => digits.iter().fold(0, |code, byte| (code << 8) | u32::from(*byte)),
    };
    content(&mut r, OCTETS)?; // the name that was found
    let text = String::from_utf8_lossy(content(&mut r, OCTETS)?).into_owned();
    let mut token = Vec::new();
    while r.remaining() > 0 {
        let tag = r.u8()?;
        let length = size(&mut r)?;
        let bytes = r.take(length)?;
        if tag == SASL_CREDENTIALS {
            token = bytes.to_vec();
        }
    }
    Ok(Response { code, text, token })
}

fn content<'a>(r: &mut Reader<'a>, tag: u8) -> Result<&'a [u8], Malformed> {
    let length = head(r, tag)?;
    r.take(length)
}

fn head(r: &mut Reader<'_>, tag: u8) -> Result<usize, Malformed> {
    if r.u8()? != tag {
        return Err(Malformed("another element than expected"));
    }
    size(r)
}

/// A definite length, X.690 8.1.3.
fn size(r: &mut Reader<'_>) -> Result<usize, Malformed> {
    let first = r.u8()?;
    let count = usize::from(first & 0x7f);
    match first {
        0..=0x7f => Ok(count),
        _ if (1..=4).contains(&count) => {
            Ok(r.take(count)?.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)))
        }
        _ => Err(Malformed("a length of another form")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4511 4.2.
    #[test]
    fn a_request_names_the_mechanism_and_has_the_token() {
        let expected = b"\x30\x1a\x02\x01\x02\x60\x15\x02\x01\x03\x04\x00\xa3\x0e\x04\x06GSSAPI\x04\x04tokn";
        assert_eq!(request(2, b"tokn"), expected);
        let long = request(1, &[7; 300]);
        assert_eq!(long[..2], [0x30, 0x84]);
        assert!(long.ends_with(&[7; 300]));
    }

    /// As Samba 4.17 answers: definite lengths of one byte, or of more.
    #[test]
    fn answers_have_a_code_and_a_token() {
        let more = b"\x30\x84\0\0\0\x13\x02\x01\x01\x61\x84\0\0\0\x0a\x0a\x01\x0e\x04\0\x04\0\x87\x01T";
        assert_eq!(length(more), Ok(Some(more.len())));
        let expected = Response { code: IN_PROGRESS, text: String::new(), token: b"T".to_vec() };
        assert_eq!(response(more), Ok(expected));
        let refused = b"\x30\x11\x02\x01\x01\x61\x0c\x0a\x01\x31\x04\0\x04\x05wrong";
        let expected = Response { code: 49, text: "wrong".into(), token: Vec::new() };
        assert_eq!(response(refused), Ok(expected));
        for end in 0..refused.len() {
            assert!(response(&refused[..end]).is_err(), "cut at {end}");
        }
        assert_eq!(length(b"\x30\x11"), Ok(None));
        assert!(length(b"\x30\x84\x7f\xff\xff\xff").is_err() && length(b"\x31\x11\0\0\0\0").is_err());
    }
}
