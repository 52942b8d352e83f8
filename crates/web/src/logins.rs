//! Sessions of people who have logged in to the console.
//!
//! A browser has the secret of its session in a cookie; the server has the secret's hash, in memory only. A session ends by
//! a logout, by its age, without requests, when its account changes, or when the server stops.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use auth::{Account, LoginRecord};
use lock::Mutex;
use sha2::{Digest, Sha256};
use wire::hex;

use crate::ranks;
use crate::sign_ins::SessionInfo;

/// The most sessions. A further one ends the session that was used least recently.
const MOST_SESSIONS: usize = 64;
/// The most sessions of one account.
const MOST_OF_ACCOUNT: usize = 16;
/// The longest life of a session.
pub(crate) const LONGEST_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// A session without requests ends after this.
const LONGEST_IDLE: Duration = Duration::from_secs(60 * 60);
/// Random bytes of a secret.
const BYTES: usize = 32;

/// The sessions of a server.
#[derive(Default)]
pub(crate) struct Logins {
    sessions: Mutex<Vec<Session>, ranks::ApiLogins>,
    /// The number of the newest session.
    last: AtomicU64,
}

/// A login to the console: from where and how, and its record in the log.
pub(crate) struct ConsoleLogin {
    from: IpAddr,
    method: &'static str,
    record: LoginRecord,
}

struct Session {
    number: u64,
    hash: [u8; 32],
    from: IpAddr,
    method: &'static str,
    /// As it was at the login.
    account: Account,
    since: Instant,
    used: Instant,
    /// The account gets another password by this very session.
    changes_password: bool,
    /// Logs the end of the session.
    _record: LoginRecord,
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= LONGEST_LIFE
            || now.saturating_duration_since(self.used) >= LONGEST_IDLE
    }
}

/// A session that changes its own password, until this is dropped.
struct PasswordChange<'a> {
    logins: &'a Logins,
    hash: [u8; 32],
}

impl PasswordChange<'_> {
    fn set(&self, change: impl FnOnce(&mut Session)) {
        let mut sessions = self.logins.sessions.lock();
        if let Some(session) = sessions.iter_mut().find(|session| session.hash == self.hash) {
            change(session);
        }
    }
}

impl Drop for PasswordChange<'_> {
    fn drop(&mut self) {
        self.set(|session| session.changes_password = false);
    }
}

