//! Limits the rate of password guesses, while users with the right password can still log in.
//!
//! Wrong passwords are counted by their source (`place`), by the account, and by both together. After
//! a few of them, logins wait: logins from one source wait for each other, so that many connections
//! do not guess faster than one. The same holds for logins to one account, from any sources.
//! Failures expire over time.
//!
//! A source can be an office with many people, or a machine with a program that has an old
//! password. So an account that has logged in from a source is known there for a day. Its logins
//! from there are checked at once, whatever other logins fail, also those to the same account: the
//! right password succeeds at once, and a wrong one is answered late. Its wrong passwords from
//! there count against an allowance ([`ALLOWANCE`]). Otherwise, any client behind the same address
//! could guess as fast as the server can check.
//! guess as fast as the server can check.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use lock::Mutex;

use crate::ranks;

/// This many failures have no effect, because users mistype.
const FREE: u32 = 5;
/// The delay of the next login. Each further failure doubles it,
const FIRST: Duration = Duration::from_millis(250);
/// up to this for one source,
const MAX_OF_PLACE: Duration = Duration::from_secs(4);
/// and up to this for one account.
const MAX_OF_ACCOUNT: Duration = Duration::from_secs(1);
/// A login that would wait longer than this, because others wait already, is refused without a
/// check.
const MAX_WAIT: Duration = Duration::from_secs(12);
/// One failure expires after each period.
const FORGIVEN: Duration = Duration::from_secs(20);
/// The highest count.
const MAX_FAILURES: u32 = 60;
/// How long an account stays known at a source.
const KNOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// Wrong passwords that an account may have at a source where it is known before its logins there
/// wait like others.
const ALLOWANCE: u32 = 1000;
/// One of the allowance is restored after each period: 8,640 a day.
const ALLOWANCE_BACK: Duration = Duration::from_secs(10);
/// The most sources and accounts whose failures are counted, and the most known accounts at
/// sources.
const MAX_ENTRIES: usize = 8192;

/// Decides when each login is checked. Shared by all protocols.
#[derive(Default)]
pub struct LoginLimiter {
    tables: Mutex<Tables, ranks::LoginAttempts>,
    hasher: RandomState,
}

/// A login that may be checked, after a wait.
#[derive(Debug)]
#[must_use]
pub struct Attempt {
    keys: LimiterKeys,
    /// How long to wait before the password is checked.
    pub wait: Duration,
}

#[derive(Debug, Clone, Copy)]
struct LimiterKeys {
    place: u64,
    account: u64,
    both: u64,
}

#[derive(Default)]
struct Tables {
    /// By source, by account, and by both.
    failures: HashMap<u64, Failures>,
    /// Accounts at sources where they have logged in.
    known: HashMap<u64, LimiterEntry>,
}

/// The failures of one source, of one account, or of one account from one source.
struct Failures {
    count: u32,
    /// The time up to which expiry is taken into account.
    counted: Instant,
    /// The time at which the next login may be checked.
    next: Instant,
}

struct LimiterEntry {
    until: Instant,
    /// Wrong passwords that were counted against the allowance.
    used: u32,
    /// The time up to which the restored ones are taken into account.
    counted: Instant,
}

impl LoginLimiter {
    /// A login of `account` from `place`. `None`: too many logins wait, and this one is to be
    /// refused without a check. That is not a wrong password, and the client must not be told that
    /// it is.
    #[must_use]
    pub fn admit(&self, place: IpAddr, account: &str, now: Instant) -> Option<Attempt> {
        let keys = self.keys(place, account);
        let mut tables = self.tables.lock();
        if tables.is_known(keys, now) {
            return Some(Attempt { keys, wait: Duration::ZERO });
        }
        let of_place = tables.next(keys.place, MAX_OF_PLACE, now);
        let of_account = tables.next(keys.account, MAX_OF_ACCOUNT, now);
        let next = of_place.into_iter().chain(of_account).max().unwrap_or(now);
        let wait = next.saturating_duration_since(now);
        if wait > MAX_WAIT {
            return None;
        }
        for (key, next) in [(keys.place, of_place), (keys.account, of_account)] {
            if let (Some(next), Some(failures)) = (next, tables.failures.get_mut(&key)) {
                failures.next = next;
            }
        }
        Some(Attempt { keys, wait })
    }

