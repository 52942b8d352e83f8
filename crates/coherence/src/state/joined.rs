//! Several servers of one tree: the seam to a service that coordinates them.
//!
//! At each moment one server has the state of a file: its opens, ranges, waiting requests and
//! leases, those of the clients of other servers included. All rules are applied there, by the same
//! code as in a server that is alone. An operation that needs a file whose state another server has
//! asks for it and fails with `Error::LeaseRecall`, as it does for a lease of another client. The
//! protocols wait for both in the same way, and repeat the operation. As long as one server only
//! uses a file, it asks once.
//!
//! ```text
//! operation ─► Table ─► is the state here? ─┬─ yes ─► Entry
//!                                           └─ no ──► Coordinator::ask ··· State::take_over ─► repeated
//! ```
//!
//! A state travels as values (`carried.rs`); each server keeps the part of its own clients, with the
//! ways to them (`recovered.rs`).
//!
//! What must not fail (an open is closed, a lease is dropped) is done when the state has come.
//! A server that is alone has no coordinator: every state is here, and the question costs one
//! branch.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lock::Mutex;
use tokio::sync::oneshot;

use super::carried::{Back, FileState, LocalRemainder};
use super::inherited::InheritedClaim;
use super::ledger::Resource;
use super::pins::PinConflict;
use super::removals::Last;
use super::table::{Entry, Table};
use super::{ClientId, Limits, Party, Policy, State};
use crate::events::Change;
use crate::ranks;
use formats::{Error, FileId, HostKey};

/// A service that gives the state of each file to one of several servers.
///
/// It calls [`State::take_over`] when a state has come, and [`State::give_up`] on the server that
/// has it. After a state has come it stays long enough for the operations that asked for it to be
/// repeated (some milliseconds), so that two servers that use one file both make progress.
pub trait Coordinator: Send + Sync + 'static {
    /// Asks for the state of a file. Returns at once. It is not called again for this file before
    /// the state has come.
    fn ask(&self, file: FileId);

    /// Tells a server something of a file of which it has clients, and whose state is here
    /// ([`State::hear_back`]). What is said of one file arrives in this order, and before the state
    /// of the file comes to any other server. Called with locks held: it only notes this.
    fn back(&self, server: u16, file: FileId, back: Back);

    /// A state that could not be given up because it was pinned can be given up now. Called with locks held: it only notes
    /// this.
    fn free(&self, file: FileId);

    /// An operation needs this state, which is here, and one that is not: this one stays somewhat longer, so that all are here
    /// at once. Only one of two servers that want each other's states asks for this. Called with locks held.
    fn hold(&self, file: FileId);

    /// Whether this server may not answer any more, because others may have taken its states.
    fn is_fenced(&self) -> bool {
        false
    }

    /// Asks all other servers whether their clients have anything open inside a folder that `by` moves, after they have recalled
    /// what is open only in caches. `None`: a server has. Else nothing is opened there by clients of the others until the answer
    /// is dropped. Returns at once. If no answer is given, it is not known.
    fn hold_below(&self, folder: FileId, by: Party) -> oneshot::Receiver<Option<Elsewhere>>;

    /// Tells the other servers of a change that a client of this server has made, for their
    /// subscribers (`vfs::Site::hear`). Returns at once.
    fn tell(&self, told: ChangeNotice);
}

/// What the other servers do for an operation here, until it is dropped.
pub type Elsewhere = Box<dyn Any + Send>;

/// A change, as servers tell it to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeNotice {
    /// The folder in which the change was made.
    pub folder: HostKey,
    /// The change.
    pub change: Change,
    /// It is not made yet: the folder is removed with its last close. Those that watch it are told so.
    pub is_going: bool,
}

/// A change of an entry that is made when the entry has come. Returns what is to be removed then.
pub(super) type DeferredChange = Box<dyn FnOnce(&Table, &mut Entry) -> Vec<Last> + Send>;

/// The part of a table that belongs to its coordinator.
pub(super) struct CoordinatorLink {
    coordinator: Arc<dyn Coordinator>,
    server: u16,
    pub(super) asked: Mutex<StateRequests, ranks::AskedStates>,
}

#[derive(Default)]
pub(super) struct StateRequests {
    /// The files whose state was asked for.
    files: HashMap<FileId, PendingState>,
    /// What this server keeps of states that were here and are at other servers now.
    pub(super) kept: BTreeMap<FileId, LocalRemainder>,
    /// Closed when other servers have removed what they were told to remove.
    pub(super) removing: HashMap<FileId, Vec<oneshot::Sender<Infallible>>>,
    /// What this server has inherited of files whose states, with the new numbers, have not been here.
    pub(super) inherited: HashMap<FileId, Vec<InheritedClaim>>,
    /// Since a server was lost: the files whose states were here then, with nothing of its clients.
    pub(super) settled: Option<BTreeSet<FileId>>,
}

