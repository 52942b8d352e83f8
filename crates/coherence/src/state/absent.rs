//! Clients that are not connected and may come back. Their opens, locks and leases go on to bind
//! other clients, but no client has to wait for them. When one of them collides with an open, lock,
//! read, write or removal of another client, its holder gives up all that it has. They cannot be asked from another server:
//! what they have in states there is brought here, and they give way before such a state leaves again.
//!
//! ```text
//! connected ─ leave ─► absent ─┬─ Absence dropped ─► connected again, with everything
//!                              └─ collides with another client ─► give way ─► gone
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lock::Mutex;

use super::table::{Entry, Table};
use super::{ClientId, State};
use crate::ranks;
use formats::{Error, FileId, Result};

/// Gives up everything that an absent client has, before it returns. Called without any lock, by
/// the thread whose operation collides with it, at most once.
pub type GiveWay = Arc<dyn Fn() + Send + Sync>;

/// The clients that are absent.
#[derive(Default)]
pub(super) struct Absent {
    /// The number of absent clients. If it is zero, other threads do not take the lock.
    count: AtomicUsize,
    clients: Mutex<HashMap<ClientId, GiveWay>, ranks::AbsentClients>,
}

impl State {
    /// A client is absent, until the guard is dropped or it has given way.
    pub fn leave(&self, client: ClientId, give_way: GiveWay) -> Absence {
        let absent = &self.table.absent;
        let mut clients = absent.clients.lock();
        clients.insert(client, give_way);
        absent.count.store(clients.len(), Ordering::Release);
        drop(clients);
        for file in self.table.parts_of(client) {
            let _ = self.table.ask(file); // which says that it is elsewhere
        }
        Absence { state: self.clone(), client }
    }

    /// Whether any client has this file open; `by` wants that no client has. An absent client gives
    /// way.
    pub fn is_in_use(&self, file: FileId, by: ClientId) -> Result<bool> {
        let is_open = || -> Result<bool> {
            Ok(self.table.look(file, |entry| !entry.opens.is_empty())?.unwrap_or(false))
        };
        Ok(is_open()? && (!self.make_way(file, by) || is_open()?))
    }

    /// The result of `attempt` after the absent clients that it collides with have given way.
    pub(super) fn with_way<T>(
        &self,
        file: FileId,
        by: ClientId,
        mut attempt: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        match attempt() {
            Err(Error::ShareConflict | Error::RangeLocked) if self.make_way(file, by) => attempt(),
            other => other,
        }
    }

    /// Makes absent clients give up what they have, if that includes this file. Returns whether
    /// there were any.
    pub fn make_way(&self, file: FileId, by: ClientId) -> bool {
        let absent = &self.table.absent;
        if absent.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let holders = self.table.look(file, Entry::holders).ok().flatten().unwrap_or_default();
        let called: Vec<GiveWay> = {
            let mut clients = absent.clients.lock();
            let called = holders.iter().filter(|client| **client != by).filter_map(|c| clients.remove(c));
            let called = called.collect();
            absent.count.store(clients.len(), Ordering::Release);
            called
        };
        called.iter().for_each(|give_way| give_way());
        !called.is_empty()
    }
}

impl Table {
    /// The files whose states are at other servers with something of this client.
    fn parts_of(&self, client: ClientId) -> Vec<FileId> {
        let Some(joined) = &self.joined else { return Vec::new() };
        let asked = joined.asked.lock();
        let parts = asked.kept.iter().filter(|(_, kept)| kept.entry.holders().contains(&client));
        parts.map(|(file, _)| *file).collect()
    }
}

impl Entry {
    /// The clients that have it open or hold a range of it.
    fn holders(&self) -> Vec<ClientId> {
        let ranges = self.ranges.iter().flat_map(|(_, ranges)| ranges.iter()).map(|lock| lock.owner.client);
        self.opens.iter().map(|open| open.party.client).chain(ranges).collect()
    }
}

/// Exists as long as a client is absent. Dropping it means that the client is back, or has nothing
/// any more.
pub struct Absence {
    state: State,
    client: ClientId,
}

impl Drop for Absence {
    fn drop(&mut self) {
        let absent = &self.state.table.absent;
        let mut clients = absent.clients.lock();
        clients.remove(&self.client);
        absent.count.store(clients.len(), Ordering::Release);
    }
}

impl fmt::Debug for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is away", self.client)
    }
}
