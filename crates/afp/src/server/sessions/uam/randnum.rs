//! `Randnum exchange` and `2-Way Randnum exchange`: a client proves that it knows the password by
//! encrypting a random number with it. System 6 and 7. Apple Filing Protocol Programming Guide,
//! "Random Number Exchange", "Two-Way Random Number Exchange".
//!
//! The server needs the password itself, or at least its first eight bytes.

use auth::{Account, LEGACY};
use des::Des;
use des::cipher::{BlockCipherEncrypt, KeyInit};

use super::{Outcome, UamContext, UamStep, are_equal};
use crate::wire::ResultCode;

/// The client has the number.
pub(in crate::server) struct RandnumChallenge {
    both_ways: bool,
    number: [u8; 8],
    key: [u8; LEGACY],
    /// The account of the key, if there is one.
    account: Option<Account>,
}

/// The first step. An unknown account, or one without this method, gets a number, too.
pub(super) fn start(
    user: &str,
    both_ways: bool,
    judge: &UamContext<'_>,
) -> Result<(Vec<u8>, RandnumChallenge), ResultCode> {
    let (number, decoy) = (judge.random()?, judge.random()?);
    let account = judge.accounts.find_in_any_case(user);
    let account = account.filter(|account| account.legacy().is_some() && !account.disabled);
    let key = account.as_ref().and_then(Account::legacy).copied().unwrap_or(decoy);
    let key = if both_ways { key.map(|byte| byte << 1) } else { key };
    Ok((number.to_vec(), RandnumChallenge { both_ways, number, key, account }))
}

impl RandnumChallenge {
    /// The client's answer, and its own number if it wants the server to authenticate itself.
    pub(super) fn next(self, info: &[u8]) -> Outcome {
        let (answer, theirs) = info.split_first_chunk::<8>().ok_or(ResultCode::PARAM_ERROR)?;
        let is_right = are_equal(answer, &self.encrypted(self.number));
        let account = self.account.as_ref().filter(|_| is_right).ok_or(ResultCode::USER_NOT_AUTH)?;
        let reply = match self.both_ways {
            true => self.encrypted(*theirs.first_chunk().ok_or(ResultCode::PARAM_ERROR)?).to_vec(),
            false => Vec::new(),
        };
        Ok(UamStep::Done(account.clone(), reply))
    }

    fn encrypted(&self, number: [u8; 8]) -> [u8; 8] {
        let mut block = number.into();
        Des::new(&self.key.into()).encrypt_block(&mut block);
        block.into()
    }
}
