//! Opens that outlive their server. A server tells another one, its *successor*, of opens whose clients may come back
//! ([`OpenReplica`]). When the server is lost, the successor takes them over as opens of clients of its own that are not
//! connected, with other numbers. The server that has the state of such a file changes the numbers in it
//! ([`State::rehome`]). If the state itself is lost, it is made anew out of the parts of all servers, and what is
//! inherited yields to what clients of the others have ([`FileState::admit`]): the successor may not have heard of the last
//! changes.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use tokio::sync::mpsc;

use super::carried::{CarriedLease, CarriedOpen, FileState, carried_lease, carried_open};
use super::joined::StateRequests;
use super::leases::{Breaking, LeaseEntry, Notices};
use super::opens::{TableOpen, seen_by};
use super::table::Entry;
use super::{
    BreakNotice, Caching, ClientId, Concern, Lease, LeaseId, Lock, LockKind, OpenGuard, OpenId, OpenRequest,
    Party, State,
};
use formats::{Error, FileId, Result};

/// An open as the successor of its server needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReplica {
    /// The open.
    pub open: CarriedOpen,
    /// The byte ranges that it has locked.
    pub ranges: Vec<Lock>,
    /// The lease that it shares.
    pub lease: Option<CarriedLease>,
}

/// The numbers of an inherited open, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inheritance {
    /// The file.
    pub file: FileId,
    /// The number of the open at the lost server, and at the successor.
    pub open: (OpenId, OpenId),
    /// The same of its lease.
    pub lease: Option<(LeaseId, LeaseId)>,
    /// The client at the successor.
    pub client: ClientId,
    /// The file is kept for that client until it comes ([`OpenGuard::reserve`]).
    pub reserved: bool,
}

/// An inherited open. Dropping it gives it back.
#[derive(Debug)]
pub struct InheritedOpen {
    /// The open.
    pub guard: OpenGuard,
    /// Its lease.
    pub lease: Option<Lease>,
}

/// What a successor does with opens of a lost server: the protocol that has made them.
pub trait Successor: Send + Sync + 'static {
    /// The client of this name, and where it is told of its leases. `None`: it is not known, and its opens are not inherited.
    fn client(&self, name: &[u8; 16]) -> Option<(ClientId, mpsc::UnboundedSender<BreakNotice>)>;

    /// A server is lost, and this one has inherited these of its opens, each with what that server has noted of it. Called
    /// for every lost server, with locks held. Returns at once.
    fn inherit(&self, lost: u16, inherited: Vec<(InheritedOpen, Arc<[u8]>)>);
}

/// What tells the successor of this server of opens.
pub trait Replicas: Send + Sync + 'static {
    /// The number of this server.
    fn server(&self) -> u16;

    /// The open is to be known to the successor, as it is now. `client` is the name of its client, `note` what its protocol must
    /// know. While its lease is being recalled, only a `persistent` open is inherited, with the lease as it will be. Returns at once.
    fn keep(
        &self,
        guard: &OpenGuard,
        lease: Option<LeaseId>,
        client: [u8; 16],
        note: Vec<u8>,
        persistent: bool,
    );

    /// The open is not to be inherited any more. Returns at once.
    fn forget(&self, open: OpenId);

    /// Closed when the successor has all that was said to it before. At once if there is no successor.
    fn arrived(&self) -> tokio::sync::oneshot::Receiver<std::convert::Infallible>;

    /// Answers whether the successor has the open as it was told of it last, once that is known: false if there is no successor,
    /// or if the open cannot be inherited. No answer means false, too.
    fn kept(&self, open: OpenId) -> tokio::sync::oneshot::Receiver<bool>;

    /// Whether there are members besides this server.
    fn has_others(&self) -> bool;

    /// Whether a server is a member, so that its opens are its own. Before it is not, [`Successor::inherit`] is called.
    fn is_alive(&self, server: u16) -> bool;
}

/// An inherited open until its file's state, with the new numbers, was here.
pub(super) struct InheritedClaim {
    one: Inheritance,
    notices: mpsc::UnboundedSender<BreakNotice>,
}

