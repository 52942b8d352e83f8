//! User authentication methods, Apple Filing Protocol Programming Guide, "User Authentication Methods": each a small
//! machine, which is given what the client says, step by step.
//!
//! ```text
//! start ─► Continue ─► next ─► … ─► Done
//!    └────────┴─────────┴──► an error: USER_NOT_AUTH, whatever was wrong with who somebody says they are
//! ```
//!
//! A name that nobody has and a password that is wrong are told apart neither by the answer, nor by the step it comes at,
//! nor by the time it takes.

pub(super) mod change;
mod cipher;
mod cleartext;
mod dhx;
mod dhx2;
mod group;
mod randnum;
mod sealed;
mod srp;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use auth::{Account, Accounts};
use vfs::names;

use self::sealed::Sealed;
use super::config::Config;
use crate::wire::{ResultCode, login};

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Dhx2,
    Srp,
    Dhx,
    TwoWayRandnum,
    Randnum,
    Cleartext,
    /// Without an account.
    Guest,
}

/// What the machines ask.
pub(super) struct Judge<'a> {
    pub(super) accounts: &'a dyn Accounts,
    /// Fills with random bytes, if there are any.
    pub(super) random: &'a dyn Fn(&mut [u8]) -> bool,
    /// Known to nobody: what is made of it for accounts that are not there is always the same.
    pub(super) decoy: &'a [u8],
}

/// How far a login is.
pub(super) enum Step {
    /// Tells the client something, and is to be asked again with its answer.
    Continue(Vec<u8>, Exchange),
    /// It is known who it is. There may be something left to tell.
    Done(Account, Vec<u8>),
}

/// What a step comes to.
pub(super) type Outcome = Result<Step, ResultCode>;

/// A login of several steps between two of them.
pub(super) enum Exchange {
    Dhx2Offered(dhx2::Offered, String),
    Dhx2(Sealed, String),
    Srp(Box<srp::Offered>),
    Dhx(Sealed, String),
    Randnum(randnum::Challenged),
}

impl Method {
    /// The best first.
    const ALL: [Self; 7] =
        [Self::Dhx2, Self::Srp, Self::Dhx, Self::TwoWayRandnum, Self::Randnum, Self::Cleartext, Self::Guest];

    /// What it is called.
    pub(super) fn name(self) -> &'static [u8] {
        match self {
            Self::Dhx2 => login::DHX2,
            Self::Srp => login::SRP,
            Self::Dhx => login::DHCAST128,
            Self::TwoWayRandnum => login::TWO_WAY_RANDNUM_EXCHANGE,
            Self::Randnum => login::RANDNUM_EXCHANGE,
            Self::Cleartext => login::CLEARTXT_PASSWRD,
            Self::Guest => login::NO_USER_AUTHENT,
        }
    }

    /// What the log calls it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Dhx2 => "DHX2",
            Self::Srp => "SRP",
            Self::Dhx => "DHX",
            Self::TwoWayRandnum => "2-way-randnum",
            Self::Randnum => "randnum",
            Self::Cleartext => "cleartext",
            Self::Guest => "guest",
        }
    }

    /// Whether the settings have it, and it is of use: clients take what they think best before they say who logs in, so
    /// what some account cannot use is not offered.
    fn is_on(self, config: &Config) -> bool {
        match self {
            Self::Dhx2 => config.logins.dhx2,
            Self::Srp => config.logins.srp && config.accounts.all_have_verifiers(),
            Self::Dhx => config.logins.dhx,
            Self::TwoWayRandnum => config.logins.two_way_randnum,
            Self::Randnum => config.logins.randnum,
            Self::Cleartext => config.logins.cleartext,
            Self::Guest => config.guest.is_some(),
        }
    }

    /// Those by which one can log in.
    pub(super) fn offered(config: &Config) -> Vec<Self> {
        Self::ALL.into_iter().filter(|method| method.is_on(config)).collect()
    }

    /// That of a name, if it is offered. Clients do not agree on the names' case.
    pub(super) fn named(name: &[u8], config: &Config) -> Option<Self> {
        Self::offered(config).into_iter().find(|method| method.name().eq_ignore_ascii_case(name))
    }
}

