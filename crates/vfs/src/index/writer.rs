use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use lock::{Condvar, Mutex, rank};

use super::desktop::Desk;
use super::ledger::{Attempt, Ledger};
use super::places::KeptPlace;
use super::store::Store;
use super::{CatalogId, IndexError, Options, VolumeTag};
use crate::HostKey;

/// The open index: its file, its volumes' ledgers, and the thread that writes behind. Dropping it writes everything.
pub(super) struct Core {
    pub(super) books: Arc<Books>,
    writer: Option<JoinHandle<()>>,
}

impl Core {
    pub(super) fn start(store: Store, options: Options) -> Result<Self, IndexError> {
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
            tracing::error!(%error, "the index could not be written at its end; the newest ids are lost");
        }
    }
}

/// What callers and the writer share.
pub(super) struct Books {
    pub(super) store: Store,
    options: Options,
    ledgers: Mutex<HashMap<VolumeTag, Arc<Ledger>>, rank::CatalogLedgers>,
    desks: Mutex<HashMap<VolumeTag, Arc<Desk>>, rank::CatalogDesks>,
    /// Rows of all ledgers and desks that are not on the disk yet.
    waiting: AtomicUsize,
    /// One batch at a time, or an older change of a row could overwrite a newer one.
    writing: Mutex<(), rank::CatalogWriting>,
    failed: AtomicBool,
    alarm: Alarm,
}

impl Books {
    fn new(store: Store, options: Options) -> Self {
        Self {
            store,
            options,
            ledgers: Mutex::default(),
            desks: Mutex::default(),
            waiting: AtomicUsize::new(0),
            writing: Mutex::default(),
            failed: AtomicBool::new(false),
            alarm: Alarm::default(),
        }
    }

    /// The one ledger of the volume.
    pub(super) fn ledger(&self, tag: VolumeTag) -> Result<Arc<Ledger>, IndexError> {
        let mut ledgers = self.ledgers.lock();
        if let Some(ledger) = ledgers.get(&tag) {
            return Ok(Arc::clone(ledger));
        }
        let ledger = Arc::new(Ledger::open(&self.store, tag, &self.options)?);
        ledgers.insert(tag, Arc::clone(&ledger));
        Ok(ledger)
    }

    /// The one desk of the volume.
    pub(super) fn desk(&self, tag: VolumeTag) -> Result<Arc<Desk>, IndexError> {
        let mut desks = self.desks.lock();
        if let Some(desk) = desks.get(&tag) {
            return Ok(Arc::clone(desk));
        }
        let desk = Arc::new(Desk::open(self, tag)?);
        desks.insert(tag, Arc::clone(&desk));
        Ok(desk)
    }

    /// The file's id. Waits for the disk only when more ids are asked for than it can keep up with.
    pub(super) fn id(&self, ledger: &Ledger, key: &HostKey) -> Result<CatalogId, IndexError> {
        if let Some(id) = ledger.remembered(key) {
            return Ok(id);
        }
        loop {
            self.make_room()?;
            match ledger.id(&self.store, key)? {
                Attempt::Done(id, rows) => {
                    self.added(rows);
                    if rows > 0 && ledger.is_low() {
                        self.alarm.ring();
                    }
                    return Ok(id);
                }
                Attempt::NeedsNumbers => self.write_now(|| ledger.is_low())?,
            }
        }
    }

    /// Strikes the file out.
    pub(super) fn forget(&self, ledger: &Ledger, key: &HostKey) -> Result<(), IndexError> {
        self.make_room()?;
        self.added(ledger.forget(&self.store, key)?);
        Ok(())
    }

    /// Exchanges the ids of two files, on the disk.
    pub(super) fn exchange(&self, ledger: &Ledger, one: &HostKey, other: &HostKey) -> Result<(), IndexError> {
        let ids = (self.id(ledger, one)?, self.id(ledger, other)?);
        {
            let _one = self.writing.lock(); // so that no batch has half of it
            self.added(ledger.exchange((one, other), ids));
        }
        self.flush()
    }