impl OpenReplica {
    /// Whether the parts belong together, and nothing is going on with them.
    fn is_sound(&self) -> bool {
        let Self { open, ranges, lease } = self;
        let is_own = |lock: &Lock| lock.owner.open == Some(open.id) && lock.owner.client == open.party.client;
        let fits = |lease: &CarriedLease| {
            lease.party == open.party && lease.stream == open.stream && lease.breaking.is_none()
        };
        ranges.iter().all(is_own) && lease.as_ref().is_none_or(fits)
    }
}

impl State {
    /// An open of a client of this server, as its successor needs it. `None` if it is closed, or if its lease is being recalled
    /// and it is not `persistent`. A persistent one has the lease that its holder was told to keep.
    pub fn replica(
        &self,
        file: FileId,
        open: OpenId,
        lease: Option<LeaseId>,
        persistent: bool,
    ) -> Option<OpenReplica> {
        let joined = self.table.joined.as_ref()?;
        let asked = joined.asked.lock();
        let see = |entry: &Entry| {
            // The successor keeps the file for the client.
            let open = CarriedOpen { reserved: persistent, ..carried_open(entry.opens.get(open)?) };
            let ranges = entry.ranges_of(&open.stream).map_or_else(Vec::new, |ranges| {
                ranges.iter().filter(|lock| lock.owner.open == Some(open.id)).cloned().collect()
            });
            let of = |id: LeaseId| entry.leases.iter().find(|lease| lease.id == id).map(carried_lease);
            let of = |id: LeaseId| of(id).map(|lease| if persistent { lease.recalled() } else { lease });
            let lease = match lease {
                Some(id) => Some(of(id)?),
                None => None,
            };
            Some(OpenReplica { open, ranges, lease }).filter(OpenReplica::is_sound)
        };
        if self.table.has(file) {
            return self.table.with(file, |entry| see(entry)).ok().flatten();
        }
        asked.kept.get(&file).and_then(|kept| see(&kept.entry))
    }

    /// Takes over an open of a lost server, for a client of this one. `None` if it does not hold together, or if the
    /// client has another lease with the same key.
    pub fn inherit(
        &self,
        file: FileId,
        replica: OpenReplica,
        client: ClientId,
        notices: &mpsc::UnboundedSender<BreakNotice>,
    ) -> Option<(InheritedOpen, Inheritance)> {
        let joined = self.table.joined.as_ref().filter(|_| replica.is_sound())?;
        let mut asked = joined.asked.lock();
        let known = asked.inherited.get(&file).into_iter().flatten().filter_map(|claim| claim.one.lease);
        let known: Vec<(LeaseId, LeaseId)> = known.collect();
        let new_lease = |old: LeaseId| known.iter().find(|(of, _)| *of == old).map(|(_, new)| *new);
        let lease = replica
            .lease
            .as_ref()
            .map(|lease| (lease.id, new_lease(lease.id).unwrap_or_else(|| LeaseId(self.table.number()))));
        let open = (replica.open.id, OpenId(self.table.number()));
        let one = Inheritance { file, open, lease, client, reserved: replica.open.reserved };
        let party = Party { client, key: replica.open.party.key };
        let CarriedOpen { stream, access, deny, concern, .. } = replica.open.clone();
        let held = replica.lease.as_ref().map(|lease| lease.held).unwrap_or_default();
        if !self.table.has(file) && !asked.keep(&one, replica, notices) {
            return None;
        }
        asked.inherited.entry(file).or_default().push(InheritedClaim { one, notices: notices.clone() });
        drop(asked);
        let request = OpenRequest { party, access, deny, concern, empties: false, link: None };
        let guard = self.guard(file, stream, open.1, &request);
        let lease = lease.map(|(_, id)| Lease::inherited(self, file, party, id, held));
        Some((InheritedOpen { guard, lease }, one))
    }

