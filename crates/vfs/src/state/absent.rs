//! Clients that are away and may come back. What they have goes on to bind others, but nobody has to wait for it: when it is
//! in the way of somebody's open, lock, read, write or removal, its holder gives up all that it has.
//!
//! ```text
//! here ─ leave ─► away ─┬─ Absence dropped ─► here again, with everything
//!                       └─ in somebody's way ─► give way ─► gone
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lock::{Mutex, rank};

use super::table::Entry;
use super::{ClientId, State};
use crate::{Error, FileId, Result};

/// Gives up everything that an absent client has, before it returns. Called without any lock, by whomever it stands in
/// the way of, at most once.
pub type GiveWay = Arc<dyn Fn() + Send + Sync>;

/// Who is away.
#[derive(Default)]
pub(super) struct Absent {
    /// What lets others pass while nobody is.
    count: AtomicUsize,
    clients: Mutex<HashMap<ClientId, GiveWay>, rank::AbsentClients>,
}

impl State {
    /// A client is away, until the guard is dropped or it has given way.
    pub fn leave(&self, client: ClientId, give_way: GiveWay) -> Absence {
        let absent = &self.table.absent;
        let mut clients = absent.clients.lock();
        clients.insert(client, give_way);
        absent.count.store(clients.len(), Ordering::Release);
        Absence { state: self.clone(), client }
    }

    /// Whether anybody has this file open, for `by` who would rather nobody had. Who is away gives way.
    pub fn is_in_use(&self, file: FileId, by: ClientId) -> bool {
        let is_open = || self.table.look(file, |entry| !entry.opens.is_empty()).unwrap_or(false);
        is_open() && (!self.make_way(file, by) || is_open())
    }

    /// What `attempt` comes to, once nobody who is away stands in its way.
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

    /// Has those who are away give up what they have, if that includes this file. Answers whether there were any.
    pub(crate) fn make_way(&self, file: FileId, by: ClientId) -> bool {
        let absent = &self.table.absent;
        if absent.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let holders = self.table.look(file, Entry::holders).unwrap_or_default();
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

impl Entry {
    /// Who has it open or holds a range of it.
    fn holders(&self) -> Vec<ClientId> {
        let ranges = self.ranges.iter().flat_map(|(_, ranges)| ranges.iter()).map(|lock| lock.owner.client);
        self.opens.iter().map(|open| open.party.client).chain(ranges).collect()
    }
}

/// For as long as a client is away. Dropping it says that the client is back, or has nothing any more.
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
