//! Leases, oplocks and delegations: what a client may cache, when it is granted, and the steps of a recall.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use tokio::sync::{mpsc, oneshot};

use super::carried::Back;
use super::far::Far;
use super::joined::Coordinator;
use super::lease::Lease;
use super::ledger::Resource;
use super::table::{Entry, Table};
use super::{Party, State, Stream};
use formats::{Error, FileId, Result};

/// What a party may cache. Only sets with `READ` have a meaning: without it the rest is worth
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Caching(pub u8);

bitflags::bitflags! {
    impl Caching: u8 {
        /// Nothing.
        const NONE = 0;
        /// The data that it has read stay true; of a folder, the listing.
        const READ = 1;
        /// It may keep the file open after its user has closed it, and open it again by itself.
        const HANDLE = 2;
        /// It may delay writes and locks.
        const WRITE = 4;
        /// All of them.
        const ALL = 7;
    }
}

impl Caching {
    /// The same set, or nothing if it lacks `READ`.
    pub(super) fn sensible(self) -> Self {
        if self.contains(Self::READ) { self } else { Self::NONE }
    }
}

/// The number of a lease, never used twice while the process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseId(pub u64);

/// How a lease is granted, and how it is given back when a part of it must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// Bit by bit.
    Bits,
    /// As a whole or not at all (a delegation).
    Whole,
    /// The same for a folder whose holder is told of each change of an entry, and keeps its listing.
    Told,
    /// Everything, down to reading alone, or nothing. A party that has reading alone loses it by
    /// its own writes, too. Such a lease is not granted beside cached handles of others.
    Steps,
}

/// A request for a lease.
#[derive(Debug, Clone)]
pub struct LeaseRequest {
    /// The party whose cache it is.
    pub party: Party,
    /// What it wants.
    pub want: Caching,
    /// How it is granted and lost.
    pub style: Style,
    /// The channel for notices of breaks. It is unbounded, but never longer than two per grant: a
    /// lease has one break in flight, and a break that needs no answer leaves nothing to break.
    pub notices: mpsc::UnboundedSender<BreakNotice>,
}

/// The notice to a holder: what is left of its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakNotice {
    /// The lease.
    pub lease: LeaseId,
    /// The file that it is on.
    pub file: FileId,
    /// The stream of the file.
    pub stream: Stream,
    /// The party that holds it.
    pub party: Party,
    /// What it had.
    pub from: Caching,
    /// What is left.
    pub to: Caching,
    /// An operation waits until the holder has cleaned up and says so ([`Lease::acknowledge`]).
    pub needs_ack: bool,
    /// The next step of an earlier break that the holder has answered.
    pub further: bool,
    /// The holder did not answer in time: the lease has ended already.
    pub revoked: bool,
}

/// A lease as the table keeps it.
///
/// ```text
/// held ──break_to──► breaking { announced, last } ──acknowledge──► held (once more breaking, if `last` is less)
///   └─ only READ: no answer needed, it is gone at once        └─ revoke, dropped ──► nothing held
/// ```
pub(super) struct LeaseEntry {
    pub(super) id: LeaseId,
    pub(super) stream: Stream,
    pub(super) party: Party,
    pub(super) style: Style,
    pub(super) held: Caching,
    pub(super) breaking: Option<Breaking>,
    /// The waiting operations, with the bits that each waits for; with no bits it waits until no
    /// break is in flight. Dropping it is the answer.
    pub(super) causers: Vec<(Caching, Causer)>,
    pub(super) notices: Notices,
    /// How many [`Lease`] guards there are.
    pub(super) guards: usize,
}

pub(super) struct Breaking {
    /// What the holder was told to come down to.
    pub(super) announced: Caching,
    /// What it will have to come down to in the end.
    pub(super) last: Caching,
}

/// An operation that waits for a lease.
pub(super) enum Causer {
    /// Of this server.
    Here(oneshot::Sender<Infallible>),
    /// Of another one.
    There(Far),
}

/// The way of notices to the holder of a lease.
pub(super) enum Notices {
    /// A client of this server.
    Here(mpsc::UnboundedSender<BreakNotice>),
    /// A client of another server.
    There(u16, Arc<dyn Coordinator>),
}

impl Notices {
    /// A holder that cannot be reached.
    pub(super) fn nowhere() -> Self {
        Self::Here(mpsc::unbounded_channel().0)
    }

    /// Tells the holder; with what it may keep in the end. Returns whether it can be reached.
    pub(super) fn send(&self, notice: BreakNotice, last: Caching) -> bool {
        match self {
            Self::Here(notices) => notices.send(notice).is_ok(),
            Self::There(server, to) => {
                to.back(*server, notice.file, Back::Notice(notice, last));
                true
            }
        }
    }
}

impl Style {
    /// Whether it is given back as a whole.
    pub fn goes_whole(self) -> bool {
        matches!(self, Self::Whole | Self::Told)
    }

