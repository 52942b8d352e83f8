//! The thread that keeps an index.
//!
//! ```text
//! open ─► compare the folders' change times with those at which they were listed ─► list the ones that differ ─┐
//!   ▲                                                                                                          ▼
//!   └── damaged: begin anew ◄── write what waits ◄── look at entries that events were about ◄──────────────────┘
//! ```

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vfs::events::{Aspects, EventScope, Filter, Subscription};
use vfs::{Volume, WatchedClosings};

use super::journal::Journal;
use super::pace::Pace;
use super::past::Past;
use super::shared::Shared;
use super::store::{Condition, Store};
use crate::entry::{FolderKey, folder_key, nanoseconds};
use crate::error::IndexFailure;

/// Events that the hub keeps for an index.
const EVENTS: usize = 4_096;
/// How long events gather after the first one.
const GATHER: Duration = Duration::from_millis(50);
/// How long they gather while more of them come.
const LONGEST_GATHER: Duration = Duration::from_secs(1);
/// Folders whose local changes an index hears; clients' windows need watches, too.
const MOST_WATCHED: usize = 8_192;
/// How often the change times of folders that the host does not watch are compared, at most.
const COMPARE_EVERY: Duration = Duration::from_secs(600);
/// Comparing may take one part in so many of the time.
const COMPARE_SHARE: u32 = 100;
/// How often new snapshots are looked for, at least.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The pause after the disk was full.
const RETRY: Duration = Duration::from_secs(60);
/// The change time of a folder says that nothing changed since, if it is as old as this, in nanoseconds.
const SURE_AFTER: i64 = 2_000_000_000;

