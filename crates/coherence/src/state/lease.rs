//! The guard of a lease: the holder acknowledges a recall with it, and dropping it gives the lease back.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use super::leases::{Caching, LeaseId};
use super::ledger::Resource;
use super::table::Entry;
use super::{Party, State};
use crate::guarding::Hold;
use formats::{Error, FileId, Result};

/// A lease. Dropping its last guard gives it back; an open can keep one (`OpenGuard::keep`).
pub struct Lease {
    pub(super) state: State,
    pub(super) file: FileId,
    pub(super) party: Party,
    pub(super) id: LeaseId,
    /// What the party held when it asked for this.
    pub(super) before: Caching,
    /// What it was when it was last looked at.
    pub(super) last: AtomicU8,
    /// Keeps local processes from the file.
    pub(super) hold: Option<Hold>,
}

impl Lease {
    /// Its number, as in [`super::BreakNotice`].
    pub fn id(&self) -> LeaseId {
        self.id
    }

    /// What the party may still cache; while a break is in flight, what it had before. If another
    /// server has the state of the file: what is known here.
    pub fn caching(&self) -> Caching {
        let find =
            |entry: &Entry| entry.leases.iter().find(|lease| lease.id == self.id).map(|lease| lease.held);
        let Ok(found) = self.state.table.look(self.file, find) else {
            return Caching(self.last.load(Ordering::Relaxed));
        };
        let held = found.flatten().unwrap_or_default();
        self.last.store(held.0, Ordering::Relaxed);
        held
    }

    /// Keeps a guard of the file as long as this.
    pub fn keep(&mut self, hold: Hold) {
        self.hold = Some(hold);
    }

    /// Takes back what was just granted beyond `most`, and of which the holder does not know yet.
    pub fn limit(&self, most: Caching) {
        let (id, before) = (self.id, self.before);
        let limit = |entry: &mut Entry| {
            if let Some(lease) = entry.lease(id).filter(|lease| !lease.is_breaking()) {
                let most = lease.held.intersection(most);
                let left = if most == lease.held { most } else { lease.style.leaves(most) };
                lease.held = left.union(before.intersection(lease.held));
            }
        };
        // If another server has the file's state by now, it has recalled the lease.
        let _ = self.state.table.with_existing(self.file, limit);
    }

    /// The holder keeps nothing of a lease that is being recalled, as when it cannot be reached. If
    /// it has answered already, that holds.
    pub fn drop_caching(&self) {
        let (id, file) = (self.id, self.file);
        self.state.table.when_here(file, move |_, entry| {
            entry.lease(id).map(|lease| lease.acknowledge(file, Caching::NONE));
            Vec::new()
        });
    }

    /// Tells the holder again of a recall that it has not answered: it could not be reached before.
    pub fn remind(&self) {
        let (id, file) = (self.id, self.file);
        self.state.table.when_here(file, move |_, entry| {
            entry.lease(id).into_iter().for_each(|lease| lease.tell_again(file, true));
            Vec::new()
        });
    }

    /// Waits until the state of the file is here.
    pub async fn bring(&self) {
        self.state.bring(self.file).await;
    }

    /// Whether a break waits for an answer.
    pub fn is_breaking(&self) -> bool {
        let breaking = |entry: &Entry| entry.leases.iter().any(|l| l.id == self.id && l.breaking.is_some());
        self.state.table.look(self.file, breaking).ok().flatten().unwrap_or(false)
    }

    /// The holder has reduced its lease to `to`, which is what the notice said or less. Returns
    /// what it holds now. `Invalid` if no break is in flight, or if it would keep more than the
    /// notice allowed.
    pub fn acknowledge(&self, to: Caching) -> Result<Caching> {
        let answer = |entry: &mut Entry| entry.lease(self.id).map(|lease| lease.acknowledge(self.file, to));
        let held =
            self.state.table.with_existing(self.file, answer)?.flatten().unwrap_or(Err(Error::Invalid))?;
        self.last.store(held.0, Ordering::Relaxed);
        Ok(held)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (id, client) = (self.id, self.party.client);
        self.state.table.when_here(self.file, move |table, entry| {
            if let Some(lease) = entry.lease(id) {
                lease.guards -= 1;
                if lease.guards == 0 {
                    entry.leases.retain(|lease| lease.id != id);
                    table.ledger.give_back(client, Resource::Lease, 1);
                }
            }
            Vec::new()
        });
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {:?}: {:?} of {:?}", self.id, self.file, self.caching(), self.party)
    }
}
