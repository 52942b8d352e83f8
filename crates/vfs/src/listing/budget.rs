//! How much memory all kept listings of the server may take, and how well they serve.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use lock::Mutex;

use crate::FileId;
use crate::ranks;
use resources::caches::{Cache, CacheEvent, CacheReport, Counters, Ghost};

/// Memory for cached listings. All volumes share one, so that the folders in use have it, whichever share they are in.
#[derive(Debug)]
pub struct CacheBudget {
    limit: AtomicUsize,
    used: AtomicUsize,
    /// Entries and names that are kept.
    entries: AtomicUsize,
    counters: Counters,
    hasher: RandomState,
    ghost: Mutex<Ghost, ranks::ListingGhost>,
}

impl CacheBudget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit: AtomicUsize::new(limit),
            used: AtomicUsize::new(0),
            entries: AtomicUsize::new(0),
            counters: Counters::default(),
            hasher: RandomState::new(),
            ghost: Mutex::new(Ghost::new(limit as u64)),
        })
    }

    /// All bytes of the budget.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that are free.
    pub(super) fn free(&self) -> usize {
        self.limit().saturating_sub(self.used())
    }

    /// A client used a folder that is kept, and takes so many bytes.
    pub(super) fn hit(&self, folder: FileId, bytes: usize) {
        self.counters.count(CacheEvent::Hit);
        self.look_up(folder, bytes, false);
    }

    /// A folder was read, which takes so many bytes. `stale`: it was kept, but had changed.
    pub(super) fn missed(&self, folder: FileId, bytes: usize, stale: bool, begun: Instant) {
        self.counters.count(CacheEvent::Miss);
        self.counters.add(CacheEvent::MissNano, begun.elapsed().as_nanos() as u64);
        self.look_up(folder, bytes, stale);
    }

    /// Folders were dropped to make room.
    pub(super) fn evicted(&self, folders: usize) {
        self.counters.add(CacheEvent::Eviction, folders as u64);
    }

    /// A look-up that meets another one is not counted: nothing waits for a prediction.
    fn look_up(&self, folder: FileId, bytes: usize, stale: bool) {
        let hash = self.hasher.hash_one(folder);
        if let Some(mut ghost) = self.ghost.try_lock() {
            ghost.look_up(hash, bytes as u64, stale);
        }
    }
}

impl Cache for CacheBudget {
    fn report(&self) -> CacheReport {
        CacheReport {
            bytes: self.used() as u64,
            entries: self.entries.load(Ordering::Relaxed) as u64,
            hits: self.counters.sum(CacheEvent::Hit),
            misses: self.counters.sum(CacheEvent::Miss),
            evictions: self.counters.sum(CacheEvent::Eviction),
            miss_nanos: self.counters.sum(CacheEvent::MissNano),
            predicted: self.ghost.lock().predicted(),
        }
    }

    fn limit_to(&self, limit: u64) {
        self.limit.store(usize::try_from(limit).unwrap_or(usize::MAX), Ordering::Relaxed);
        self.ghost.lock().limit_to(limit);
    }
}

/// What one folder takes of the budget. Dropping it gives the bytes back.
pub(super) struct Charge {
    budget: Arc<CacheBudget>,
    bytes: usize,
    entries: usize,
}

impl Charge {
    pub(super) fn new(budget: &Arc<CacheBudget>) -> Self {
        Self { budget: budget.clone(), bytes: 0, entries: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn set(&mut self, bytes: usize, entries: usize) {
        if bytes != self.bytes {
            // One atomic step: other volumes must not see the bytes missing in between.
            self.budget.used.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
            self.bytes = bytes;
        }
        if entries != self.entries {
            self.budget.entries.fetch_add(entries.wrapping_sub(self.entries), Ordering::Relaxed);
            self.entries = entries;
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0, 0);
    }
}
