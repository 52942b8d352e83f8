//! CHAP as iSCSI uses it, RFC 7143 12.1 and RFC 1994: a peer proves that it knows a secret by a
//! hash of the secret and a random number.

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::wire::keys;

/// Bytes of a challenge that the server answers, RFC 7143 12.1.4.
const MAX_CHALLENGE: usize = 1024;
/// Bytes that are hashed when an account has no secret: as many as secrets mostly have.
const DECOY: usize = 16;

/// The hash algorithm, RFC 7143 12.1 and IANA's "PPP Authentication Algorithms".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Md5,
    Sha1,
    Sha256,
}

impl Algorithm {
    /// The first algorithm of a list that the server supports.
    pub(crate) fn of(list: &str) -> Option<Self> {
        keys::list(list).find_map(|number| match keys::number(number)? {
            5 => Some(Self::Md5),
            6 => Some(Self::Sha1),
            7 => Some(Self::Sha256),
            _ => None,
        })
    }

    /// The number in the key CHAP_A.
    pub(crate) fn number(self) -> &'static str {
        match self {
            Self::Md5 => "5",
            Self::Sha1 => "6",
            Self::Sha256 => "7",
        }
    }

    /// Bytes of a hash.
    fn length(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// The response of a peer that knows the secret, RFC 1994 4.1.
    pub(crate) fn response(self, id: u8, secret: &[u8], challenge: &[u8]) -> Vec<u8> {
        match self {
            Self::Md5 => hash::<Md5>(id, secret, challenge),
            Self::Sha1 => hash::<Sha1>(id, secret, challenge),
            Self::Sha256 => hash::<Sha256>(id, secret, challenge),
        }
    }
}

fn hash<H: Digest>(id: u8, secret: &[u8], challenge: &[u8]) -> Vec<u8> {
    H::new().chain_update([id]).chain_update(secret).chain_update(challenge).finalize().to_vec()
}

/// A challenge. It is used for one response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) algorithm: Algorithm,
    /// CHAP_I.
    pub(crate) id: u8,
    /// CHAP_C.
    pub(crate) bytes: Vec<u8>,
}

impl Challenge {
    /// A challenge of the server. `None` if there are no random bytes.
    pub(crate) fn new(algorithm: Algorithm, random: &dyn Fn(&mut [u8]) -> bool) -> Option<Self> {
        let (mut id, mut bytes) = ([0], vec![0; algorithm.length()]);
        (random(&mut id) && random(&mut bytes)).then_some(Self { algorithm, id: id[0], bytes })
    }

    /// A challenge of an initiator.
    pub(crate) fn of(algorithm: Algorithm, id: &str, challenge: &str) -> Option<Self> {
        let id = keys::number(id).and_then(|id| u8::try_from(id).ok())?;
        let bytes = keys::binary(challenge).filter(|bytes| bytes.len() <= MAX_CHALLENGE)?;
        Some(Self { algorithm, id, bytes })
    }

    /// Whether the response proves knowledge of the secret. If there is no secret, the refusal
    /// takes equally long.
    pub(crate) fn is_answered_by(&self, secret: Option<&[u8]>, response: &[u8]) -> bool {
        let right = self.algorithm.response(self.id, secret.unwrap_or(&[0; DECOY]), &self.bytes);
        is_same(&right, response) && secret.is_some()
    }

    /// The response to this challenge with the secret.
    pub(crate) fn answer(&self, secret: &[u8]) -> Vec<u8> {
        self.algorithm.response(self.id, secret, &self.bytes)
    }
}

/// Compares in a time that does not depend on where the bytes differ.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initiator_s_order_counts() {
        assert_eq!(Algorithm::of("7,6,5"), Some(Algorithm::Sha256));
        assert_eq!(Algorithm::of("5"), Some(Algorithm::Md5));
        assert_eq!(Algorithm::of("8,9,6,5"), Some(Algorithm::Sha1));
        assert_eq!(Algorithm::of("8"), None);
        assert_eq!(Algorithm::of(""), None);
    }

    #[test]
    fn a_response_hashes_the_number_the_secret_and_the_challenge_in_this_order() {
        // RFC 1994 4.1; the hashes are of md5sum, sha1sum and sha256sum.
        let response = |algorithm: Algorithm| {
            keys::hexadecimal_of(&algorithm.response(0x61, b"secret of ada", b"challenge"))
        };
        assert_eq!(response(Algorithm::Md5), MD5);
        assert_eq!(response(Algorithm::Sha1), SHA1);
        assert_eq!(response(Algorithm::Sha256), SHA256);
    }

    const MD5: &str = "0x1839c4f813cef572b86171420102dce5";
    const SHA1: &str = "0x1deb1c05ea5f6b546c9db37d739027814004828a";
    const SHA256: &str = "0x0653fa02be2e8231de63b23194305b1a983362d19eafdffc0edb3cdd37231e74";

    #[test]
    fn a_response_is_right_for_one_challenge_and_one_secret() {
        let challenge = Challenge::of(Algorithm::Md5, "97", "0x6368616c6c656e6765").unwrap();
        let right = challenge.answer(b"secret of ada");
        assert!(challenge.is_answered_by(Some(b"secret of ada"), &right));
        assert!(!challenge.is_answered_by(Some(b"secret of bob"), &right));
        assert!(!challenge.is_answered_by(Some(b"secret of ada"), &right[1..]));
        assert!(!challenge.is_answered_by(None, &challenge.answer(&[0; DECOY])));
        let other = Challenge::of(Algorithm::Md5, "98", "0x6368616c6c656e6765").unwrap();
        assert!(!other.is_answered_by(Some(b"secret of ada"), &right));
    }

    #[test]
    fn challenges_are_as_long_as_the_hash_and_bounded() {
        let fill = |bytes: &mut [u8]| {
            bytes.fill(7);
            true
        };
        assert_eq!(Challenge::new(Algorithm::Sha1, &fill).unwrap().bytes, [7; 20]);
        assert_eq!(Challenge::new(Algorithm::Sha1, &|_| false), None);
        let of = |length: usize| Challenge::of(Algorithm::Md5, "1", &keys::hexadecimal_of(&vec![1; length]));
        assert!(of(1024).is_some() && of(1025).is_none() && of(0).is_none());
        assert!(Challenge::of(Algorithm::Md5, "256", "0x01").is_none());
    }
}
