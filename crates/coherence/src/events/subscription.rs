//! A subscription and its bounded queue. If the subscriber is too slow, events are dropped and it is told so.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use lock::Mutex;
use tokio::sync::Notify;

use super::{Aspects, Change, ChangeKind, Event, EventScope, Filter, Hub, ScopedChange};
use crate::ranks;

/// The hub's end of a subscription.
pub(super) struct Sink {
    pub(super) id: u64,
    pub(super) scope: EventScope,
    pub(super) filter: Filter,
    /// How many changes fit.
    room: usize,
    queue: Mutex<EventQueue, ranks::EventQueue>,
    wake: Notify,
    crowded: Notify,
}

#[derive(Default)]
struct EventQueue {
    seen: VecDeque<ScopedChange>,
    /// Something was lost after these. Nothing more is queued until the marker has been read: it
    /// would be read twice.
    overflowed: bool,
    going: bool,
}

impl EventQueue {
    fn pop(&mut self) -> Option<Event> {
        if let Some(seen) = self.seen.pop_front() {
            return Some(Event::Changed(seen));
        }
        if std::mem::take(&mut self.overflowed) {
            return Some(Event::Overflowed);
        }
        std::mem::take(&mut self.going).then_some(Event::Going)
    }
}

impl Sink {
    pub(super) fn new(id: u64, scope: EventScope, filter: Filter, room: usize) -> Self {
        Self { id, scope, filter, room, queue: Mutex::default(), wake: Notify::new(), crowded: Notify::new() }
    }

    pub(super) fn wants(&self, change: &Change) -> bool {
        let own = change.by.is_some() && change.by == self.filter.except;
        !own && self.filter.aspects.intersects(change.aspects())
    }

    /// Whether there is a change that it wants. One that only keeps the host's watches wants none.
    pub(super) fn wants_any(&self) -> bool {
        self.filter.aspects != Aspects(0)
    }

    pub(super) fn push(&self, seen: ScopedChange) {
        let mut queue = self.queue.lock();
        if queue.seen.back_mut().is_some_and(|last| last.takes_in(&seen)) {
            return; // the reader of the last one has been woken
        }
        if queue.seen.len() >= self.room {
            queue.overflowed = true;
        }
        if !queue.overflowed {
            queue.seen.push_back(seen);
        }
        let is_half_full = queue.seen.len() == self.room.div_ceil(2);
        drop(queue);
        self.wake.notify_one();
        if is_half_full {
            self.crowded.notify_one();
        }
    }

    pub(super) fn going(&self) {
        self.queue.lock().going = true;
        self.wake.notify_one();
    }

    pub(super) fn overflow(&self) {
        self.queue.lock().overflowed = true;
        self.wake.notify_one();
    }
}

impl ScopedChange {
    /// Whether this now includes the other one, too: changes to the same file, one after the other.
    fn takes_in(&mut self, other: &Self) -> bool {
        let (ChangeKind::Modified(before), ChangeKind::Modified(more)) =
            (&self.change.what, &other.change.what)
        else {
            return false;
        };
        let place = |seen: &Self| (seen.change.folder, seen.change.file, seen.change.by);
        if place(self) != place(other) || self.change.name != other.change.name || self.at != other.at {
            return false;
        }
        let both = before.union(*more);
        if both != *before {
            self.change = Arc::new(Change { what: ChangeKind::Modified(both), ..(*self.change).clone() });
        }
        true
    }
}

/// A subscription. Dropping it ends it.
pub struct Subscription {
    hub: Hub,
    sink: Arc<Sink>,
}

impl Subscription {
    pub(super) fn new(hub: Hub, sink: Arc<Sink>) -> Self {
        Self { hub, sink }
    }

    /// The next event, if there is one now.
    pub fn try_next(&mut self) -> Option<Event> {
        let event = self.sink.queue.lock().pop()?;
        self.hub.shared.counts.delivered();
        Some(event)
    }

    /// All events that there are now.
    pub fn take_all(&mut self) -> Vec<Event> {
        let events: Vec<Event> = {
            let mut queue = self.sink.queue.lock();
            std::iter::from_fn(|| queue.pop()).collect()
        };
        if !events.is_empty() {
            self.hub.shared.counts.delivered();
        }
        events
    }

    /// Waits until the queue is half full. It may return once for a time before the last call. May be dropped and called
    /// again.
    pub async fn crowded(&self) {
        self.sink.crowded.notified().await;
    }

    /// The next event. May be dropped and asked again without losing any.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.try_next() {
                return event;
            }
            self.sink.wake.notified().await;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.unsubscribe(&self.sink);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription to {:?}", self.sink.scope)
    }
}
