//! The caches of the server as one thing: what each holds, how well it works, and the one memory budget of all.
//!
//! A cache registers with a name and a limit. It counts hits, misses and evictions, and a [`Ghost`] tells which part of
//! the look-ups would have been hits at half, double and four times the size. The [`Caches`] of a server keep the sum of
//! the limits within one budget. While the host is short of memory they lower the limits, and raise them again afterwards.
//!
//! ```text
//! set by the operator ─► wanted ─► × the part that memory pressure leaves ─► Cache::limit_to
//! ```

mod counters;
mod ghost;
mod registry;

pub use counters::StripedCounters;
pub use counters::{CacheEvent, Counters};
pub use ghost::{Ghost, HitPrediction, SIZES};
pub use registry::{Caches, Entry, Rules, SetError};

/// The unit of a cache's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Entries, which have descriptors of the host or the like.
    Entries,
}

/// What a cache tells of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CacheReport {
    /// Memory that it takes, estimated where the host or a library has it.
    pub bytes: u64,
    /// Entries; what one is differs from cache to cache.
    pub entries: u64,
    /// Look-ups that the cache answered.
    pub hits: u64,
    /// Look-ups that it could have answered if it had the entry.
    pub misses: u64,
    /// Entries that were dropped to make room.
    pub evictions: u64,
    /// Nanoseconds that the misses took.
    pub miss_nanos: u64,
    /// The hit ratios at other sizes. `None`: it has no ghost list, or too few look-ups yet.
    pub predicted: Option<HitPrediction>,
}

impl CacheReport {
    /// The part of the look-ups that were hits; `None` before the first one.
    #[must_use]
    pub fn hit_ratio(&self) -> Option<f64> {
        let all = self.hits + self.misses;
        (all > 0).then(|| self.hits as f64 / all as f64)
    }

    /// Nanoseconds that the hits would have taken as misses.
    #[must_use]
    pub fn saved_nanos(&self) -> u64 {
        let each = self.miss_nanos.checked_div(self.misses).unwrap_or(0);
        self.hits.saturating_mul(each)
    }

    /// Adds what another part of the same cache tells. The prediction stays that of the first part that has one.
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.entries += other.entries;
        self.hits += other.hits;
        self.misses += other.misses;
        self.evictions += other.evictions;
        self.miss_nanos += other.miss_nanos;
        self.predicted = self.predicted.or(other.predicted);
    }
}

/// A cache that can be shown and limited.
pub trait Cache: Send + Sync {
    /// What it holds and how well it works.
    fn report(&self) -> CacheReport;

    /// The limit that applies from now on, in the unit of its registration. What is over it is dropped, at once or with
    /// the next call of `vfs::Volume::tend`.
    fn limit_to(&self, limit: u64);
}
