//! Byte-range locks of a file: taken, tested and released within the limits of the client. The rules are in
//! `ranges.rs`.

use std::collections::BTreeSet;

use super::ledger::{Ledger, Resource};
use super::range::{Flavour, Lock, LockOwner, Range};
use super::ranges::Plan;
use super::table::Entry;
use super::{ClientId, State, Stream};
use formats::{Error, FileId};

/// Why a lock was not granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockRefusal {
    /// This lock is in the way. If locks are mandatory, it may be one of the same owner.
    Blocked(Lock),
    /// A named limit is reached.
    TooMany,
    /// Another server has the state of this file. It was asked for.
    Elsewhere(FileId),
}

impl From<LockRefusal> for Error {
    fn from(refused: LockRefusal) -> Self {
        match refused {
            LockRefusal::Blocked(_) => Self::RangeLocked,
            LockRefusal::TooMany => Self::TooMany,
            LockRefusal::Elsewhere(file) => Self::LeaseRecall(file),
        }
    }
}

impl From<Error> for LockRefusal {
    fn from(error: Error) -> Self {
        match error {
            Error::LeaseRecall(file) => Self::Elsewhere(file),
            _ => Self::TooMany,
        }
    }
}

impl State {
    /// Takes a lock, or returns at once which lock is in the way. It does not queue behind waiting
    /// requests: a lock that [`State::test`] calls free can be taken.
    ///
    /// Break the leases of other clients first ([`State::break_for`] with `Cause::Lock`): they may
    /// have locks that the server does not know.
    pub fn lock(&self, file: FileId, stream: &Stream, wanted: Lock) -> Result<(), LockRefusal> {
        let lock = || self.table.with(file, |entry| entry.lock(&self.table.ledger, stream, &wanted))?;
        match lock() {
            Err(LockRefusal::Blocked(_)) if self.make_way(file, wanted.owner.client) => lock(),
            answer => answer,
        }
    }

    /// Releases a range. Returns whether anything was held: a mandatory lock must be named exactly,
    /// of advisory locks any part can be released. `TooMany` if cutting a lock in two would pass a
    /// limit.
    pub fn unlock(
        &self,
        file: FileId,
        stream: &Stream,
        owner: &LockOwner,
        range: Range,
        flavour: Flavour,
    ) -> formats::Result<bool> {
        let ledger = &self.table.ledger;
        let unlock = |entry: &mut Entry| entry.unlock(ledger, stream, owner, range, flavour);
        self.table.with_existing(file, unlock)?.unwrap_or(Ok(false))
    }

    /// Releases all ranges of this owner in a stream: now, or when the state of the file comes from another server.
    pub fn release_owner(&self, file: FileId, stream: &Stream, owner: &LockOwner) {
        if self.quiet(file) {
            return;
        }
        let (stream, owner) = (stream.clone(), owner.clone());
        self.table.when_here(file, move |table, entry| {
            // It frees ranges, and cuts none in two: no limit is in its way.
            let _ = entry.unlock(&table.ledger, &stream, &owner, Range::ALL, Flavour::Advisory);
            Vec::new()
        });
    }

    /// The lock that would refuse this one, if there is one.
    pub fn test(&self, file: FileId, stream: &Stream, wanted: &Lock) -> formats::Result<Option<Lock>> {
        let find = |entry: &Entry| entry.ranges_of(stream)?.blocker(wanted).cloned();
        Ok(self.table.look(file, find)?.flatten())
    }

    /// How many ranges were granted since the server began, on all files. As long as the number stays the same, no client has
    /// got a range that an earlier check did not see.
    pub fn granted_ranges(&self) -> u64 {
        self.table.ledger.granted_ranges()
    }

    /// Whether this owner holds a range of the stream.
    pub fn has_ranges(&self, file: FileId, stream: &Stream, owner: &LockOwner) -> formats::Result<bool> {
        let find = |entry: &Entry| {
            entry.ranges_of(stream).is_some_and(|of| of.iter().any(|lock| lock.owner == *owner))
        };
        Ok(self.table.look(file, find)?.unwrap_or(false))
    }

