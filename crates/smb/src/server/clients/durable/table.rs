//! The opens that wait for their clients.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lock::Mutex;
use tokio::runtime::Handle;

use super::inherited::UnverifiedOpen;
use super::{Return, may_come_back};
use crate::ranks;
use crate::server::clients::open::Open;
use crate::server::clients::session::{Session, User};
use crate::server::context::Context;
use crate::wire::Status;
use crate::wire::values::FileKey;

/// The most opens that wait for their clients to reconnect, besides persistent ones.
const MOST: usize = 16_384;
/// The most persistent ones: as many as a server may have told its successor, and as many of a lost server. Their clients rely on it
/// that they are kept.
const MOST_PERSISTENT: usize = 131_072;

/// Opens that have lost their session.
#[derive(Default)]
pub(in crate::server) struct Durables {
    table: Mutex<DurableTable, ranks::SmbDurable>,
}

#[derive(Default)]
struct DurableTable {
    lost: HashMap<u64, DisconnectedOpen>,
    /// How many of them are persistent.
    persistent: usize,
}

pub(super) struct DisconnectedOpen {
    pub(super) open: Arc<Open>,
    user: Arc<User>,
    persistent: bool,
    /// It was inherited, and it is not known whether it is in the state of its file.
    unverified: Option<UnverifiedOpen>,
    /// Closes the open when its timeout ends. Dropped with this entry.
    _timer: Timer,
}

struct Timer(tokio::task::JoinHandle<()>);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl DisconnectedOpen {
    fn new(open: Arc<Open>, user: Arc<User>, unverified: Option<UnverifiedOpen>, timer: Timer) -> Self {
        let persistent = open.is_persistent();
        Self { open, user, persistent, unverified, _timer: timer }
    }
}

/// Others may not open the file of a persistent open until its client is back, MS-SMB2 3.3.5.9. What is inherited is reserved
/// from the begin.
fn reserve(open: &Open) {
    if let Ok(file) = open.file()
        && open.is_persistent()
    {
        file.open.guard().reserve(true);
    }
}

/// Whether there is room for another open in a table with so many, of which so many are persistent.
fn has_room(all: usize, persistent: usize, is_persistent: bool) -> bool {
    if is_persistent { persistent < MOST_PERSISTENT } else { all - persistent < MOST }
}

impl DurableTable {
    /// Adds an open. Returns one that is to be dropped while the table is unlocked.
    fn insert(&mut self, lost: DisconnectedOpen) -> Option<DisconnectedOpen> {
        if !has_room(self.lost.len(), self.persistent, lost.persistent) {
            return Some(lost);
        }
        self.persistent += usize::from(lost.persistent);
        let before = self.lost.insert(lost.open.key.persistent, lost);
        self.persistent -= before.iter().filter(|before| before.persistent).count();
        before
    }

    fn remove(&mut self, persistent: u64) -> Option<DisconnectedOpen> {
        let lost = self.lost.remove(&persistent)?;
        self.persistent -= usize::from(lost.persistent);
        Some(lost)
    }

    fn remove_where(&mut self, which: impl Fn(&DisconnectedOpen) -> bool) -> Vec<DisconnectedOpen> {
        let meant: Vec<u64> = self.lost.iter().filter(|(_, lost)| which(lost)).map(|(key, _)| *key).collect();
        meant.into_iter().filter_map(|persistent| self.remove(persistent)).collect()
    }
}

impl Durables {
    /// Changes the table.
    fn change<R>(&self, change: impl FnOnce(&mut DurableTable) -> R) -> R {
        change(&mut self.table.lock())
    }

    /// Takes over the opens of a session that are durable.
    pub(in crate::server) fn keep(self: &Arc<Self>, session: &Session, which: impl Fn(&Open) -> bool) {
        let Ok(runtime) = Handle::try_current() else { return };
        for open in session.opens.take(|open| which(open) && may_come_back(open)) {
            let durable = || open.durable.get().map(|durable| durable.timeout);
            let Some(timeout) = open.resilience().or_else(durable) else { continue };
            let timer = self.timer(&runtime, open.key.persistent, timeout);
            reserve(&open);
            let lost = DisconnectedOpen::new(open, session.user(), None, timer);
            // A break that began in the meantime has not found it in the table.
            let refused = self.change(|table| match may_come_back(&lost.open) {
                true => table.insert(lost),
                false => Some(lost),
            });
            drop(refused); // closed while the table is unlocked
        }
    }

    fn timer(self: &Arc<Self>, runtime: &Handle, persistent: u64, timeout: Duration) -> Timer {
        let table = Arc::downgrade(self);
        Timer(runtime.spawn(async move {
            tokio::time::sleep(timeout).await;
            if let Some(table) = table.upgrade() {
                let late = table.change(|table| table.remove(persistent));
                drop(late); // dropped while the table is unlocked
            }
        }))
    }

