//! How much each client holds, against the limits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lock::Mutex;

use super::ClientId;
use crate::ranks;
use formats::{Error, Result};

/// How much clients may make the server remember on one volume. A client that reaches a limit gets
/// `Error::TooMany`. Other clients notice nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Opens in all.
    pub opens: usize,
    /// Opens of one client.
    pub opens_per_client: usize,
    /// Opens of one file.
    pub opens_per_file: usize,
    /// Byte ranges in all.
    pub ranges: usize,
    /// Byte ranges of one client, over all its lock owners.
    pub ranges_per_client: usize,
    /// Byte ranges on one file.
    pub ranges_per_file: usize,
    /// Requests that wait for a range, in all.
    pub waiters: usize,
    /// Requests of one client that wait.
    pub waiters_per_client: usize,
    /// Requests that wait on one file.
    pub waiters_per_file: usize,
    /// Leases in all.
    pub leases: usize,
    /// Leases of one client.
    pub leases_per_client: usize,
    /// Leases of one file. Each open of the file looks at all of them.
    pub leases_per_file: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            opens: 1_000_000,
            opens_per_client: 65_536,
            opens_per_file: 65_536,
            ranges: 1_000_000,
            ranges_per_client: 65_536,
            ranges_per_file: 8_192,
            waiters: 65_536,
            waiters_per_client: 4_096,
            waiters_per_file: 1_024,
            leases: 1_000_000,
            leases_per_client: 65_536,
            leases_per_file: 1_024,
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Resource {
    Open,
    Range,
    Waiter,
    Lease,
}

const RESOURCES: usize = 4;
/// Clients are spread over this many small tables.
const SHARDS: usize = 16;

/// Counts what each client holds. A client is known while it holds something.
pub(super) struct Ledger {
    pub(super) limits: Limits,
    totals: [AtomicUsize; RESOURCES],
    /// Ranges that were granted since the server began, also those that were given back.
    granted_ranges: AtomicU64,
    clients: [Mutex<HashMap<ClientId, [usize; RESOURCES]>, ranks::StateLedger>; SHARDS],
}

impl Ledger {
    pub(super) fn new(limits: Limits) -> Self {
        let granted_ranges = AtomicU64::new(0);
        Self { limits, totals: Default::default(), granted_ranges, clients: Default::default() }
    }

    /// Counts `more` of a resource for a client, or refuses and counts nothing.
    pub(super) fn take(&self, client: ClientId, what: Resource, more: usize) -> Result<()> {
        let (total, per_client) = self.limits_of(what);
        let mut clients = self.shard(client).lock();
        let held = clients.get(&client).map_or(0, |held| held[what as usize]);
        if held + more > per_client {
            return Err(Error::TooMany);
        }
        if self.totals[what as usize].fetch_add(more, Ordering::Relaxed) + more > total {
            self.totals[what as usize].fetch_sub(more, Ordering::Relaxed);
            return Err(Error::TooMany);
        }
        clients.entry(client).or_default()[what as usize] = held + more;
        Ok(())
    }

    /// Counts one more of a resource, beyond any limit: it was granted by another server.
    pub(super) fn add(&self, client: ClientId, what: Resource) {
        self.totals[what as usize].fetch_add(1, Ordering::Relaxed);
        self.shard(client).lock().entry(client).or_default()[what as usize] += 1;
    }

    /// Counts `less` of what was taken.
    pub(super) fn give_back(&self, client: ClientId, what: Resource, less: usize) {
        let mut clients = self.shard(client).lock();
        let Some(held) = clients.get_mut(&client) else { return };
        let less = less.min(held[what as usize]);
        held[what as usize] -= less;
        self.totals[what as usize].fetch_sub(less, Ordering::Relaxed);
        if held.iter().all(|held| *held == 0) {
            clients.remove(&client);
        }
    }

    /// A range was granted.
    pub(super) fn note_range(&self) {
        self.granted_ranges.fetch_add(1, Ordering::AcqRel);
    }

    /// How many ranges were granted since the server began.
    pub(super) fn granted_ranges(&self) -> u64 {
        self.granted_ranges.load(Ordering::Acquire)
    }

    /// How many there are in all.
    pub(super) fn total(&self, what: Resource) -> usize {
        self.totals[what as usize].load(Ordering::Relaxed)
    }

    fn shard(&self, client: ClientId) -> &Mutex<HashMap<ClientId, [usize; RESOURCES]>, ranks::StateLedger> {
        let hash = client.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.clients[(hash >> 60) as usize % SHARDS]
    }

    fn limits_of(&self, what: Resource) -> (usize, usize) {
        let limits = &self.limits;
        match what {
            Resource::Open => (limits.opens, limits.opens_per_client),
            Resource::Range => (limits.ranges, limits.ranges_per_client),
            Resource::Waiter => (limits.waiters, limits.waiters_per_client),
            Resource::Lease => (limits.leases, limits.leases_per_client),
        }
    }
}
