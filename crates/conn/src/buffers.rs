//! Large buffers between uses, apart for each loop: a fresh one costs a page fault for every 4 KiB.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lock::{Mutex, Rank};
use resources::caches::{Cache, CacheReport};

use crate::loops::driven_here;

/// The longest buffer that is kept.
const LONGEST: usize = 2 << 20;
/// The most bytes that the kept buffers of one pool have together, if no other limit is set: more make nothing faster.
const MOST: usize = 12 << 20;
/// How much longer than needed a receive buffer may be.
const SPARE: usize = 4 * 1024;
/// Most buffers of one pool.
const COUNT: usize = 32;
/// Pools of a kind. Loops beyond that many share them.
const POOLS: usize = 32;

/// The most bytes of a pool now.
static POOL_LIMIT: AtomicUsize = AtomicUsize::new(MOST);
/// Loops that use the pools.
static LOOPS: AtomicUsize = AtomicUsize::new(1);

/// The pools of all loops as one cache: a buffer that is taken is a hit, one that must be made is a miss. It has no ghost
/// list, as buffers of one length are all the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct BufferPools;

impl BufferPools {
    /// Of a server with so many loops.
    #[must_use]
    pub fn of(loops: usize) -> Self {
        LOOPS.store(loops.clamp(1, POOLS), Ordering::Relaxed);
        Self
    }

    /// The limit beyond which more makes nothing faster.
    #[must_use]
    pub fn most(self) -> u64 {
        (2 * MOST * LOOPS.load(Ordering::Relaxed)) as u64
    }
}

impl Cache for BufferPools {
    fn report(&self) -> CacheReport {
        let mut report = CacheReport::default();
        received::FREE.report(&mut report);
        replies::FREE.report(&mut report);
        report
    }

    /// What is over the limit is freed as soon as a pool was not used for a second.
    fn limit_to(&self, limit: u64) {
        let pools = 2 * LOOPS.load(Ordering::Relaxed);
        let each = usize::try_from(limit).unwrap_or(usize::MAX) / pools;
        POOL_LIMIT.store(each.min(MOST), Ordering::Relaxed);
        received::FREE.shrink();
        replies::FREE.shrink();
    }
}

struct Pools<R: Rank>([BufferPool<R>; POOLS]);

struct Free {
    buffers: Vec<Vec<u8>>,
    hits: u64,
    misses: u64,
    /// Buffers that were not kept because the pool was full.
    dropped: u64,
}

struct BufferPool<R: Rank> {
    free: Mutex<Free, R>,
    /// A buffer was taken since the last look.
    is_used: AtomicBool,
}

impl<R: Rank> Pools<R> {
    const fn new() -> Self {
        Self([const { BufferPool { free: Mutex::new(Free::NONE), is_used: AtomicBool::new(false) } }; POOLS])
    }

    fn here(&self) -> &BufferPool<R> {
        &self.0[driven_here() % POOLS]
    }

    /// An empty buffer with such a capacity, if one is free.
    fn take(&self, fits: impl Fn(usize) -> bool) -> Option<Vec<u8>> {
        let pool = self.here();
        pool.is_used.store(true, Ordering::Relaxed);
        let mut free = pool.free.lock();
        let Some(at) = free.buffers.iter().rposition(|buffer| fits(buffer.capacity())) else {
            free.misses += 1;
            return None;
        };
        free.hits += 1;
        Some(free.buffers.swap_remove(at))
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let most = POOL_LIMIT.load(Ordering::Relaxed);
        let mut free = self.here().free.lock();
        if free.buffers.len() < COUNT && free.bytes() + buffer.capacity() <= most {
            free.buffers.push(buffer);
        } else {
            free.dropped += 1;
        }
    }

    /// Frees the buffers of pools that were not used since the last look.
    fn free_unused(&self) {
        for pool in self.0.iter().filter(|pool| !pool.is_used.swap(false, Ordering::Relaxed)) {
            let unused = std::mem::take(&mut pool.free.lock().buffers);
            drop(unused); // after the lock
        }
    }