    /// Adds an open that this server has inherited. Without room it is closed.
    pub(super) fn hold(
        self: &Arc<Self>,
        open: &Arc<Open>,
        user: Arc<User>,
        timeout: Duration,
        unverified: UnverifiedOpen,
    ) {
        let (persistent, runtime) = (open.key.persistent, Handle::current());
        let timer = self.timer(&runtime, persistent, timeout);
        let lost = DisconnectedOpen::new(open.clone(), user, Some(unverified), timer);
        let refused = self.change(|table| table.insert(lost));
        drop(refused); // closed while the table is unlocked
    }

    pub(super) fn has(&self, persistent: u64) -> bool {
        self.table.lock().lost.contains_key(&persistent)
    }

    /// The open that a client means: by its id, or by the number of its CREATE if it is persistent. MS-SMB2 3.3.5.9.12.
    pub(in crate::server) fn named(&self, back: Return) -> FileKey {
        let table = self.table.lock();
        let Some(guid) = back.create_guid.filter(|_| back.persistent) else { return back.file };
        if table.lost.contains_key(&back.file.persistent) {
            return back.file;
        }
        let is_it = |lost: &&DisconnectedOpen| {
            lost.open.is_persistent()
                && lost.open.durable.get().is_some_and(|durable| durable.create_guid == Some(guid))
        };
        table.lost.values().find(is_it).map_or(back.file, |lost| lost.open.key)
    }

    pub(super) fn unverified(&self, persistent: u64) -> Option<UnverifiedOpen> {
        self.table.lock().lost.get(&persistent)?.unverified.clone()
    }

    /// It is known whether an inherited open is in the state of its file. If not, it has never been.
    pub(super) fn is_verified(&self, persistent: u64, is_there: bool) {
        let gone = self.change(|table| match table.lost.get_mut(&persistent) {
            Some(lost) if is_there => {
                lost.unverified = None;
                None
            }
            _ => table.remove(persistent),
        });
        drop(gone); // dropped while the table is unlocked
    }

    /// Leaves all of them as they are: nothing is closed, removed or told.
    pub(super) fn leave(&self) {
        for DisconnectedOpen { open, user, _timer, .. } in self.change(|table| table.remove_where(|_| true)) {
            std::mem::forget(open); // the process ends
            drop((user, _timer));
        }
    }

    /// Closes the opens that match.
    pub(in crate::server) fn drop_where(&self, which: impl Fn(&Open, &User) -> bool) {
        let gone = self.change(|table| table.remove_where(|lost| which(&lost.open, &lost.user)));
        drop(gone); // dropped while the table is unlocked
    }

    /// Closes an open that waits for its client. False if it does not wait.
    pub(in crate::server) fn forget(&self, open: &Arc<Open>) -> bool {
        let gone = self.change(|table| {
            let lost = table.lost.get(&open.key.persistent)?;
            if Arc::ptr_eq(&lost.open, open) { table.remove(open.key.persistent) } else { None }
        });
        gone.is_some()
    }

    /// The open that a client reconnects to, if everything matches. `FILE_NOT_AVAILABLE`: a command still uses it, and it is
    /// persistent.
    pub(super) fn claim(
        &self,
        context: &Context,
        file: FileKey,
        fits: impl FnOnce(&DisconnectedOpen) -> Result<(), Status>,
    ) -> Result<Open, Status> {
        let uid = context.session().user().caller.uid;
        let claimed = self.change(|table| {
            let lost = table.lost.get(&file.persistent).filter(|lost| lost.unverified.is_none());
            let lost = lost.ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
            fits(lost)?;
            if lost.user.caller.uid != uid {
                return Err(Status::ACCESS_DENIED);
            }
            let lost = table.remove(file.persistent).ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
            match Arc::try_unwrap(lost.open) {
                Err(open) if lost.persistent => {
                    table.insert(DisconnectedOpen { open, ..lost });
                    Err(Status::FILE_NOT_AVAILABLE)
                }
                claimed => Ok(claimed),
            }
        })?;
        // If a command still uses another open, the reconnect fails. The open is then closed, as if it
        // had never been kept.
        claimed.map_err(|_used| Status::OBJECT_NAME_NOT_FOUND)
    }

    #[cfg(test)]
    pub(in crate::server) fn len(&self) -> usize {
        self.table.lock().lost.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persistent_opens_have_room_of_their_own() {
        assert!(has_room(MOST - 1, 0, false) && !has_room(MOST, 0, false));
        assert!(has_room(MOST, 0, true), "however many others there are");
        assert!(has_room(MOST_PERSISTENT, MOST_PERSISTENT, false));
        assert!(!has_room(MOST_PERSISTENT, MOST_PERSISTENT, true));
    }
}
