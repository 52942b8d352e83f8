//! User authentication methods, Apple Filing Protocol Programming Guide, "User Authentication
//! Methods": each is a small state machine that takes the client's messages step by step.
//!
//! ```text
//! start ─► Continue ─► next ─► … ─► Done
//!    └────────┴─────────┴──► an error: USER_NOT_AUTH, whatever was wrong with the name or password
//! ```
//!
//! An unknown name and a wrong password differ neither in the answer, nor in the step at which it
//! comes, nor in the time that it takes.

pub(in crate::server) mod change;
mod cipher;
mod cleartext;
mod dhx;
mod dhx2;
mod group;
pub(in crate::server) mod kerberos;
mod randnum;
mod sealed;
mod srp;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use auth::{Account, Accounts};
use vfs::names;

use self::sealed::PasswordDecryption;
use super::domain_login::DomainCredentials;
use crate::server::config::Config;
use crate::server::transport::Transport;
use crate::wire::{ResultCode, login};

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum UamMethod {
    Kerberos,
    Dhx2,
    Srp,
    Dhx,
    TwoWayRandnum,
    Randnum,
    Cleartext,
    /// A login without an account.
    Guest,
}

/// The context of the state machines.
pub(in crate::server) struct UamContext<'a> {
    pub(in crate::server) accounts: &'a dyn Accounts,
    /// A domain controller verifies passwords of users that have none here.
    pub(in crate::server) has_domain: bool,
    /// Fills with random bytes. False if there are none.
    pub(in crate::server) random: &'a dyn Fn(&mut [u8]) -> bool,
    /// A secret value of the server: values for unknown accounts are derived from it, so that they
    /// are always the same.
    pub(in crate::server) decoy: &'a [u8],
}

/// The progress of a login.
pub(in crate::server) enum UamStep {
    /// The server sends this, and waits for the client's next step.
    Continue(Vec<u8>, UamExchange),
    /// The user is authenticated. There may be a last message to the client.
    Done(Account, Vec<u8>),
    /// The same by a ticket. The key is encrypted for the client.
    Entered { account: Account, reply: Vec<u8>, key: Option<Vec<u8>> },
    /// A domain controller decides.
    OfDomain(DomainCredentials),
}

/// The outcome of a step.
pub(in crate::server) type Outcome = Result<UamStep, ResultCode>;

/// A login of several steps, between two of them.
pub(in crate::server) enum UamExchange {
    Dhx2Offered(dhx2::Dhx2Exchange, String),
    Dhx2(PasswordDecryption, String),
    Srp(Box<srp::SrpExchange>),
    Dhx(PasswordDecryption, String),
    Randnum(randnum::RandnumChallenge),
    /// The client's ticket comes next.
    Kerberos,
}

impl UamMethod {
    /// All methods, the best first.
    const ALL: [Self; 8] = [
        Self::Kerberos,
        Self::Dhx2,
        Self::Srp,
        Self::Dhx,
        Self::TwoWayRandnum,
        Self::Randnum,
        Self::Cleartext,
        Self::Guest,
    ];

    /// Its name in the protocol.
    pub(in crate::server) fn name(self) -> &'static [u8] {
        match self {
            Self::Kerberos => login::KERBEROS,
            Self::Dhx2 => login::DHX2,
            Self::Srp => login::SRP,
            Self::Dhx => login::DHCAST128,
            Self::TwoWayRandnum => login::TWO_WAY_RANDNUM_EXCHANGE,
            Self::Randnum => login::RANDNUM_EXCHANGE,
            Self::Cleartext => login::CLEARTXT_PASSWRD,
            Self::Guest => login::NO_USER_AUTHENT,
        }
    }

    /// Its name in the log.
    pub(in crate::server) fn label(self) -> &'static str {
        match self {
            Self::Kerberos => "Kerberos",
            Self::Dhx2 => "DHX2",
            Self::Srp => "SRP",
            Self::Dhx => "DHX",
            Self::TwoWayRandnum => "2-way-randnum",
            Self::Randnum => "randnum",
            Self::Cleartext => "cleartext",
            Self::Guest => "guest",
        }
    }

    /// Whether the settings allow it, and all accounts can use it. Clients choose the method that
    /// they prefer before they name a user, so a method that some account cannot use is not
    /// offered.
    fn is_on(self, config: &Config, transport: Transport) -> bool {
        match self {
            // They came with AFP 3, which AppleTalk does not have.
            Self::Kerberos | Self::Srp if transport == Transport::AppleTalk => false,
            Self::Kerberos => config.kerberos.is_some(),
            Self::Dhx2 => config.logins.dhx2,
            Self::Srp => config.logins.srp && config.accounts.all_have_verifiers() && config.domain.is_none(),
            Self::Dhx => config.logins.dhx,
            Self::TwoWayRandnum => config.logins.two_way_randnum,
            Self::Randnum => config.logins.randnum,
            Self::Cleartext => config.logins.cleartext,
            Self::Guest => config.guest.is_some(),
        }
    }

    /// The offered methods.
    pub(in crate::server) fn offered(config: &Config, transport: Transport) -> Vec<Self> {
        Self::ALL.into_iter().filter(|method| method.is_on(config, transport)).collect()
    }

    /// The method with this name, if it is offered. Clients differ in the case of the names.
    pub(in crate::server) fn named(name: &[u8], config: &Config, transport: Transport) -> Option<Self> {
        Self::offered(config, transport).into_iter().find(|method| method.name().eq_ignore_ascii_case(name))
    }
}

