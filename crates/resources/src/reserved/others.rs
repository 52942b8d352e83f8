//! How fast others may be while reserved streams are read.
//!
//! ```text
//! the capacity is known      ─► others have what streams leave, from the first read on
//! reads of streams take long ─► others have 0.7 of what they had, at most every 50 ms, and never less than a part of the capacity
//! they do not                ─► others have a little more every 100 ms, up to what streams leave
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;

use super::clock::nanos;
use crate::ranks;

/// No limit.
const ANY: u64 = u64::MAX;
/// Others have at least one part in so many of the capacity.
const LEAST_PART: u64 = 8;
/// And at least so many bytes per second.
const LEAST: u64 = 4 << 20;
/// Reads of streams may take this part of the time that they play.
const PERMITTED: f64 = 0.5;
/// What is left for others after a slow read.
const CUT: f64 = 0.7;
const CUT_EVERY: Duration = Duration::from_millis(50);
/// What they have in addition when reads are fast.
const GROWTH: f64 = 1.05;
const GROW_EVERY: Duration = Duration::from_millis(100);
/// The longest wait at a time: clients must not give up.
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// Shorter waits are left out: they are a matter of chance.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
/// Over this time it is counted how fast others are.
const COUNTED_OVER: Duration = Duration::from_millis(200);

/// The pace of all reads and writes that are no reserved stream's.
#[derive(Debug)]
pub struct OthersPace {
    /// Bytes per second.
    limit: AtomicU64,
    /// When the bytes so far have had their time, in nanoseconds.
    due: AtomicU64,
    /// Bytes since their speed was counted last.
    moved: AtomicU64,
    /// Nanoseconds that they have waited.
    waited: AtomicU64,
    state: Mutex<PaceState, ranks::OthersPace>,
}

#[derive(Debug)]
struct PaceState {
    /// Bytes per second of all together.
    capacity: Option<u64>,
    /// The most and the least that others may have.
    bounds: (u64, u64),
    /// Bytes per second that they have had.
    speed: f64,
    counted: Option<Instant>,
    cut: Option<Instant>,
    grown: Option<Instant>,
}

impl Default for OthersPace {
    fn default() -> Self {
        let bounds = (ANY, LEAST);
        let state = PaceState { capacity: None, bounds, speed: 0.0, counted: None, cut: None, grown: None };
        Self {
            limit: AtomicU64::new(ANY),
            due: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }
}

impl OthersPace {
    /// So many bytes per second were measured for all together. `None`: that is not known.
    pub(super) fn set_capacity(&self, capacity: Option<u64>) {
        self.state.lock().capacity = capacity;
        self.limit.store(ANY, Ordering::Relaxed);
        self.leave(0);
    }

    /// The streams that are read now need so many bytes per second.
    pub(super) fn leave(&self, needed: u64) {
        let mut state = self.state.lock();
        let least = state.capacity.map_or(LEAST, |capacity| (capacity / LEAST_PART).max(LEAST));
        let most = state.capacity.map_or(ANY, |capacity| capacity.saturating_sub(needed).max(least));
        let limit = self.limit.load(Ordering::Relaxed);
        let has_most = limit >= state.bounds.0;
        state.bounds = (most, least);
        self.limit.store(if has_most { most } else { limit.clamp(least, most) }, Ordering::Relaxed);
    }

