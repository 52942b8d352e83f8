//! AES-128-GMAC (SP800-38D) over bytes that lie in two places.
//!
//! The library computes the tag over one piece of memory. But the hash in it is linear: what a first piece of whole blocks
//! adds to the tag of the second is a product in GF(2^128), a dozen multiplications. So neither a received message (whose
//! signature counts as zeros) nor a reply's header and data are copied together to be signed.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, EncryptingKey, UnboundCipherKey};
use polyval::hazmat::FieldElement;

use super::ccm::keystream_block;

/// Up to here copying is cheaper than multiplying.
const COPIED: usize = 8 * 1024;
/// Powers of the hash key that are kept: enough for all that a 24-bit length can frame.
const POWERS: usize = 21;

pub(super) struct Gmac {
    key: LessSafeKey,
    /// The hash key to the powers 1, 2, 4, 8 ...
    powers: [FieldElement; POWERS],
}

impl Gmac {
    pub(super) fn new(key: &[u8; 16]) -> Self {
        let mut power = hash_key(key);
        let powers = std::array::from_fn(|_| {
            let this = power;
            power = power * power;
            this
        });
        let key = UnboundKey::new(&AES_128_GCM, key).expect("a key of 128 bits");
        Self { key: LessSafeKey::new(key), powers }
    }

    /// The tag of `head` and `rest` in a row.
    pub(super) fn tag(&self, nonce: [u8; 12], head: &[u8], rest: &[u8]) -> [u8; 16] {
        let blocks = rest.len().div_ceil(16);
        if rest.is_empty() {
            return self.of_one_piece(nonce, head);
        }
        if rest.len() <= COPIED || !head.len().is_multiple_of(16) || (blocks + 1) >> POWERS != 0 {
            return self.of_one_piece(nonce, &[head, rest].concat());
        }
        let tag = u128::from_be_bytes(self.of_one_piece(nonce, rest));
        let added: u128 = self.added_by(head, rest.len()).into();
        (tag ^ added).to_be_bytes()
    }

    fn of_one_piece(&self, nonce: [u8; 12], bytes: &[u8]) -> [u8; 16] {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(bytes), &mut []);
        let tag = tag.expect("an empty message can be sealed");
        tag.as_ref().try_into().expect("a tag of 128 bits")
    }

    /// The difference between the tag of `head` with `rest` and the tag of `rest` alone: the blocks of `head` times their
    /// powers of the hash key, and the other length (SP800-38D 6.4, 7.1).
    fn added_by(&self, head: &[u8], rest: usize) -> FieldElement {
        let key = self.powers[0];
        let mut sum = FieldElement::default();
        for block in head.as_chunks::<16>().0 {
            sum = (sum + element(*block)) * key;
        }
        let exponent = rest.div_ceil(16) + 1;
        for (bit, power) in self.powers.iter().enumerate() {
            if exponent >> bit & 1 == 1 {
                sum *= *power;
            }
        }
        let bits = |bytes: usize| bytes as u128 * 8;
        let lengths = (bits(head.len() + rest) ^ bits(rest)) << 64;
        sum + element(lengths.to_be_bytes()) * key
    }
}

/// The hash key, as POLYVAL wants it to compute GHASH (RFC 8452, appendix A): reversed and times x.
fn hash_key(key: &[u8; 16]) -> FieldElement {
    let cipher = UnboundCipherKey::new(&AES_128, key).and_then(EncryptingKey::ctr);
    // Counter 0, so this is the key's encryption of zeros.
    let block = keystream_block(&cipher.expect("a key of 128 bits"), [0; 16]);
    let reversed = u128::from_be_bytes(block);
    let carry = 0u128.wrapping_sub(reversed >> 127);
    let polynomial = 1 << 127 | 1 << 126 | 1 << 121 | 1;
    FieldElement::from(reversed << 1 ^ carry & polynomial)
}

/// A block of GHASH as an element of POLYVAL: its bytes reversed.
fn element(block: [u8; 16]) -> FieldElement {
    FieldElement::from(u128::from_be_bytes(block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// NIST CAVP, gcmEncryptExtIV128: Keylen 128, IVlen 96, PTlen 0, AADlen 128 and 160, Count 0.
    #[test]
    fn tags_are_those_of_nist() {
        let gmac = Gmac::new(&hex("77be63708971c4e240d1cb79e8d77feb").try_into().unwrap());
        let nonce = hex("e0e00f19fed7ba0136a797f3").try_into().unwrap();
        let aad = hex("7a43ec1d9c0a5a78a0b16533a6213cab");
        assert_eq!(gmac.tag(nonce, &aad, &[])[..], hex("209fcc8d3675ed938e9c7166709dd946"));
        assert_eq!(gmac.tag(nonce, &[], &aad)[..], hex("209fcc8d3675ed938e9c7166709dd946"));
        assert_eq!(gmac.tag(nonce, &aad[..5], &aad[5..])[..], hex("209fcc8d3675ed938e9c7166709dd946"));
    }

    #[test]
    fn wherever_a_message_is_cut_its_tag_is_the_same() {
        let gmac = Gmac::new(&[7; 16]);
        for length in [COPIED + 65, COPIED + 96, 1 << 20, (1 << 20) + 81] {
            let message: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
            let whole = gmac.of_one_piece([9; 12], &message);
            for cut in [0, 1, 16, 64, 80, 112, length - 1, length] {
                let (head, rest) = message.split_at(cut);
                assert_eq!(gmac.tag([9; 12], head, rest), whole, "{length} cut at {cut}");
            }
        }
    }
}
