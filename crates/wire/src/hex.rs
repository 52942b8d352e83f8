//! Bytes as hexadecimal digits.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lower-case digits.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Exactly `N` bytes, or `None`.
#[must_use]
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode_any(text)?.try_into().ok()
}

/// All bytes, or `None`.
#[must_use]
pub fn decode_any(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| Some(char::from(byte).to_digit(16)? as u8);
    let (pairs, rest) = text.as_bytes().as_chunks();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    if rest.is_empty() { bytes.collect() } else { None }
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