    /// Bytes per second that others may have now. `None`: any number.
    pub fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Relaxed)).filter(|limit| *limit != ANY)
    }

    /// How long others have waited, all together.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// Others have moved so many bytes. Gives how long they wait before they go on. To be asked only while streams are read.
    pub fn charge(&self, bytes: usize, now: Instant) -> Duration {
        self.count(bytes, now);
        let limit = self.limit.load(Ordering::Relaxed);
        if limit == ANY {
            return Duration::ZERO;
        }
        let takes =
            (bytes as u128 * 1_000_000_000 / u128::from(limit.max(1))).min(u128::from(u64::MAX)) as u64;
        let (now, longest) = (nanos(now), LONGEST_WAIT.as_nanos() as u64);
        // Debts beyond the longest wait are forgiven: that is the bound of what others suffer.
        let next = |due: u64| Some(due.max(now).saturating_add(takes).min(now.saturating_add(longest)));
        let due = match self.due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(before) => next(before).unwrap_or(now),
            Err(due) => due,
        };
        let wait = due.saturating_sub(now);
        if wait < SHORTEST_WAIT.as_nanos() as u64 {
            return Duration::ZERO;
        }
        let wait = Duration::from_nanos(wait);
        self.note_wait(wait);
        wait
    }

    /// Others have waited for so long.
    pub(super) fn note_wait(&self, wait: Duration) {
        self.waited.fetch_add(wait.as_nanos() as u64, Ordering::Relaxed);
    }

    fn count(&self, bytes: usize, now: Instant) {
        let moved = self.moved.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let Some(mut state) = self.state.try_lock() else { return };
        let since = now.saturating_duration_since(*state.counted.get_or_insert(now));
        if since >= COUNTED_OVER {
            self.moved.fetch_sub(moved, Ordering::Relaxed);
            state.speed = moved as f64 / since.as_secs_f64();
            state.counted = Some(now);
        }
    }

    /// A read of a stream was answered. `pressure`: how long such reads take as a part of the time that their bytes play.
    pub(super) fn note(&self, pressure: f64, now: Instant) {
        let Some(mut state) = self.state.try_lock() else { return };
        let limit = self.limit.load(Ordering::Relaxed);
        let (most, least) = state.bounds;
        let is_due = |last: Option<Instant>, every: Duration| {
            last.is_none_or(|last| now.saturating_duration_since(last) >= every)
        };
        if pressure > PERMITTED {
            state.grown = Some(now);
            if is_due(state.cut, CUT_EVERY) {
                state.cut = Some(now);
                let had = if limit == ANY { state.speed } else { limit as f64 };
                self.limit.store(((had * CUT) as u64).clamp(least, most), Ordering::Relaxed);
            }
        } else if limit < most && is_due(state.grown, GROW_EVERY) {
            state.grown = Some(now);
            let more = (limit as f64 * GROWTH) as u64;
            // What they do not use needs no limit.
            let is_free = most == ANY && more as f64 > 4.0 * state.speed.max(LEAST as f64);
            self.limit.store(if is_free { ANY } else { more.min(most) }, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn others_have_what_streams_leave_and_no_more() {
        let (pace, start) = (OthersPace::default(), Instant::now());
        pace.set_capacity(Some(100 * MB));
        // 1 MB takes 10 ms at 100 MB/s; two that come together wait for each other.
        assert_eq!(pace.charge(1_000_000, start), ms(10));
        assert_eq!(pace.charge(1_000_000, start), ms(20));
        assert_eq!(pace.charge(1_000_000, start + ms(20)), ms(10));
    }

    #[test]
    fn others_have_less_the_more_streams_are_read() {
        let pace = OthersPace::default();
        pace.set_capacity(Some(100 * MB));
        pace.leave(60 * MB);
        assert_eq!(pace.limit(), Some(40 * MB));
        pace.leave(99 * MB);
        assert_eq!(pace.limit(), Some(12_500_000), "an eighth stays theirs");
        pace.leave(0);
        assert_eq!(pace.limit(), Some(100 * MB));
    }

    #[test]
    fn nobody_waits_longer_than_the_bound() {
        let (pace, start) = (OthersPace::default(), Instant::now());
        pace.set_capacity(Some(LEAST));
        for _ in 0..100 {
            assert!(pace.charge(64 << 20, start) <= LONGEST_WAIT);
        }
    }

    #[test]
    fn slow_reads_of_streams_cut_others_down_to_a_part_and_not_further() {
        let (pace, mut now) = (OthersPace::default(), Instant::now());
        pace.set_capacity(Some(800 * MB));
        pace.note(2.0, now);
        assert_eq!(pace.limit(), Some(560 * MB), "0.7 of it");
        pace.note(2.0, now + ms(10));
        assert_eq!(pace.limit(), Some(560 * MB), "one cut in 50 ms");
        for _ in 0..100 {
            now += CUT_EVERY;
            pace.note(2.0, now);
        }
        assert_eq!(pace.limit(), Some(100 * MB), "an eighth stays theirs");
    }

    #[test]
    fn others_get_it_back_when_reads_are_fast() {
        let (pace, mut now) = (OthersPace::default(), Instant::now());
        pace.set_capacity(Some(800 * MB));
        pace.note(2.0, now);
        for _ in 0..20 {
            now += GROW_EVERY;
            pace.note(0.1, now);
        }
        assert_eq!(pace.limit(), Some(800 * MB));
    }

    #[test]
    fn without_a_known_capacity_others_are_cut_from_what_they_had() {
        let (pace, mut now) = (OthersPace::default(), Instant::now());
        for _ in 0..10 {
            assert_eq!(pace.charge(20_000_000, now), Duration::ZERO, "no limit as long as reads are fast");
            now += ms(100);
        }
        pace.note(2.0, now);
        let limit = pace.limit().unwrap();
        assert!((130 * MB..=150 * MB).contains(&limit), "0.7 of 200 MB/s: {limit}");
        for _ in 0..200 {
            now += GROW_EVERY;
            pace.note(0.1, now);
        }
        assert_eq!(pace.limit(), None);
    }
}
