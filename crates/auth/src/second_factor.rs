//! `second-factors.toml` in the state folder: what accounts need beside their password to log in to the console.
//!
//! It is a code of an authenticator app (TOTP, RFC 6238), or one of the recovery codes that the account got with it, each of which counts
//! once. Codes of six digits can be guessed, so that wrong ones make the account wait for longer and longer. Recovery codes cannot.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lock::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wire::hex;

use crate::state_file::{FileError, StateFile};
use crate::{account_key, durable, is_same_name, ranks, totp};

const FACTORS: StateFile =
    StateFile { format: 1, if_damaged: ", or remove it: accounts then log in with their password alone" };
const FILE: &str = "second-factors.toml";
/// Random bytes of a secret, RFC 4226 4 (R6).
const SECRET: usize = 20;
/// Recovery codes of an account, and random bytes of each.
const RECOVERY_CODES: usize = 10;
const RECOVERY_BYTES: usize = 10;
/// So many wrong codes have no effect, because people mistype.
const FREE: u32 = 5;
/// The pause after the next one. Each further one doubles it,
const FIRST: Duration = Duration::from_secs(30);
/// up to this.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// How long a secret that was shown waits for its first code.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// Secrets that wait, and accounts that have to wait, at most.
const MOST: usize = 64;
/// The longest code that is looked at, in bytes.
const LONGEST_CODE: usize = 64;

/// The second factors of a server.
pub struct SecondFactors {
    state: PathBuf,
    waiting: Mutex<FactorsWaiting, ranks::SecondFactorsWaiting>,
}

/// What is not on the disk.
#[derive(Default)]
struct FactorsWaiting {
    /// Secrets that were shown and not confirmed, by account.
    shown: HashMap<String, ShownSecret>,
    /// Accounts with wrong codes.
    wrong: HashMap<String, WrongCodes>,
}

struct ShownSecret {
    secret: Vec<u8>,
    since: Instant,
    /// Codes that were none of it. An open session must not try them all: the right one is answered with the recovery codes.
    wrong: u32,
}

struct WrongCodes {
    count: u32,
    /// No code of an app counts before.
    until: Instant,
}

/// The time, as codes need it, and as pauses do.
#[derive(Debug, Clone, Copy)]
pub struct FactorTime {
    /// Seconds since 1970.
    pub unix_s: u64,
    /// The same moment by the monotonic clock.
    pub instant: Instant,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorVerdict {
    /// The account has no second factor.
    NotSet,
    /// The code counts.
    Right,
    /// A code is needed, and there is none.
    Missing,
    /// The code does not count: it is another one, or was used before.
    Wrong,
    /// There were too many wrong ones: no code of an app counts so long.
    Wait(Duration),
}

/// The second factor of an account, without its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactorStatus {
    /// When it was set, in seconds since 1970.
    pub since: u64,
    /// Recovery codes that are left.
    pub recovery_codes: usize,
}

/// A secret for an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorSecret {
    /// In base32, as people type it.
    pub text: String,
    /// As apps read it from a QR code: `otpauth://totp/…`.
    pub uri: String,
}

