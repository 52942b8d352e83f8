//! What clients hold: opens with deny modes, byte ranges and leases, for all volumes of a server.
//!
//! One [`State`] per server. It knows files by [`FileId`] and keeps an entry only while something
//! is held, so a file that no client has open costs a reader one atomic load ([`State::quiet`]).
//! Several servers can share the state of their files ([`Coordinator`]).
//! Nothing in here waits, reads a clock or touches a file. What must be waited for is a future
//! ([`Waiter`], [`Recall`]), and the caller sets its deadline.
//!
//! ```text
//! caller ─► State ─► shard (mutex) ─► Entry of the file ─► opens · ranges per stream · queue of waiters · leases
//!                                          └─► ledger: what each client holds, against the named limits
//! ```
//!
//! Dropping the guard of an item gives it back: [`OpenGuard`], [`Lease`], [`Waiter`]. Only byte
//! ranges whose owner has no open (advisory ones of a stateless client) are given back by name:
//! [`State::unlock`], [`State::release_client`].
//!
//! The order of locks is shard, then ledger; two shards are never held together, and none across an await.

mod absent;
mod carried;
mod far;
mod held_opens;
mod inherited;
mod io;
mod joined;
mod lease;
mod leases;
mod ledger;
mod locks;
mod names;
mod opens;
mod pins;
mod range;
mod ranges;
mod recall;
mod recovered;
mod removals;
mod status;
mod table;
mod waiters;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use absent::{Absence, GiveWay};
pub use carried::{Back, CarriedLease, CarriedOpen, CarriedRemoval, CarriedWait, FileState, home};
pub use inherited::{Inheritance, InheritedOpen, OpenReplica, Replicas, Successor};
pub use io::IoClient;
pub use joined::{ChangeNotice, Coordinator, Elsewhere};
pub use lease::Lease;
pub use leases::{BreakNotice, Caching, LeaseId, LeaseRequest, Style};
pub use ledger::Limits;
pub use locks::LockRefusal;
pub use names::NameChange;
pub use opens::{Concern, Link, Modes, OpenGuard, OpenRequest};
pub use pins::{PinConflict, Pins};
pub use range::{Flavour, Lock, LockKind, LockOwner, Range};
pub use recall::{Cause, MOST_TRIES, RECALL_DEADLINE, Recall, RecallCounts, RecallOutcome, recall_counts};
pub use removals::Last;
pub use status::{LeaseInfo, OpenInfo, RangeInfo, Totals};
pub use waiters::{CancelledWait, LockOutcome, WaitId, Waiter};

use formats::FileId;
use table::Table;

static NEXT_CLIENT: AtomicU64 = AtomicU64::new(1);

/// A client: what a protocol counts as one client. The protocols draw these
/// numbers from one source, so that no two of them use the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

impl ClientId {
    /// The processes of this machine, which hold nothing here. [`ClientId::unused`] never gives this number.
    pub const LOCAL: Self = Self(0);

    /// A number that no other client of this process has.
    pub fn unused() -> Self {
        Self(NEXT_CLIENT.fetch_add(1, Ordering::Relaxed))
    }

    /// From now on, numbers begin with that of this server among those that share files.
    pub fn begin_with(server: u16) {
        NEXT_CLIENT.store((u64::from(server) << 48) + 1, Ordering::Relaxed);
    }
}

/// One open of a file, never used twice while the process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpenId(pub u64);

/// The holder of a lease: a client, and within it everything that shares one cache. An operation of
/// a party never breaks its own lease. A client whose protocol has one cache per client leaves
/// `key` out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Party {
    /// The client.
    pub client: ClientId,
    /// The client's own name for one of its caches.
    pub key: Option<[u8; 16]>,
}

impl Party {
    /// The client as a whole.
    pub fn client(client: ClientId) -> Self {
        Self { client, key: None }
    }
}

/// A stream of a file: deny modes of reading and writing, ranges and leases are per stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stream {
    /// The data fork.
    Data,
    /// The resource fork.
    Resource,
    /// A named stream.
    Named(Arc<str>),
    /// The metadata of the file for a Mac, as the 60 bytes of [`formats::mac::info_stream`].
    Info,
}

/// The site's policy for clients of different protocols on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// An advisory range also stops reads and writes of clients whose own ranges are mandatory.
    pub advisory_binds_io: bool,
    /// An open that denies deletion stops others from removing or renaming the file. Without this
    /// they may, as on UNIX, and the file of the open goes on without a name.
    pub deny_binds_remove: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self { advisory_binds_io: false, deny_binds_remove: true }
    }
}

/// The opens, ranges and leases of a server. Cheap to clone.
#[derive(Clone)]
pub struct State {
    table: Arc<Table>,
}

impl State {
    /// Nothing held.
    pub fn new(policy: Policy, limits: Limits) -> Self {
        Self { table: Arc::new(Table::new(policy, limits)) }
    }

    /// Whether nothing is held on this file: no open, range, waiter or lease. Takes no lock unless
    /// a file of the same shard has an entry.
    #[inline]
    pub fn quiet(&self, file: FileId) -> bool {
        self.table.quiet(file)
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new(Policy::default(), Limits::default())
    }
}
