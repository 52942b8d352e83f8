//! The table of what is held on files, in shards, and how an entry is looked at, changed and dropped.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lock::Mutex;

use super::absent::Absent;
use super::held_opens::Opens;
use super::joined::{CoordinatorLink, DeferredChange};
use super::leases::LeaseEntry;
use super::ledger::{Ledger, Limits};
use super::pins::{PinConflict, Pinning};
use super::ranges::Ranges;
use super::removals::{Last, RemovalTarget};
use super::waiters::QueuedLock;
use super::{Policy, Stream};
use crate::ranks;
use formats::{FileId, IdMap, Result};

/// A power of two. Enough that tasks on different files rarely use the same shard, few enough to
/// walk through all of them.
const SHARDS: usize = 64;

/// All entries of a server.
pub(super) struct Table {
    shards: Box<[Shard]>,
    pub(super) ledger: Ledger,
    pub(super) policy: Policy,
    pub(super) absent: Absent,
    pub(super) next: AtomicU64,
    /// How many opens of resource forks there are, if every state is here.
    pub(super) forks: AtomicUsize,
    /// How long the holders of delegations have to give them back, in milliseconds.
    pub(super) delegations_ms: AtomicU64,
    /// How many removals and moves are being made.
    pub(super) name_changes: AtomicUsize,
    /// If several servers share the files: where the entries are that are not here.
    pub(super) joined: Option<CoordinatorLink>,
}

#[derive(Default)]
struct Shard {
    /// How many entries `files` has. If it is zero, a reader does not take the lock.
    count: AtomicUsize,
    files: Mutex<IdMap<FileId, Entry>, ranks::StateFiles>,
}

/// What is held on one file. The entry is removed when all of these are empty.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) opens: Opens,
    pub(super) ranges: Vec<(Stream, Ranges)>,
    /// In order of arrival.
    pub(super) queue: Vec<QueuedLock>,
    pub(super) leases: Vec<LeaseEntry>,
    /// Empty when `opens` is, unless another server is removing one.
    pub(super) removals: Vec<RemovalTarget>,
    /// How many opens wait for caches of others before they are registered.
    pub(super) openers: usize,
    /// The same at other servers.
    pub(super) far_openers: Vec<(u16, u32)>,
    /// Changes of this server that need the state here.
    pub(super) pinning: Pinning,
    /// The number of a volume through which the file is used, for display.
    pub(super) view: u32,
}

impl Entry {
    pub(super) fn is_empty(&self) -> bool {
        let unopened = self.opens.is_empty() && self.openers == 0 && self.far_openers.is_empty();
        unopened
            && self.removals.is_empty()
            && self.ranges.is_empty()
            && self.queue.is_empty()
            && self.leases.is_empty()
    }

    /// How much clients of all servers have.
    pub(super) fn held(&self) -> [usize; 6] {
        let (opens, ranges) = (self.opens.len(), self.range_count());
        let (queued, openers) = (self.queue.len(), self.far_openers.len());
        [opens, ranges, queued, openers, self.leases.len(), self.removals.len()]
    }

    /// The ranges of a stream, if it has any.
    pub(super) fn ranges_of(&self, stream: &Stream) -> Option<&Ranges> {
        self.ranges.iter().find(|(of, _)| of == stream).map(|(_, ranges)| ranges)
    }

    /// The ranges of a stream, made when there were none.
    pub(super) fn ranges_mut(&mut self, stream: &Stream) -> &mut Ranges {
        let found = self.ranges.iter().position(|(of, _)| of == stream);
        let at = found.unwrap_or_else(|| {
            self.ranges.push((stream.clone(), Ranges::default()));
            self.ranges.len() - 1
        });
        &mut self.ranges[at].1
    }

    /// How many ranges all streams have.
    pub(super) fn range_count(&self) -> usize {
        self.ranges.iter().map(|(_, ranges)| ranges.len()).sum()
    }
}

impl Table {
    pub(super) fn new(policy: Policy, limits: Limits) -> Self {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        let (absent, next) = (Absent::default(), AtomicU64::new(1));
        let (forks, delegations_ms) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self {
            shards,
            ledger: Ledger::new(limits),
            policy,
            absent,
            next,
            forks,
            delegations_ms,
            name_changes: AtomicUsize::new(0),
            joined: None,
        }
    }

    /// Counts an open of this stream, or no longer counts it.
    pub(super) fn count_fork(&self, stream: &Stream, add: bool) {
        match (stream, add) {
            (Stream::Resource, true) => self.forks.fetch_add(1, Ordering::AcqRel),
            (Stream::Resource, false) => self.forks.fetch_sub(1, Ordering::AcqRel),
            _ => 0,
        };
    }

