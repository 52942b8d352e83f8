//! Counters that threads raise without sharing a line of the processors' caches.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Stripes of a counter. Threads beyond that many share them.
const STRIPES: usize = 16;

/// What a cache counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheEvent {
    /// A look-up that the cache answered.
    Hit,
    /// A look-up that it did not answer.
    Miss,
    /// An entry that was dropped to make room.
    Eviction,
    /// A nanosecond that a miss took.
    MissNano,
}

/// The counters of a cache.
#[derive(Debug, Default)]
pub struct Counters(StripedCounters);

/// Four counters, one set for each stripe.
#[derive(Debug, Default)]
pub struct StripedCounters([Stripe; STRIPES]);

/// On lines of its own: processors load them in pairs of 64 bytes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe([AtomicU64; 4]);

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STRIPE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
}

impl Counters {
    /// Counts one event.
    #[inline]
    pub fn count(&self, event: CacheEvent) {
        self.add(event, 1);
    }

    /// Counts so many events.
    #[inline]
    pub fn add(&self, event: CacheEvent, count: u64) {
        self.0.add(&[(event as usize, count)]);
    }

    /// How many there were.
    #[must_use]
    pub fn sum(&self, event: CacheEvent) -> u64 {
        self.0.sum(event as usize)
    }
}

impl StripedCounters {
    /// Raises some of the four counters.
    #[inline]
    pub fn add(&self, counts: &[(usize, u64)]) {
        let stripe = STRIPE.try_with(|stripe| *stripe).unwrap_or(0); // a thread that ends has no locals
        for (counter, count) in counts {
            self.0[stripe].0[*counter].fetch_add(*count, Ordering::Relaxed);
        }
    }

    /// The sum of one of the four counters over all stripes.
    #[must_use]
    pub fn sum(&self, counter: usize) -> u64 {
        self.0.iter().map(|stripe| stripe.0[counter].load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_of_any_thread_is_lost() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * STRIPES {
                scope.spawn(|| (0..1_000).for_each(|_| counters.count(CacheEvent::Hit)));
            }
        });
        counters.add(CacheEvent::MissNano, 7);
        assert_eq!(counters.sum(CacheEvent::Hit), 2 * STRIPES as u64 * 1_000);
        assert_eq!((counters.sum(CacheEvent::Miss), counters.sum(CacheEvent::MissNano)), (0, 7));
    }
}
