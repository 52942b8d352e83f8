//! The cryptography of a secure channel with AES: MS-NRPC 3.1.4.3, 3.1.4.4 and 3.3.4.2.

use aws_lc_rs::cipher::{AES_128, EncryptingKey, UnboundCipherKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;

/// NL_AUTH_SHA2_SIGNATURE, 2.2.1.3.3: HMAC-SHA256, AES-128, no padding between them, no flags.
const HEAD: [u8; 8] = [0x13, 0, 0x1a, 0, 0xff, 0xff, 0, 0];
/// The length of the signature: the head, number, checksum, confounder, and 24 bytes without meaning.
pub(super) const TOKEN: usize = 56;
/// The part of a signature that has a meaning.
const MEANING: usize = 32;

/// The key of a channel: the first half of HMAC-SHA256 of both challenges, with the NT hash of the account's password.
pub(super) fn session_key(password: &str, ours: [u8; 8], theirs: [u8; 8]) -> [u8; 16] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &auth::nt_hash(password));
    half(&hmac::sign(&key, &[ours, theirs].concat()))
}

/// What proves that a side knows the key: a challenge, encrypted.
pub(super) fn credential(key: &[u8; 16], challenge: [u8; 8]) -> Option<[u8; 8]> {
    let mut bytes = challenge;
    Cfb8::new(key, [0; 16])?.encrypt(&mut bytes)?;
    Some(bytes)
}

/// Seals the messages of a member, and opens those of its controller. One count numbers the messages of both sides.
pub(super) struct Seal {
    key: [u8; 16],
    count: u64,
}

impl Seal {
    pub(super) fn new(key: [u8; 16]) -> Self {
        Self { key, count: 0 }
    }

    /// Encrypts a message of ours, 3.3.4.2.1. The token that goes with it.
    pub(super) fn seal(&mut self, message: &mut [u8], confounder: [u8; 8]) -> Option<Vec<u8>> {
        let number = numbered(self.count, true);
        self.count += 1;
        let checksum = self.checksum(&confounder, message);
        let (mut hidden, mut number_sent) = (confounder, number);
        let mut cipher = self.content(number)?;
        cipher.encrypt(&mut hidden)?;
        cipher.encrypt(message)?;
        Cfb8::new(&self.key, twice(checksum))?.encrypt(&mut number_sent)?;
        let mut token = [HEAD, number_sent, checksum, hidden].concat();
        token.resize(TOKEN, 0);
        Some(token)
    }

    /// Decrypts a message of the controller, 3.3.4.2.2. False if it is not the next one, or was changed.
    pub(super) fn open(&mut self, message: &mut [u8], token: &[u8]) -> bool {
        self.opened(message, token).is_some()
    }

    fn opened(&mut self, message: &mut [u8], token: &[u8]) -> Option<()> {
        let (parts, _) = token.get(..MEANING)?.as_chunks::<8>();
        let &[head, mut number, checksum, mut confounder] = parts else { return None };
        Cfb8::new(&self.key, twice(checksum))?.decrypt(&mut number)?;
        if head != HEAD || number != numbered(self.count, false) {
            return None;
        }
        let mut cipher = self.content(number)?;
        cipher.decrypt(&mut confounder)?;
        cipher.decrypt(message)?;
        verify_slices_are_equal(&self.checksum(&confounder, message), &checksum).ok()?;
        self.count += 1;
        Some(())
    }

    /// What encrypts a message and, before it, its confounder.
    fn content(&self, number: [u8; 8]) -> Option<Cfb8> {
        Cfb8::new(&self.key.map(|byte| byte ^ 0xf0), twice(number))
    }

    fn checksum(&self, confounder: &[u8; 8], message: &[u8]) -> [u8; 8] {
        let mut signing = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &self.key));
        [&HEAD[..], confounder, message].iter().for_each(|part| signing.update(part));
        half(&signing.sign())
    }
}

/// The number of a message with a mark of the member's own messages, 3.3.4.2.1.
fn numbered(count: u64, is_ours: bool) -> [u8; 8] {
    let (low, high) = ((count as u32).to_be_bytes(), ((count >> 32) as u32).to_be_bytes());
    let mark = if is_ours { 0x80 } else { 0 };
    [low[0], low[1], low[2], low[3], high[0] | mark, high[1], high[2], high[3]]
}

fn twice(half: [u8; 8]) -> [u8; 16] {
    std::array::from_fn(|at| half[at % 8])
}

