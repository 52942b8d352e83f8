//! CAST-128 in CBC mode, as both Diffie-Hellman methods use it. Apple Filing Protocol Programming
//! Guide, "Diffie-Hellman Key Exchange": each direction has another initialization vector, and each
//! message begins with it.

use cast5::Cast5;
use cbc::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};

/// The initialization vector of the client's messages.
const FROM_CLIENT: [u8; 8] = *b"LWallace";
/// The initialization vector of the server's messages.
const TO_CLIENT: [u8; 8] = *b"CJalbert";
/// Bytes of a key.
pub(super) const KEY: usize = 16;

/// The shared key of a client and the server.
pub(super) struct Cipher([u8; KEY]);

impl Cipher {
    pub(super) fn new(key: [u8; KEY]) -> Self {
        Self(key)
    }

    /// Encrypts whole blocks for the client.
    pub(super) fn seal(&self, plain: &[u8]) -> Vec<u8> {
        let mut mode = cbc::Encryptor::<Cast5>::new(&self.0.into(), &TO_CLIENT.into());
        each_block(plain, |block| mode.encrypt_block(block))
    }

    /// Decrypts whole blocks of a client.
    pub(super) fn open(&self, sealed: &[u8]) -> Vec<u8> {
        let mut mode = cbc::Decryptor::<Cast5>::new(&self.0.into(), &FROM_CLIENT.into());
        each_block(sealed, |block| mode.decrypt_block(block))
    }
}

type Block = Array<u8, cbc::cipher::consts::U8>;

fn each_block(bytes: &[u8], mut change: impl FnMut(&mut Block)) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for block in out.chunks_exact_mut(8) {
        let mut array = Block::default();
        array.copy_from_slice(block);
        change(&mut array);
        block.copy_from_slice(&array);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_encrypted_as_rfc_2144_says() {
        // RFC 2144, B.1: the initialization vector is chosen so that the mode has no effect.
        let key = wire::hex::decode("0123456712345678234567893456789a").unwrap();
        let plain: [u8; 8] = wire::hex::decode("0123456789abcdef").unwrap();
        let chained: Vec<u8> = plain.iter().zip(TO_CLIENT).map(|(a, b)| a ^ b).collect();
        assert_eq!(wire::hex::encode(&Cipher::new(key).seal(&chained)), "238b4fe5847e44b2");
    }
}