/// Why a second factor was not set or removed.
#[derive(Debug, thiserror::Error)]
pub enum FactorError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The account has one.
    #[error("{0} has a second factor already: turn it off first")]
    Exists(String),
    /// The account has none.
    #[error("{0} has no second factor")]
    Missing(String),
    /// No secret waits for its first code.
    #[error("no secret waits for its first code: begin anew, and type the code within 15 minutes")]
    NotBegun,
    /// The first code is wrong.
    #[error(
        "the code is wrong: look at the app again, and whether the clocks of the phone and of the server are right"
    )]
    WrongCode,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a secret")]
    NoRandomness,
    /// Too many people do that at the moment.
    #[error("too many accounts get a second factor at the moment; try again later")]
    TooMany,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredFactors {
    format: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    factor: Vec<StoredFactor>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredFactor {
    account: String,
    /// In base32.
    secret: String,
    /// Seconds since 1970.
    since: u64,
    /// The codes of this step and of earlier ones were used, or have passed.
    used_step: u64,
    /// The SHA-256 of each recovery code that is left, in hexadecimal digits: a code has 80 random bits, so that a slow hash adds nothing.
    #[serde(default)]
    recovery: Vec<String>,
}

impl SecondFactors {
    /// Those of a state folder.
    #[must_use]
    pub fn new(state: PathBuf) -> Self {
        Self { state, waiting: Mutex::default() }
    }

    /// The second factor of an account; `None`: it has none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn status(&self, account: &str) -> Result<Option<FactorStatus>, FileError> {
        let all = read(&self.state)?;
        let own = all.iter().find(|factor| is_same_name(&factor.account, account));
        Ok(own.map(|own| FactorStatus { since: own.since, recovery_codes: own.recovery.len() }))
    }

    /// Checks the code of an account. One that counts does not count again.
    ///
    /// # Errors
    /// The file cannot be read or written: whether the code counts is not known.
    pub fn check(
        &self,
        account: &str,
        typed: Option<&str>,
        now: FactorTime,
    ) -> Result<FactorVerdict, FileError> {
        if self.status(account)?.is_none() {
            return Ok(FactorVerdict::NotSet);
        }
        let Some(typed) = typed.map(plain).filter(|typed| !typed.is_empty()) else {
            return Ok(FactorVerdict::Missing);
        };
        let key = account_key(account);
        let pause = self.pause(&key, now.instant);
        let taken = edit(&self.state, |all| {
            let Some(own) = all.iter_mut().find(|factor| is_same_name(&factor.account, account)) else {
                return Ok(FactorVerdict::NotSet); // it was removed meanwhile
            };
            let verdict = if own.takes_recovery(&typed) {
                FactorVerdict::Right
            } else if let Some(pause) = pause {
                FactorVerdict::Wait(pause)
            } else if own.takes_code(&typed, now.unix_s) {
                FactorVerdict::Right
            } else {
                FactorVerdict::Wrong
            };
            Ok(verdict)
        })?;
        match taken {
            FactorVerdict::Right => drop(self.waiting.lock().wrong.remove(&key)),
            FactorVerdict::Wrong => self.count_wrong(key, now.instant),
            _ => {}
        }
        Ok(taken)
    }

    /// How long no code of an app counts.
    fn pause(&self, key: &str, now: Instant) -> Option<Duration> {
        let until = self.waiting.lock().wrong.get(key).map(|wrong| wrong.until)?;
        Some(until.saturating_duration_since(now)).filter(|pause| !pause.is_zero())
    }

    fn count_wrong(&self, key: String, now: Instant) {
        let mut waiting = self.waiting.lock();
        if waiting.wrong.len() >= MOST && !waiting.wrong.contains_key(&key) {
            let least = waiting.wrong.iter().min_by_key(|(_, wrong)| wrong.until).map(|(key, _)| key.clone());
            least.and_then(|key| waiting.wrong.remove(&key));
        }
        let wrong = waiting.wrong.entry(key).or_insert(WrongCodes { count: 0, until: now });
        wrong.count = wrong.count.saturating_add(1);
        if let Some(beyond) = wrong.count.checked_sub(FREE) {
            wrong.until = now + FIRST.saturating_mul(1 << beyond.min(16)).min(LONGEST);
        }
    }

    /// A new secret for an account, which counts when [`Self::confirm`] has its first code. `server` is how the app calls this server.
    ///
    /// # Errors
    /// The account has a second factor, or no secret can be made.
    pub fn begin(&self, account: &str, server: &str, now: Instant) -> Result<FactorSecret, FactorError> {
        if self.status(account)?.is_some() {
            return Err(FactorError::Exists(account.into()));
        }
        let mut secret = vec![0; SECRET];
        getrandom::fill(&mut secret).map_err(|_| FactorError::NoRandomness)?;
        let text = totp::base32(&secret);
        let mut waiting = self.waiting.lock();
        waiting.shown.retain(|_, shown| now.saturating_duration_since(shown.since) < PATIENCE);
        let key = account_key(account);
        if waiting.shown.len() >= MOST && !waiting.shown.contains_key(&key) {
            return Err(FactorError::TooMany);
        }
        waiting.shown.insert(key, ShownSecret { secret, since: now, wrong: 0 });
        drop(waiting);
        let issuer = escaped(&format!("Fourfold {server}"));
        let uri = format!(
            "otpauth://totp/{issuer}:{}?secret={text}&issuer={issuer}&algorithm=SHA1&digits={}&period={}",
            escaped(account),
            totp::DIGITS,
            totp::STEP_S
        );
        Ok(FactorSecret { text, uri })
    }

    /// Sets the second factor of an account whose app has the secret, as this code shows. Returns its recovery codes, which are not kept.
    ///
    /// # Errors
    /// See [`FactorError`]; it is not set.
    pub fn confirm(&self, account: &str, typed: &str, now: FactorTime) -> Result<Vec<String>, FactorError> {
        let key = account_key(account);
        let (secret, used_step) = self.first_code(&key, &plain(typed), now)?;
        let codes: Vec<String> = (0..RECOVERY_CODES)
            .map(|_| recovery_code())
            .collect::<Option<_>>()
            .ok_or(FactorError::NoRandomness)?;
        let factor = StoredFactor {
            account: account.to_owned(),
            secret: totp::base32(&secret),
            since: now.unix_s,
            used_step,
            recovery: codes.iter().map(|code| hash(&plain(code))).collect(),
        };
        let exists = edit(&self.state, |all| {
            let exists = all.iter().any(|known| is_same_name(&known.account, account));
            if !exists {
                all.push(factor);
            }
            Ok(exists)
        })?;
        self.waiting.lock().shown.remove(&key);
        if exists { Err(FactorError::Exists(account.into())) } else { Ok(codes) }
    }

    /// The secret that was shown, and the step of its first code.
    fn first_code(&self, key: &str, typed: &str, now: FactorTime) -> Result<(Vec<u8>, u64), FactorError> {
        let mut waiting = self.waiting.lock();
        let fresh = |shown: &&mut ShownSecret| now.instant.saturating_duration_since(shown.since) < PATIENCE;
        let shown = waiting.shown.get_mut(key).filter(fresh).ok_or(FactorError::NotBegun)?;
        if let Some(step) = totp::step_of(&shown.secret, typed, totp::step_at(now.unix_s), 0) {
            return Ok((shown.secret.clone(), step));
        }
        shown.wrong += 1;
        if shown.wrong > FREE {
            waiting.shown.remove(key);
        }
        Err(FactorError::WrongCode)
    }
}

