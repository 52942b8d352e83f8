//! Passwords that a client sends encrypted, after the server's nonce plus one.

use super::are_equal;
use super::cipher::Cipher;
use crate::wire::ResultCode;

/// Bytes of a nonce: a number of 128 bits.
pub(super) const NONCE: usize = 16;

/// The state that decrypts them, once.
pub(in crate::server) struct PasswordDecryption {
    cipher: Cipher,
    nonce: [u8; NONCE],
}

impl PasswordDecryption {
    pub(super) fn new(cipher: Cipher, nonce: [u8; NONCE]) -> Self {
        Self { cipher, nonce }
    }

    /// Decrypts `count` passwords of `length` bytes each.
    pub(super) fn open(self, info: &[u8], count: usize, length: usize) -> Result<Vec<Vec<u8>>, ResultCode> {
        let sealed = info.get(..NONCE + count * length).ok_or(ResultCode::PARAM_ERROR)?;
        let plain = self.cipher.open(sealed);
        let (nonce, passwords) = plain.split_at(NONCE);
        if !are_equal(nonce, &next(self.nonce)) {
            return Err(ResultCode::USER_NOT_AUTH);
        }
        Ok(passwords.chunks_exact(length).map(<[u8]>::to_vec).collect())
    }
}

/// A nonce plus one.
pub(super) fn next(nonce: [u8; NONCE]) -> [u8; NONCE] {
    u128::from_be_bytes(nonce).wrapping_add(1).to_be_bytes()
}
