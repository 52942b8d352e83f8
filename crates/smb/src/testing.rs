//! Helpers for tests in several modules.

/// The bytes of a hexadecimal string. Characters that are no digits are ignored.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter_map(|c| c.to_digit(16)).collect();
    assert_eq!(digits.len() % 2, 0);
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}
