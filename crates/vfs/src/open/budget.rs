//! How many files clients may have open at once. Each open takes descriptors of the process, of which the host gives a limited
//! number, and connections need some, too. No client takes all: one may have as many open as are free for its kind. An open that
//! only reads counts half: the descriptor of its data is one of the cache's, which closes those that were not used lately.
//!
//! ```text
//! limit ─┬─ half at most: guests, who have not proven who they are. One of them: as many as guests have left
//!        └─ the rest, and what guests leave: users. One of them: as many as are left
//! ```
//!
//! So the first greedy guest gets a half of the guests' part, a second one half of what is left then, and so on.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;

use crate::ranks;
use crate::{Error, Result};

/// What an open counts: one that keeps the descriptor of its data, such as one that writes.
const WHOLE: usize = 2;
/// One that gives up the descriptor of its data when others need it.
const HALF: usize = 1;
/// Guests may have one part in this many of the limit.
const GUESTS_PART: usize = 2;
/// A client that has so many or fewer open is not the one who takes too many, as long as its kind has room.
const FEW: usize = 16;
/// The log says at most so often that a client has reached its part.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// Whose opens are counted together: a client, by its address and its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder {
    /// An address of IPv4, or a network of IPv6.
    place: IpAddr,
    /// The uid of a user who has proven who it is.
    user: Option<u32>,
}

impl Holder {
    /// A client without a login, whatever name or uid it sends.
    #[must_use]
    pub fn guest(address: IpAddr) -> Self {
        Self { place: auth::network(address), user: None }
    }

    /// A user who has logged in.
    #[must_use]
    pub fn user(address: IpAddr, uid: u32) -> Self {
        Self { place: auth::network(address), user: Some(uid) }
    }
}

/// The opens of all clients, within a limit.
pub(crate) struct OpenBudget {
    limit: AtomicUsize,
    counts: Mutex<Counts, ranks::OpenBudget>,
}

/// In halves of an open.
#[derive(Default)]
struct Counts {
    all: usize,
    guests: usize,
    /// Those with at least one.
    holders: HashMap<Holder, usize>,
    refused: u64,
    said: Option<Instant>,
}

/// How much of the budget is in use. Two opens that only read count as one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenCounts {
    /// All opens.
    pub all: usize,
    /// The most of them.
    pub limit: usize,
    /// Those of clients without a login.
    pub guests: usize,
    /// The most of these.
    pub guests_limit: usize,
    /// Opens that were refused since the start.
    pub refused: u64,
}

impl Default for OpenBudget {
    /// Without a limit.
    fn default() -> Self {
        Self { limit: AtomicUsize::new(usize::MAX), counts: Mutex::default() }
    }
}

impl OpenBudget {
    /// From now on, at most so many. Opens beyond it stay.
    pub(crate) fn limit_to(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> OpenCounts {
        let (limit, counts) = (self.limit.load(Ordering::Relaxed), self.counts.lock());
        let Counts { all, guests, refused, .. } = *counts;
        let (all, guests) = (all.div_ceil(WHOLE), guests.div_ceil(WHOLE));
        OpenCounts { all, limit, guests, guests_limit: limit / GUESTS_PART, refused }
    }

    /// One more open; `TooMany` if the holder's part is used up. The server's own opens (`None`) are counted and never refused.
    pub(crate) fn take(self: &Arc<Self>, holder: Option<Holder>) -> Result<OpenPermit> {
        self.take_part(holder, WHOLE)
    }

    /// One more open that gives up the descriptor of its data when others need it.
    pub(crate) fn take_half(self: &Arc<Self>, holder: Option<Holder>) -> Result<OpenPermit> {
        self.take_part(holder, HALF)
    }

    fn take_part(self: &Arc<Self>, holder: Option<Holder>, part: usize) -> Result<OpenPermit> {
        self.count(holder, part)?;
        Ok(OpenPermit { budget: self.clone(), holder, part: part.into() })
    }

    fn count(&self, holder: Option<Holder>, part: usize) -> Result<()> {
        let mut counts = self.counts.lock();
        if let Some(holder) = holder
            && !counts.have_room(holder, self.limit.load(Ordering::Relaxed), part)
        {
            counts.refused += 1;
            let now = Instant::now();
            let says = counts.said.is_none_or(|said| now.duration_since(said) >= SAY_EVERY);
            let (own, all) = (counts.of(holder).div_ceil(WHOLE), counts.all.div_ceil(WHOLE));
            if says {
                counts.said = Some(now);
            }
            drop(counts);
            if says {
                say(holder, own, all, self.limit.load(Ordering::Relaxed));
            }
            return Err(Error::TooMany);
        }
        counts.add(holder, part);
        Ok(())
    }
}

fn say(holder: Holder, own: usize, all: usize, limit: usize) {
    let (address, who) =
        (holder.place, if holder.user.is_some() { "a user" } else { "a client without a login" });
    tracing::warn!(
        %address,
        uid = holder.user,
        own,
        all,
        limit,
        "{who} has as many files open as it may have, and gets no more: `open-files` in the settings is the limit of all \
         clients"
    );
}

impl Counts {
    fn of(&self, holder: Holder) -> usize {
        self.holders.get(&holder).copied().unwrap_or(0)
    }

