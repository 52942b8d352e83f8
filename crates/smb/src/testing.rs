//! Helpers for tests in several modules.

/// The bytes of a hexadecimal string. Characters that are no digits are ignored.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: String = digits.chars().filter(char::is_ascii_hexdigit).collect();
    wire::hex::decode_any(&digits).unwrap()
}
