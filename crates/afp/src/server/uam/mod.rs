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

mod cleartext;

use std::borrow::Cow;

use auth::{Account, Accounts};
use vfs::names;

use super::config::Config;
use crate::wire::{ResultCode, login};

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Without an account.
    Guest,
    Cleartext,
}

/// What the machines ask.
pub(super) struct Judge<'a> {
    pub(super) accounts: &'a dyn Accounts,
    /// Fills with random bytes, if there are any.
    pub(super) random: &'a dyn Fn(&mut [u8]) -> bool,
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
pub(super) enum Exchange {}

impl Method {
    const ALL: [Self; 2] = [Self::Guest, Self::Cleartext];

    /// What it is called.
    pub(super) fn name(self) -> &'static [u8] {
        match self {
            Self::Guest => login::NO_USER_AUTHENT,
            Self::Cleartext => login::CLEARTXT_PASSWRD,
        }
    }

    /// Whether the settings have it.
    fn is_on(self, config: &Config) -> bool {
        match self {
            Self::Guest => config.guest.is_some(),
            Self::Cleartext => config.logins.cleartext,
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
    match method {
        Method::Guest => Err(ResultCode::PARAM_ERROR),
        Method::Cleartext => cleartext::start(user, info, judge),
    }
}

impl Exchange {
    /// The next step.
    pub(super) fn next(self, _info: &[u8], _judge: &Judge<'_>) -> Outcome {
        match self {}
    }

    /// The number that the next step has, after that of the last one.
    pub(super) fn id_after(&self, last: u16) -> u16 {
        last.wrapping_add(1)
    }
}

impl Judge<'_> {
    /// The account of this name and password.
    fn verify(&self, user: &str, password: &str) -> Result<Account, ResultCode> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_ends_at_the_first_zero_and_may_be_macroman() {
        assert_eq!(typed(b"abc\0def"), "abc");
        assert_eq!(typed("a\u{308}".as_bytes()), "\u{e4}");
        assert_eq!(typed(&[b'k', 0x8a, b's', b'e']), "k\u{e4}se"); // Inside Macintosh, "Roman Character Set"
        assert_eq!(typed(b""), "");
    }
}
