//! Signatures, encryption, and the keys for both. Pure functions of keys and bytes: no clock, no randomness, no session.
//!
//! Contexts ([`signing::Signer`], [`sealing::Sealer`]) keep their expanded keys, are made once for a session or channel, and are used by any
//! number of threads at once.

mod gmac;
pub mod kdf;
pub mod preauth;
pub mod sealing;
pub mod signing;
#[cfg(test)]
mod speed;

/// Bytes of a hexadecimal string, for test vectors.
#[cfg(test)]
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter_map(|c| c.to_digit(16)).collect();
    assert_eq!(digits.len() % 2, 0);
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}
