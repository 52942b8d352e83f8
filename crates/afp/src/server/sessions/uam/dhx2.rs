//! `DHX2`: the password, encrypted with a key that both sides agree on. Mac OS X prefers it. Apple
//! Filing Protocol Programming Guide, "Diffie-Hellman Key Exchange 2".
//!
//! ```text
//! client                                  server
//! nothing                      ─►
//!                              ◄─  g, length, p, Ma                      Dhx2Exchange
//! Mb, {nonce}                  ─►
//!                              ◄─  {nonce + 1, server's nonce}           PasswordDecryption
//! {server's nonce + 1, password} ─►
//! ```

use crypto_bigint::{Odd, U1024};
use md5::{Digest, Md5};
use wire::Writer;

use super::UamContext;
use super::cipher::Cipher;
use super::group::{DhGroup, EXPONENT};
use super::sealed::{NONCE, PasswordDecryption, next};
use crate::wire::ResultCode;

/// The second group of RFC 2409 (6.2): a safe prime with the length of Netatalk's primes, which all
/// Macs support.
const GROUP: DhGroup<{ U1024::LIMBS }> = DhGroup::new(
    Odd::<U1024>::from_be_hex(concat!(
        "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74",
        "020bbea63b139b22514a08798e3404ddef9519b3cd3a431b302b0a6df25f1437",
        "4fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed",
        "ee386bfb5a899fa5ae9f24117c4b1fe649286651ece65381ffffffffffffffff",
    )),
    2,
);
const LEN: usize = DhGroup::<{ U1024::LIMBS }>::LEN;
/// Bytes of a password.
pub(super) const PASSWORD: usize = 256;

/// The client has the group and the server's number.
pub(in crate::server) struct Dhx2Exchange {
    secret: [u8; EXPONENT],
}

impl Dhx2Exchange {
    pub(super) fn new(judge: &UamContext<'_>) -> Result<(Vec<u8>, Self), ResultCode> {
        let secret = judge.random()?;
        let mut w = Writer::new();
        w.u32_be(GROUP.generator);
        w.u16_be(LEN as u16);
        w.put(&GROUP.prime());
        w.put(&GROUP.public(&secret));
        Ok((w.into_bytes(), Self { secret }))
    }

    /// Takes the client's number and nonce.
    pub(super) fn agree(
        self,
        info: &[u8],
        judge: &UamContext<'_>,
    ) -> Result<(Vec<u8>, PasswordDecryption), ResultCode> {
        let (theirs, nonce) = info.split_at_checked(LEN).ok_or(ResultCode::PARAM_ERROR)?;
        let nonce = nonce.get(..NONCE).ok_or(ResultCode::PARAM_ERROR)?;
        let shared = GROUP.shared(theirs, &self.secret).ok_or(ResultCode::USER_NOT_AUTH)?;
        let cipher = Cipher::new(Md5::digest(shared).into());
        let mut answer = [0; NONCE];
        answer.copy_from_slice(&cipher.open(nonce));
        let own = judge.random()?;
        let reply = cipher.seal(&[next(answer), own].concat());
        Ok((reply, PasswordDecryption::new(cipher, own)))
    }
}
