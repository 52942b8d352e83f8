//! How much memory all kept listings of the server may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory for cached listings. All volumes share one, so that the folders in use have it, whichever share they are in.
#[derive(Debug)]
pub struct CacheBudget {
    limit: usize,
    used: AtomicUsize,
}

impl CacheBudget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// All bytes of the budget.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that are free.
    pub(super) fn free(&self) -> usize {
        self.limit.saturating_sub(self.used())
    }
}

/// What one folder takes of the budget. Dropping it gives the bytes back.
pub(super) struct Charge {
    budget: Arc<CacheBudget>,
    bytes: usize,
}

impl Charge {
    pub(super) fn new(budget: &Arc<CacheBudget>) -> Self {
        Self { budget: budget.clone(), bytes: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            // One atomic step: other volumes must not see the bytes missing in between.
            self.budget.used.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
            self.bytes = bytes;
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}