fn half<const N: usize>(tag: &hmac::Tag) -> [u8; N] {
    std::array::from_fn(|at| tag.as_ref()[at])
}

/// AES-128 in 8-bit cipher feedback mode (NIST SP 800-38A 6.3), which `aws-lc-rs` does not have.
struct Cfb8 {
    cipher: EncryptingKey,
    register: [u8; 16],
}

impl Cfb8 {
    fn new(key: &[u8; 16], iv: [u8; 16]) -> Option<Self> {
        let cipher = EncryptingKey::ecb(UnboundCipherKey::new(&AES_128, key).ok()?).ok()?;
        Some(Self { cipher, register: iv })
    }

    fn encrypt(&mut self, bytes: &mut [u8]) -> Option<()> {
        for byte in bytes {
            *byte ^= self.mask()?;
            self.shift(*byte);
        }
        Some(())
    }

    fn decrypt(&mut self, bytes: &mut [u8]) -> Option<()> {
        for byte in bytes {
            let (encrypted, mask) = (*byte, self.mask()?);
            self.shift(encrypted);
            *byte = encrypted ^ mask;
        }
        Some(())
    }

    fn mask(&self) -> Option<u8> {
        let mut block = self.register;
        self.cipher.encrypt(&mut block).ok()?;
        Some(block[0])
    }

    fn shift(&mut self, encrypted: u8) {
        self.register.rotate_left(1);
        self.register[15] = encrypted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(digits: &str) -> [u8; N] {
        wire::hex::decode(digits).unwrap()
    }

    /// NIST SP 800-38A F.3.7 (CFB8-AES128).
    #[test]
    fn the_mode_is_that_of_the_specification() {
        let (key, iv) =
            (bytes("2b7e151628aed2a6abf7158809cf4f3c"), bytes("000102030405060708090a0b0c0d0e0f"));
        let plain: [u8; 18] = bytes("6bc1bee22e409f96e93d7e117393172aae2d");
        let mut text = plain;
        Cfb8::new(&key, iv).unwrap().encrypt(&mut text).unwrap();
        assert_eq!(text, bytes("3b79424c9c0dd436bace9e0ed4586a4f32b9"));
        Cfb8::new(&key, iv).unwrap().decrypt(&mut text).unwrap();
        assert_eq!(text, plain);
    }

    #[test]
    fn a_message_is_opened_once_unchanged_and_in_its_order() {
        let key = [7; 16];
        // The controller marks its numbers in no way: it is a member whose messages are read by a controller, turned around.
        let sealed = |count, text: &[u8]| {
            let theirs = Seal::new(key);
            let (number, confounder) = (numbered(count, false), [3; 8]);
            let checksum = theirs.checksum(&confounder, text);
            let (mut hidden, mut sent, mut message) = (confounder, number, text.to_vec());
            let mut cipher = theirs.content(number).unwrap();
            cipher.encrypt(&mut hidden).unwrap();
            cipher.encrypt(&mut message).unwrap();
            Cfb8::new(&key, twice(checksum)).unwrap().encrypt(&mut sent).unwrap();
            let mut token = [HEAD, sent, checksum, hidden].concat();
            token.resize(TOKEN, 0);
            (message, token)
        };
        let mut ours = Seal::new(key);
        for count in 0..3 {
            let (mut message, token) = sealed(count, b"an answer");
            assert!(ours.open(&mut message, &token));
            assert_eq!(message, b"an answer");
        }
        let (message, token) = sealed(3, b"an answer");
        for at in [0, 8, 16, 24] {
            let mut changed = token.clone();
            changed[at] ^= 1;
            assert!(!ours.open(&mut message.clone(), &changed), "the token at {at}");
        }
        let mut changed = message.clone();
        changed[2] ^= 1;
        assert!(!ours.open(&mut changed, &token) && !ours.open(&mut message.clone(), &token[..31]));
        let (mut early, token_of_it) = sealed(4, b"an answer");
        assert!(!ours.open(&mut early, &token_of_it));
        assert!(ours.open(&mut message.clone(), &token));
    }

    /// A message of ours cannot come back as one of the controller.
    #[test]
    fn a_message_of_ours_is_not_one_of_the_controller() {
        let (mut one, mut other) = (Seal::new([7; 16]), Seal::new([7; 16]));
        let mut message = b"a question".to_vec();
        let token = one.seal(&mut message, [1; 8]).unwrap();
        assert_eq!((token.len(), &token[..8]), (TOKEN, &HEAD[..]));
        assert!(!other.open(&mut message, &token));
    }
}