    /// The password was wrong. Returns the delay of the answer.
    pub fn failed(&self, attempt: &Attempt, now: Instant) -> Duration {
        let keys = attempt.keys;
        let mut tables = self.tables.lock();
        let is_known = tables.is_known(keys, now);
        let costs = [keys.place, keys.both].map(|key| tables.failures_of(key, now).cost(MAX_OF_PLACE, now));
        // A right password takes back only what this account has added, so that a user with an
        // account cannot clear the failures of others.
        let are_full =
            [keys.place, keys.account].map(|key| tables.failures_of(key, now).count >= MAX_FAILURES);
        for (key, is_full) in [(keys.place, are_full[0]), (keys.account, are_full[1])] {
            tables.failures_of(key, now).count += u32::from(!is_full);
        }
        tables.failures_of(keys.both, now).count += u32::from(are_full == [false, false]);
        if let Some(known) = tables.known.get_mut(&keys.both) {
            known.recover(now);
            known.used = (known.used + 1).min(ALLOWANCE);
        }
        if is_known { costs[0].max(costs[1]) } else { Duration::ZERO }
    }

    /// The password was right: earlier failures of the same account from there were mistakes. Other
    /// failures still count, because any client may have an account.
    pub fn succeeded(&self, attempt: &Attempt, now: Instant) {
        let keys = attempt.keys;
        let mut tables = self.tables.lock();
        let own = tables.failures.remove(&keys.both).map_or(0, |mut own| own.count_at(now));
        for key in [keys.place, keys.account] {
            if let Some(failures) = tables.failures.get_mut(&key) {
                failures.count = failures.count_at(now).saturating_sub(own);
            }
        }
        tables.know(keys.both, now);
    }

    fn keys(&self, place: IpAddr, account: &str) -> LimiterKeys {
        let place = self.hasher.hash_one(network(place));
        let account = self.hasher.hash_one(account.to_lowercase());
        LimiterKeys { place, account, both: self.hasher.hash_one((place, account)) }
    }
}

/// An IPv4 address, or the first 64 bits of an IPv6 address: the network of one household.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    const NETWORK: u128 = !0 << 64;
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
    }
}

impl Tables {
    /// Whether the account is known at the source and has some of its allowance left.
    fn is_known(&mut self, keys: LimiterKeys, now: Instant) -> bool {
        let Some(known) = self.known.get_mut(&keys.both).filter(|known| now < known.until) else {
            return false;
        };
        known.recover(now);
        known.used < ALLOWANCE
    }

    /// When the next login from a source or to an account may be checked; `None`: at once.
    fn next(&mut self, key: u64, max: Duration, now: Instant) -> Option<Instant> {
        let failures = self.failures.get_mut(&key)?;
        let cost = failures.cost(max, now);
        (!cost.is_zero()).then(|| failures.next.max(now) + cost)
    }

    /// The failures of a key, without expired ones.
    fn failures_of(&mut self, key: u64, now: Instant) -> &mut Failures {
        if self.failures.len() >= MAX_ENTRIES && !self.failures.contains_key(&key) {
            self.make_room(now);
        }
        let failures = self.failures.entry(key).or_insert(Failures { count: 0, counted: now, next: now });
        failures.count_at(now);
        failures
    }

    /// Removes entries without effect, otherwise the entry with the fewest and oldest failures.
    fn make_room(&mut self, now: Instant) {
        self.failures.retain(|_, failures| failures.count_at(now) > 0);
        if self.failures.len() >= MAX_ENTRIES {
            let least = self.failures.iter().min_by_key(|(_, entry)| (entry.count, entry.counted));
            let least = least.map(|(key, _)| *key);
            least.map(|key| self.failures.remove(&key));
        }
    }

    /// From now on, an account is known at a source. The used part of its allowance stays used: its
    /// owner's logins must not give other clients new guesses.
    fn know(&mut self, key: u64, now: Instant) {
        if self.known.len() >= MAX_ENTRIES && !self.known.contains_key(&key) {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.until).map(|(key, _)| *key);
            oldest.map(|key| self.known.remove(&key));
        }
        let new = LimiterEntry { until: now, used: 0, counted: now };
        self.known.entry(key).or_insert(new).until = now + KNOWN;
    }
}

impl Failures {
    /// The current count.
    fn count_at(&mut self, now: Instant) -> u32 {
        recover(&mut self.count, &mut self.counted, FORGIVEN, now);
        self.count
    }

    /// The delay.
    fn cost(&mut self, max: Duration, now: Instant) -> Duration {
        match self.count_at(now).checked_sub(FREE) {
            None => Duration::ZERO,
            Some(beyond) => FIRST.saturating_mul(1 << beyond.min(16)).min(max),
        }
    }
}

impl LimiterEntry {
    fn recover(&mut self, now: Instant) {
        recover(&mut self.used, &mut self.counted, ALLOWANCE_BACK, now);
    }
}

