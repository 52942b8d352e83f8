//! The login DHX2 from the client's side. Apple Filing Protocol Programming Guide, "Diffie-Hellman Key
//! Exchange 2".

use cast5::Cast5;
use cbc::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{Odd, U256, U1024};
use md5::{Digest, Md5};
use wire::{Malformed, Reader};

use super::{Client, Error, Link, Result};
use crate::wire::login::{Continue, DHX2, Login, LoginCont};
use crate::wire::{ResultCode, command};

/// Bytes of the numbers of the groups that servers use.
const LEN: usize = U1024::BYTES;
const NONCE: usize = 16;
/// Bytes of a password, filled up with zeros.
const PASSWORD: usize = 256;
/// The initialization vectors of the two directions.
const FROM_CLIENT: [u8; 8] = *b"LWallace";
const TO_CLIENT: [u8; 8] = *b"CJalbert";

impl<L: Link> Client<L> {
    /// Logs in.
    pub(super) fn log_in_by_dhx2(&mut self, version: &str, name: &str, password: &str) -> Result<()> {
        let login = Login { version: version.as_bytes(), uam: DHX2, user: name.as_bytes(), info: &[] };
        let answer = self.call(command::LOGIN, |w| login.encode(w))?;
        let (id, offered) = continued(answer.code(), &answer.payload)?;
        let random = random::<{ 32 + NONCE }>()?;
        let (secret, nonce) = random.split_at(32);
        let (public, key) = agree(offered, secret)?;
        let info = [&public[..], &seal(&key, nonce)].concat();
        let answer = self.call(command::LOGIN_CONT, |w| LoginCont { id, info: &info }.encode(w))?;
        let (id, sealed) = continued(answer.code(), &answer.payload)?;
        let plain = open(&key, sealed.get(..2 * NONCE).ok_or(Malformed("a short answer to DHX2"))?);
        let (ours, theirs) = plain.split_at(NONCE);
        if *ours != next(nonce) {
            return Err(Malformed("a server that does not have the key").into());
        }
        let mut padded = [0; PASSWORD];
        let length = password.len().min(PASSWORD);
        padded[..length].copy_from_slice(&password.as_bytes()[..length]);
        let info = seal(&key, &[&next(theirs)[..], &padded].concat());
        self.call(command::LOGIN_CONT, |w| LoginCont { id, info: &info }.encode(w))?.well().map(drop)
    }
}

/// The id and the content of an answer that asks for more.
pub(super) fn continued(code: ResultCode, payload: &[u8]) -> Result<(u16, &[u8])> {
    if code != ResultCode::AUTH_CONTINUE {
        return Err(Error::Refused(code));
    }
    let answer = Continue::decode(&mut Reader::new(payload))?;
    Ok((answer.id, answer.info))
}

/// The client's public number and the shared key, from the server's group and number.
fn agree(offered: &[u8], secret: &[u8]) -> Result<(Vec<u8>, [u8; 16])> {
    let mut r = Reader::new(offered);
    let (generator, length) = (r.u32_be()?, r.u16_be()?);
    if usize::from(length) != LEN {
        return Err(Malformed("a group that has not 1024 bits").into());
    }
    let (prime, theirs) = (U1024::from_be_slice(r.take(LEN)?), U1024::from_be_slice(r.take(LEN)?));
    let prime = Option::<Odd<U1024>>::from(Odd::new(prime)).ok_or(Malformed("a prime that is even"))?;
    let parameters = FixedMontyParams::new_vartime(prime);
    let exponent = U256::from_be_slice(secret);
    let power = |base: &U1024| {
        let power = FixedMontyForm::new(base, &parameters).pow(&exponent);
        power.retrieve().to_be_bytes().as_ref().to_vec()
    };
    Ok((power(&U1024::from_u32(generator)), Md5::digest(power(&theirs)).into()))
}

pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}

/// A nonce plus one.
fn next(nonce: &[u8]) -> [u8; NONCE] {
    let nonce = nonce.first_chunk().copied().unwrap_or_default();
    u128::from_be_bytes(nonce).wrapping_add(1).to_be_bytes()
}

fn seal(key: &[u8; 16], plain: &[u8]) -> Vec<u8> {
    let mut mode = cbc::Encryptor::<Cast5>::new(&(*key).into(), &FROM_CLIENT.into());
    each_block(plain, |block| mode.encrypt_block(block))
}

fn open(key: &[u8; 16], sealed: &[u8]) -> Vec<u8> {
    let mut mode = cbc::Decryptor::<Cast5>::new(&(*key).into(), &TO_CLIENT.into());
    each_block(sealed, |block| mode.decrypt_block(block))
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
