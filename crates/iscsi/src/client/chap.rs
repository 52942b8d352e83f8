//! CHAP from the initiator's side: RFC 1994, RFC 7143 12.1.3.

use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;

use super::{Client, Error, Link, Result};
use crate::wire::keys::{self, KeyValue};
use crate::wire::pdu::Stage;

/// The hash algorithm, RFC 7143 12.1.3 and IANA's list of algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named in full")]
pub enum Algorithm {
    Md5 = 5,
    Sha1 = 6,
    Sha256 = 7,
}

impl Algorithm {
    /// The response that proves knowledge of the secret.
    #[must_use]
    pub fn response(self, id: u8, secret: &[u8], challenge: &[u8]) -> Vec<u8> {
        let message = [&[id][..], secret, challenge].concat();
        match self {
            Self::Md5 => Md5::digest(message).to_vec(),
            Self::Sha1 => Sha1::digest(message).to_vec(),
            Self::Sha256 => Sha256::digest(message).to_vec(),
        }
    }
}

/// How the initiator proves its identity.
#[derive(Debug, Clone, Copy)]
pub struct Chap<'a> {
    /// Its account.
    pub name: &'a str,
    /// The account's secret.
    pub secret: &'a [u8],
    /// The only algorithm that it offers.
    pub algorithm: Algorithm,
    /// For mutual CHAP: the target's secret, and the challenge to the target (a number and some
    /// bytes).
    pub mutual: Option<(&'a [u8], u8, &'a [u8])>,
}

/// The target's challenge.
struct TargetChallenge {
    id: u8,
    bytes: Vec<u8>,
}

impl<L: Link> Client<L> {
    /// The second half of the security stage, after AuthMethod was settled.
    pub(super) fn prove(&mut self, login: &super::Login<'_>, chap: &Chap<'_>) -> Result<()> {
        let algorithm = (chap.algorithm as u8).to_string();
        let asked = self.exchange(login, (false, Stage::SECURITY_NEGOTIATION), &[("CHAP_A", algorithm)])?.1;
        let challenge = challenge(&asked)?;
        let response = chap.algorithm.response(challenge.id, chap.secret, &challenge.bytes);
        let mut pairs = vec![("CHAP_N", chap.name.to_owned()), ("CHAP_R", keys::hexadecimal_of(&response))];
        if let Some((_, id, bytes)) = chap.mutual {
            pairs.push(("CHAP_I", id.to_string()));
            pairs.push(("CHAP_C", keys::hexadecimal_of(bytes)));
        }
        let (_, proof) = self.exchange(login, (true, Stage::OPERATIONAL_NEGOTIATION), &pairs)?;
        let Some((secret, id, bytes)) = chap.mutual else { return Ok(()) };
        let expected = chap.algorithm.response(id, secret, bytes);
        match value(&proof, "CHAP_R").and_then(|value| keys::binary(&value)) {
            Some(response) if response == expected => Ok(()),
            _ => Err(Error::Impostor),
        }
    }
}

fn challenge(text: &[u8]) -> Result<TargetChallenge> {
    let missing = wire::Malformed("no challenge");
    let id = value(text, "CHAP_I").and_then(|value| keys::number(&value)).ok_or(missing)?;
    let bytes = value(text, "CHAP_C").and_then(|value| keys::binary(&value)).ok_or(missing)?;
    Ok(TargetChallenge { id: id as u8, bytes })
}

/// The value of a key in a text.
pub(super) fn value(text: &[u8], key: &str) -> Option<String> {
    let pairs: Vec<KeyValue<'_>> = keys::decode(text).ok()?;
    pairs.iter().find(|pair| pair.key == key).map(|pair| pair.value.to_owned())
}