    /// Keeps where a file is.
    pub(super) fn keep_place(
        &self,
        ledger: &Ledger,
        id: CatalogId,
        place: KeptPlace,
    ) -> Result<(), IndexError> {
        self.make_room()?;
        self.added(ledger.keep_place(&self.store, id, place)?);
        Ok(())
    }

    /// Keeps it no longer.
    pub(super) fn forget_place(&self, ledger: &Ledger, id: CatalogId) -> Result<(), IndexError> {
        self.make_room()?;
        self.added(ledger.forget_place(&self.store, id)?);
        Ok(())
    }

    /// Writes everything that waits.
    pub(super) fn flush(&self) -> Result<(), IndexError> {
        self.write_now(|| true)
    }

    #[cfg(test)]
    pub(super) fn rows_waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// When the queue is full, the caller writes it. Threads that pass this at the same moment add a row or two each
    /// above the limit, no more.
    pub(super) fn make_room(&self) -> Result<(), IndexError> {
        let is_full = || self.waiting.load(Ordering::Relaxed) >= self.options.queue;
        if is_full() { self.write_now(is_full) } else { Ok(()) }
    }

    pub(super) fn added(&self, rows: usize) {
        let before = self.waiting.fetch_add(rows, Ordering::Relaxed);
        if before < self.options.batch && before + rows >= self.options.batch {
            self.alarm.ring();
        }
    }

    /// Writes what waits, unless another thread did it while this one waited for its turn.
    fn write_now(&self, still_needed: impl Fn() -> bool) -> Result<(), IndexError> {
        let _one = self.writing.lock();
        if !still_needed() {
            return Ok(());
        }
        let ledgers: Vec<_> = self.ledgers.lock().values().cloned().collect();
        let batches: Vec<_> = ledgers.iter().map(|ledger| (ledger, ledger.batch())).collect();
        let desks: Vec<_> = self.desks.lock().values().cloned().collect();
        let rows: Vec<_> = desks.iter().map(|desk| (desk, desk.batch())).collect();
        if batches.iter().all(|(_, batch)| batch.is_empty()) && rows.iter().all(|(_, batch)| batch.is_empty())
        {
            return Ok(());
        }
        self.store.write(|transaction| {
            batches.iter().try_for_each(|(ledger, batch)| ledger.write(batch, transaction))?;
            rows.iter().try_for_each(|(desk, batch)| desk.write(batch, transaction))
        })?;
        let fewer: usize = batches.iter().map(|(ledger, batch)| ledger.written(batch)).sum();
        let fewer_rows: usize = rows.iter().map(|(desk, batch)| desk.written(batch)).sum();
        self.waiting.fetch_sub(fewer + fewer_rows, Ordering::Relaxed);
        Ok(())
    }

    /// The writer's thread.
    fn write_behind(&self) {
        while self.alarm.wait(self.options.interval) {
            match self.flush() {
                Ok(()) => self.failed.store(false, Ordering::Relaxed),
                // Said once, not every second.
                Err(error) if !self.failed.swap(true, Ordering::Relaxed) => {
                    tracing::error!(%error, "the index cannot be written; ids given now will be lost at the end");
                }
                Err(_) => (),
            }
        }
    }

    /// The last write: all rows, and the numbers that were reserved for nothing.
    fn close(&self) -> Result<(), IndexError> {
        self.flush()?;
        let ledgers = self.ledgers.lock();
        if ledgers.is_empty() {
            return Ok(());
        }
        self.store.write(|transaction| ledgers.values().try_for_each(|ledger| ledger.give_back(transaction)))
    }
}

/// Wakes the writer before its time.
#[derive(Default)]
struct Alarm {
    state: Mutex<AlarmState, rank::CatalogAlarm>,
    rang: Condvar,
}

#[derive(Default)]
struct AlarmState {
    ringing: bool,
    stopped: bool,
}

impl Alarm {
    fn ring(&self) {
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
