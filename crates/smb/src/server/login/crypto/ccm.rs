//! AES-CCM (RFC 3610, SP800-38C) with nonces of 11 bytes and tags of 16. It is built from the
//! library's AES-CTR and AES-CMAC, which are several times as fast as a general CCM. CCM's CBC-MAC
//! is CMAC except for the last block: CMAC mixes a constant into it. Mixing the constant in once
//! more beforehand cancels it.

use aws_lc_rs::cipher::{AES_128, AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::cmac;
use aws_lc_rs::constant_time::verify_slices_are_equal;

use super::sealing::DecryptionError;

/// Flags of the first block: there is a header, tags have 16 bytes, lengths 4.
const FIRST: u8 = 0x40 | 7 << 3 | COUNTER;
/// Flags of counter blocks: lengths have 4 bytes.
const COUNTER: u8 = 3;

pub(super) struct Ccm {
    counter: EncryptingKey,
    mac: cmac::Key,
    /// What CMAC mixes into a last block that is whole (RFC 4493 2.3).
    mixed_in: u128,
}

impl Ccm {
    /// For a key of 16 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        let (cipher, mac) =
            if key.len() == 16 { (&AES_128, cmac::AES_128) } else { (&AES_256, cmac::AES_256) };
        let counter = EncryptingKey::ctr(UnboundCipherKey::new(cipher, key).ok()?).ok()?;
        let mac = cmac::Key::new(mac, key).ok()?;
        let zero = u128::from_be_bytes(keystream_block(&counter, [0; 16]));
        let carry = 0u128.wrapping_sub(zero >> 127);
        Some(Self { counter, mac, mixed_in: zero << 1 ^ carry & 0x87 })
    }

    pub(super) fn encrypt(&self, nonce: &[u8; 11], header: &[u8], buffer: &mut [u8]) -> [u8; 16] {
        let tag = self.tag(nonce, header, buffer);
        apply_keystream(&self.counter, counter_block(nonce, 1), buffer);
        tag
    }

    pub(super) fn decrypt(
        &self,
        nonce: &[u8; 11],
        header: &[u8],
        buffer: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), DecryptionError> {
        apply_keystream(&self.counter, counter_block(nonce, 1), buffer);
        verify_slices_are_equal(&self.tag(nonce, header, buffer), tag).map_err(|_| DecryptionError)
    }

    /// Of a plain message. The header is a transform header's, so its length fits in two bytes.
    fn tag(&self, nonce: &[u8; 11], header: &[u8], plain: &[u8]) -> [u8; 16] {
        let mut first = vec![FIRST];
        first.extend(nonce);
        first.extend((plain.len() as u32).to_be_bytes());
        first.extend((header.len() as u16).to_be_bytes());
        first.extend(header);
        first.resize(first.len().next_multiple_of(16), 0);
        let mut last = [0; 16];
        let whole = match plain.len() {
            0 => {
                last.copy_from_slice(&first.split_off(first.len() - 16));
                plain
            }
            length => {
                let (whole, rest) = plain.split_at((length - 1) / 16 * 16);
                last[..rest.len()].copy_from_slice(rest);
                whole
            }
        };
        let last = (u128::from_be_bytes(last) ^ self.mixed_in).to_be_bytes();
        let mut mac = cmac::Context::with_key(&self.mac);
        let tag = [&first, whole, &last].into_iter().try_for_each(|piece| mac.update(piece));
        let tag = tag.and_then(|()| mac.sign()).expect("a prepared key signs anything");
        let tag: [u8; 16] = tag.as_ref().try_into().expect("a tag of 128 bits");
        let pad = keystream_block(&self.counter, counter_block(nonce, 0));
        (u128::from_be_bytes(tag) ^ u128::from_be_bytes(pad)).to_be_bytes()
    }
}

fn counter_block(nonce: &[u8; 11], count: u32) -> [u8; 16] {
    let mut block = [0; 16];
    block[0] = COUNTER;
    block[1..12].copy_from_slice(nonce);
    block[12..].copy_from_slice(&count.to_be_bytes());
    block
}

pub(super) fn keystream_block(key: &EncryptingKey, counter: [u8; 16]) -> [u8; 16] {
    let mut block = [0; 16];
    apply_keystream(key, counter, &mut block);
    block
}

fn apply_keystream(key: &EncryptingKey, counter: [u8; 16], buffer: &mut [u8]) {
    let encrypted = key.less_safe_encrypt(buffer, EncryptionContext::Iv128((&counter).into()));
    encrypted.expect("a counter block fits the mode");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// Expected values by OpenSSL (Python's `cryptography`).
    #[test]
    fn whole_and_broken_last_blocks_and_none_at_all_have_the_right_tags() {
        let header: [u8; 32] = std::array::from_fn(|i| i as u8);
        let nonce = std::array::from_fn(|i| 100 + i as u8);
        let key = Ccm::new(&header[..16]).unwrap();
        for (length, tag) in [
            (0, "0f90d0f6eeb2f1c03f1a2e1f9271a947"),
            (1, "33a94e1a59213e64a19c1f78a3e11a2f"),
            (15, "bc1321543cb450fc346db5a64b30f467"),
            (16, "9006c18ecadd3d6aa479223f4cd202da"),
            (17, "772d54f78f1262dd2dad8224452f9a04"),
            (32, "2ad7958ec49ef5cda8589096aa747f96"),
        ] {
            let mut buffer: Vec<u8> = (0..length).map(|i: u8| i * 3).collect();
            assert_eq!(key.encrypt(&nonce, &header, &mut buffer)[..], hex(tag), "{length}");
        }
    }
}