impl Logins {
    /// Begins a session and returns its secret. `None`: the system gives no random numbers.
    pub(crate) fn begin(&self, account: Account, login: ConsoleLogin, now: Instant) -> Option<String> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).ok()?;
        let secret = hex::encode(&bytes);
        let mut ended = Vec::new(); // dropped, and logged, after the lock
        {
            let mut sessions = self.sessions.lock();
            ended.extend(sessions.extract_if(.., |session| session.is_over(now)));
            let own = sessions.iter().filter(|session| session.account.name == account.name).count();
            if own >= MOST_OF_ACCOUNT {
                ended.extend(oldest(&mut sessions, |session| session.account.name == account.name));
            } else if sessions.len() >= MOST_SESSIONS {
                ended.extend(oldest(&mut sessions, |_| true));
            }
            let hash = hash(&secret);
            let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
            let ConsoleLogin { from, method, record } = login;
            sessions.push(Session {
                number,
                hash,
                from,
                method,
                account,
                since: now,
                used: now,
                changes_password: false,
                _record: record,
            });
        }
        Some(secret)
    }

    /// The account of a session, if the session goes on, at a request. `administrator` finds the account as it is now.
    pub(crate) fn find(
        &self,
        secret: &str,
        administrator: impl FnOnce(&str) -> Option<Account>,
        now: Instant,
    ) -> Option<String> {
        self.look(secret, administrator, (now, true))
    }

    /// Whether a session goes on, without a request: its time without requests goes on, too.
    pub(crate) fn goes_on(
        &self,
        secret: &str,
        administrator: impl FnOnce(&str) -> Option<Account>,
        now: Instant,
    ) -> bool {
        self.look(secret, administrator, (now, false)).is_some()
    }

    fn look(
        &self,
        secret: &str,
        administrator: impl FnOnce(&str) -> Option<Account>,
        (now, is_request): (Instant, bool),
    ) -> Option<String> {
        let before = {
            let mut sessions = self.sessions.lock();
            let wanted = hash(secret);
            let session = sessions.iter_mut().find(|session| session.hash == wanted)?;
            if is_request && !session.is_over(now) {
                session.used = now;
            }
            (!session.is_over(now)).then(|| (session.account.clone(), session.changes_password))
        };
        let goes_on = before.filter(|(before, changes)| {
            administrator(&before.name).is_some_and(|now| *changes || now.has_same_password(before))
        });
        if goes_on.is_none() {
            self.end(secret);
        }
        goes_on.map(|(account, _)| account.name)
    }

    /// Executes a change of a session's own password, over which the session goes on. Other sessions of the account end by it.
    /// `administrator` finds the account afterwards.
    pub(crate) fn over_a_change<T>(
        &self,
        secret: &str,
        change: impl FnOnce() -> T,
        administrator: impl FnOnce() -> Option<Account>,
    ) -> T {
        let changing = PasswordChange { logins: self, hash: hash(secret) };
        changing.set(|session| session.changes_password = true);
        let result = change();
        if let Some(now) = administrator() {
            changing.set(|session| session.account = now);
        }
        result
    }

    /// The sessions, the newest first. `own`: the secret of the session that asks.
    pub(crate) fn list(&self, own: Option<&str>, now: Instant) -> Vec<SessionInfo> {
        let own = own.map(hash);
        let seconds = |since: Instant| now.saturating_duration_since(since).as_secs();
        let info = |session: &Session| SessionInfo {
            number: session.number,
            account: session.account.name.clone(),
            from: session.from.to_canonical().to_string(),
            method: session.method,
            since_s: seconds(session.since),
            idle_s: seconds(session.used),
            is_this: own == Some(session.hash),
        };
        let sessions = self.sessions.lock();
        sessions.iter().rev().filter(|session| !session.is_over(now)).map(info).collect()
    }

    /// Ends the session with this number. Returns its account; `None` if no session has the number.
    pub(crate) fn end_numbered(&self, number: u64) -> Option<String> {
        let ended: Vec<Session> =
            self.sessions.lock().extract_if(.., |session| session.number == number).collect();
        ended.first().map(|session| session.account.name.clone())
    }

    /// Ends the sessions of an account but the one with this secret.
    pub(crate) fn end_others(&self, account: &str, own: &str) {
        let own = hash(own);
        let is_other = |session: &mut Session| session.account.name == account && session.hash != own;
        let ended: Vec<Session> = self.sessions.lock().extract_if(.., is_other).collect();
        drop(ended);
    }

    /// Ends a session.
    pub(crate) fn end(&self, secret: &str) {
        let wanted = hash(secret);
        let ended: Vec<Session> =
            self.sessions.lock().extract_if(.., |session| session.hash == wanted).collect();
        drop(ended);
    }
}