    /// The part of a lost state that this server has inherited, to be [admitted](FileState::admit) to the rest.
    pub fn inherited_part(&self, file: FileId) -> FileState {
        let Some(joined) = &self.table.joined else { return FileState::default() };
        let asked = joined.asked.lock();
        let Some(kept) = asked.kept.get(&file) else { return FileState::default() };
        asked.divide(file, self.table.carried(&kept.entry)).1
    }

    /// An open of a lost server has another number now, and belongs to a client of its successor. Nothing happens if the state
    /// of its file is not here.
    pub fn rehome(&self, one: &Inheritance) {
        let Some(joined) = &self.table.joined else { return };
        let mut asked = joined.asked.lock();
        if !self.table.has(one.file) {
            return;
        }
        let notices = match asked.take_claim(one) {
            Some(notices) => Notices::Here(notices),
            None if super::home(one.open.1.0) == self.table.server() => return, // it was closed before; the lost server's goes
            None => Notices::There(super::home(one.open.1.0), joined.coordinator().clone()),
        };
        let table = &self.table;
        let _ = table.with(one.file, |entry| {
            table.count(entry, false);
            entry.rehome(one, notices);
            table.count(entry, true);
        });
    }

    /// Whether an open of this file is in its state. `LeaseRecall` if the state is not here, or if it may have the open by the number
    /// that a lost server gave it: until all servers have said what they have.
    pub fn has_open(&self, file: FileId, open: OpenId) -> Result<bool> {
        let is_awaited = self.is_awaited(file, open); // before the look: the number changes only once
        let found = self.table.look(file, |entry| entry.opens.get(open).is_some())?.unwrap_or(false);
        if found || !is_awaited { Ok(found) } else { Err(Error::LeaseRecall(file)) }
    }

    /// An inherited open is closed. If the state has it by its old number still, it does not get the new one.
    pub(super) fn disclaim(&self, file: FileId, open: OpenId) {
        let Some(joined) = &self.table.joined else { return };
        let mut asked = joined.asked.lock();
        if let Some(claims) = asked.inherited.get_mut(&file) {
            claims.retain(|claim| claim.one.open.1 != open);
            if claims.is_empty() {
                asked.inherited.remove(&file);
            }
        }
    }

    /// Whether an open was inherited, and the state of its file has not been here with its new number.
    pub fn is_awaited(&self, file: FileId, open: OpenId) -> bool {
        let Some(joined) = &self.table.joined else { return false };
        let asked = joined.asked.lock();
        asked.inherited.get(&file).into_iter().flatten().any(|claim| claim.one.open.1 == open)
    }

    /// What the holder of a lease may cache, as far as this server knows; nothing if a part of it is being recalled. The
    /// state of the file need not be here.
    pub fn undisturbed(&self, file: FileId, lease: LeaseId) -> Caching {
        let Some(joined) = &self.table.joined else { return Caching::NONE };
        let asked = joined.asked.lock();
        // Until the number of an inherited one has changed, the state has it by the one before.
        let claims = asked.inherited.get(&file).into_iter().flatten();
        let before =
            claims.filter_map(|claim| claim.one.lease).find(|(_, new)| *new == lease).map(|(old, _)| old);
        let see = |entry: &Entry| {
            let is_it = |of: &&LeaseEntry| of.id == lease || Some(of.id) == before;
            let lease = entry.leases.iter().find(|of| is_it(of) && !of.is_breaking());
            lease.map(|lease| lease.held).unwrap_or_default()
        };
        match self.table.has(file) {
            true => self.table.with(file, |entry| see(entry)).unwrap_or_default(),
            false => asked.kept.get(&file).map(|kept| see(&kept.entry)).unwrap_or_default(),
        }
    }
}