    /// Whether this client has the file open, holds a range of it, or waits for one. It may, if
    /// another server has the state of the file.
    pub fn concerns(&self, file: FileId, client: ClientId) -> bool {
        let find = |entry: &Entry| {
            let mut held = entry.ranges.iter().flat_map(|(_, ranges)| ranges.iter());
            held.any(|lock| lock.owner.client == client)
                || entry.queue.iter().any(|queued| queued.wanted.owner.client == client)
                || entry.opens.iter().any(|open| open.party.client == client)
        };
        self.table.look(file, find).map_or(true, |holds| holds.unwrap_or(false))
    }

    /// Releases all ranges of this client, on all files, and cancels its waiting requests. Its
    /// opens and leases end with their guards.
    pub fn release_client(&self, client: ClientId) {
        let concerned = |entry: &Entry| {
            let held = entry.ranges.iter().flat_map(|(_, ranges)| ranges.iter()).map(|lock| &lock.owner);
            let waiting = entry.queue.iter().map(|queued| &queued.wanted.owner);
            held.chain(waiting).any(|owner| owner.client == client)
        };
        // States may come and leave meanwhile.
        let before = self.table.left();
        let here = self.table.files_where(concerned);
        let files: BTreeSet<FileId> = before.into_iter().chain(here).chain(self.table.left()).collect();
        files.into_iter().for_each(|file| self.release_in(file, &[client]));
    }

    /// Releases all ranges of these clients in one file, and cancels their requests for more.
    pub fn release_in(&self, file: FileId, clients: &[ClientId]) {
        if self.quiet(file) {
            return;
        }
        let clients = clients.to_vec();
        self.table.when_here(file, move |table, entry| {
            entry.release(&table.ledger, |owner| clients.contains(&owner.client));
            Vec::new()
        });
    }
}

impl Entry {
    /// Grants a lock if no other lock blocks it, or returns the lock that does.
    pub(super) fn lock(
        &mut self,
        ledger: &Ledger,
        stream: &Stream,
        wanted: &Lock,
    ) -> Result<(), LockRefusal> {
        if let Some(blocker) = self.ranges_of(stream).and_then(|ranges| ranges.blocker(wanted)) {
            return Err(LockRefusal::Blocked(blocker.clone()));
        }
        self.grant(ledger, stream, wanted).map_err(|_| LockRefusal::TooMany)?;
        // A lock that its owner has turned from exclusive to shared unblocks others.
        self.serve_queue(ledger);
        Ok(())
    }

    /// Grants a lock that no other lock blocks, as far as the limits allow.
    pub(super) fn grant(&mut self, ledger: &Ledger, stream: &Stream, wanted: &Lock) -> formats::Result<()> {
        let plan = self.ranges_mut(stream).grant(wanted);
        self.apply(ledger, stream, wanted.owner.client, plan)?;
        ledger.note_range();
        wanted.owner.open.into_iter().for_each(|open| self.opens.note_ranges(open));
        Ok(())
    }

    /// Releases a range and grants requests that waited for it.
    pub(super) fn unlock(
        &mut self,
        ledger: &Ledger,
        stream: &Stream,
        owner: &LockOwner,
        range: Range,
        flavour: Flavour,
    ) -> formats::Result<bool> {
        let plan = self.ranges_mut(stream).unlock(owner, range, flavour);
        if plan.is_empty() {
            return Ok(false);
        }
        self.apply(ledger, stream, owner.client, plan)?;
        self.serve_queue(ledger);
        Ok(true)
    }

    fn apply(
        &mut self,
        ledger: &Ledger,
        stream: &Stream,
        client: ClientId,
        plan: Plan,
    ) -> formats::Result<()> {
        let (more, fewer) = plan.growth();
        if more > 0 && self.range_count() + more > ledger.limits.ranges_per_file {
            return Err(Error::TooMany);
        }
        if more > 0 {
            ledger.take(client, Resource::Range, more)?;
        }
        ledger.give_back(client, Resource::Range, fewer);
        self.ranges_mut(stream).apply(plan);
        Ok(())
    }

    /// Drops all ranges and waiting requests of the owners that `whose` names.
    pub(super) fn release(&mut self, ledger: &Ledger, whose: impl Fn(&LockOwner) -> bool) {
        for (_, ranges) in &mut self.ranges {
            ranges.release(&whose, |lock| ledger.give_back(lock.owner.client, Resource::Range, 1));
        }
        self.cancel(ledger, |queued| whose(&queued.wanted.owner));
        self.serve_queue(ledger);
    }
}
