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
mod past;
mod phrases;
mod plan;
mod scan;
mod shared;
mod store;
pub(crate) mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use lock::{Mutex, RwLock};
use query::{Facts, Query};
use vfs::{Candidate, Error, Finder, FinderStatus, LastingKey, PastCandidate, Result, SearchPlace, Volume};

use self::changes::ChangeList;
use self::phrases::Phrases;
use self::shared::{Alarm, Progress, Shared};
pub use self::shared::{FULL_TABLE, IndexOptions, LEAST_TABLE, OwnerNames};
use crate::IndexFailure;
use crate::entry::time_of;

/// The index of a volume. Dropping it writes what waits, and ends its threads.
pub struct SearchIndex {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl SearchIndex {
    /// Begins to keep the index of a volume, in the background.
    ///
    /// # Errors
    /// The events of the volume cannot be heard, or no thread can be made.
    pub fn start(volume: &Arc<Volume>, options: IndexOptions) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            options,
            volume: Arc::downgrade(volume),
            store: RwLock::default(),
            changes: ChangeList::default(),
            progress: Mutex::new(Progress { building: Some((0, 0)), ..Progress::default() }),
            alarm: Alarm::default(),
            is_damaged: AtomicBool::new(false),
            past: RwLock::default(),
            is_past_damaged: AtomicBool::new(false),
            full_table: AtomicUsize::new(FULL_TABLE),
        });
        let threads = keeper::start(volume, &shared)?;
        Ok(Self { shared, threads })
    }

    /// What a volume asks.
    #[must_use]
    pub fn finder(&self) -> Arc<dyn Finder> {
        Arc::new(IndexFinder(self.shared.clone()))
    }

    /// Reads new snapshots now, not at the next time that it would look for them.
    pub fn look_at_snapshots(&self) {
        self.shared.alarm.ring();
    }

    /// Whether everything that is known of the tree is in the index: for tests.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.shared.progress.lock().building.is_none() && self.shared.changes.is_empty()
    }

    /// Limits the memory of what is not written yet, in bytes, between [`LEAST_TABLE`] and [`FULL_TABLE`].
    pub fn limit_memory(&self, most: u64) {
        let most = usize::try_from(most).unwrap_or(FULL_TABLE).clamp(LEAST_TABLE, FULL_TABLE);
        if self.shared.full_table.swap(most, Ordering::Relaxed) > most {
            self.shared.alarm.ring();
        }
    }

    /// Memory that it takes beside what the host caches of its files, in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let stores = [self.shared.store.read().clone(), self.shared.past.read().clone()];
        let tables: usize = stores.iter().flatten().map(|store| store.table_bytes()).sum();
        self.shared.changes.bytes() + tables as u64
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

impl IndexFinder {
    /// A search failed: damage is mended by the keeper.
    fn failed(&self, error: &IndexFailure, is_damaged: &AtomicBool) -> Error {
        tracing::debug!(%error, share = %self.0.options.share, "a search failed");
        if error.needs_rebuilding() {
            is_damaged.store(true, Ordering::Release);
            self.0.alarm.ring();
        }
        Error::Io
    }
}

impl Finder for IndexFinder {
    fn propose(
        &self,
        query: &Query,
        after: Option<&SearchPlace>,
        each: &mut dyn FnMut(&Candidate<'_>) -> bool,
    ) -> Result<Option<SearchPlace>> {
        let store = self.0.store.read().clone();
        let Some(store) = store.filter(|_| query.is_within_limits()) else { return Ok(None) };
        let name_of = |uid| (self.0.options.owner_names)(uid);
        let phrases = Phrases::new(&self.0.volume, self.0.options.contents.as_deref());
        let (mut last, mut paused) = (None, None);
        let found = asking::propose(&store, query, after, &name_of, &mut |found| {
            if phrases.have_taken_long() {
                paused = last.take();
                return false;
            }
            let Some(folder) = LastingKey::from_bytes(&found.place.folder) else { return true };
            let goes_on = each(&Candidate {
                folder,
                name: &found.place.name,
                contents: found.contents.unwrap_or(&Facts::default()),
                text: &|test| (found.text)(test) && phrases.accept(test, (&folder, found.place)),
                read: found.contents.map(|_| (found.inode, time_of(found.changed))),
            });
            if phrases.have_taken_long() {
                last = Some(found.place.clone());
            }
            goes_on
        });
        found.map(|()| paused).map_err(|error| self.failed(&error, &self.0.is_damaged))
    }

    fn propose_past(
        &self,
        query: &Query,
        after: Option<&SearchPlace>,
        each: &mut dyn FnMut(&PastCandidate<'_>) -> bool,
    ) -> Result<()> {
        let store = self.0.past.read().clone();
        let Some(store) = store.filter(|_| query.is_within_limits()) else { return Ok(()) };
        let name_of = |uid| (self.0.options.owner_names)(uid);
        let found = past::propose(&store, query, after, &name_of, each);
        found.map_err(|error| self.failed(&error, &self.0.is_past_damaged))
    }

    fn owner_name(&self, uid: u32) -> Option<String> {
        (self.0.options.owner_names)(uid)
    }

    fn status(&self) -> FinderStatus {
        let store = self.0.store.read().clone();
        let (entries, bytes) = store.map_or((0, 0), |store| store.size());
        let past = self.0.past.read().clone().map_or(0, |past| past.size().1);
        let progress = self.0.progress.lock();
        FinderStatus {
            entries,
            bytes: bytes + past,
            building: progress.building,
            problem: progress.problem.clone(),
            unread_snapshots: progress.unread_snapshots,
        }
    }
}