impl StateRequests {
    /// Adds an inherited open to the part of this server. False if the client has another lease with the same key.
    fn keep(
        &mut self,
        one: &Inheritance,
        replica: OpenReplica,
        notices: &mpsc::UnboundedSender<BreakNotice>,
    ) -> bool {
        let OpenReplica { open, ranges, lease } = replica;
        let party = Party { client: one.client, key: open.party.key };
        let entry = &mut self.kept.entry(one.file).or_default().entry;
        if let (Some((_, id)), Some(lease)) = (one.lease, lease) {
            let same = |of: &&mut LeaseEntry| of.stream == lease.stream && of.party == party;
            match entry.leases.iter_mut().find(same) {
                Some(known) if known.id == id => known.guards += 1,
                Some(_) => return false,
                None => entry.leases.push(LeaseEntry {
                    id,
                    stream: lease.stream,
                    party,
                    style: lease.style,
                    held: lease.held,
                    breaking: None,
                    causers: Vec::new(),
                    notices: Notices::Here(notices.clone()),
                    guards: 1,
                }),
            }
        }
        for lock in ranges {
            entry.ranges_mut(&open.stream).put(lock.moved(one));
        }
        entry.opens.insert(TableOpen { id: one.open.1, party, ..open.into() });
        true
    }

    /// What clients have that were always clients of this server, and what is inherited.
    pub(super) fn divide(&self, file: FileId, state: FileState) -> (FileState, FileState) {
        let claims = self.inherited.get(&file).map(Vec::as_slice).unwrap_or_default();
        if claims.is_empty() {
            return (state, FileState::default());
        }
        let is_open = |id: OpenId| claims.iter().any(|claim| claim.one.open.1 == id);
        let is_lease = |id| claims.iter().any(|claim| claim.one.lease.is_some_and(|(_, new)| new == id));
        let FileState { opens, ranges, queue, leases, removals, openers } = state;
        let (new_opens, opens) = opens.into_iter().partition(|open| is_open(open.id));
        let (new_ranges, ranges) =
            ranges.into_iter().partition(|(_, lock)| lock.owner.open.is_some_and(is_open));
        let (new_leases, leases) = leases.into_iter().partition(|lease| is_lease(lease.id));
        let inherited =
            FileState { opens: new_opens, ranges: new_ranges, leases: new_leases, ..FileState::default() };
        (FileState { opens, ranges, queue, leases, removals, openers }, inherited)
    }

    fn take_claim(&mut self, one: &Inheritance) -> Option<mpsc::UnboundedSender<BreakNotice>> {
        let claims = self.inherited.get_mut(&one.file)?;
        let at = claims.iter().position(|claim| claim.one.open == one.open)?;
        let claim = claims.swap_remove(at);
        if claims.is_empty() {
            self.inherited.remove(&one.file);
        }
        Some(claim.notices)
    }

    /// The state of a file has come: what is in it, or is not, by its new number is known. Claims of opens that still have
    /// their old number in it stay.
    pub(super) fn settle_claims(&mut self, file: FileId, state: &FileState) {
        let Some(claims) = self.inherited.get_mut(&file) else { return };
        claims.retain(|claim| state.opens.iter().any(|open| open.id == claim.one.open.0));
        if claims.is_empty() {
            self.inherited.remove(&file);
        }
    }
}

impl Lease {
    /// A lease of an open that this server inherits.
    fn inherited(state: &State, file: FileId, party: Party, id: LeaseId, held: Caching) -> Self {
        let (state, last) = (state.clone(), AtomicU8::new(held.0));
        Self { state, file, party, id, before: Caching::NONE, last, hold: None }
    }
}

impl LeaseEntry {
    /// Tells the holder again of a recall that it has not answered. `further`: the holder's server has counted it.
    pub(super) fn tell_again(&mut self, file: FileId, further: bool) {
        let Some(Breaking { announced, last }) = self.breaking else { return };
        if !self.tell(file, (announced, last), true, further) {
            let _ = self.acknowledge(file, Caching::NONE); // it is breaking
        }
    }
}

impl CarriedLease {
    /// As it is once its holder has answered a recall.
    fn recalled(self) -> Self {
        let left = self.breaking.map_or(self.held, |(announced, _)| announced.intersection(self.held));
        Self { held: left, breaking: None, ..self }
    }
}

