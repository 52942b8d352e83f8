//! Slows down who guesses passwords.
//!
//! Failures are counted by where they come from and by the account they are about. After a few of them each further
//! login is answered late: those from one place one after another, so that many connections guess no faster than one;
//! those of one account by a few seconds at most, as its owner may be among them. Time makes up for failures.
//!
//! A place can be an office with many people, and one of them a program with an old password. So who has logged in from
//! there does not wait for what others do; and who has mistyped and then got it right has not guessed.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use lock::{Mutex, rank};

/// So many failures cost nothing: people mistype.
const FREE: u32 = 5;
/// What the next one costs. Each further costs twice as much as the one before it,
const FIRST: Duration = Duration::from_millis(250);
/// up to this from one place,
const MOST_OF_PLACE: Duration = Duration::from_secs(4);
/// and up to this for one account.
const MOST_OF_ACCOUNT: Duration = Duration::from_secs(2);
/// Whoever would have to wait longer than this, because others of the same place wait already, is refused unheard.
const MOST_WAIT: Duration = Duration::from_secs(12);
/// One failure is forgotten after each of these.
const FORGIVEN: Duration = Duration::from_secs(20);
/// No more are counted.
const MOST_FAILURES: u32 = 60;
/// So long somebody who has logged in from a place is known there.
const KNOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// The most places, accounts, and accounts at places that are remembered.
const MAX_ENTRIES: usize = 8192;

/// The failures of late.
#[derive(Default)]
pub struct Guesses {
    table: Mutex<HashMap<u64, Entry>, rank::LoginAttempts>,
    hasher: RandomState,
}

/// Those of one place, of one account, or of one account from one place.
struct Entry {
    failures: u32,
    /// The time until which they are right.
    counted: Instant,
    /// When the next login of a place may be answered.
    turn: Instant,
    /// Of an account at a place: it has logged in there, and not failed since.
    known_until: Option<Instant>,
}

impl Guesses {
    /// How long to wait before a login is looked at. `None`: it is to be refused without.
    #[must_use]
    pub fn wait(&self, place: IpAddr, account: &str, now: Instant) -> Option<Duration> {
        let [place, account, both] = self.keys(place, account);
        let mut table = self.table.lock();
        if table.get(&both).is_some_and(|entry| entry.is_known(now)) {
            return Some(Duration::ZERO);
        }
        let of_account =
            table.get_mut(&account).map_or(Duration::ZERO, |entry| entry.cost(now, MOST_OF_ACCOUNT));
        let Some(entry) = table.get_mut(&place) else { return Some(of_account) };
        let cost = entry.cost(now, MOST_OF_PLACE);
        if cost.is_zero() {
            return Some(of_account);
        }
        let turn = entry.turn.max(now) + cost;
        let wait = turn - now;
        if wait > MOST_WAIT {
            return None;
        }
        entry.turn = turn;
        Some(wait.max(of_account))
    }

    /// A login was refused.
    pub fn failed(&self, place: IpAddr, account: &str, now: Instant) {
        for key in self.keys(place, account) {
            let mut table = self.table.lock();
            let entry = entry(&mut table, key, now);
            entry.failures = (entry.failures + 1).min(MOST_FAILURES);
            entry.known_until = None;
        }
    }

    /// A login went well: what failed before it was the same person. What others did from there stays counted, as
    /// anybody may have an account.
    pub fn succeeded(&self, place: IpAddr, account: &str, now: Instant) {
        let [place, account, both] = self.keys(place, account);
        let mut table = self.table.lock();
        table.remove(&account);
        let own = entry(&mut table, both, now);
        own.known_until = Some(now + KNOWN);
        let failures = std::mem::take(&mut own.failures);
        if let Some(place) = table.get_mut(&place) {
            place.failures = place.failures.saturating_sub(failures);
        }
    }

    /// What is counted: of the place, of the account, of both together.
    fn keys(&self, place: IpAddr, account: &str) -> [u64; 3] {
        let (place, account) = (self.place(place), self.account(account));
        [place, account, self.hasher.hash_one((place, account))]
    }

    /// An address, or the network that one household has.
    fn place(&self, address: IpAddr) -> u64 {
        const NETWORK: u128 = !0 << 64;
        let place = match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
        };
        self.hasher.hash_one(place)
    }

    fn account(&self, name: &str) -> u64 {
        self.hasher.hash_one(name.to_lowercase())
    }
}

/// The entry of a key, with what time has forgiven.
fn entry(table: &mut HashMap<u64, Entry>, key: u64, now: Instant) -> &mut Entry {
    if table.len() >= MAX_ENTRIES && !table.contains_key(&key) {
        make_room(table, now);
    }
    let new = Entry { failures: 0, counted: now, turn: now, known_until: None };
    let entry = table.entry(key).or_insert(new);
    entry.forgive(now);
    entry
}

impl Entry {
    fn is_known(&self, now: Instant) -> bool {
        self.known_until.is_some_and(|until| now < until)
    }

    fn forgive(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.counted);
        let forgiven = (since.as_secs() / FORGIVEN.as_secs()) as u32;
        self.failures = self.failures.saturating_sub(forgiven);
        self.counted += FORGIVEN * forgiven;
        if self.failures == 0 {
            self.counted = now;
        }
    }

    fn cost(&mut self, now: Instant, most: Duration) -> Duration {
        self.forgive(now);
        match self.failures.checked_sub(FREE) {
            None => Duration::ZERO,
            Some(beyond) => FIRST.saturating_mul(1 << beyond.min(16)).min(most),
        }
    }
}

