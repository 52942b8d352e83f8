//! What searches and the threads of an index share: [`Shared`].

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use lock::{Condvar, Mutex, RwLock};
use tokio::sync::Notify;
use vfs::Volume;

use super::changes::ChangeList;
use super::store::Store;
use crate::contents::ContentReader;
use crate::ranks;

/// The most memory of what is in no segment, in bytes.
pub const FULL_TABLE: usize = 16 << 20;
/// The least of it that works.
pub const LEAST_TABLE: usize = 1 << 20;

/// The name of a user of the host.
pub type OwnerNames = Arc<dyn Fn(u32) -> Option<String> + Send + Sync>;

/// What an index is about.
pub struct IndexOptions {
    /// The name of the share, for people.
    pub share: String,
    /// The folder of the index, which belongs to it alone.
    pub folder: PathBuf,
    /// The names of owners.
    pub owner_names: OwnerNames,
    /// Reads contents; `None`: only names and metadata are indexed.
    pub contents: Option<Arc<dyn ContentReader>>,
    /// How long an index waits without a change before it is written.
    pub quiet: Duration,
}

/// What searches and the threads of an index share.
pub(super) struct Shared {
    pub(super) options: IndexOptions,
    pub(super) volume: Weak<Volume>,
    /// `None`: it is not open yet, or is being made anew.
    pub(super) store: RwLock<Option<Arc<Store>>, ranks::OpenedIndex>,
    pub(super) changes: ChangeList,
    pub(super) progress: Mutex<Progress, ranks::IndexProgress>,
    pub(super) alarm: Alarm,
    /// A search has found damage.
    pub(super) is_damaged: AtomicBool,
    /// What snapshots have, once a snapshot was seen.
    pub(super) past: RwLock<Option<Arc<Store>>, ranks::OpenedPast>,
    /// A search in snapshots has found damage.
    pub(super) is_past_damaged: AtomicBool,
    /// Memory of what is in no segment, in bytes, after which it becomes one.
    pub(super) full_table: AtomicUsize,
}

impl Shared {
    pub(super) fn is_full(&self, store: &Store) -> bool {
        store.table_bytes() > self.full_table.load(Ordering::Relaxed)
    }
}

/// How far an index has come.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) building: Option<(u64, u64)>,
    pub(super) problem: Option<String>,
    /// Snapshots that were not read yet.
    pub(super) unread_snapshots: usize,
}

/// Wakes the threads of an index.
#[derive(Default)]
pub(super) struct Alarm {
    rings: Mutex<bool, ranks::IndexKeeper>,
    rang: Condvar,
    stopped: AtomicBool,
    pub(super) stops: Notify,
}

impl Alarm {
    pub(super) fn ring(&self) {
        *self.rings.lock() = true;
        self.rang.notify_one();
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.stops.notify_one();
        self.ring();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Waits for a ring, but no longer than this.
    pub(super) fn wait(&self, most: Duration) {
        let mut rings = self.rings.lock();
        if !*rings {
            self.rang.wait_for(&mut rings, most);
        }
        *rings = false;
    }
}