    fn have_room(&self, holder: Holder, limit: usize, part: usize) -> bool {
        let mut free = limit.saturating_mul(WHOLE).saturating_sub(self.all);
        if holder.user.is_none() {
            free = free.min((limit / GUESTS_PART).saturating_mul(WHOLE).saturating_sub(self.guests));
        }
        let own = self.of(holder);
        free >= own + part || (free >= part && own < WHOLE * FEW.min(limit / (4 * GUESTS_PART)))
    }

    fn add(&mut self, holder: Option<Holder>, part: usize) {
        self.all += part;
        if let Some(holder) = holder {
            self.guests += if holder.user.is_none() { part } else { 0 };
            *self.holders.entry(holder).or_default() += part;
        }
    }

    fn remove(&mut self, holder: Option<Holder>, part: usize) {
        self.all -= part;
        let Some(holder) = holder else { return };
        self.guests -= if holder.user.is_none() { part } else { 0 };
        if let Some(own) = self.holders.get_mut(&holder) {
            *own -= part;
            if *own == 0 {
                self.holders.remove(&holder);
            }
        }
    }
}

/// An open that is counted, or another file that is kept for a client. Dropping it gives its place to others.
pub struct OpenPermit {
    budget: Arc<OpenBudget>,
    holder: Option<Holder>,
    part: AtomicUsize,
}

impl OpenPermit {
    /// The open keeps the descriptor of its data from now on; `TooMany` if the holder's part is used up.
    pub(crate) fn become_whole(&self) -> Result<()> {
        if self.part.load(Ordering::Acquire) == WHOLE {
            return Ok(());
        }
        self.budget.count(self.holder, WHOLE - HALF)?;
        if self.part.swap(WHOLE, Ordering::AcqRel) == WHOLE {
            self.budget.counts.lock().remove(self.holder, WHOLE - HALF); // another thread was faster
        }
        Ok(())
    }
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        self.budget.counts.lock().remove(self.holder, *self.part.get_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn budget(limit: usize) -> Arc<OpenBudget> {
        let budget = Arc::new(OpenBudget::default());
        budget.limit_to(limit);
        budget
    }

    /// As many as the holder gets.
    fn greedy(budget: &Arc<OpenBudget>, holder: Holder) -> Vec<OpenPermit> {
        std::iter::from_fn(|| budget.take(Some(holder)).ok()).take(10_000).collect()
    }

    #[test]
    fn one_guest_gets_a_half_of_what_guests_have() {
        let budget = budget(1000);
        let first = greedy(&budget, Holder::guest(address(1)));
        assert_eq!(first.len(), 250, "guests have 500");
        let second = greedy(&budget, Holder::guest(address(2)));
        assert_eq!(second.len(), 125);
        assert_eq!(budget.counts().guests, 375);
        drop(first);
        assert_eq!(greedy(&budget, Holder::guest(address(2))).len(), 125, "now it has 250");
    }

    #[test]
    fn an_open_that_only_reads_counts_half_until_it_writes() {
        let budget = budget(100);
        let guest = Holder::guest(address(1));
        let reading: Vec<_> = std::iter::from_fn(|| budget.take_half(Some(guest)).ok()).take(1000).collect();
        assert_eq!((reading.len(), budget.counts().guests), (50, 25));
        assert_eq!(reading[0].become_whole(), Err(Error::TooMany));
        let other: Vec<_> = greedy(&budget, Holder::guest(address(2)));
        assert!(!other.is_empty());
        drop(other);
        let mut reading = reading;
        reading.truncate(10);
        reading.iter().chain(&reading).for_each(|one| one.become_whole().unwrap());
        assert_eq!(budget.counts().guests, 10);
        drop(reading);
        assert_eq!(budget.counts().all, 0);
        assert!(budget.counts.lock().holders.is_empty());
    }

    #[test]
    fn users_have_room_when_guests_have_none() {
        let budget = budget(1000);
        let guests: Vec<_> =
            (1..=200).flat_map(|last| greedy(&budget, Holder::guest(address(last)))).collect();
        assert_eq!(guests.len(), 500);
        assert!(budget.take(Some(Holder::guest(address(201)))).is_err());
        let ada = greedy(&budget, Holder::user(address(1), 1000));
        assert_eq!(ada.len(), 250);
        assert!(!greedy(&budget, Holder::user(address(1), 1001)).is_empty());
    }

    #[test]
    fn the_server_itself_is_counted_and_never_refused() {
        let budget = budget(10);
        let own: Vec<_> = (0..20).map(|_| budget.take(None).unwrap()).collect();
        assert!(budget.take(Some(Holder::user(address(1), 0))).is_err());
        assert_eq!((budget.counts().all, budget.counts().refused), (20, 1));
        drop(own);
        assert_eq!(budget.counts().all, 0);
        assert!(budget.counts.lock().holders.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_guest() {
        let budget = budget(1000);
        let of = |last: u128| Holder::guest(std::net::Ipv6Addr::from_bits((5 << 64) | last).into());
        let held = greedy(&budget, of(1));
        assert_eq!(held.len(), 250);
        assert!(budget.take(Some(of(2))).is_err());
    }
}