#[derive(Default)]
struct PendingState {
    then: Vec<DeferredChange>,
    /// Closed when the state has come.
    come: Vec<oneshot::Sender<Infallible>>,
}

impl StateRequests {
    /// The state of a file comes back after it has left.
    pub(super) fn expect(&mut self, file: FileId) {
        self.files.entry(file).or_default();
    }

    /// The state of a file is not waited for any more. Returns the changes that waited for it.
    pub(super) fn forget(&mut self, file: FileId) -> Vec<DeferredChange> {
        self.files.remove(&file).unwrap_or_default().then
    }
}

impl CoordinatorLink {
    pub(super) fn coordinator(&self) -> &Arc<dyn Coordinator> {
        &self.coordinator
    }
}

impl Table {
    /// Whether other servers may have taken the states that are here.
    #[inline]
    pub(super) fn is_fenced(&self) -> bool {
        self.joined.as_ref().is_some_and(|joined| joined.coordinator.is_fenced())
    }

    /// Whether the state of any file may be elsewhere.
    #[inline]
    pub(super) fn is_joined(&self) -> bool {
        self.joined.is_some()
    }

    pub(super) fn coordinator(&self) -> Option<&Arc<dyn Coordinator>> {
        self.joined.as_ref().map(|joined| &joined.coordinator)
    }

    /// The number of this server among those that share files.
    pub(super) fn server(&self) -> u16 {
        self.joined.as_ref().map_or(0, |joined| joined.server)
    }

    /// Asks for the state of a file that was not here.
    pub(super) fn ask(&self, file: FileId) -> Error {
        if let Some(joined) = &self.joined {
            let mut asked = joined.asked.lock();
            let is_new = !self.has(file) && !asked.files.contains_key(&file);
            if is_new {
                asked.files.insert(file, PendingState::default());
                drop(asked);
                joined.coordinator.ask(file);
            }
        }
        Error::LeaseRecall(file)
    }

    /// Makes a change that does not fail: now, or when the state of the file has come. Returns what
    /// is to be removed now.
    pub(super) fn when_here(
        &self,
        file: FileId,
        act: impl FnOnce(&Self, &mut Entry) -> Vec<Last> + Send + 'static,
    ) -> Vec<Last> {
        let mut act = Some(act);
        loop {
            let make = |entry: &mut Entry| act.take().map_or_else(Vec::new, |act| act(self, entry));
            if let Ok(last) = self.with(file, make) {
                return last;
            }
            self.ask(file);
            let Some(joined) = &self.joined else { return Vec::new() };
            // If it has come since, it is not among those asked for, and the change is made now.
            if let Some(awaited) = joined.asked.lock().files.get_mut(&file)
                && let Some(act) = act.take()
            {
                awaited.then.push(Box::new(act));
                return Vec::new();
            }
        }
    }

    /// Closed when the state of the file is here.
    pub(super) fn come(&self, file: FileId) -> oneshot::Receiver<Infallible> {
        let (come, came) = oneshot::channel();
        if let Some(joined) = &self.joined
            && let Some(awaited) = joined.asked.lock().files.get_mut(&file)
        {
            awaited.come.push(come);
        }
        came
    }

    /// The files whose state has gone to other servers with something in it.
    pub(super) fn left(&self) -> Vec<FileId> {
        self.joined
            .as_ref()
            .map_or_else(Vec::new, |joined| joined.asked.lock().kept.keys().copied().collect())
    }

    /// Counts what a state has, or no longer counts it.
    pub(super) fn count(&self, entry: &Entry, add: bool) {
        let one = |client: ClientId, what: Resource| match add {
            true => self.ledger.add(client, what),
            false => self.ledger.give_back(client, what, 1),
        };
        entry.opens.iter().for_each(|open| one(open.party.client, Resource::Open));
        entry.leases.iter().for_each(|lease| one(lease.party.client, Resource::Lease));
        entry.queue.iter().for_each(|queued| one(queued.wanted.owner.client, Resource::Waiter));
        let ranges = entry.ranges.iter().flat_map(|(_, ranges)| ranges.iter());
        ranges.for_each(|range| one(range.owner.client, Resource::Range));
    }
}

