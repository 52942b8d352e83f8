//! Changes that are made again and again, such as writes to an open file: they are published once, until a subscriber takes
//! one from its queue.
//!
//! ```text
//! writer:      write ─► is the mark current? ─ yes ─► nothing: each queue has the change, and is looked at after this write
//!                                            └ no ──► publish ─► set the mark
//! subscriber:  take from the queue ─► count the delivery ─► look at the file
//! ```

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Filter;

/// What the hubs of all volumes of a site count together.
#[derive(Debug, Default)]
pub struct HubCounts {
    subscriptions: AtomicUsize,
    /// Those that want to know which file was removed.
    identifying: AtomicUsize,
    deliveries: AtomicU64,
}

/// How often a change that was published before may have left a queue, or may have to be published in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deliveries(u64);

impl HubCounts {
    /// Whether there is any subscription.
    #[inline]
    pub fn listens(&self) -> bool {
        self.subscriptions.load(Ordering::Acquire) > 0
    }

    /// Whether a subscription wants to know which file was removed.
    #[inline]
    pub fn identifies_removed(&self) -> bool {
        self.identifying.load(Ordering::Acquire) > 0
    }

    /// The deliveries until now. Sequentially consistent, as [`HubCounts::delivered`]: a writer that sees an old number has
    /// written before the subscriber looks at the file.
    #[inline]
    pub fn deliveries(&self) -> Deliveries {
        Deliveries(self.deliveries.load(Ordering::SeqCst))
    }

    /// Every change is published when it is made the next time: events were taken, or there are other subscribers, or an
    /// open file has another place.
    pub fn delivered(&self) {
        self.deliveries.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn subscribed(&self, filter: &Filter) {
        self.identifying.fetch_add(usize::from(filter.identifies_removed), Ordering::Release);
        self.subscriptions.fetch_add(1, Ordering::Release);
        self.delivered();
    }

    pub(super) fn unsubscribed(&self, filter: &Filter) {
        self.identifying.fetch_sub(usize::from(filter.identifies_removed), Ordering::Release);
        self.subscriptions.fetch_sub(1, Ordering::Release);
    }
}

/// Whether one change is in the queues of all subscribers.
#[derive(Debug)]
pub struct PublishedMark(AtomicU64);

impl Default for PublishedMark {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX)) // never so many deliveries
    }
}

impl PublishedMark {
    /// Whether the change was published after so many deliveries.
    #[inline]
    pub fn is_current(&self, now: Deliveries) -> bool {
        self.0.load(Ordering::Relaxed) == now.0
    }

    /// The change was published. `before`: the deliveries until then, counted before it was published.
    pub fn set(&self, before: Deliveries) {
        self.0.store(before.0, Ordering::Relaxed);
    }
}
