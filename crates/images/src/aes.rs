//! AES by blocks (ECB), for the modes that disk images and file systems build on it.

use aws_lc_rs::cipher::{AES_128, AES_256, DecryptingKey, DecryptionContext, UnboundCipherKey};

use crate::{Error, Result};

/// Bytes of a block.
pub const BLOCK: usize = 16;

/// A key that decrypts blocks.
pub struct BlockKey(DecryptingKey);

impl BlockKey {
    /// A key of 16 or 32 bytes.
    ///
    /// # Errors
    ///
    /// [`Error::NotSupported`] for a key of another length.
    pub fn new(key: &[u8]) -> Result<Self> {
        let algorithm = match key.len() {
            16 => &AES_128,
            32 => &AES_256,
            other => return Err(Error::NotSupported(format!("an AES key of {other} bytes"))),
        };
        let failed = |_| Error::NotSupported("AES".into());
        let key = UnboundCipherKey::new(algorithm, key).map_err(failed)?;
        Ok(Self(DecryptingKey::ecb(key).map_err(failed)?))
    }

    /// Decrypts blocks, each by itself.
    ///
    /// # Panics
    ///
    /// If `blocks` are not whole blocks.
    pub fn decrypt(&self, blocks: &mut [u8]) {
        assert!(blocks.len().is_multiple_of(BLOCK), "only whole blocks are decrypted");
        if !blocks.is_empty() {
            self.0.decrypt(blocks, DecryptionContext::None).expect("whole blocks, and no other context");
        }
    }

    /// Decrypts a chunk in CBC mode.
    ///
    /// # Panics
    ///
    /// If `chunk` is not made of whole blocks.
    pub fn decrypt_cbc(&self, iv: &[u8; BLOCK], chunk: &mut [u8]) {
        let encrypted = chunk.to_vec();
        self.decrypt(chunk);
        let before = iv.iter().chain(&encrypted);
        chunk.iter_mut().zip(before).for_each(|(byte, before)| *byte ^= before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn cbc_decrypts_the_vectors_of_sp_800_38a() {
        // NIST SP 800-38A, F.2.2 and F.2.6.
        let iv: [u8; 16] = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
        let plain = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        for (key, encrypted) in [
            (
                "2b7e151628aed2a6abf7158809cf4f3c",
                "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
            ),
            (
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d",
            ),
        ] {
            let mut chunk = hex(encrypted);
            BlockKey::new(&hex(key)).unwrap().decrypt_cbc(&iv, &mut chunk);
            assert_eq!(chunk, plain);
        }
    }
}
