//! How a loop waits for its next events: it sleeps, or polls for a moment before.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event};

use super::polling::{EndedWait, PollLearner, Polling, WaitCounts};
use crate::ranks;

/// The waits of one loop. The thread that drives it waits; others set and report.
pub(super) struct EventWait {
    learner: Mutex<PollLearner, ranks::LoopPolling>,
    /// Messages that have arrived in part.
    partial: Arc<AtomicUsize>,
    /// Bytes that were received since the last wait.
    received: AtomicU64,
    /// How often it has asked the kernel for events.
    #[cfg(test)]
    looks: AtomicU64,
}

/// A message that has arrived in part, until the wait for its next piece ends.
pub(super) struct PartialMessage(Arc<AtomicUsize>);

impl Drop for PartialMessage {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EventWait {
    pub(super) fn new(setting: Polling) -> Self {
        Self {
            learner: Mutex::new(PollLearner::new(setting)),
            partial: Arc::default(),
            received: AtomicU64::new(0),
            #[cfg(test)]
            looks: AtomicU64::new(0),
        }
    }

    pub(super) fn set(&self, setting: Polling) {
        self.learner.lock().set(setting);
    }

    pub(super) fn setting(&self) -> Polling {
        self.learner.lock().setting()
    }

    pub(super) fn counts(&self) -> WaitCounts {
        self.learner.lock().counts()
    }

    /// How often it has asked the kernel for events.
    #[cfg(test)]
    pub(super) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// A connection of the loop waits for the next piece of a message.
    pub(super) fn begin_partial(&self) -> PartialMessage {
        self.partial.fetch_add(1, Ordering::Relaxed);
        PartialMessage(self.partial.clone())
    }

    /// A connection of the loop has received so many bytes. A count is lost if another thread drives the loop just now, which only
    /// makes the learner a little less sure.
    pub(super) fn note_received(&self, count: usize) {
        let before = self.received.load(Ordering::Relaxed);
        self.received.store(before + count as u64, Ordering::Relaxed);
    }

    /// Waits until there are events. `began`: this moment. `busy`: the time since the last wait has ended. Returns when this one
    /// has.
    pub(super) fn until_events(
        &self,
        epoll: &OwnedFd,
        events: &mut Vec<Event>,
        began: Instant,
        busy: Duration,
    ) -> Instant {
        let is_inside = self.partial.load(Ordering::Relaxed) > 0;
        let limit = self.learner.lock().limit(is_inside);
        let polled = if limit.is_zero() { Duration::ZERO } else { self.poll(epoll, events, began, limit) };
        let sleeps = events.is_empty();
        if sleeps {
            self.look(epoll, events, None);
        }
        let ended = Instant::now();
        let slept = sleeps.then(|| (ended - began).saturating_sub(polled));
        let received = self.received.load(Ordering::Relaxed);
        self.received.store(0, Ordering::Relaxed);
        self.learner.lock().note(EndedWait { busy, polled, slept, received, is_inside });
        ended
    }

    /// Takes the events that are there.
    pub(super) fn take_ready(&self, epoll: &OwnedFd, events: &mut Vec<Event>) {
        self.look(epoll, events, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    }

    /// Looks for events until there are some, or the limit has passed. Other threads run first. Returns how long it took.
    fn poll(&self, epoll: &OwnedFd, events: &mut Vec<Event>, began: Instant, limit: Duration) -> Duration {
        loop {
            self.take_ready(epoll, events);
            let polled = began.elapsed();
            if !events.is_empty() || polled >= limit {
                return polled;
            }
            std::thread::yield_now();
        }
    }

    /// An error is an interruption: the loop looks again.
    fn look(&self, epoll: &OwnedFd, events: &mut Vec<Event>, limit: Option<&Timespec>) {
        #[cfg(test)]
        self.looks.fetch_add(1, Ordering::Relaxed);
        let _ = epoll::wait(epoll, spare_capacity(events), limit);
    }
}
