//! The text of logins and of Text Requests: pairs of key and value, RFC 7143 6.1.

use super::{Malformed, Writer};

/// The most bytes of all text of one exchange.
pub const MAX_TEXT: usize = 64 * 1024;
/// The most pairs of one exchange.
pub const MAX_PAIRS: usize = 128;
/// The most characters of a key.
pub const MAX_KEY: usize = 63;
/// The most bytes of a simple value: a name or a number.
pub const MAX_SIMPLE: usize = 255;
/// The most bytes of any value: lists and binary values are longer than others.
pub const MAX_VALUE: usize = 8 * 1024;

/// The answer to an impossible value.
pub const REJECT: &str = "Reject";
/// The answer to a key that has no meaning because of other keys.
pub const IRRELEVANT: &str = "Irrelevant";
/// The answer to an unknown key.
pub const NOT_UNDERSTOOD: &str = "NotUnderstood";
/// The empty choice in lists.
pub const NONE: &str = "None";

/// A key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyValue<'a> {
    /// The key.
    pub key: &'a str,
    /// Its value.
    pub value: &'a str,
}

impl KeyValue<'_> {
    /// Whether the value is one of the three answers without a value, which are reserved.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self.value, REJECT | IRRELEVANT | NOT_UNDERSTOOD)
    }
}

/// All pairs of a text. A pair ends with a zero byte; further zero bytes are skipped.
pub fn decode(text: &[u8]) -> Result<Vec<KeyValue<'_>>, Malformed> {
    if text.len() > MAX_TEXT {
        return Err(Malformed("more text than anybody sends"));
    }
    let Some((last, text)) = text.split_last() else { return Ok(Vec::new()) };
    if *last != 0 {
        return Err(Malformed("text that does not end with a zero byte"));
    }
    let mut pairs = Vec::new();
    for written in text.split(|byte| *byte == 0).filter(|written| !written.is_empty()) {
        if pairs.len() == MAX_PAIRS {
            return Err(Malformed("more keys than anybody sends"));
        }
        pairs.push(pair(written)?);
    }
    Ok(pairs)
}

fn pair(written: &[u8]) -> Result<KeyValue<'_>, Malformed> {
    let written = std::str::from_utf8(written).map_err(|_| Malformed("text that is not UTF-8"))?;
    let (key, value) = written.split_once('=').ok_or(Malformed("a key without a value"))?;
    if !is_key(key) {
        return Err(Malformed("what cannot be a key"));
    }
    if value.len() > MAX_VALUE {
        return Err(Malformed("a value that is longer than any"));
    }
    Ok(KeyValue { key, value })
}

/// Key-name and standard-label of RFC 7143 6.1, except that the first letter may be a small one:
/// iSCSIProtocolLevel.
fn is_key(key: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-+@_#".contains(&byte);
    key.len() <= MAX_KEY
        && key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(allowed)
}

/// Writes a pair.
pub fn encode(key: &str, value: &str, w: &mut Writer) {
    w.put(key.as_bytes());
    w.u8(b'=');
    w.put(value.as_bytes());
    w.u8(0);
}

/// A number: decimal, or hexadecimal after 0x.
#[must_use]
pub fn number(value: &str) -> Option<u64> {
    let (digits, radix) = match hexadecimal(value) {
        Some(digits) => (digits, 16),
        None => (value, 10),
    };
    let is_digit = |digit: char| digit.is_digit(radix); // the parser would accept a sign
    digits.chars().all(is_digit).then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

/// Two numbers with ~ between them, the lower one first.
#[must_use]
pub fn range(value: &str) -> Option<(u64, u64)> {
    let (low, high) = value.split_once('~')?;
    let (low, high) = (number(low)?, number(high)?);
    (low <= high).then_some((low, high))
}

/// Yes or No.
#[must_use]
pub fn boolean(value: &str) -> Option<bool> {
    match value {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

/// The text of a boolean.
#[must_use]
pub const fn yes_or_no(value: bool) -> &'static str {
    if value { "Yes" } else { "No" }
}

/// The elements of a list, the most preferred first.
pub fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',')
}

/// Bytes: hexadecimal after 0x, or base 64 after 0b.
#[must_use]
pub fn binary(value: &str) -> Option<Vec<u8>> {
    if let Some(digits) = hexadecimal(value) {
        return from_hexadecimal(digits);
    }
    let digits = value.strip_prefix("0b").or_else(|| value.strip_prefix("0B"))?;
    from_base64(digits.as_bytes())
}

/// The text of bytes: hexadecimal.
#[must_use]
pub fn hexadecimal_of(bytes: &[u8]) -> String {
    format!("0x{}", wire::hex::encode(bytes))
}

fn hexadecimal(value: &str) -> Option<&str> {
    value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"))
}

