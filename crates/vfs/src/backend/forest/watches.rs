//! Watches of folders in snapshots. Nothing changes there, so the only event is the end of the snapshot.

use std::collections::HashMap;
use std::num::NonZeroU64;

use lock::Mutex;

use crate::backend::WatchId;
use crate::ranks;

/// Watches with negative numbers: those of hosts are not negative.
pub(super) struct SnapshotWatches(Mutex<ForestWatches, ranks::SnapshotWatches>);

struct ForestWatches {
    next: i32,
    /// The tree of each watch.
    trees: HashMap<i32, NonZeroU64>,
    /// Watches of trees that were detached.
    over: Vec<WatchId>,
}

impl SnapshotWatches {
    pub(super) fn new() -> Self {
        Self(Mutex::new(ForestWatches { next: -1, trees: HashMap::new(), over: Vec::new() }))
    }

    /// Watches a folder of a tree. `None` if all numbers are used up.
    pub(super) fn add(&self, tree: NonZeroU64) -> Option<WatchId> {
        let mut watches = self.0.lock();
        let number = watches.next;
        watches.next = number.checked_sub(1)?;
        watches.trees.insert(number, tree);
        Some(WatchId(number))
    }

    pub(super) fn remove(&self, watch: WatchId) {
        self.0.lock().trees.remove(&watch.0);
    }

    /// The tree is detached.
    pub(super) fn end(&self, tree: NonZeroU64) {
        let ForestWatches { trees, over, .. } = &mut *self.0.lock();
        over.extend(trees.extract_if(|_, of| *of == tree).map(|(number, _)| WatchId(number)));
    }

    /// The watches that have ended since the last call.
    pub(super) fn ended(&self) -> Vec<WatchId> {
        std::mem::take(&mut self.0.lock().over)
    }
}
