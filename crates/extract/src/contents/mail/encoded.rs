//! The encodings of mail.

use super::text;

/// Base64, without what is none of its characters.
pub(super) fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in bytes {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 1;
        if count == 4 {
            decoded.extend_from_slice(&bits.to_be_bytes()[1..]);
            (bits, count) = (0, 0);
        }
    }
    match count {
        2 => decoded.push((bits >> 4) as u8),
        3 => decoded.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        _ => {}
    }
    decoded
}

/// Quoted-printable, RFC 2045 6.7.
pub(super) fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'=' {
            decoded.push(*first);
            continue;
        }
        match rest {
            [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] => rest = after,
            [high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                decoded.extend(hexadecimal(*high, *low));
                rest = after;
            }
            _ => decoded.push(b'='),
        }
    }
    decoded
}

fn hexadecimal(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(high)? << 4 | digit(low)?) as u8)
}

/// A value with encoded words, RFC 2047: `=?utf-8?B?…?=`.
pub(super) fn words(value: &str) -> String {
    let mut all = String::new();
    let mut rest = value;
    let mut after_word = false;
    while let Some(at) = rest.find("=?") {
        let (before, from) = rest.split_at(at);
        let Some((decoded, after)) = word(from) else {
            all.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            after_word = false;
            continue;
        };
        // Spaces between two encoded words are not part of the text.
        if !after_word || !before.trim().is_empty() {
            all.push_str(before);
        }
        all.push_str(&decoded);
        rest = after;
        after_word = true;
    }
    all.push_str(rest);
    all
}

/// An encoded word at the beginning, and what follows it.
fn word(value: &str) -> Option<(String, &str)> {
    let mut parts = value[2..].splitn(3, '?');
    let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (data, after) = rest.split_once("?=")?;
    let bytes = match encoding {
        "B" | "b" => base64(data.as_bytes()),
        "Q" | "q" => quoted_printable(data.replace('_', " ").as_bytes()),
        _ => return None,
    };
    let charset = charset.split('*').next();
    Some((text::decode(&bytes, charset).into_owned(), after))
}

/// A parameter with its encoding, RFC 2231: `utf-8''na%C3%AFve`.
pub(super) fn extended(value: &str) -> String {
    let mut parts = value.splitn(3, '\'');
    let (Some(charset), Some(_), Some(data)) = (parts.next(), parts.next(), parts.next()) else {
        return value.to_owned();
    };
    let bytes = quoted_printable(data.replace('=', "=3D").replace('%', "=").as_bytes());
    text::decode(&bytes, Some(charset)).into_owned()
}