    /// What stays with a holder that may keep at most this.
    pub(super) fn leaves(self, most: Caching) -> Caching {
        match self {
            Self::Bits => most.sensible(),
            Self::Whole | Self::Told => Caching::NONE,
            Self::Steps => most.intersection(Caching::READ),
        }
    }
}

impl LeaseEntry {
    /// Whether its holder has been told to give something back.
    pub(super) fn is_breaking(&self) -> bool {
        self.breaking.is_some()
    }

    /// Whether an operation of this party ends the lease. Operations of the holder itself end it
    /// only if it goes in steps.
    pub(super) fn minds(&self, by: Party) -> bool {
        self.party != by || (self.style == Style::Steps && self.held == Caching::READ)
    }

    /// Makes the holder give up `gone`. Returns what to wait on if `waits_for` is not gone at once.
    pub(super) fn break_for(
        &mut self,
        file: FileId,
        gone: Caching,
        waits_for: Caching,
    ) -> Option<oneshot::Receiver<Infallible>> {
        if !self.held.intersects(gone) {
            return None;
        }
        let heading = self.breaking.as_ref().map_or(self.held, |breaking| breaking.last);
        let left = self.style.leaves(heading.difference(gone));
        match &mut self.breaking {
            Some(breaking) => breaking.last = breaking.last.intersection(left),
            None => self.announce(file, left, left, false),
        }
        self.held.intersects(waits_for).then(|| self.cause(waits_for))
    }

    /// What to wait on until no break is in flight any more.
    pub(super) fn settled(&mut self) -> Option<oneshot::Receiver<Infallible>> {
        self.breaking.is_some().then(|| self.cause(Caching::NONE))
    }

    fn cause(&mut self, gone: Caching) -> oneshot::Receiver<Infallible> {
        let (sender, receiver) = oneshot::channel();
        self.causers.retain(|(_, causer)| !matches!(causer, Causer::Here(sender) if sender.is_closed()));
        self.causers.push((gone, Causer::Here(sender)));
        receiver
    }

    /// The next notice to a holder that has answered, but not yet for all that must end: first to
    /// close what it keeps open, then to forget what it has read.
    fn next_step(&self, last: Caching) -> Caching {
        match self.style {
            Style::Bits if self.held.contains(Caching::HANDLE) => {
                self.held.intersection(last.union(Caching::READ)).sensible()
            }
            style => style.leaves(self.held.intersection(last)),
        }
    }

    /// Waits only for a holder that may have to flush or close something. A holder that cannot be
    /// reached any more has nothing left to flush.
    fn announce(&mut self, file: FileId, to: Caching, last: Caching, further: bool) {
        let needs_ack =
            self.style.goes_whole() || self.held.intersects(Caching::WRITE.union(Caching::HANDLE));
        let told = self.tell(file, (to, last), needs_ack, further);
        if needs_ack && told {
            self.breaking = Some(Breaking { announced: to, last });
        } else {
            self.held = to;
        }
    }

    pub(super) fn tell(
        &self,
        file: FileId,
        (to, last): (Caching, Caching),
        needs_ack: bool,
        further: bool,
    ) -> bool {
        let (lease, stream, party, from) = (self.id, self.stream.clone(), self.party, self.held);
        let revoked = false;
        let notice = BreakNotice { lease, file, stream, party, from, to, needs_ack, further, revoked };
        self.notices.send(notice, last)
    }

    pub(super) fn acknowledge(&mut self, file: FileId, to: Caching) -> Result<Caching> {
        let breaking = self.breaking.take_if(|breaking| breaking.announced.contains(to));
        let last = breaking.ok_or(Error::Invalid)?.last;
        self.held = to.sensible();
        if !last.contains(self.held) {
            self.announce(file, self.next_step(last), last, true);
        }
        let breaking = self.breaking.is_some();
        self.causers
            .retain(|(gone, _)| if *gone == Caching::NONE { breaking } else { self.held.intersects(*gone) });
        Ok(self.held)
    }

    /// Takes the whole lease away, as the time to answer is over.
    pub(super) fn revoke(&mut self, file: FileId) {
        let (lease, stream, party, from) = (self.id, self.stream.clone(), self.party, self.held);
        let (to, needs_ack, further, revoked) = (Caching::NONE, false, false, true);
        // It does not matter whether the holder still receives notices.
        let notice = BreakNotice { lease, file, stream, party, from, to, needs_ack, further, revoked };
        let _ = self.notices.send(notice, to);
        self.held = Caching::NONE;
        self.breaking = None;
        self.causers.clear();
    }

    /// Adds to the same lease: all that is asked for or nothing, never less, and not during a
    /// break.
    fn upgrade(&mut self, grant: Caching, request: &LeaseRequest) {
        if self.breaking.is_none() && grant == request.want && grant.contains(self.held) {
            self.held = grant;
        }
        self.notices = Notices::Here(request.notices.clone());
        self.guards += 1;
    }
}