/// With an odd number of digits, the first one stands for a byte.
fn from_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let first = if digits.len().is_multiple_of(2) { "" } else { "0" };
    let bytes = wire::hex::decode_any(&[first, digits].concat())?;
    if bytes.is_empty() { None } else { Some(bytes) }
}

/// RFC 4648 section 4. The padding may be missing.
fn from_base64(digits: &[u8]) -> Option<Vec<u8>> {
    let end = digits.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let (digits, filling) = digits.split_at(end);
    let is_whole =
        filling.is_empty() || (digits.len() + filling.len()).is_multiple_of(4) && filling.len() < 3;
    if digits.is_empty() || digits.len() % 4 == 1 || !is_whole {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            bits = bits << 6 | u32::from(group.get(at).map_or(Some(0), |byte| base64_digit(*byte))?);
        }
        let [_, triple @ ..] = bits.to_be_bytes();
        bytes.extend_from_slice(&triple[..group.len() - 1]);
    }
    Some(bytes)
}

fn base64_digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_pairs_that_each_end_with_a_zero_byte() {
        let text =
            b"InitiatorName=iqn.2005-03.org.open-iscsi:abc\0InitiatorAlias=a=b\0\0\0X-com.example#1=\0";
        let pairs = decode(text).unwrap();
        let expected = [
            KeyValue { key: "InitiatorName", value: "iqn.2005-03.org.open-iscsi:abc" },
            KeyValue { key: "InitiatorAlias", value: "a=b" },
            KeyValue { key: "X-com.example#1", value: "" },
        ];
        assert_eq!(pairs, expected);
        assert_eq!(decode(b""), Ok(Vec::new()));
        assert_eq!(decode(b"\0\0\0"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_pair_is_malformed() {
        for text in [
            &b"HeaderDigest=None"[..], // the zero byte is missing
            b"HeaderDigest\0",
            b"=None\0",
            b"1HeaderDigest=None\0", // RFC 7143 6.1: begins with a letter
            b"Header Digest=None\0",
            b"InitiatorAlias=\xff\0",
        ] {
            assert!(decode(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn keys_values_and_texts_have_limits() {
        let key = |length: usize| format!("{}=1\0", "K".repeat(length));
        assert!(decode(key(63).as_bytes()).is_ok() && decode(key(64).as_bytes()).is_err());
        let value = |length: usize| format!("K={}\0", "v".repeat(length));
        assert!(
            decode(value(MAX_VALUE).as_bytes()).is_ok() && decode(value(MAX_VALUE + 1).as_bytes()).is_err()
        );
        let pairs = |count: usize| "K=1\0".repeat(count);
        assert!(
            decode(pairs(MAX_PAIRS).as_bytes()).is_ok() && decode(pairs(MAX_PAIRS + 1).as_bytes()).is_err()
        );
        assert!(decode(&vec![0; MAX_TEXT]).is_ok() && decode(&vec![0; MAX_TEXT + 1]).is_err());
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal_and_have_no_sign() {
        assert_eq!(number("262144"), Some(262_144));
        assert_eq!(number("0x40000"), Some(262_144));
        assert_eq!(number("0XfF"), Some(255));
        assert_eq!(number("18446744073709551616"), None); // 2^64
        for wrong in ["", "0x", "+1", "-1", "0x+1", "1 ", " 1", "1e3", "Yes"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
        assert_eq!(range("1~0x10"), Some((1, 16)));
        assert!(range("2~1").is_none() && range("1").is_none() && range("1~2~3").is_none());
        assert_eq!((boolean("Yes"), boolean("No"), boolean("yes")), (Some(true), Some(false), None));
        assert!(list("CHAP,None").eq(["CHAP", "None"]));
    }

    #[test]
    fn bytes_are_hexadecimal_or_base_64() {
        assert_eq!(binary("0x0aFF"), Some(vec![0x0a, 0xff]));
        assert_eq!(binary("0xaff"), Some(vec![0x0a, 0xff]));
        // RFC 4648 section 10.
        for (text, bytes) in
            [("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(binary(&format!("0b{text}")), Some(bytes.into()));
            assert_eq!(binary(&format!("0B{}", text.trim_end_matches('='))), Some(bytes.into()));
        }
        for wrong in
            ["", "0x", "0b", "0xg0", "0bZ", "0bZg=", "0bZg===", "0bZ=g=", "0bZm9v====", "17", "0b===="]
        {
            assert_eq!(binary(wrong), None, "{wrong}");
        }
        assert_eq!(hexadecimal_of(&[0x00, 0x9f]), "0x009f");
    }

    #[test]
    fn a_pair_is_written_as_it_is_read() {
        let mut w = Writer::new();
        encode("AuthMethod", "CHAP,None", &mut w);
        assert_eq!(w.as_bytes(), b"AuthMethod=CHAP,None\0");
    }
}