impl State {
    /// The state of a server that shares its files with others. `server` is its number among them,
    /// which no other one has; numbers of opens and leases begin with it.
    pub fn joined(policy: Policy, limits: Limits, server: u16, coordinator: Arc<dyn Coordinator>) -> Self {
        let mut table = Table::new(policy, limits);
        table.next.store((u64::from(server) << 48) + 1, Ordering::Relaxed);
        table.joined = Some(CoordinatorLink { coordinator, server, asked: Mutex::default() });
        Self { table: Arc::new(table) }
    }

    /// The state of a file has come.
    pub fn take_over(&self, file: FileId, state: FileState) {
        let Some(joined) = &self.table.joined else { return };
        let mut asked = joined.asked.lock();
        let kept = asked.kept.remove(&file).unwrap_or_default();
        asked.settle_claims(file, &state);
        let mut awaited = asked.files.remove(&file).unwrap_or_default();
        let entry = self.table.unite(file, state, kept);
        self.table.count(&entry, true);
        // A state that is made of the parts of several servers may lack what others waited for.
        awaited.then.push(Box::new(move |table, entry| {
            entry.serve_queue(&table.ledger);
            entry.take_unused(table, file)
        }));
        let last = self.table.insert(file, entry, awaited.then);
        drop(asked);
        drop(awaited.come);
        self.remove(last);
    }

    /// Gives up the state of a file, for another server. `None` if it is not here. Clients that are
    /// not connected give way: they could not be asked from there.
    ///
    /// # Errors
    /// A change is being made that needs the state. [`Coordinator::free`] is called when it is made, after which this is
    /// called again, or [`State::stays`].
    pub fn give_up(&self, file: FileId) -> Result<Option<FileState>, PinConflict> {
        let Some(joined) = &self.table.joined else { return Ok(None) };
        self.make_way(file, ClientId::unused());
        let mut asked = joined.asked.lock();
        let Some(entry) = self.table.take(file)? else { return Ok(None) };
        self.table.count(&entry, false);
        let (state, kept) = self.table.divide(entry);
        if !kept.is_empty() {
            asked.kept.insert(file, kept);
        }
        // Changes that came while it was pinned wait for its return.
        if asked.files.contains_key(&file) {
            joined.coordinator.ask(file);
        }
        Ok(Some(state))
    }

    /// Waits until the state of a file is here, if it was asked for.
    pub async fn arrived(&self, file: FileId) {
        if self.table.is_joined() {
            let _closed = self.table.come(file).await;
        }
    }

    /// Asks for the state of a file and waits until it is here.
    pub async fn bring(&self, file: FileId) {
        if self.table.is_joined() && !self.table.has(file) {
            self.table.ask(file);
            self.arrived(file).await;
        }
    }

    /// Whether the states of files can be at other servers.
    pub fn is_joined(&self) -> bool {
        self.table.is_joined()
    }

    /// Whether the state of a file is not here.
    pub fn is_elsewhere(&self, file: FileId) -> bool {
        self.table.is_joined() && !self.table.has(file)
    }

    /// Whether the state of a file was asked for and has not come.
    pub fn is_coming(&self, file: FileId) -> bool {
        self.table.joined.as_ref().is_some_and(|joined| joined.asked.lock().files.contains_key(&file))
    }

    /// Whether a client of any server may have something open, locked or cached.
    pub fn is_used(&self) -> bool {
        self.table.is_joined() || self.totals() != super::Totals::default()
    }

    /// Whether a client of any server may have a resource fork open.
    #[inline]
    pub fn has_forks(&self) -> bool {
        self.table.is_joined() || self.table.forks.load(Ordering::Acquire) > 0
    }

    /// [`Coordinator::hold_below`]. `None`: this server is alone.
    pub fn hold_elsewhere(&self, folder: FileId, by: Party) -> Option<oneshot::Receiver<Option<Elsewhere>>> {
        Some(self.table.joined.as_ref()?.coordinator.hold_below(folder, by))
    }

    /// Whether other servers are to be told of changes.
    #[inline]
    pub fn tells(&self) -> bool {
        self.table.is_joined()
    }

    /// Tells the other servers of a change, if there are any.
    pub fn tell(&self, told: impl FnOnce() -> ChangeNotice) {
        if let Some(joined) = &self.table.joined {
            joined.coordinator.tell(told());
        }
    }

    /// Removes what was to be removed when its last open was closed on another server.
    pub(super) fn remove(&self, last: Vec<Last>) {
        for last in last {
            if let Err(error) = last() {
                tracing::warn!(%error, "a file that was to be removed at its last close was not removed");
            }
        }
    }
}