    /// Frees the buffers of pools that are over the limit.
    fn shrink(&self) {
        let most = POOL_LIMIT.load(Ordering::Relaxed);
        for pool in &self.0 {
            let mut free = pool.free.lock();
            let over = if free.bytes() > most { std::mem::take(&mut free.buffers) } else { Vec::new() };
            free.dropped += over.len() as u64;
            drop(free);
            drop(over); // after the lock
        }
    }

    fn report(&self, into: &mut CacheReport) {
        for pool in &self.0 {
            let free = pool.free.lock();
            into.add(&CacheReport {
                bytes: free.bytes() as u64,
                entries: free.buffers.len() as u64,
                hits: free.hits,
                misses: free.misses,
                evictions: free.dropped,
                ..CacheReport::default()
            });
        }
    }
}

impl Free {
    const NONE: Self = Self { buffers: Vec::new(), hits: 0, misses: 0, dropped: 0 };

    fn bytes(&self) -> usize {
        self.buffers.iter().map(Vec::capacity).sum() // of a few dozen at most
    }
}

/// One look, every second or so: a loop without work keeps no buffers.
pub(crate) fn free_unused() {
    received::FREE.free_unused();
    replies::FREE.free_unused();
}

/// Those that messages are received in.
pub(crate) mod received {
    use crate::ranks;

    pub(super) static FREE: super::Pools<ranks::FreeBuffers> = super::Pools::new();

    /// An empty buffer with this capacity, or slightly more: what is received beyond a message must be copied.
    pub(crate) fn take(capacity: usize) -> Vec<u8> {
        let most = capacity + super::SPARE;
        FREE.take(|of| (capacity..=most).contains(&of)).unwrap_or_else(|| Vec::with_capacity(capacity))
    }

    pub(crate) fn give_back(buffer: Vec<u8>) {
        if (1..=super::LONGEST).contains(&buffer.capacity()) {
            FREE.give_back(buffer);
        }
    }
}

/// Those that replies are made in.
pub(crate) mod replies {
    use crate::ranks;

    /// Smaller ones are the allocator's business.
    const SMALLEST: usize = 64 * 1024;

    pub(super) static FREE: super::Pools<ranks::FreeReplies> = super::Pools::new();

    /// An empty buffer that has been large before, if one is free.
    pub(crate) fn take() -> Vec<u8> {
        FREE.take(|_| true).unwrap_or_default()
    }

    pub(crate) fn give_back(buffer: Vec<u8>) {
        if (SMALLEST..=super::LONGEST).contains(&buffer.capacity()) {
            FREE.give_back(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ranks;

    use super::*;

    #[test]
    fn buffers_are_freed_once_a_whole_look_has_passed_without_use() {
        let pools: Pools<ranks::FreeBuffers> = Pools::new();
        let kept = || pools.here().free.lock().buffers.len();
        assert!(pools.take(|_| true).is_none());
        pools.give_back(Vec::with_capacity(1 << 20));
        pools.free_unused();
        assert_eq!(kept(), 1, "the pool was used");
        pools.free_unused();
        assert_eq!(kept(), 0);
    }

    #[test]
    fn a_pool_counts_and_keeps_to_its_limit() {
        let pools: Pools<ranks::FreeBuffers> = Pools::new();
        (0..20).for_each(|_| pools.give_back(Vec::with_capacity(1 << 20)));
        assert!(pools.take(|_| true).is_some());
        assert!(pools.take(|length| length > 1 << 21).is_none());
        let mut report = CacheReport::default();
        pools.report(&mut report);
        assert_eq!((report.hits, report.misses, report.entries), (1, 1, 11));
        assert_eq!((report.bytes, report.evictions), (11 << 20, 8), "12 of 20 fitted");
    }

    #[test]
    fn a_receive_buffer_is_hardly_longer_than_needed() {
        received::give_back(Vec::with_capacity(1 << 20));
        assert!(received::take(64 * 1024).capacity() < 80 * 1024);
        assert!(((1 << 20) - 100..=1 << 20).contains(&received::take((1 << 20) - 100).capacity()));
    }
}
