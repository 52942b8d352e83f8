//! Writes the rows of all tenants behind, in batches, by one thread.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use lock::{Condvar, Mutex};
use redb::WriteTransaction;

use super::store::DatabaseStore;
use super::{IndexError, Options, VolumeTag};
use crate::ranks;

/// Rows of a volume that change in memory and are written behind. It belongs to a protocol, which defines its tables.
pub trait Tenant: Any + Send + Sync {
    /// A copy of the rows to write now; `None` if there are none.
    fn batch(&self) -> Option<Box<dyn Batch + '_>>;

    /// Writes rows that are known only at the end of the server. Called after the last batch.
    fn close(&self, _transaction: &WriteTransaction) -> Result<(), redb::Error> {
        Ok(())
    }
}

/// Rows of one [`Tenant`] for one transaction.
pub trait Batch {
    /// Puts them into the database.
    fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error>;

    /// They are on the disk. Returns how many rows fewer wait.
    fn written(&self) -> usize;
}

/// The open index: its file, its tenants, and the thread that writes behind. Dropping it writes everything.
pub(super) struct Core {
    pub(super) books: Arc<Books>,
    writer: Option<JoinHandle<()>>,
}

impl Core {
    pub(super) fn start(store: DatabaseStore, options: Options) -> Result<Self, IndexError> {
        let books = Arc::new(Books::new(store, options));
        let thread = thread::Builder::new().name("index".into());
        let behind = Arc::clone(&books);
        let writer = thread.spawn(move || behind.write_behind());
        let writer = writer.map_err(|error| IndexError::disk(books.store.path(), error))?;
        Ok(Self { books, writer: Some(writer) })
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.books.alarm.stop();
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!(file = %self.books.store.path().display(), "the index's writer panicked");
        }
        if let Err(error) = self.books.close() {
            tracing::error!(%error, "the index could not be written at its end; the newest rows are lost");
        }
    }
}

type Tenants = HashMap<(TypeId, VolumeTag), Arc<dyn Tenant>>;

/// What callers and the writer share.
pub(super) struct Books {
    pub(super) store: DatabaseStore,
    pub(super) options: Options,
    tenants: Mutex<Tenants, ranks::IndexTenants>,
    /// Rows of all tenants that are not on the disk yet.
    waiting: AtomicUsize,
    /// One batch at a time, or an older change of a row could overwrite a newer one.
    writing: Mutex<(), ranks::IndexWriting>,
    failed: AtomicBool,
    pub(super) alarm: Alarm,
}

impl Books {
    fn new(store: DatabaseStore, options: Options) -> Self {
        Self {
            store,
            options,
            tenants: Mutex::default(),
            waiting: AtomicUsize::new(0),
            writing: Mutex::default(),
            failed: AtomicBool::new(false),
            alarm: Alarm::default(),
        }
    }

    /// The one tenant of this type and volume.
    pub(super) fn tenant<T: Tenant>(
        &self,
        volume: VolumeTag,
        open: impl FnOnce(&DatabaseStore) -> Result<T, IndexError>,
    ) -> Result<Arc<T>, IndexError> {
        let mut tenants = self.tenants.lock();
        let key = (TypeId::of::<T>(), volume);
        if let Some(known) = tenants.get(&key) {
            let known: Arc<dyn Any + Send + Sync> = known.clone();
            return Ok(known.downcast().expect("the key has its type"));
        }
        let tenant = Arc::new(open(&self.store)?);
        tenants.insert(key, tenant.clone());
        Ok(tenant)
    }

    /// Makes a change in memory that no batch may contain by half.
    pub(super) fn between_batches<T>(&self, change: impl FnOnce() -> T) -> T {
        let _one = self.writing.lock();
        change()
    }

    /// Writes everything that waits.
    pub(super) fn flush(&self) -> Result<(), IndexError> {
        self.write_if(|| true)
    }

    pub(super) fn rows_waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// When the queue is full, the caller writes it. Threads that pass this at the same moment add a row or two each
    /// above the limit, no more.
    pub(super) fn make_room(&self) -> Result<(), IndexError> {
        let is_full = || self.rows_waiting() >= self.options.queue;
        if is_full() { self.write_if(is_full) } else { Ok(()) }
    }

    pub(super) fn added(&self, rows: usize) {
        let before = self.waiting.fetch_add(rows, Ordering::Relaxed);
        if before < self.options.batch && before + rows >= self.options.batch {
            self.alarm.ring();
        }
    }

    /// Writes what waits, unless another thread did it while this one waited for its turn.
    pub(super) fn write_if(&self, still_needed: impl Fn() -> bool) -> Result<(), IndexError> {
        let _one = self.writing.lock();
        if !still_needed() {
            return Ok(());
        }
        let tenants: Vec<_> = self.tenants.lock().values().cloned().collect();
        let batches: Vec<_> = tenants.iter().filter_map(|tenant| tenant.batch()).collect();
        if batches.is_empty() {
            return Ok(());
        }
        self.store.write(|transaction| batches.iter().try_for_each(|batch| batch.write(transaction)))?;
        let fewer: usize = batches.iter().map(|batch| batch.written()).sum();
        self.waiting.fetch_sub(fewer, Ordering::Relaxed);
        Ok(())
    }

    /// The writer's thread.
    fn write_behind(&self) {
        while self.alarm.wait(self.options.interval) {
            match self.flush() {
                Ok(()) if self.failed.swap(false, Ordering::Relaxed) => {
                    tracing::info!("the index is written again; no row was lost");
                }
                Ok(()) => (),
                // Said once, not every second.
                Err(error) if !self.failed.swap(true, Ordering::Relaxed) => {
                    tracing::error!(
                        %error,
                        "the index in the state folder cannot be written. It is tried again; make space on that disk before \
                         the server ends, or the newest rows are lost"
                    );
                }
                Err(_) => (),
            }
        }
    }

    /// The last write.
    fn close(&self) -> Result<(), IndexError> {
        self.store.try_now();
        self.flush()?;
        let tenants = self.tenants.lock();
        if tenants.is_empty() {
            return Ok(());
        }
        self.store.write(|transaction| tenants.values().try_for_each(|tenant| tenant.close(transaction)))
    }
}

/// Wakes the writer before its time.
#[derive(Default)]
pub(super) struct Alarm {
    state: Mutex<AlarmState, ranks::IndexAlarm>,
    rang: Condvar,
}

#[derive(Default)]
struct AlarmState {
    ringing: bool,
    stopped: bool,
}

impl Alarm {
    pub(super) fn ring(&self) {
        self.state.lock().ringing = true;
        self.rang.notify_one();
    }

    fn stop(&self) {
        self.state.lock().stopped = true;
        self.rang.notify_one();
    }

    /// Waits for a ring, but no longer than `interval`. False when it is time to stop.
    fn wait(&self, interval: std::time::Duration) -> bool {
        let mut state = self.state.lock();
        if !state.ringing && !state.stopped {
            self.rang.wait_for(&mut state, interval);
        }
        state.ringing = false;
        !state.stopped
    }
}
