//! The index of a volume, and what keeps it: [`SearchIndex`].
//!
//! ```text
//! events of the volume ─► ChangeList ─► keeper: looks at entries ─► Table ─► segments ─► merged segments
//!                                          ▲ lists folders that are new, or that changed while no server ran
//! Searches::find ─► SearchIndex::propose ─► Table and segments
//! ```

mod asking;
mod changes;
mod journal;
mod keeper;
mod listing;
mod manifest;
mod pace;
mod plan;
mod scan;
mod store;
pub(crate) mod table;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lock::{Condvar, Mutex, RwLock};
use query::Query;
use tokio::sync::Notify;
use vfs::{Candidate, Error, Finder, FinderStatus, Result, SearchPlace, Volume};

use self::changes::ChangeList;
use self::store::Store;
use crate::entry::Contents;
use crate::ranks;

/// Reads the contents of files for an index.
pub trait ContentReader: Send + Sync {
    /// Whether contents of a file of this name and length can say anything.
    fn is_of_interest(&self, name: &str, length: u64) -> bool;

    /// What the contents say; `read_at` reads up to so many bytes at a place. `None`: nothing.
    fn read(
        &self,
        name: &str,
        length: u64,
        read_at: &mut dyn FnMut(u64, usize) -> Result<Vec<u8>>,
    ) -> Option<Contents>;
}

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

/// The index of a volume. Dropping it writes what waits, and ends its threads.
pub struct SearchIndex {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What searches and the threads of an index share.
struct Shared {
    options: IndexOptions,
    /// `None`: it is not open yet, or is being made anew.
    store: RwLock<Option<Arc<Store>>, ranks::OpenedIndex>,
    changes: ChangeList,
    progress: Mutex<Progress, ranks::IndexProgress>,
    alarm: Alarm,
    /// A search has found damage.
    is_damaged: AtomicBool,
}

/// How far an index has come.
#[derive(Default)]
struct Progress {
    building: Option<(u64, u64)>,
    problem: Option<String>,
}

/// Wakes the threads of an index.
#[derive(Default)]
struct Alarm {
    rings: Mutex<bool, ranks::IndexKeeper>,
    rang: Condvar,
    stopped: AtomicBool,
    stops: Notify,
}

impl Alarm {
    fn ring(&self) {
        *self.rings.lock() = true;
        self.rang.notify_one();
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.stops.notify_one();
        self.ring();
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Waits for a ring, but no longer than this.
    fn wait(&self, most: Duration) {
        let mut rings = self.rings.lock();
        if !*rings {
            self.rang.wait_for(&mut rings, most);
        }
        *rings = false;
    }
}

impl SearchIndex {
    /// Begins to keep the index of a volume, in the background.
    ///
    /// # Errors
    /// The events of the volume cannot be heard, or no thread can be made.
    pub fn start(volume: &Arc<Volume>, options: IndexOptions) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            options,
            store: RwLock::default(),
            changes: ChangeList::default(),
            progress: Mutex::new(Progress { building: Some((0, 0)), problem: None }),
            alarm: Alarm::default(),
            is_damaged: AtomicBool::new(false),
        });
        let threads = keeper::start(volume, &shared)?;
        Ok(Self { shared, threads })
    }

    /// What a volume asks.
    #[must_use]
    pub fn finder(&self) -> Arc<dyn Finder> {
        Arc::new(IndexFinder(self.shared.clone()))
    }

    /// Whether everything that is known of the tree is in the index: for tests.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.shared.progress.lock().building.is_none() && self.shared.changes.is_empty()
    }

    /// Memory that it takes beside what the host caches of its files, in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let store = self.shared.store.read().clone();
        self.shared.changes.bytes() + store.map_or(0, |store| store.table_bytes() as u64)
    }
}

impl Drop for SearchIndex {
    fn drop(&mut self) {
        self.shared.alarm.stop();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!(share = %self.shared.options.share, "a thread of the index of a share panicked");
            }
        }
    }
}

/// The face of an index for its volume.
struct IndexFinder(Arc<Shared>);

impl Finder for IndexFinder {
    fn propose(
        &self,
        query: &Query,
        after: Option<&SearchPlace>,
        each: &mut dyn FnMut(&Candidate<'_>) -> bool,
    ) -> Result<()> {
        let store = self.0.store.read().clone();
        let Some(store) = store.filter(|_| query.is_within_limits()) else { return Ok(()) };
        let name_of = |uid| (self.0.options.owner_names)(uid);
        asking::propose(&store, query, after, &name_of, each).map_err(|error| {
            tracing::debug!(%error, share = %self.0.options.share, "a search failed");
            if error.needs_rebuilding() {
                self.0.is_damaged.store(true, Ordering::Release);
                self.0.alarm.ring();
            }
            Error::Io
        })
    }

    fn owner_name(&self, uid: u32) -> Option<String> {
        (self.0.options.owner_names)(uid)
    }

    fn status(&self) -> FinderStatus {
        let store = self.0.store.read().clone();
        let (entries, bytes) = store.map_or((0, 0), |store| store.size());
        let progress = self.0.progress.lock();
        FinderStatus { entries, bytes, building: progress.building, problem: progress.problem.clone() }
    }
}