/// What a request was granted.
struct LeaseGrant {
    id: LeaseId,
    /// What the party held already.
    before: Caching,
    held: Caching,
}

impl Entry {
    /// The part of a request that can be granted beside what others hold.
    fn grantable(&self, table: &Table, stream: &Stream, request: &LeaseRequest) -> Caching {
        let LeaseRequest { party, want, style, .. } = request;
        let mut others = self.leases.iter().filter(|l| l.stream == *stream && l.party != *party);
        let foreign = self.opens.foreign(stream, *party);
        let (opened, written) =
            (self.openers > 0 || !self.far_openers.is_empty() || foreign.open, foreign.writing);
        // A client that reads from its cache does not notice a range that others have locked since.
        let locked = self.ranges_of(stream).is_some_and(|r| r.iter().any(|l| l.owner.client != party.client));
        // A client that may cache writes takes locks without telling the server. It could take the
        // range for which another client waits.
        let others_wait =
            |q: &super::waiters::QueuedLock| q.stream == *stream && q.wanted.owner.client != party.client;
        let awaited = self.queue.iter().any(others_wait);
        let all = others.clone().fold(Caching::NONE, |all, lease| all.union(lease.held));
        let stands = match style {
            Style::Bits => true,
            // It promises that names stay: nobody may be about to take one away.
            Style::Whole | Style::Told => {
                !written && !self.may_be_removed(stream, *party) && !table.changes_names()
            }
            Style::Steps => !all.contains(Caching::HANDLE),
        };
        if locked || awaited || all.contains(Caching::WRITE) || !stands {
            return Caching::NONE;
        }
        let steps = others.clone().any(|lease| lease.style == Style::Steps);
        let shared = opened || others.any(|lease| lease.held != Caching::NONE);
        let lost = match (shared, steps) {
            (false, _) => Caching::NONE,
            (true, false) => Caching::WRITE,
            (true, true) => Caching::WRITE.union(Caching::HANDLE),
        };
        match (want.difference(lost).sensible(), style) {
            (grant, Style::Bits) => grant,
            (grant, _) if grant == *want => grant,
            (_, Style::Whole | Style::Told) => Caching::NONE,
            (grant, Style::Steps) => grant.intersection(Caching::READ),
        }
    }

    fn take_lease(&mut self, table: &Table, stream: &Stream, request: &LeaseRequest) -> Result<LeaseGrant> {
        let (grant, party) = (self.grantable(table, stream, request), request.party);
        let same = self.leases.iter_mut().find(|lease| lease.stream == *stream && lease.party == party);
        if let Some(lease) = same {
            let before = lease.held;
            lease.upgrade(grant, request);
            return Ok(LeaseGrant { id: lease.id, before, held: lease.held });
        }
        if self.leases.len() >= table.ledger.limits.leases_per_file {
            return Err(Error::TooMany);
        }
        table.ledger.take(party.client, Resource::Lease, 1)?;
        let id = LeaseId(table.number());
        self.leases.push(LeaseEntry {
            id,
            stream: stream.clone(),
            party,
            style: request.style,
            held: grant,
            breaking: None,
            causers: Vec::new(),
            notices: Notices::Here(request.notices.clone()),
            guards: 1,
        });
        Ok(LeaseGrant { id, before: Caching::NONE, held: grant })
    }

    pub(super) fn lease(&mut self, id: LeaseId) -> Option<&mut LeaseEntry> {
        self.leases.iter_mut().find(|lease| lease.id == id)
    }
}

impl State {
    /// Grants a party what it may cache, beside what others hold; possibly nothing. If the same
    /// party asks again for the same stream, it gets the same lease, with more in it if that is
    /// possible, never less. Register the open that belongs to it first.
    pub fn lease(&self, file: FileId, stream: &Stream, request: &LeaseRequest) -> Result<Lease> {
        let party = request.party;
        let granted = self.table.with(file, |entry| entry.take_lease(&self.table, stream, request))??;
        let LeaseGrant { id, before, held } = granted;
        let last = AtomicU8::new(held.0);
        Ok(Lease { state: self.clone(), file, party, id, before, last, hold: None })
    }

    /// Whether a party other than `by` may have changes of this stream in its cache that only this
    /// party knows. It may, if another server has the state of the file.
    pub fn is_written_behind(&self, file: FileId, stream: &Stream, by: Party) -> bool {
        let behind = |lease: &LeaseEntry| {
            lease.stream == *stream && lease.minds(by) && lease.held.intersects(Caching::WRITE)
        };
        let is_behind = self.table.look(file, |entry| entry.leases.iter().any(behind));
        is_behind.map_or(true, |is_behind| is_behind.unwrap_or(false))
    }
}