/// Takes the first step. Guests have none.
pub(in crate::server) fn start(
    method: UamMethod,
    user: &str,
    info: &[u8],
    judge: &UamContext<'_>,
) -> Outcome {
    let (reply, exchange) = match method {
        UamMethod::Guest => return Err(ResultCode::PARAM_ERROR),
        UamMethod::Kerberos => (Vec::new(), UamExchange::Kerberos),
        UamMethod::Cleartext => return cleartext::start(user, info, judge),
        UamMethod::Dhx2 => {
            let (reply, offered) = dhx2::Dhx2Exchange::new(judge)?;
            (reply, UamExchange::Dhx2Offered(offered, user.into()))
        }
        UamMethod::Srp => {
            let (reply, offered) = srp::start(user, judge)?;
            (reply, UamExchange::Srp(Box::new(offered)))
        }
        UamMethod::Dhx => {
            let (reply, sealed) = dhx::agree(info, judge)?;
            (reply, UamExchange::Dhx(sealed, user.into()))
        }
        UamMethod::TwoWayRandnum | UamMethod::Randnum => {
            let (reply, challenged) = randnum::start(user, method == UamMethod::TwoWayRandnum, judge)?;
            (reply, UamExchange::Randnum(challenged))
        }
    };
    Ok(UamStep::Continue(reply, exchange))
}

impl UamExchange {
    /// Takes the next step.
    pub(in crate::server) fn next(self, info: &[u8], judge: &UamContext<'_>) -> Outcome {
        match self {
            Self::Dhx2Offered(offered, user) => {
                let (reply, sealed) = offered.agree(info, judge)?;
                Ok(UamStep::Continue(reply, Self::Dhx2(sealed, user)))
            }
            Self::Dhx2(sealed, user) => judge.verify_one(&user, sealed.open(info, 1, dhx2::PASSWORD)?),
            Self::Srp(offered) => offered.next(info),
            Self::Dhx(sealed, user) => judge.verify_one(&user, sealed.open(info, 1, dhx::PASSWORD)?),
            Self::Randnum(challenged) => challenged.next(info),
            Self::Kerberos => Err(ResultCode::PARAM_ERROR), // `kerberos::enter` takes it: it may wait
        }
    }

    /// The number of the next step, after that of the last one.
    pub(in crate::server) fn id_after(&self, last: u16) -> u16 {
        match self {
            Self::Srp(_) => 0, // its clients send no other number
            _ => last.wrapping_add(1),
        }
    }
}

impl UamContext<'_> {
    fn random<const N: usize>(&self) -> Result<[u8; N], ResultCode> {
        let mut bytes = [0; N];
        if (self.random)(&mut bytes) { Ok(bytes) } else { Err(ResultCode::MISC_ERROR) }
    }

    /// Verifies the first of these passwords.
    fn verify_one(&self, user: &str, passwords: Vec<Vec<u8>>) -> Outcome {
        let password = typed(passwords.first().ok_or(ResultCode::PARAM_ERROR)?);
        let has_password = |account: Account| !account.secrets.is_empty();
        if self.has_domain && !self.accounts.find_in_any_case(user).is_some_and(has_password) {
            return Ok(UamStep::OfDomain(DomainCredentials { user: user.to_owned(), password }));
        }
        Ok(UamStep::Done(self.verify(user, &password)?, Vec::new()))
    }

    /// Verifies a name and a password; returns the account.
    pub(in crate::server) fn verify(&self, user: &str, password: &str) -> Result<Account, ResultCode> {
        let account = self.accounts.find_in_any_case(user);
        let name = account.as_ref().map_or(user, |account| &account.name);
        self.accounts.verify(name, password).map_err(|_| ResultCode::USER_NOT_AUTH)
    }
}

/// The text that a user typed: UTF-8, or otherwise MacRoman, up to the zeros at its end.
pub(in crate::server) fn typed(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let bytes = &bytes[..end];
    match std::str::from_utf8(bytes) {
        Ok(_) => composed(bytes),
        Err(_) => names::decode_mac_roman(bytes),
    }
}

/// The composed form. Macs decompose typed text; accounts have the form of other systems.
fn composed(bytes: &[u8]) -> String {
    match names::to_nfc(bytes) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Whether two secrets are equal, in a time that does not depend on them.
fn are_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