/// The first step. Guests have none.
pub(super) fn start(method: Method, user: &str, info: &[u8], judge: &Judge<'_>) -> Outcome {
    let (reply, exchange) = match method {
        Method::Guest => return Err(ResultCode::PARAM_ERROR),
        Method::Cleartext => return cleartext::start(user, info, judge),
        Method::Dhx2 => {
            let (reply, offered) = dhx2::Offered::new(judge)?;
            (reply, Exchange::Dhx2Offered(offered, user.into()))
        }
        Method::Srp => {
            let (reply, offered) = srp::start(user, judge)?;
            (reply, Exchange::Srp(Box::new(offered)))
        }
        Method::Dhx => {
            let (reply, sealed) = dhx::agree(info, judge)?;
            (reply, Exchange::Dhx(sealed, user.into()))
        }
        Method::TwoWayRandnum | Method::Randnum => {
            let (reply, challenged) = randnum::start(user, method == Method::TwoWayRandnum, judge)?;
            (reply, Exchange::Randnum(challenged))
        }
    };
    Ok(Step::Continue(reply, exchange))
}

impl Exchange {
    /// The next step.
    pub(super) fn next(self, info: &[u8], judge: &Judge<'_>) -> Outcome {
        match self {
            Self::Dhx2Offered(offered, user) => {
                let (reply, sealed) = offered.agree(info, judge)?;
                Ok(Step::Continue(reply, Self::Dhx2(sealed, user)))
            }
            Self::Dhx2(sealed, user) => judge.verify_one(&user, sealed.open(info, 1, dhx2::PASSWORD)?),
            Self::Srp(offered) => offered.next(info),
            Self::Dhx(sealed, user) => judge.verify_one(&user, sealed.open(info, 1, dhx::PASSWORD)?),
            Self::Randnum(challenged) => challenged.next(info),
        }
    }

    /// The number that the next step has, after that of the last one.
    pub(super) fn id_after(&self, last: u16) -> u16 {
        match self {
            Self::Srp(_) => 0, // its clients say nothing else
            _ => last.wrapping_add(1),
        }
    }
}

impl Judge<'_> {
    fn random<const N: usize>(&self) -> Result<[u8; N], ResultCode> {
        let mut bytes = [0; N];
        if (self.random)(&mut bytes) { Ok(bytes) } else { Err(ResultCode::MISC_ERROR) }
    }

    /// The first of these passwords.
    fn verify_one(&self, user: &str, passwords: Vec<Vec<u8>>) -> Outcome {
        let password = passwords.first().ok_or(ResultCode::PARAM_ERROR)?;
        Ok(Step::Done(self.verify(user, &typed(password))?, Vec::new()))
    }

    /// The account of this name and password.
    pub(super) fn verify(&self, user: &str, password: &str) -> Result<Account, ResultCode> {
        let account = self.accounts.find_in_any_case(user);
        let name = account.as_ref().map_or(user, |account| &account.name);
        self.accounts.verify(name, password).map_err(|_| ResultCode::USER_NOT_AUTH)
    }
}

/// What somebody typed: UTF-8, or MacRoman from who has not that, up to the zeros behind it.
pub(super) fn typed(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let bytes = &bytes[..end];
    match std::str::from_utf8(bytes) {
        Ok(_) => composed(bytes),
        Err(_) => names::decode_mac_roman(bytes),
    }
}

/// Macs decompose what was typed; accounts are written as other systems type.
fn composed(bytes: &[u8]) -> String {
    match names::to_nfc(bytes) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Whether two secrets are the same, in time that does not depend on them.
fn are_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
