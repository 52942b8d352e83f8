//! The CAP encoding of Netatalk 2, for importers: `:xx`, two hexadecimal digits, stands for a byte, for a leading dot,
//! a slash, and whatever the volume's character set could not hold.

use super::name::{NameError, check};
use super::{decode_mac_roman, to_nfc};

/// What the bytes of a decoded name are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// UTF-8, the default of Netatalk 2.
    Utf8,
    /// MacRoman, as older volumes have.
    MacRoman,
}

/// Whether the name has a CAP escape.
pub fn is_encoded(name: &[u8]) -> bool {
    name.windows(3).any(|w| escape(w).is_some())
}

/// Whether the name has an escape that Netatalk 2 makes in names in UTF-8: of a dot at the beginning, a slash, or a byte that is no
/// ASCII. A time of day (`12:30`) has the form of an escape, too, but is not one.
pub fn is_netatalks(name: &[u8]) -> bool {
    let makes = |byte: u8, at: usize| byte == b'/' || byte == b'.' && at == 0 || byte >= 0x80;
    name.windows(3).enumerate().any(|(at, bytes)| escape(bytes).is_some_and(|byte| makes(byte, at)))
}

/// The name as it would be stored here: escapes undone, an escaped slash as `:`, composed.
pub fn decode(name: &[u8], charset: Charset) -> Result<Vec<u8>, NameError> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.first() {
        let escaped = rest.get(..3).and_then(escape);
        bytes.push(match escaped.unwrap_or(*first) {
            b'/' if escaped.is_some() => b':',
            byte => byte,
        });
        rest = &rest[if escaped.is_some() { 3 } else { 1 }..];
    }
    let stored = match charset {
        Charset::Utf8 => to_nfc(&bytes).into_owned(),
        Charset::MacRoman => to_nfc(decode_mac_roman(&bytes).as_bytes()).into_owned(),
    };
    check(&stored)?;
    Ok(stored)
}

fn escape(bytes: &[u8]) -> Option<u8> {
    let [b':', high, low] = bytes else { return None };
    let digit = |b: &u8| char::from(*b).to_digit(16).map(|d| d as u8);
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_corpus() {
        for (stored, name) in [
            (&b":2eDS_Store"[..], &b".DS_Store"[..]),
            (b":2e_jquery.jsonp-2.1.2.min.js", b"._jquery.jsonp-2.1.2.min.js"),
        ] {
            assert!(is_encoded(stored));
            assert_eq!(decode(stored, Charset::Utf8), Ok(name.to_vec()));
        }
    }

    #[test]
    fn a_slash_is_a_colon_here_and_bytes_are_of_the_charset() {
        assert_eq!(decode(b"in:2fout", Charset::Utf8), Ok(b"in:out".to_vec()));
        assert_eq!(decode(b"caf:8e", Charset::MacRoman), Ok("caf\u{e9}".into()));
        assert_eq!(decode(b"caf:c3:a9", Charset::Utf8), Ok("caf\u{e9}".into()));
    }

    #[test]
    fn a_colon_without_digits_is_a_colon() {
        assert!(!is_encoded(b"a:b") && !is_encoded(b":2"));
        assert_eq!(decode(b"a:b:zz:2", Charset::Utf8), Ok(b"a:b:zz:2".to_vec()));
    }

    #[test]
    fn what_netatalk_does_not_escape_is_no_escape_of_it() {
        assert!([&b":2eDS_Store"[..], b"in:2fout", b"caf:c3:a9"].iter().all(|name| is_netatalks(name)));
        assert!([&b"12:30"[..], b"a:2e", b"a:b", b".DS_Store"].iter().all(|name| !is_netatalks(name)));
    }

    #[test]
    fn an_escape_cannot_make_an_illegal_name() {
        assert_eq!(decode(b"a:00", Charset::Utf8), Err(NameError::Forbidden));
        assert_eq!(decode(b":2e:2e", Charset::Utf8), Err(NameError::Dots));
        assert_eq!(decode(b":2e.", Charset::Utf8), Err(NameError::Dots));
    }
}
