//! `SRP`: Secure Remote Password, which Time Capsules and OS X use; the password never leaves the
//! client. Apple has published nothing about it. This follows the observed messages of its clients
//! and servers (like Netatalk's server and client): SRP-6a of RFC 5054 with a key and proofs of its
//! own.
//!
//! ```text
//! client                                  server
//! 1                            ─►
//!                              ◄─  2, N, g, salt, B                      SrpExchange
//! 3, A, M1                     ─►
//!                              ◄─  4, M2
//! ```
//!
//! It is unknown whether M1 includes leading zeros of A, so both forms are accepted; B has none.

use std::hint::black_box;

use auth::Account;
use auth::srp::{GENERATOR, HASH, IdentityHash, LEN, SALT, Server, Verifier, modulus};
use sha1::{Digest, Sha1};
use wire::{Malformed, Reader, Writer};

use super::{Outcome, UamContext, UamStep, are_equal};
use crate::wire::ResultCode;
use crate::wire::login::SrpProof;

/// The number at the beginning of each message. The second message has the number of the group in
/// its place.
const GROUP: u16 = 2;
const CLIENT_PROOF: u16 = 3;
const SERVER_PROOF: u16 = 4;
/// Bytes of a hash, and so of a proof.
const PROOF: usize = 20;
/// Bytes of the key.
const KEY: usize = 40;
/// Attempts to find a number without a leading zero: one in 256 has one.
const TRIES: usize = 16;

/// The client has all values for its proof.
pub(in crate::server) struct SrpExchange {
    user: String,
    salt: [u8; SALT],
    server: Server,
    /// The account of the verifier, if there is one.
    account: Option<Account>,
}

/// The first step. An unknown account, or one without this method, gets a salt, too, which is
/// always the same.
pub(super) fn start(user: &str, judge: &UamContext<'_>) -> Result<(Vec<u8>, SrpExchange), ResultCode> {
    let account = judge.accounts.find(user).filter(|account| !account.disabled);
    let account = account.filter(Account::has_verifier);
    let Verifier { salt, value } = verifier(account.as_ref(), &decoy(user, judge.decoy)?);
    let server = server(&value, judge)?;
    let reply = offer(&salt, server.public());
    Ok((reply, SrpExchange { user: user.into(), salt, server, account }))
}

/// The verifier of the account, else that of the decoy. One is always derived, also beside a stored one: the time does not
/// tell which accounts there are.
fn verifier(account: Option<&Account>, decoy: &IdentityHash) -> Verifier {
    let derived = account.and_then(Account::identity_hash).unwrap_or(decoy).verifier();
    let derived = black_box(derived);
    account.and_then(Account::verifier).cloned().unwrap_or(derived)
}

/// For an account that there is not: always the same.
fn decoy(user: &str, secret: &[u8]) -> Result<IdentityHash, ResultCode> {
    let bytes = stretched::<{ SALT + HASH }>(&[secret, user.as_bytes()]);
    let (salt, hash) = bytes.split_first_chunk().ok_or(ResultCode::MISC_ERROR)?;
    let hash = *hash.first_chunk().ok_or(ResultCode::MISC_ERROR)?;
    Ok(IdentityHash { salt: *salt, hash })
}

/// A server's state whose public number has no leading zero.
fn server(value: &[u8; LEN], judge: &UamContext<'_>) -> Result<Server, ResultCode> {
    for _ in 0..TRIES {
        let server = Server::new(value, &judge.random()?);
        if server.public()[0] != 0 {
            return Ok(server);
        }
    }
    Err(ResultCode::MISC_ERROR)
}

fn offer(salt: &[u8], public: &[u8]) -> Vec<u8> {
    let mut w = Writer::new();
    w.u16_be(GROUP);
    for value in [&modulus()[..], &[GENERATOR], salt, public] {
        w.u16_be(value.len() as u16);
        w.put(value);
    }
    w.into_bytes()
}

impl SrpExchange {
    /// Takes the client's number and proof.
    pub(super) fn next(self, info: &[u8]) -> Outcome {
        let SrpProof { step, number, proof } = SrpProof::decode(&mut Reader::new(info))?;
        if step != CLIENT_PROOF {
            return Err(Malformed("a step of SRP that is not the second").into());
        }
        let secret = self.server.secret(number).ok_or(ResultCode::USER_NOT_AUTH)?;
        let key: [u8; KEY] = stretched(&[stripped(&secret)]);
        let forms = [stripped(number), number];
        let proven = forms.into_iter().find(|form| are_equal(proof, &self.proof(form, &key)));
        let (Some(account), Some(form)) = (self.account, proven) else {
            return Err(ResultCode::USER_NOT_AUTH);
        };
        let mut w = Writer::new();
        w.u16_be(SERVER_PROOF);
        w.u16_be(PROOF as u16);
        w.put(&sha1(&[form, proof, &key]));
        Ok(UamStep::Done(account, w.into_bytes()))
    }

    /// M1.
    fn proof(&self, number: &[u8], key: &[u8]) -> [u8; PROOF] {
        let (prime, generator) = (sha1(&[&modulus()]), sha1(&[&[GENERATOR]]));
        let group: Vec<u8> = prime.iter().zip(generator).map(|(a, b)| a ^ b).collect();
        let user = sha1(&[self.user.as_bytes()]);
        sha1(&[&group, &user, &self.salt, number, self.server.public(), key])
    }
}

/// The number without leading zeros; zero keeps one byte.
fn stripped(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros.min(number.len().saturating_sub(1))..]
}

/// MGF1 with SHA-1, RFC 8017, B.2.1.
fn stretched<const N: usize>(seed: &[&[u8]]) -> [u8; N] {
    let mut out = [0; N];
    for (counter, chunk) in (0_u32..).zip(out.chunks_mut(PROOF)) {
        let block = sha1(&[seed, &[&counter.to_be_bytes()]].concat());
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
    out
}

fn sha1(parts: &[&[u8]]) -> [u8; PROOF] {
    parts.iter().fold(Sha1::new(), |hash, part| hash.chain_update(part)).finalize().into()
}