/// Starts the threads of an index.
pub(super) fn start(volume: &Arc<Volume>, shared: &Arc<Shared>) -> io::Result<Vec<JoinHandle<()>>> {
    let events = volume.subscribe(EventScope::Volume, filter(), EVENTS).map_err(io::Error::other)?;
    let (hearing, keeping) = (shared.clone(), shared.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let hears = std::thread::Builder::new().name("search events".into());
    let hears = hears.spawn(move || runtime.block_on(hear(&hearing, events)))?;
    let keeps = std::thread::Builder::new().name("search".into());
    let keeps = keeps.spawn(move || Keeper::new(keeping).run()).inspect_err(|_| shared.alarm.stop())?;
    Ok(vec![hears, keeps])
}

/// Times of access and permissions are not indexed.
fn filter() -> Filter {
    let without = Aspects::ACCESSED.union(Aspects::SECURITY);
    Filter { aspects: Aspects(Aspects::ALL.0 & !without.0), except: None, identifies_removed: false }
}

/// Takes events to the list of changes. While they come one after another, it does so once a second: equal changes become one, and
/// clients publish their writes to a file once in that time. A queue that is half full is emptied at once.
async fn hear(shared: &Shared, mut events: Subscription) {
    let mut gather = GATHER;
    loop {
        let begun = Instant::now();
        tokio::select! {
            () = shared.alarm.stops.notified() => return,
            () = shared.changes.hear(&mut events) => {}
        }
        shared.alarm.ring();
        gather = if begun.elapsed() < gather { (gather * 2).min(LONGEST_GATHER) } else { GATHER };
        tokio::select! {
            () = shared.alarm.stops.notified() => return,
            () = tokio::time::sleep(gather) => {}
            () = events.crowded() => {}
        }
    }
}

/// Keeps an index.
pub(super) struct Keeper {
    pub(super) shared: Arc<Shared>,
    /// Folders to be listed.
    pub(super) queue: VecDeque<FolderKey>,
    /// Folders in which something changed since they were listed.
    pub(super) touched: HashSet<FolderKey>,
    watched: HashMap<FolderKey, WatchedClosings>,
    /// The host tells of no changes.
    is_deaf: bool,
    pub(super) pace: Pace,
    /// Folders that were listed since the last time that nothing was to be done.
    pub(super) done: u64,
    compared: (Instant, Duration),
    written: Instant,
    /// What snapshots have, once there is one.
    past: Option<Past>,
}

impl Keeper {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            queue: VecDeque::new(),
            touched: HashSet::new(),
            watched: HashMap::new(),
            is_deaf: false,
            pace: Pace::of_this_thread(),
            done: 0,
            compared: (Instant::now(), Duration::ZERO),
            written: Instant::now(),
            past: None,
        }
    }

    fn run(mut self) {
        while !self.shared.alarm.is_stopped() && self.shared.volume.strong_count() > 0 {
            let kept = self.open().and_then(|store| self.keep(&store));
            match kept {
                Ok(()) => return,
                Err(error) if error.needs_rebuilding() => self.begin_anew(&error),
                Err(error) => self.wait_for_space(&error),
            }
        }
    }

    fn begin_anew(&mut self, error: &IndexFailure) {
        let share = &self.shared.options.share;
        tracing::warn!(%error, %share, "the search index of the share is built anew");
        *self.shared.store.write() = None;
        self.close_past();
        self.queue.clear();
        self.shared.is_damaged.store(false, Ordering::Release);
        if let Err(error) = Store::discard(&self.shared.options.folder) {
            self.wait_for_space(&error);
        }
    }

    /// The index stops until its disk can be written again; the share goes on.
    fn wait_for_space(&mut self, error: &IndexFailure) {
        let problem = error.to_string();
        let known = self.shared.progress.lock().problem.replace(problem.clone());
        if known.is_none() {
            let share = &self.shared.options.share;
            tracing::warn!(error = %problem, %share, "the search index of the share stops until its disk can be written");
        }
        self.queue.clear();
        let until = Instant::now() + RETRY;
        while !self.shared.alarm.is_stopped() && Instant::now() < until {
            self.shared.alarm.wait(until.saturating_duration_since(Instant::now()));
        }
        // What was heard meanwhile may be more than could be remembered.
        let store = self.shared.store.read().clone();
        store.iter().for_each(|store| store.forget_table());
        self.close_past();
        self.shared.changes.lose();
    }

    fn close_past(&mut self) {
        *self.shared.past.write() = None;
        self.past = None;
    }

    fn open(&mut self) -> Result<Arc<Store>, IndexFailure> {
        let folder = self.shared.options.folder.clone();
        let failed = |error: vfs::Error| IndexFailure::Disk {
            path: folder.clone(),
            error: io::Error::other(format!("the share cannot be read: {error}")),
        };
        let Some(volume) = self.shared.volume.upgrade() else {
            return Err(failed(vfs::Error::Stale));
        };
        let root = volume.root().map_err(failed)?;
        let root = folder_key(&volume.lasting_key(&root.object.key()).map_err(failed)?);
        let contents = self.shared.options.contents.is_some();
        if !volume.searches().finds_by_key() {
            // Keys of files say nothing after a restart.
            Store::discard(&folder)?;
        }
        let journal = Journal::read(&folder);
        let (store, condition) = Store::open(&folder, &root, contents)?;
        if condition == Condition::Unclean {
            for segment in store.segments() {
                segment.verify(|| {
                    self.pace.rest();
                    !self.shared.alarm.is_stopped()
                })?;
            }
        }
        self.shared.changes.use_journal(Journal::open(&folder)?);
        self.shared.changes.add_entries(journal);
        if store.listed(&root)?.is_none() {
            store.set_listed(&root, crate::segment::UNLISTED);
        }
        let store = Arc::new(store);
        *self.shared.store.write() = Some(store.clone());
        Ok(store)
    }

    fn keep(&mut self, store: &Store) -> Result<(), IndexFailure> {
        self.compare(store)?;
        while !self.shared.alarm.is_stopped() {
            if self.shared.is_damaged.load(Ordering::Acquire) {
                return Err(IndexFailure::damaged(store.folder(), "a search could not read it"));
            }
            if !self.work(store)? {
                self.end_building();
                if !self.read_snapshots()? && (store.table_bytes() == 0 || !self.is_quiet()) {
                    self.settle(store)?;
                }
            }
            if self.shared.is_full(store) || self.is_quiet() || self.shared.changes.has_long_journal() {
                self.write(store)?;
            }
        }
        self.write(store)?;
        if let Some(past) = &self.past {
            past.store.flush(false, &|| false)?;
        }
        store.set_clean()
    }

    /// Reads a folder of a snapshot. `false`: all snapshots were read.
    fn read_snapshots(&mut self) -> Result<bool, IndexFailure> {
        let Some(volume) = self.shared.volume.upgrade() else { return Ok(false) };
        let read = self.read_snapshot(&volume);
        let Err(error) = &read else { return read };
        if !error.needs_rebuilding() {
            return read;
        }
        let share = &self.shared.options.share;
        tracing::warn!(%error, %share, "the snapshots of the share are indexed anew");
        self.close_past();
        Past::discard(&self.shared.options.folder).map(|()| true)
    }

    fn read_snapshot(&mut self, volume: &Volume) -> Result<bool, IndexFailure> {
        let folder = &self.shared.options.folder;
        if self.shared.is_past_damaged.swap(false, Ordering::AcqRel) {
            return Err(IndexFailure::damaged(folder, "a search in snapshots could not read it"));
        }
        let snapshots = volume.snapshots();
        let mut past = match self.past.take() {
            Some(past) => past,
            None if snapshots.is_empty() => return Ok(false),
            None => {
                let past = Past::open(folder)?;
                *self.shared.past.write() = Some(past.store.clone());
                past
            }
        };
        if self.shared.is_full(&past.store) {
            past.write()?;
        }
        if !past.is_reading() {
            self.shared.progress.lock().unread_snapshots = past.unread(&snapshots);
        }
        let goes_on = past.step(volume, &snapshots, &mut self.pace)?;
        self.past = Some(past);
        Ok(goes_on)
    }

    /// Looks at changes, and lists one folder. `false`: no folder is to be listed, or the volume is gone.
    fn work(&mut self, store: &Store) -> Result<bool, IndexFailure> {
        let Some(volume) = self.shared.volume.upgrade() else {
            self.shared.alarm.stop();
            return Ok(false);
        };
        self.look_at_changes(&volume, store)?;
        let Some(folder) = self.queue.pop_front() else { return Ok(false) };
        self.list(&volume, store, &folder)?;
        self.done += 1;
        self.show_progress();
        self.pace.rest();
        Ok(true)
    }

    /// Whether nothing has changed for a while, and something is to be written.
    fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.written.elapsed() >= self.shared.options.quiet
    }

    /// No folder is to be listed.
    fn end_building(&mut self) {
        if self.shared.changes.is_empty() {
            self.done = 0;
            self.shared.progress.lock().building = None;
        }
    }

    /// Nothing is to be read: waits for changes.
    fn settle(&mut self, store: &Store) -> Result<(), IndexFailure> {
        let most = match store.table_bytes() {
            0 => LOOK_EVERY,
            _ => self.shared.options.quiet.saturating_sub(self.written.elapsed()),
        };
        self.shared.alarm.wait(most.max(GATHER));
        self.pace.restart();
        let (at, took) = self.compared;
        let is_due = at.elapsed() >= COMPARE_EVERY.max(took * COMPARE_SHARE);
        let hears_all = !self.is_deaf && self.watched.len() < MOST_WATCHED;
        if is_due && !hears_all { self.compare(store) } else { Ok(()) }
    }

    pub(super) fn show_progress(&self) {
        let total = self.done + self.queue.len() as u64;
        self.shared.progress.lock().building = Some((self.done, total));
    }

    fn write(&mut self, store: &Store) -> Result<(), IndexFailure> {
        let is_idle = self.queue.is_empty();
        if is_idle && let Some(volume) = self.shared.volume.upgrade() {
            self.confirm_listings(&volume, store);
        }
        let alarm = &self.shared.alarm;
        store.flush(is_idle, &|| !alarm.is_stopped())?;
        self.shared.changes.shorten_journal()?;
        self.written = Instant::now();
        if self.shared.progress.lock().problem.take().is_some() {
            tracing::info!(share = %self.shared.options.share, "the search index of the share is kept again");
        }
        Ok(())
    }

    /// Folders in which nothing changes any more are as they were looked at: after a crash they need not be listed.
    fn confirm_listings(&mut self, volume: &Volume, store: &Store) {
        let mut confirmed = Vec::new();
        for folder in &self.touched {
            let key = vfs::LastingKey::from_bytes(folder);
            let Some(found) = key.and_then(|key| volume.searches().by_lasting_key(&key).ok()) else {
                continue;
            };
            confirmed.push((folder.clone(), nanoseconds(found.attributes.changed)));
        }
        let now = nanoseconds(std::time::SystemTime::now().into());
        confirmed.retain(|(_, changed)| changed.saturating_add(SURE_AFTER) < now);
        if !self.shared.changes.is_empty() {
            return; // the next time
        }
        for (folder, changed) in confirmed {
            store.set_listed(&folder, changed);
            self.touched.remove(&folder);
        }
    }

    /// Compares the change times of all folders with those at which they were listed.
    fn compare(&mut self, store: &Store) -> Result<(), IndexFailure> {
        let begun = Instant::now();
        let Some(volume) = self.shared.volume.upgrade() else { return Ok(()) };
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        let is_stopped = || self.shared.alarm.is_stopped();
        let mut pace = Pace::of_this_thread();
        store.each_folder(&mut |folder, listed| {
            let key = vfs::LastingKey::from_bytes(folder);
            match key.map(|key| volume.searches().by_lasting_key(&key)) {
                Some(Ok(found)) if nanoseconds(found.attributes.changed) == listed => {
                    self.shared.changes.learn(found.object.id(), folder);
                    changed.push((folder.clone(), false));
                }
                Some(Ok(_)) => changed.push((folder.clone(), true)),
                Some(Err(vfs::Error::Stale | vfs::Error::NotFound)) | None => gone.push(folder.clone()),
                Some(Err(_)) => {}
            }
            pace.rest();
            !is_stopped()
        })?;
        for (folder, is_changed) in changed {
            if is_changed {
                self.queue.push_back(folder);
            } else if let Some(key) = vfs::LastingKey::from_bytes(&folder)
                && let Ok(found) = volume.searches().by_lasting_key(&key)
            {
                self.watch(&volume, &folder, &found);
            }
        }
        for folder in gone {
            self.remove_folder(store, &folder)?;
        }
        self.compared = (Instant::now(), begun.elapsed());
        if !self.queue.is_empty() {
            self.show_progress();
        }
        Ok(())
    }

    /// The host tells of local changes in this folder from now on.
    pub(super) fn watch(&mut self, volume: &Arc<Volume>, key: &FolderKey, folder: &vfs::backend::Found) {
        if self.is_deaf || self.watched.len() >= MOST_WATCHED || self.watched.contains_key(key) {
            return;
        }
        match WatchedClosings::of(volume, folder) {
            Some(watched) => _ = self.watched.insert(key.clone(), watched),
            None => self.is_deaf = self.watched.is_empty(),
        }
    }

    pub(super) fn unwatch(&mut self, key: &FolderKey) {
        self.watched.remove(key);
        self.touched.remove(key);
    }
}
