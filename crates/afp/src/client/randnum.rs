//! The logins `Randnum exchange` and `2-Way Randnum exchange` from the client's side. Apple Filing Protocol Programming Guide,
//! "Random Number Exchange", "Two-Way Random Number Exchange".

use des::Des;
use des::cipher::{BlockCipherEncrypt, KeyInit};
use wire::Malformed;

use super::dhx2::{continued, random};
use super::{Client, Link, Result};
use crate::wire::command;
use crate::wire::login::{Login, LoginCont, RANDNUM_EXCHANGE, TWO_WAY_RANDNUM_EXCHANGE};

/// Bytes of numbers, keys and passwords.
const LENGTH: usize = 8;

impl<L: Link> Client<L> {
    /// Logs in. With `both_ways` the server proves that it knows the password, too.
    pub(super) fn log_in_by_randnum(
        &mut self,
        version: &str,
        name: &str,
        password: &str,
        both_ways: bool,
    ) -> Result<()> {
        let uam = if both_ways { TWO_WAY_RANDNUM_EXCHANGE } else { RANDNUM_EXCHANGE };
        let login = Login { version: version.as_bytes(), uam, user: name.as_bytes(), info: &[] };
        let answer = self.call(command::LOGIN, |w| login.encode(w))?;
        let (id, number) = continued(answer.code(), &answer.payload)?;
        let number = number.first_chunk().ok_or(Malformed("a random number of fewer than 8 bytes"))?;
        let cipher = cipher(password, both_ways);
        let ours = random::<LENGTH>()?;
        let mut info = encrypted(&cipher, *number).to_vec();
        if both_ways {
            info.extend(ours);
        }
        let reply = self.call(command::LOGIN_CONT, |w| LoginCont { id, info: &info }.encode(w))?.well()?;
        if both_ways && reply.first_chunk() != Some(&encrypted(&cipher, ours)) {
            return Err(Malformed("a server that does not know the password").into());
        }
        Ok(())
    }
}

/// The key is the password with zeros behind it; in the two-way method shifted by the bit that DES ignores.
fn cipher(password: &str, both_ways: bool) -> Des {
    let mut key = [0; LENGTH];
    let length = password.len().min(LENGTH);
    key[..length].copy_from_slice(&password.as_bytes()[..length]);
    let key = if both_ways { key.map(|byte| byte << 1) } else { key };
    Des::new(&key.into())
}

fn encrypted(cipher: &Des, number: [u8; LENGTH]) -> [u8; LENGTH] {
    let mut block = number.into();
    cipher.encrypt_block(&mut block);
    block.into()
}