/// Drops those that say nothing any more, else whoever has failed least and longest ago.
fn make_room(table: &mut HashMap<u64, Entry>, now: Instant) {
    table.values_mut().for_each(|entry| entry.forgive(now));
    table.retain(|_, entry| entry.failures > 0 || entry.is_known(now));
    if table.len() >= MAX_ENTRIES {
        let least = table.iter().min_by_key(|(_, entry)| (entry.failures, entry.counted));
        let least = least.map(|(key, _)| *key);
        least.map(|key| table.remove(&key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
    const SECOND: Duration = Duration::from_secs(1);

    fn after(failures: u32, now: Instant) -> Guesses {
        let guesses = Guesses::default();
        (0..failures).for_each(|_| guesses.failed(HERE, "ada", now));
        guesses
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
        let guesses = after(60, now);
        let names = ["ada", "grace", "linus", "mary"];
        let waits: Vec<_> = names.iter().map(|name| guesses.wait(HERE, name, now)).collect();
        assert_eq!(waits, [Some(4 * SECOND), Some(8 * SECOND), Some(12 * SECOND), None]);
        assert_eq!(guesses.wait(HERE, "ada", now + 4 * SECOND), Some(12 * SECOND));
    }

    #[test]
    fn the_owner_of_an_account_can_log_in_from_elsewhere() {
        let now = Instant::now();
        let guesses = after(1000, now);
        for _ in 0..100 {
            assert_eq!(guesses.wait(THERE, "Ada", now), Some(2 * SECOND));
        }
        assert_eq!(guesses.wait(THERE, "grace", now), Some(Duration::ZERO));
        guesses.succeeded(THERE, "ada", now);
        assert_eq!(guesses.wait(THERE, "ada", now), Some(Duration::ZERO));
        assert_eq!(guesses.wait(HERE, "grace", now), Some(4 * SECOND));
    }

    #[test]
    fn who_is_known_at_a_place_does_not_wait_for_what_others_do_there() {
        let now = Instant::now();
        let guesses = after(1000, now);
        guesses.succeeded(HERE, "grace", now);
        for _ in 0..10 {
            assert_eq!(guesses.wait(HERE, "grace", now), Some(Duration::ZERO));
        }
        assert_eq!(guesses.wait(HERE, "linus", now), Some(4 * SECOND));
        let next_day = now + Duration::from_secs(24 * 60 * 60);
        (0..60).for_each(|_| guesses.failed(HERE, "ada", next_day));
        assert_eq!(guesses.wait(HERE, "grace", next_day), Some(4 * SECOND));
    }

    #[test]
    fn who_is_known_and_fails_is_known_no_more() {
        let now = Instant::now();
        let guesses = after(1000, now);
        guesses.succeeded(HERE, "grace", now);
        guesses.failed(HERE, "grace", now);
        assert_eq!(guesses.wait(HERE, "grace", now), Some(4 * SECOND));
    }

    #[test]
    fn who_mistypes_and_then_gets_it_right_has_not_guessed_but_others_have() {
        let now = Instant::now();
        let guesses = after(4, now);
        (0..20).for_each(|_| guesses.failed(HERE, "grace", now));
        guesses.succeeded(HERE, "grace", now);
        assert_eq!(guesses.wait(HERE, "linus", now), Some(Duration::ZERO));
        guesses.failed(HERE, "ada", now);
        assert_eq!(guesses.wait(HERE, "linus", now), Some(SECOND / 4));
    }

    #[test]
    fn time_makes_up_for_failures() {
        let now = Instant::now();
        let guesses = after(8, now);
        assert_eq!(guesses.wait(HERE, "ada", now + 20 * SECOND), Some(SECOND));
        assert_eq!(guesses.wait(HERE, "ada", now + 79 * SECOND), Some(SECOND / 4));
        assert_eq!(guesses.wait(HERE, "ada", now + 80 * SECOND), Some(Duration::ZERO));
        let later = now + Duration::from_secs(20 * 60);
        assert_eq!(after(100_000, now).wait(HERE, "ada", later), Some(Duration::ZERO));
    }

    #[test]
    fn the_table_is_bounded_and_keeps_who_failed_most() {
        let now = Instant::now();
        let guesses = after(60, now);
        for n in 0..2_900_u128 {
            let place = IpAddr::V6(Ipv6Addr::from_bits(n << 64));
            guesses.failed(place, &format!("nobody{n}"), now);
        }
        assert_eq!(guesses.table.lock().len(), MAX_ENTRIES);
        assert_eq!(guesses.wait(HERE, "ada", now), Some(4 * SECOND));
    }

    #[test]
    fn the_addresses_of_one_network_are_one_place() {
        let now = Instant::now();
        let guesses = Guesses::default();
        for n in 0..6 {
            guesses.failed(IpAddr::V6(Ipv6Addr::from_bits(5 << 64 | n)), &format!("{n}"), now);
        }
        let wait = |n: u128| guesses.wait(IpAddr::V6(Ipv6Addr::from_bits(n)), "ada", now);
        assert_eq!((wait(5 << 64 | 99), wait(6 << 64)), (Some(SECOND / 2), Some(Duration::ZERO)));
    }
}