/// Takes one off a count for each period `each`.
fn recover(count: &mut u32, counted: &mut Instant, each: Duration, now: Instant) {
    let since = now.saturating_duration_since(*counted);
    let times = u32::try_from(since.as_secs() / each.as_secs()).unwrap_or(u32::MAX);
    if times >= *count {
        (*count, *counted) = (0, now);
    } else {
        *count -= times;
        *counted += each * times;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
    const SECOND: Duration = Duration::from_secs(1);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// Logins at one time, each checked at once.
    impl LoginLimiter {
        fn wait(&self, place: IpAddr, account: &str, now: Instant) -> Option<Duration> {
            self.admit(place, account, now).map(|attempt| attempt.wait)
        }

        fn attempt(&self, place: IpAddr, account: &str) -> Attempt {
            Attempt { keys: self.keys(place, account), wait: Duration::ZERO }
        }

        fn fail(&self, times: u32, place: IpAddr, account: &str, now: Instant) -> Duration {
            (0..times).map(|_| self.failed(&self.attempt(place, account), now)).last().unwrap_or_default()
        }

        fn succeed(&self, place: IpAddr, account: &str, now: Instant) {
            self.succeeded(&self.attempt(place, account), now);
        }
    }

    fn after(failures: u32, now: Instant) -> LoginLimiter {
        let limiter = LoginLimiter::default();
        limiter.fail(failures, HERE, "ada", now);
        limiter
    }

    #[test]
    fn a_few_failures_cost_nothing_and_each_further_one_twice_as_much() {
        let now = Instant::now();
        assert_eq!(after(4, now).wait(HERE, "ada", now), Some(Duration::ZERO));
        assert_eq!(after(5, now).wait(HERE, "ada", now), Some(SECOND / 4));
        assert_eq!(after(6, now).wait(HERE, "ada", now), Some(SECOND / 2));
        assert_eq!(after(7, now).wait(HERE, "ada", now), Some(SECOND));
        assert_eq!(after(60, now).wait(HERE, "ada", now), Some(4 * SECOND));
    }

    #[test]
    fn many_connections_of_one_place_guess_no_faster_than_one() {
        let now = Instant::now();
        let limiter = after(60, now);
        let names = ["ada", "grace", "linus", "mary"];
        let waits: Vec<_> = names.iter().map(|name| limiter.wait(HERE, name, now)).collect();
        assert_eq!(waits, [Some(4 * SECOND), Some(8 * SECOND), Some(12 * SECOND), None]);
        assert_eq!(limiter.wait(HERE, "ada", now + 4 * SECOND), Some(12 * SECOND));
    }

    #[test]
    fn many_places_together_guess_at_one_account_once_a_second() {
        let now = Instant::now();
        let limiter = LoginLimiter::default();
        let place = |n: u32| IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0a00_0000 + n));
        for n in 0..60 {
            limiter.fail(1, place(n), "ada", now);
        }
        let waits: Vec<_> = (100..114).map(|n| limiter.wait(place(n), "ada", now)).collect();
        let expected: Vec<_> = (1..=12).map(|n| Some(n * SECOND)).chain([None, None]).collect();
        assert_eq!(waits, expected);
        assert_eq!(limiter.wait(place(100), "grace", now), Some(Duration::ZERO));
    }

    #[test]
    fn the_owner_of_an_account_can_log_in_from_elsewhere() {
        let now = Instant::now();
        let limiter = after(1000, now);
        assert_eq!(limiter.wait(THERE, "Ada", now), Some(SECOND));
        assert_eq!(limiter.wait(THERE, "grace", now), Some(Duration::ZERO));
        limiter.succeed(THERE, "ada", now);
        assert_eq!(limiter.wait(THERE, "ada", now), Some(Duration::ZERO));
        assert_eq!(limiter.wait(HERE, "grace", now), Some(4 * SECOND));
    }

    #[test]
    fn an_account_that_is_known_at_a_place_does_not_wait_for_what_others_do_there() {
        let now = Instant::now();
        let limiter = after(1000, now);
        limiter.succeed(HERE, "grace", now);
        for _ in 0..10 {
            assert_eq!(limiter.wait(HERE, "grace", now), Some(Duration::ZERO));
        }
        assert_eq!(limiter.wait(HERE, "linus", now), Some(4 * SECOND));
        let next_day = now + DAY;
        limiter.fail(60, HERE, "ada", next_day);
        assert_eq!(limiter.wait(HERE, "grace", next_day), Some(4 * SECOND));
    }

    #[test]
    fn wrong_passwords_for_a_known_account_are_answered_late_and_right_ones_at_once() {
        let now = Instant::now();
        let limiter = LoginLimiter::default();
        limiter.succeed(HERE, "ada", now);
        let late: Vec<_> = (0..11).map(|_| limiter.fail(1, HERE, "ada", now)).collect();
        let zero = [Duration::ZERO; 5];
        let doubling = [SECOND / 4, SECOND / 2, SECOND, 2 * SECOND, 4 * SECOND, 4 * SECOND];
        assert_eq!(late, [&zero[..], &doubling].concat());
        limiter.fail(500, HERE, "ada", now);
        assert_eq!(limiter.wait(HERE, "ada", now), Some(Duration::ZERO));
        assert_eq!(limiter.wait(HERE, "linus", now), Some(4 * SECOND));
    }

    #[test]
    fn the_allowance_of_a_known_account_is_limited_and_its_owners_logins_do_not_renew_it() {
        let now = Instant::now();
        let limiter = LoginLimiter::default();
        limiter.succeed(HERE, "ada", now);
        limiter.fail(999, HERE, "ada", now);
        limiter.succeed(HERE, "ada", now);
        assert_eq!(limiter.wait(HERE, "ada", now), Some(Duration::ZERO));
        limiter.fail(1, HERE, "ada", now);
        limiter.fail(60, HERE, "linus", now);
        assert!(limiter.wait(HERE, "ada", now) > Some(Duration::ZERO));
        assert_eq!(limiter.wait(HERE, "ada", now + 10 * SECOND), Some(Duration::ZERO));
    }

    #[test]
    fn mistyping_and_then_getting_it_right_is_not_guessing_but_what_others_did_is() {
        let now = Instant::now();
        let limiter = after(4, now);
        limiter.fail(20, HERE, "grace", now);
        limiter.succeed(HERE, "grace", now);
        assert_eq!(limiter.wait(HERE, "linus", now), Some(Duration::ZERO));
        limiter.fail(1, HERE, "ada", now);
        assert_eq!(limiter.wait(HERE, "linus", now), Some(SECOND / 4));
    }

    #[test]
    fn somebody_with_an_account_cannot_clear_what_was_guessed_at_others() {
        let now = Instant::now();
        let limiter = after(60, now);
        limiter.fail(100, HERE, "mallory", now);
        limiter.succeed(HERE, "mallory", now);
        assert_eq!(limiter.wait(HERE, "linus", now), Some(4 * SECOND));
    }

    #[test]
    fn a_login_from_another_host_does_not_reset_the_delay_of_a_guessing_host() {
        let now = Instant::now();
        let limiter = after(60, now);
        limiter.succeed(THERE, "ada", now);
        let third = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 3));
        assert_eq!(limiter.wait(third, "ada", now), Some(SECOND));
    }

    #[test]
    fn time_makes_up_for_failures() {
        let now = Instant::now();
        let limiter = after(8, now);
        assert_eq!(limiter.wait(HERE, "ada", now + 20 * SECOND), Some(SECOND));
        assert_eq!(limiter.wait(HERE, "ada", now + 79 * SECOND), Some(SECOND / 4));
        assert_eq!(limiter.wait(HERE, "ada", now + 80 * SECOND), Some(Duration::ZERO));
        let later = now + Duration::from_secs(20 * 60);
        assert_eq!(after(100_000, now).wait(HERE, "ada", later), Some(Duration::ZERO));
    }

    #[test]
    fn the_tables_are_bounded_and_invented_names_displace_no_entry() {
        let now = Instant::now();
        let limiter = after(60, now);
        limiter.succeed(HERE, "grace", now);
        for n in 0..2_900_u128 {
            let place = IpAddr::V6(Ipv6Addr::from_bits(n << 64));
            limiter.fail(1, place, &format!("nobody{n}"), now);
        }
        assert_eq!(limiter.tables.lock().failures.len(), MAX_ENTRIES);
        assert_eq!(limiter.wait(HERE, "ada", now), Some(4 * SECOND));
        assert_eq!(limiter.wait(HERE, "grace", now), Some(Duration::ZERO));
        for n in 0..9000 {
            limiter.succeed(THERE, &format!("somebody{n}"), now + SECOND);
        }
        assert_eq!(limiter.tables.lock().known.len(), MAX_ENTRIES);
    }

    #[test]
    fn the_addresses_of_one_network_are_one_place() {
        let now = Instant::now();
        let limiter = LoginLimiter::default();
        for n in 0..6 {
            limiter.fail(1, IpAddr::V6(Ipv6Addr::from_bits(5 << 64 | n)), &format!("{n}"), now);
        }
        let wait = |n: u128| limiter.wait(IpAddr::V6(Ipv6Addr::from_bits(n)), "ada", now);
        assert_eq!((wait(5 << 64 | 99), wait(6 << 64)), (Some(SECOND / 2), Some(Duration::ZERO)));
    }
}