fn oldest(sessions: &mut Vec<Session>, is_meant: impl Fn(&Session) -> bool) -> Option<Session> {
    let (at, _) =
        sessions.iter().enumerate().filter(|(_, one)| is_meant(one)).min_by_key(|(_, one)| one.used)?;
    Some(sessions.remove(at))
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The log's record of a login to the console.
pub(crate) fn record(
    logins: &Arc<auth::LoginGuard>,
    peer: SocketAddr,
    (user, method): (&str, &'static str),
    now: Instant,
) -> ConsoleLogin {
    let login = auth::Login { protocol: "api", peer, user, method };
    let record = LoginRecord::begin(logins, &login, "console", now);
    ConsoleLogin { from: peer.ip(), method, record }
}

#[cfg(test)]
mod tests {
    use auth::{Identity, LoginGuard, Secret, nt_hash};

    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn account(name: &str, password: &str) -> Account {
        let secrets = vec![Secret::Nt(nt_hash(password))];
        Account { name: name.into(), identity: Identity::anonymous(), disabled: false, secrets }
    }

    fn begin(logins: &Logins, name: &str, now: Instant) -> String {
        let peer = "192.0.2.1:700".parse().unwrap();
        let record = record(&Arc::new(LoginGuard::default()), peer, (name, "password"), now);
        logins.begin(account(name, "one"), record, now).unwrap()
    }

    fn same(name: &str) -> Option<Account> {
        Some(account(name, "one"))
    }

    #[test]
    fn a_session_lasts_until_its_logout_its_age_or_an_hour_without_requests() {
        let (logins, now) = (Logins::default(), Instant::now());
        let (one, other) = (begin(&logins, "ada", now), begin(&logins, "ada", now));
        assert_eq!(logins.find(&one, same, now).as_deref(), Some("ada"));
        assert_eq!(logins.find(&one[1..], same, now), None);
        logins.end(&one);
        assert_eq!(logins.find(&one, same, now), None);
        for hours in 0..24 {
            assert!(logins.find(&other, same, now + HOUR / 2 * hours).is_some(), "{hours}");
        }
        assert_eq!(logins.find(&other, same, now + 12 * HOUR), None);
        let idle = begin(&logins, "ada", now);
        assert_eq!(logins.find(&idle, same, now + HOUR), None);
    }

    #[test]
    fn sessions_are_listed_and_one_of_them_is_ended_by_its_number() {
        let (logins, now) = (Logins::default(), Instant::now());
        let (mine, other) = (begin(&logins, "ada", now), begin(&logins, "grace", now));
        let list = logins.list(Some(&mine), now + Duration::from_secs(5));
        let seen: Vec<_> = list.iter().map(|one| (&*one.account, one.is_this, one.idle_s)).collect();
        assert_eq!(seen, [("grace", false, 5), ("ada", true, 5)]);
        assert_eq!((&*list[0].from, list[0].method), ("192.0.2.1", "password"));
        assert_eq!(logins.end_numbered(list[0].number).as_deref(), Some("grace"));
        assert_eq!(logins.end_numbered(list[0].number), None);
        assert_eq!(logins.find(&other, same, now), None);
        assert!(logins.find(&mine, same, now).is_some());
        assert!(logins.list(None, now + 13 * HOUR).is_empty(), "those that are over are not shown");
    }

    #[test]
    fn a_listener_does_not_prolong_its_session() {
        let (logins, now) = (Logins::default(), Instant::now());
        let listening = begin(&logins, "ada", now);
        assert!(logins.goes_on(&listening, same, now + HOUR / 2));
        assert!(!logins.goes_on(&listening, same, now + HOUR));
        assert_eq!(logins.find(&listening, same, now + HOUR / 2), None, "it has ended");
        assert!(!logins.goes_on("0", same, now));
    }

    #[test]
    fn a_session_ends_with_its_account_or_another_password() {
        let (logins, now) = (Logins::default(), Instant::now());
        let one = begin(&logins, "ada", now);
        assert_eq!(logins.find(&one, |_| Some(account("ada", "two")), now), None);
        assert_eq!(logins.find(&one, same, now), None, "it does not come back");
        let other = begin(&logins, "ada", now);
        assert_eq!(logins.find(&other, |_| None, now), None);
    }

    #[test]
    fn a_session_goes_on_over_its_own_change_of_the_password() {
        let (logins, now) = (Logins::default(), Instant::now());
        let (mine, other) = (begin(&logins, "ada", now), begin(&logins, "ada", now));
        let two = || Some(account("ada", "two"));
        let meanwhile = || logins.find(&mine, |_| two(), now);
        assert_eq!(logins.over_a_change(&mine, meanwhile, two).as_deref(), Some("ada"));
        assert!(logins.find(&mine, |_| two(), now).is_some());
        assert_eq!(logins.find(&other, |_| two(), now), None);
        assert_eq!(logins.find(&mine, |_| Some(account("ada", "three")), now), None, "it is no longer so");
        let refused = begin(&logins, "ada", now);
        logins.over_a_change(&refused, || (), || None);
        assert_eq!(logins.find(&refused, |_| two(), now), None);
    }

    #[test]
    fn further_sessions_end_those_that_were_used_least_recently() {
        let (logins, now) = (Logins::default(), Instant::now());
        let mine = begin(&logins, "grace", now);
        let first = begin(&logins, "ada", now + Duration::from_secs(1));
        for _ in 0..MOST_OF_ACCOUNT {
            begin(&logins, "ada", now + Duration::from_secs(2));
        }
        assert_eq!(logins.find(&first, same, now), None);
        assert!(logins.find(&mine, same, now + Duration::from_secs(3)).is_some(), "others keep theirs");
        for number in 0..2 * MOST_SESSIONS {
            begin(&logins, &format!("user{number}"), now + Duration::from_secs(4));
        }
        assert_eq!(logins.sessions.lock().len(), MOST_SESSIONS);
        assert_eq!(logins.find(&mine, same, now), None);
    }
}
