//! `DHCAST128`, also called DHX: the password, encrypted with a key that both sides agree on. Mac
//! OS 8 and 9. The group has 128 bits, which stops only passive listeners, and not for long. Apple
//! Filing Protocol Programming Guide, "Diffie-Hellman Key Exchange".
//!
//! ```text
//! client                                  server
//! Ma                           ─►
//!                              ◄─  Mb, {nonce, 16 zeros}
//! {nonce + 1, password}        ─►
//! ```

use crypto_bigint::{Odd, U128};

use super::UamContext;
use super::cipher::{Cipher, KEY};
use super::group::{DhGroup, EXPONENT};
use super::sealed::{NONCE, PasswordDecryption};
use crate::wire::ResultCode;

const GROUP: DhGroup<{ U128::LIMBS }> =
    DhGroup::new(Odd::<U128>::from_be_hex("ba2873dfb06057d43f2024744ceee75b"), 7);
/// Bytes of a password.
pub(super) const PASSWORD: usize = 64;

/// Attempts to find numbers without a leading zero: one number in 128 has one.
const TRIES: usize = 16;

/// The only message to the client, and the state that decrypts the answer. Some clients (nmap) lose
/// leading zeros, so neither the key nor the nonce has any.
pub(super) fn agree(
    info: &[u8],
    judge: &UamContext<'_>,
) -> Result<(Vec<u8>, PasswordDecryption), ResultCode> {
    let theirs = info.get(..KEY).ok_or(ResultCode::PARAM_ERROR)?;
    for _ in 0..TRIES {
        let (secret, nonce) = (judge.random::<EXPONENT>()?, judge.random::<NONCE>()?);
        let shared = GROUP.shared(theirs, &secret).and_then(|shared| shared.try_into().ok());
        let key: [u8; KEY] = shared.ok_or(ResultCode::USER_NOT_AUTH)?;
        if key[0] == 0 || nonce[0] == 0 {
            continue;
        }
        let cipher = Cipher::new(key);
        let mut reply = GROUP.public(&secret);
        reply.extend(cipher.seal(&[nonce, [0; NONCE]].concat()));
        return Ok((reply, PasswordDecryption::new(cipher, nonce)));
    }
    Err(ResultCode::USER_NOT_AUTH)
}
