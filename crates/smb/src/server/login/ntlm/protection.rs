//! Messages that NTLM signs and encrypts with extended session security, MS-NLMP 3.4.4.2 and 3.4.3.

use std::ops::Range;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use rc4::{Rc4, StreamCipher};

use super::keys::{hmac_md5, rc4};

/// The length of a signature.
pub(in crate::server) const SIGNATURE: usize = 16;
/// The version of signatures, MS-NLMP 2.2.2.9.2.
const VERSION: [u8; 4] = [1, 0, 0, 0];

/// The keys of one side.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::server) struct DirectionKeys {
    pub(super) signing: [u8; 16],
    pub(super) sealing: [u8; 16],
}

/// Protects what the server sends, and opens what the client sends, each message once and in order.
pub(in crate::server) struct NtlmProtection {
    keys: (DirectionKeys, DirectionKeys),
    are_encrypted: bool,
    first: u32,
    from_client: Direction,
    to_client: Direction,
}

/// One direction.
struct Direction {
    signing: [u8; 16],
    cipher: Rc4,
    /// Checksums are encrypted, too.
    are_encrypted: bool,
    sequence: u32,
}

impl NtlmProtection {
    /// `keys`: of the client and of the server. `first`: the number of each side's next message.
    pub(super) fn new(keys: (DirectionKeys, DirectionKeys), are_encrypted: bool, first: u32) -> Self {
        let direction = |keys: &DirectionKeys| Direction {
            signing: keys.signing,
            cipher: rc4(&keys.sealing),
            are_encrypted,
            sequence: first,
        };
        Self { from_client: direction(&keys.0), to_client: direction(&keys.1), keys, are_encrypted, first }
    }

    /// That of a client with all features, whose login has this key: for tests.
    #[cfg(test)]
    pub(in crate::server) fn of_client(session_key: &[u8; 16]) -> Self {
        use super::keys::{Side, sealing_key, signing_key};
        let of = |side| {
            let sealing = sealing_key(session_key, side, 16);
            DirectionKeys { signing: signing_key(session_key, side), sealing }
        };
        Self::new((of(Side::Server), of(Side::Client)), true, 0)
    }

    /// The signature over a message to the client. The range `sealed` of it is encrypted after that.
    pub(in crate::server) fn protect(
        &mut self,
        message: &mut [u8],
        sealed: Option<Range<usize>>,
    ) -> [u8; SIGNATURE] {
        let checksum = self.to_client.checksum(message);
        if let Some(sealed) = sealed.and_then(|range| message.get_mut(range)) {
            self.to_client.cipher.apply_keystream(sealed);
        }
        self.to_client.signature(checksum)
    }

    /// Decrypts the range `sealed` of a message of the client. False if the signature is not that of the message.
    pub(in crate::server) fn open(
        &mut self,
        message: &mut [u8],
        sealed: Option<Range<usize>>,
        signature: &[u8],
    ) -> bool {
        if let Some(sealed) = sealed {
            match message.get_mut(sealed) {
                Some(sealed) => self.from_client.cipher.apply_keystream(sealed),
                None => return false,
            }
        }
        let checksum = self.from_client.checksum(message);
        verify_slices_are_equal(&self.from_client.signature(checksum), signature).is_ok()
    }
}

impl Direction {
    /// Of the message as it is before it is encrypted.
    fn checksum(&self, message: &[u8]) -> [u8; 8] {
        let hash = hmac_md5(&self.signing, &[&self.sequence.to_le_bytes(), message]);
        std::array::from_fn(|at| hash[at])
    }

    fn signature(&mut self, mut checksum: [u8; 8]) -> [u8; SIGNATURE] {
        if self.are_encrypted {
            self.cipher.apply_keystream(&mut checksum);
        }
        let mut signature = [0; SIGNATURE];
        signature[..4].copy_from_slice(&VERSION);
        signature[4..12].copy_from_slice(&checksum);
        signature[12..].copy_from_slice(&self.sequence.to_le_bytes());
        self.sequence = self.sequence.wrapping_add(1);
        signature
    }
}

/// A copy begins anew: a login is copied before its first message only.
impl Clone for NtlmProtection {
    fn clone(&self) -> Self {
        Self::new(self.keys.clone(), self.are_encrypted, self.first)
    }
}

impl PartialEq for NtlmProtection {
    fn eq(&self, other: &Self) -> bool {
        (&self.keys, self.are_encrypted, self.first) == (&other.keys, other.are_encrypted, other.first)
    }
}

impl Eq for NtlmProtection {}

#[cfg(test)]
mod tests {
    use super::super::keys::{Side, sealing_key, signing_key};
    use super::*;
    use crate::testing::hex;

    fn keys(side: Side) -> DirectionKeys {
        DirectionKeys { signing: signing_key(&[0x55; 16], side), sealing: sealing_key(&[0x55; 16], side, 16) }
    }

    /// MS-NLMP 4.2.4.4: the client seals "Plaintext" in UTF-16 with the random session key of 4.2.1.
    #[test]
    fn a_sealed_message_is_that_of_the_specification() {
        let plain = hex("50006c00610069006e007400650078007400");
        let sealed = hex("54e50165bf1936dc996020c1811b0f06fb5f");
        let signature = hex("010000007fb38ec5c55d497600000000");
        let mut server = NtlmProtection::new((keys(Side::Client), keys(Side::Server)), true, 0);
        let mut message = sealed.clone();
        assert!(server.open(&mut message, Some(0..18), &signature));
        assert_eq!(message, plain);
        // The client's direction, as if it were the server's.
        let mut client = NtlmProtection::new((keys(Side::Server), keys(Side::Client)), true, 0);
        let mut message = plain.clone();
        assert_eq!(client.protect(&mut message, Some(0..18))[..], signature);
        assert_eq!(message, sealed);
    }

    #[test]
    fn messages_are_numbered_and_count_once() {
        let mut server = NtlmProtection::new((keys(Side::Client), keys(Side::Server)), true, 1);
        let mut client = NtlmProtection::new((keys(Side::Server), keys(Side::Client)), true, 1);
        for number in 1u8..4 {
            let mut message = vec![number; 40];
            let signature = client.protect(&mut message, Some(8..40));
            assert_eq!((signature[12], &message[..8]), (number, &[number; 8][..]));
            assert!(server.open(&mut message, Some(8..40), &signature));
            assert_eq!(message, vec![number; 40]);
        }
        let mut message = vec![9; 40];
        let signature = client.protect(&mut message, None);
        assert!(server.open(&mut message.clone(), None, &signature));
        assert!(!server.open(&mut message, None, &signature), "a second time");
        let mut server = NtlmProtection::new((keys(Side::Client), keys(Side::Server)), true, 0);
        assert!(!server.open(&mut [1; 8], Some(4..9), &[0; 16]), "outside of the message");
        assert!(!server.open(&mut [1; 8], None, &[0; 15]));
    }
}