    /// A number that was not used before.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    #[inline]
    fn shard(&self, file: FileId) -> &Shard {
        // Inode numbers count up: the multiplication spreads them, and the top bits are the spread ones.
        let hash = file.inode.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(hash >> 58) as usize % SHARDS]
    }

    /// Whether nothing is held on the file. Takes no lock while its shard has no entry.
    #[inline]
    pub(super) fn quiet(&self, file: FileId) -> bool {
        let (shard, is_joined) = (self.shard(file), self.joined.is_some());
        if shard.count.load(Ordering::Acquire) == 0 && !is_joined {
            return true;
        }
        match shard.files.lock().get(&file) {
            Some(entry) => is_joined && entry.is_empty() && !self.is_fenced(),
            None => !is_joined,
        }
    }

    /// Whether the file has an entry here. Where files are shared with other servers, an entry
    /// stays when it is empty.
    pub(super) fn has(&self, file: FileId) -> bool {
        self.shard(file).files.lock().contains_key(&file)
    }

    /// Adds the entry of a file, and makes the changes that waited for it.
    pub(super) fn insert(&self, file: FileId, entry: Entry, then: Vec<DeferredChange>) -> Vec<Last> {
        let shard = self.shard(file);
        let mut files = shard.files.lock();
        let entry = files.entry(file).insert_entry(entry).into_mut();
        let last = then.into_iter().flat_map(|act| act(self, entry)).collect();
        shard.count.store(files.len(), Ordering::Release);
        last
    }

    /// Takes the entry of a file out, to give it away. `None` if it is not here.
    pub(super) fn take(&self, file: FileId) -> std::result::Result<Option<Entry>, PinConflict> {
        let shard = self.shard(file);
        let mut files = shard.files.lock();
        if files.get_mut(&file).is_some_and(|entry| !entry.pinning.may_leave()) {
            return Err(PinConflict);
        }
        let entry = files.remove(&file);
        shard.count.store(files.len(), Ordering::Release);
        Ok(entry)
    }

    /// Takes the entry of a file out if nothing is in it.
    pub(super) fn take_empty(&self, file: FileId) -> bool {
        let shard = self.shard(file);
        let mut files = shard.files.lock();
        let is_empty = files.get(&file).is_some_and(|entry| entry.is_empty() && entry.pinning.is_free());
        if is_empty {
            files.remove(&file);
            shard.count.store(files.len(), Ordering::Release);
        }
        is_empty
    }

    /// How many files have an entry here.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.count.load(Ordering::Acquire)).sum()
    }

    /// Changes the entry of a file. A missing entry is made, an entry that is empty afterwards is
    /// dropped. `LeaseRecall` if another server has it.
    pub(super) fn with<R>(&self, file: FileId, act: impl FnOnce(&mut Entry) -> R) -> Result<R> {
        let shard = self.shard(file);
        let mut files = shard.files.lock();
        if self.is_joined() && !files.contains_key(&file) {
            drop(files);
            return Err(self.ask(file));
        }
        // Counted before anything is in it: a reader that sees 0 ran wholly before this change.
        shard.count.store(files.len() + 1, Ordering::Release);
        let entry = files.entry(file).or_default();
        let answer = act(entry);
        entry.ranges.retain(|(_, ranges)| ranges.len() > 0);
        if entry.is_empty() && !self.is_joined() {
            files.remove(&file);
        }
        shard.count.store(files.len(), Ordering::Release);
        Ok(answer)
    }

    /// Changes the entry of a file if there is one. `LeaseRecall` if another server has it.
    pub(super) fn with_existing<R>(
        &self,
        file: FileId,
        act: impl FnOnce(&mut Entry) -> R,
    ) -> Result<Option<R>> {
        if self.quiet(file) { Ok(None) } else { self.with(file, act).map(Some) }
    }

    /// Looks at the entry of a file if there is one. `LeaseRecall` if another server has it. Takes no
    /// lock while the shard of the file has no entry.
    #[inline]
    pub(super) fn look<R>(&self, file: FileId, see: impl FnOnce(&Entry) -> R) -> Result<Option<R>> {
        let (shard, is_joined) = (self.shard(file), self.joined.is_some());
        if shard.count.load(Ordering::Acquire) == 0 && !is_joined {
            return Ok(None);
        }
        if is_joined && self.is_fenced() {
            return Err(formats::Error::LeaseRecall(file));
        }
        match shard.files.lock().get(&file) {
            Some(entry) => return Ok(Some(see(entry))),
            None if !is_joined => return Ok(None),
            None => {}
        }
        Err(self.ask(file))
    }

    /// Changes the entry of a file that is here. Nothing is asked for.
    pub(super) fn with_present<R>(&self, file: FileId, act: impl FnOnce(&mut Entry) -> R) -> Option<R> {
        self.shard(file).files.lock().get_mut(&file).map(act)
    }

    /// Changes every entry, one shard at a time.
    pub(super) fn change_all<R>(&self, mut change: impl FnMut(FileId, &mut Entry) -> Vec<R>) -> Vec<R> {
        let mut all = Vec::new();
        for shard in &self.shards {
            shard.files.lock().iter_mut().for_each(|(file, entry)| all.extend(change(*file, entry)));
        }
        all
    }

    /// Looks at every entry, one shard at a time, until `see` answers false.
    pub(super) fn look_at_all(&self, mut see: impl FnMut(FileId, &Entry) -> bool) {
        for shard in &self.shards {
            if shard.count.load(Ordering::Acquire) > 0
                && !shard.files.lock().iter().all(|(file, entry)| see(*file, entry))
            {
                return;
            }
        }
    }

    /// The files whose entry satisfies `which`.
    pub(super) fn files_where(&self, which: impl Fn(&Entry) -> bool) -> Vec<FileId> {
        let mut found = Vec::new();
        self.look_at_all(|file, entry| {
            if which(entry) {
                found.push(file);
            }
            true
        });
        found
    }
}
