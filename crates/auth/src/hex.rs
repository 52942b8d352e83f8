//! Bytes as hexadecimal digits.

use std::fmt::Write as _;

/// Lower-case digits.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Exactly `N` bytes, or `None`.
#[must_use]
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode_any(text)?.try_into().ok()
}

/// All bytes, or `None`.
#[must_use]
pub fn decode_any(text: &str) -> Option<Vec<u8>> {
    let is_whole = text.len().is_multiple_of(2) && text.bytes().all(|b| b.is_ascii_hexdigit());
    let starts = (0..text.len()).step_by(2);
    is_whole.then(|| starts.map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_bytes_are_each_others_image() {
        assert_eq!(encode(&[0, 0x0f, 0xff]), "000fff");
        assert_eq!(decode::<3>("000fFF"), Some([0, 0x0f, 0xff]));
        assert_eq!(decode_any("000fFF"), Some(vec![0, 0x0f, 0xff]));
        for wrong in ["000ff", "000fff00", "00 fff", "+00fff", "ä0ff"] {
            assert_eq!(decode::<3>(wrong), None, "{wrong}");
        }
    }
}