impl StoredFactor {
    fn takes_code(&mut self, typed: &str, unix_s: u64) -> bool {
        let Some(secret) = totp::of_base32(&self.secret).filter(|secret| !secret.is_empty()) else {
            return false;
        };
        let step = totp::step_of(&secret, typed, totp::step_at(unix_s), self.used_step);
        self.used_step = step.unwrap_or(self.used_step);
        step.is_some()
    }

    fn takes_recovery(&mut self, typed: &str) -> bool {
        let (before, wanted) = (self.recovery.len(), hash(typed));
        self.recovery.retain(|known| *known != wanted);
        self.recovery.len() < before
    }
}

/// The code that an app with this secret shows now; empty if it is no secret. Programs that log in for a person use it.
#[must_use]
pub fn code_now(secret: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    totp::of_base32(secret).map(|secret| totp::code(&secret, totp::step_at(now))).unwrap_or_default()
}

/// The accounts with a second factor.
///
/// # Errors
/// The file cannot be read.
pub fn accounts(state: &Path) -> Result<Vec<String>, FileError> {
    Ok(read(state)?.into_iter().map(|factor| factor.account).collect())
}

/// Removes the second factor of an account. Returns whether it had one.
///
/// # Errors
/// The file cannot be read or written.
pub fn remove(state: &Path, account: &str) -> Result<bool, FileError> {
    if !read(state)?.iter().any(|factor| is_same_name(&factor.account, account)) {
        return Ok(false); // no lock is made for nothing
    }
    edit(state, |all| {
        let before = all.len();
        all.retain(|factor| !is_same_name(&factor.account, account));
        Ok(all.len() < before)
    })
}

/// Gives the second factor of an account to another name, too: an account that is renamed is at no time without it.
///
/// # Errors
/// The file cannot be read or written.
pub fn copy(state: &Path, account: &str, new: &str) -> Result<(), FileError> {
    if is_same_name(account, new) || read(state)?.is_empty() {
        return Ok(());
    }
    edit(state, |all| {
        all.retain(|factor| !is_same_name(&factor.account, new));
        let own = all.iter().find(|factor| is_same_name(&factor.account, account));
        let copied = own.map(|own| StoredFactor { account: new.to_owned(), ..own.clone() });
        all.extend(copied);
        Ok(())
    })
}

fn read(state: &Path) -> Result<Vec<StoredFactor>, FileError> {
    Ok(FACTORS.read::<StoredFactors>(&state.join(FILE))?.map(|stored| stored.factor).unwrap_or_default())
}

fn edit<T>(
    state: &Path,
    change: impl FnOnce(&mut Vec<StoredFactor>) -> Result<T, FileError>,
) -> Result<T, FileError> {
    let path = state.join(FILE);
    let _lock = durable::lock(&state.join("second-factors.lock")).map_err(FileError::io(&path))?;
    let mut factor = read(state)?;
    let result = change(&mut factor)?;
    FACTORS.write(&path, &StoredFactors { format: FACTORS.format, factor })?;
    Ok(result)
}

/// A code as it is compared: people type it with blanks and hyphens.
fn plain(typed: &str) -> String {
    let kept = typed.chars().filter(|c| !c.is_whitespace() && *c != '-').take(LONGEST_CODE);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

/// As `abcd-efgh-ijkl-mnop`.
fn recovery_code() -> Option<String> {
    let mut bytes = [0; RECOVERY_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    let text = totp::base32(&bytes).to_lowercase();
    let groups: Vec<&str> =
        (0..text.len()).step_by(4).map(|at| &text[at..(at + 4).min(text.len())]).collect();
    Some(groups.join("-"))
}

fn hash(code: &str) -> String {
    hex::encode(&Sha256::digest(code.as_bytes()))
}

/// A text in the path of a URI, RFC 3986 2.1.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests;
