//! A folder that is being read, and the events about it meanwhile.

use std::cell::Cell;
use std::sync::Arc;

use lock::Mutex;

use crate::backend::{Backend, DataNotice, Heard, WatchEvent, WatchId};
use crate::ranks;

/// Events that are remembered while a folder is read.
const MOST_EVENTS: usize = 100_000;

/// Folders that are being read.
#[derive(Default)]
pub(super) struct Buildings(Mutex<Vec<(WatchId, Arc<PendingEvents>)>, ranks::ListingsBeingRead>);

type PendingEvents = Mutex<Pending, ranks::ListingEvents>;

/// The events about a folder since its reading began.
#[derive(Default)]
struct Pending {
    events: Vec<(Box<[u8]>, Heard)>,
    /// There were more events than can be repeated.
    spoilt: bool,
    /// The events were taken. Later events go to what is kept.
    closed: bool,
}

impl Buildings {
    /// Remembers an event for the folders that it is about.
    pub(super) fn take_event(&self, event: &WatchEvent) {
        let buildings = self.0.lock();
        for (id, pending) in buildings.iter() {
            let about = |watch: &WatchId| watch == id;
            match event {
                WatchEvent::Entry { watch, name, what, .. } if about(watch) => {
                    pending.lock().hear(name, *what)
                }
                WatchEvent::Folder(watch) | WatchEvent::Over(watch) if about(watch) => pending.lock().spoil(),
                WatchEvent::Missed => pending.lock().spoil(),
                _ => {}
            }
        }
    }
}

impl Pending {
    fn hear(&mut self, name: &[u8], what: Heard) {
        if self.closed {
            return;
        }
        if self.events.len() >= MOST_EVENTS {
            return self.spoil();
        }
        self.events.push((name.into(), what));
    }

    fn spoil(&mut self) {
        self.spoilt = true;
        self.events = Vec::new();
    }
}

/// A folder that is being read to be kept. It is watched meanwhile, and afterwards if it is kept.
pub(super) struct Building<'a> {
    buildings: &'a Buildings,
    pub(super) backend: &'a dyn Backend,
    pub(super) watch: WatchId,
    pending: Arc<PendingEvents>,
    /// What is kept uses the watch now.
    pub(super) kept: Cell<bool>,
}

impl<'a> Building<'a> {
    pub(super) fn start(buildings: &'a Buildings, backend: &'a dyn Backend, watch: WatchId) -> Self {
        let pending = Arc::<PendingEvents>::default();
        buildings.0.lock().push((watch, pending.clone()));
        Self { buildings, backend, watch, pending, kept: Cell::new(false) }
    }

    /// The events since the start, in their order. `None` if that cannot be told. From here on
    /// events must reach what is kept: the caller has locked it.
    pub(super) fn close(&self) -> Option<Vec<(Box<[u8]>, Heard)>> {
        let mut pending = self.pending.lock();
        pending.closed = true;
        (!pending.spoilt).then(|| std::mem::take(&mut pending.events))
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.buildings.0.lock().retain(|(_, pending)| !Arc::ptr_eq(pending, &self.pending));
        if !self.kept.get() {
            self.backend.unwatch(self.watch, DataNotice::EachWrite);
        }
    }
}
