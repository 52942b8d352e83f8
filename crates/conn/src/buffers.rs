//! Large buffers between uses, apart for each loop: a fresh one costs a page fault for every 4 KiB.

use lock::{Mutex, Rank};

use crate::loops::driven_here;

/// The longest buffer that is kept.
const LONGEST: usize = 2 << 20;
/// The most bytes that the kept buffers of one pool have together: an idle server must not hold much.
const MOST: usize = 12 << 20;
/// Most buffers of one pool.
const COUNT: usize = 32;
/// Pools of a kind. Loops beyond that many share them.
const POOLS: usize = 32;

struct Pools<R: Rank>([Mutex<Vec<Vec<u8>>, R>; POOLS]);

impl<R: Rank> Pools<R> {
    const fn new() -> Self {
        Self([const { Mutex::new(Vec::new()) }; POOLS])
    }

    fn here(&self) -> &Mutex<Vec<Vec<u8>>, R> {
        &self.0[driven_here() % POOLS]
    }

    /// An empty buffer that has been large before, if one is free.
    fn take(&self) -> Vec<u8> {
        self.here().lock().pop().unwrap_or_default()
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut free = self.here().lock();
        let kept: usize = free.iter().map(Vec::capacity).sum(); // of a few dozen at most
        if free.len() < COUNT && kept + buffer.capacity() <= MOST {
            free.push(buffer);
        }
    }
}

/// Those that messages are received in.
pub(crate) mod received {
    use lock::rank;

    static FREE: super::Pools<rank::FreeBuffers> = super::Pools::new();

    pub(crate) fn take() -> Vec<u8> {
        FREE.take()
    }

    pub(crate) fn give_back(buffer: Vec<u8>) {
        if (1..=super::LONGEST).contains(&buffer.capacity()) {
            FREE.give_back(buffer);
        }
    }
}

/// Those that replies are made in.
pub(crate) mod replies {
    use lock::rank;

    /// Smaller ones are the allocator's business.
    const SMALLEST: usize = 64 * 1024;

    static FREE: super::Pools<rank::FreeReplies> = super::Pools::new();

    /// An empty buffer that has been large before, if one is free.
    pub(crate) fn take() -> Vec<u8> {
        FREE.take()
    }

    pub(crate) fn give_back(buffer: Vec<u8>) {
        if (SMALLEST..=super::LONGEST).contains(&buffer.capacity()) {
            FREE.give_back(buffer);
        }
    }
}
