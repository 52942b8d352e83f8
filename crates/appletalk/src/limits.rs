//! How much of what others send is kept, and how often they are answered. No request makes this node an amplifier.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::address::Address;

/// Mappings of addresses to Ethernet stations, per port.
pub const AARP_ENTRIES: usize = 256;
/// Addresses that are being resolved at once, per port, and datagrams that wait for each.
pub const AARP_UNRESOLVED: usize = 64;
/// See [`AARP_UNRESOLVED`].
pub const AARP_WAITING: usize = 8;
/// Networks elsewhere whose best router an end node knows, per port.
pub const BEST_ROUTERS: usize = 64;
/// Routes of a router.
pub const ROUTES: usize = 256;
/// Zones, counted once each.
pub const ZONES: usize = 256;
/// Zones of one network, "Inside AppleTalk" chapter 8, "Network-to-zone-name mapping".
pub const ZONES_PER_NETWORK: usize = 255;
/// Names that are registered by this node.
pub const NAMES: usize = 16;
/// Lookups of this node that run at once.
pub const LOOKUPS: usize = 16;
/// Names that a lookup finds.
pub const FOUND: usize = 256;
/// Nodes that were heard, for status.
pub const HEARD: usize = 256;
/// Sockets that are open.
pub const SOCKETS: usize = 64;
/// Frames, datagrams and events that wait to be taken from the stack. More are dropped, and counted.
pub const OUTPUTS: usize = 4_096;
/// A request that came by broadcast is answered with at most this many times its bytes.
pub const BROADCAST_GAIN: usize = 8;

/// A rate: so many at once, and so many a second in the long run.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// At once.
    pub burst: u32,
    /// A second.
    pub per_second: u32,
}

/// Answers to names, echoes and questions about zones, to one asker.
const PER_ASKER: Rate = Rate { burst: 32, per_second: 16 };
/// How much more all askers get than one.
const ALL_ASKERS: u32 = 16;
/// Askers that are remembered. A new one takes the place of the one that has been silent for the longest time.
const ASKERS: usize = 256;

/// Tokens of one asker.
#[derive(Debug, Clone, Copy)]
struct TokenBucket {
    /// Thousandths of an answer.
    tokens: u64,
    at: Instant,
}

impl TokenBucket {
    fn full(rate: Rate, now: Instant) -> Self {
        Self { tokens: u64::from(rate.burst) * 1_000, at: now }
    }

    fn take(&mut self, rate: Rate, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.at).min(Duration::from_secs(3_600));
        let gained = elapsed.as_millis() as u64 * u64::from(rate.per_second);
        self.tokens = (self.tokens + gained).min(u64::from(rate.burst) * 1_000);
        self.at = now;
        match self.tokens.checked_sub(1_000) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }
}

/// Limits the answers to each asker, and to all.
#[derive(Debug)]
pub struct AnswerLimiter {
    askers: BTreeMap<Address, TokenBucket>,
    all: TokenBucket,
    per_asker: Rate,
    in_all: Rate,
}

impl AnswerLimiter {
    /// With the usual rates: 16 answers a second for each asker, 256 for all.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self::with_rate(PER_ASKER, now)
    }

    /// With another rate for each asker; all together get 16 times as much.
    #[must_use]
    pub fn with_rate(per_asker: Rate, now: Instant) -> Self {
        let in_all =
            Rate { burst: per_asker.burst * ALL_ASKERS, per_second: per_asker.per_second * ALL_ASKERS };
        Self { askers: BTreeMap::new(), all: TokenBucket::full(in_all, now), per_asker, in_all }
    }

    /// Whether this asker may be answered now. Counts the answer.
    pub fn may_answer(&mut self, asker: Address, now: Instant) -> bool {
        if self.askers.len() >= ASKERS && !self.askers.contains_key(&asker) {
            let oldest = self.askers.iter().min_by_key(|(_, bucket)| bucket.at).map(|(address, _)| *address);
            oldest.map(|address| self.askers.remove(&address));
        }
        let full = TokenBucket::full(self.per_asker, now);
        self.askers.entry(asker).or_insert(full).take(self.per_asker, now) && self.all.take(self.in_all, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asker_has_a_burst_and_then_a_rate() {
        let now = Instant::now();
        let mut limiter = AnswerLimiter::new(now);
        let asker = Address::new(1, 2);
        let answered = (0..100).filter(|_| limiter.may_answer(asker, now)).count();
        assert_eq!(answered, 32);
        let later = now + Duration::from_secs(1);
        assert_eq!((0..100).filter(|_| limiter.may_answer(asker, later)).count(), 16);
        assert!(limiter.may_answer(Address::new(1, 3), later), "another asker has its own");
    }

    #[test]
    fn many_askers_are_limited_together_and_few_are_remembered() {
        let now = Instant::now();
        let mut limiter = AnswerLimiter::new(now);
        let asker = |number: u32| Address::new(1 + (number / 200) as u16, 1 + (number % 200) as u8);
        let answered = (0..10_000).filter(|number| limiter.may_answer(asker(*number), now)).count();
        assert_eq!(answered, 512);
        assert!(limiter.askers.len() <= ASKERS);
    }
}