impl Lock {
    fn moved(mut self, one: &Inheritance) -> Self {
        self.owner.client = one.client;
        self.owner.open = Some(one.open.1);
        self
    }
}

impl Entry {
    fn rehome(&mut self, one: &Inheritance, notices: Notices) {
        let Some(open) = self.opens.remove(one.open.0) else { return };
        let party = Party { client: one.client, key: open.party.key };
        for (_, ranges) in &mut self.ranges {
            let of = |lock: &&Lock| lock.owner.open == Some(one.open.0);
            let own: Vec<Lock> = ranges.iter().filter(of).cloned().collect();
            ranges.release(|owner| owner.open == Some(one.open.0), |_| {});
            own.into_iter().for_each(|lock| ranges.put(lock.moved(one)));
        }
        self.opens.insert(TableOpen { id: one.open.1, party, reserved: one.reserved, ..open });
        let Some((old, new)) = one.lease else { return };
        if let Some(lease) = self.lease(old) {
            (lease.id, lease.party, lease.guards, lease.notices) = (new, party, 1, notices);
            // The holder's former server was told of a recall, but not this one.
            lease.tell_again(one.file, false);
        } else if let Some(lease) = self.lease(new) {
            lease.guards += 1;
        }
    }
}

impl FileState {
    /// Adds inherited opens, with their ranges and leases, except those that collide with what is in the state. Of two that
    /// collide with each other, the one with the lower number stays: the later one was told to the successor first.
    pub fn admit(&mut self, inherited: Self) {
        let Self { mut opens, ranges, mut leases, .. } = inherited;
        opens.sort_by_key(|open| open.id);
        for open in opens {
            let own = |(_, lock): &&(super::Stream, Lock)| lock.owner.open == Some(open.id);
            let own: Vec<_> = ranges.iter().filter(own).cloned().collect();
            let lease = leases.iter().position(|of| of.party == open.party && of.stream == open.stream);
            let collides = self.refuses_open(&open)
                || own.iter().any(|(stream, lock)| self.refuses_range(stream, lock))
                || lease.is_some_and(|at| self.refuses_lease(&leases[at]));
            if collides {
                continue;
            }
            if let Some(at) = lease {
                let party = open.party;
                match self.leases.iter_mut().find(|of| of.id == leases[at].id) {
                    Some(known) => known.guards += 1,
                    None => self.leases.push(CarriedLease { guards: 1, party, ..leases[at].clone() }),
                }
                leases[at].guards = 0;
            }
            self.ranges.extend(own);
            self.opens.push(open);
        }
    }

    fn refuses_open(&self, open: &CarriedOpen) -> bool {
        self.opens.iter().any(|other| {
            let does = seen_by(&other.stream, &open.stream, other.access);
            other.deny.intersects(seen_by(&other.stream, &open.stream, open.access))
                || open.deny.intersects(does)
        })
    }

    fn refuses_range(&self, stream: &super::Stream, lock: &Lock) -> bool {
        self.ranges.iter().any(|(of, other)| {
            of == stream
                && other.range.overlaps(&lock.range)
                && other.owner != lock.owner
                && (other.kind == LockKind::Exclusive || lock.kind == LockKind::Exclusive)
        })
    }

    fn refuses_lease(&self, lease: &CarriedLease) -> bool {
        let mut others = self.leases.iter().filter(|of| of.stream == lease.stream && of.party != lease.party);
        let writes = |caching: Caching| caching.contains(Caching::WRITE);
        if !writes(lease.held) {
            return others.any(|of| writes(of.held));
        }
        let foreign_open = |of: &CarriedOpen| {
            of.stream == lease.stream && of.party != lease.party && of.concern != Concern::Attributes
        };
        let foreign_range = |(of, lock): &(super::Stream, Lock)| {
            *of == lease.stream && lock.owner.client != lease.party.client
        };
        others.any(|of| of.held != Caching::NONE)
            || self.opens.iter().any(foreign_open)
            || self.ranges.iter().any(foreign_range)
    }
}
