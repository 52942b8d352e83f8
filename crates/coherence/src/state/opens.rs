//! Opens with their access and deny modes: which ones exclude each other.

use std::fmt;
use std::sync::atomic::{AtomicU16, Ordering};

use lock::RwLock;

use super::ledger::Resource;
use super::recall::Cause;
use super::table::{Entry, Table};
use super::{ClientId, Lease, OpenId, Party, State, Stream};
use crate::ranks;
use formats::{Error, FileId, Result};

/// What an open may do, or what it denies to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modes(pub u8);

bitflags::bitflags! {
    impl Modes: u8 {
        /// Nothing.
        const NONE = 0;
        /// Reading this stream.
        const READ = 1;
        /// Writing this stream.
        const WRITE = 2;
        /// Removing or renaming the file, whichever stream is open.
        const DELETE = 4;
        /// All of them.
        const ALL = 7;
        /// Taking the file's name away from it. An open that may remove the file has this mode, too.
        /// A Mac that denies writing denies this to all but other Macs, which rename open files.
        const RENAME = 8;
        /// What an open for removal has.
        const REMOVE = 12;
    }
}

/// A name of a file, out of the names by which it is open. For one file, equal numbers are the same
/// name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link(pub u64);

/// The part of a file that an open concerns, for the caches of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Concern {
    /// Times and attributes: no cache is recalled for it, and it is in the way of no cache.
    Attributes,
    /// These and permissions: ends caches that go in steps.
    Rights,
    /// Everything.
    Data,
}

/// An open to be registered. An open that only looks at attributes asks for no access. Its protocol
/// decides whether it may still deny something.
#[derive(Debug, Clone, Copy)]
pub struct OpenRequest {
    /// The party that opens the file.
    pub party: Party,
    /// The access that it has.
    pub access: Modes,
    /// The access that other opens may not have meanwhile.
    pub deny: Modes,
    /// The part of it that collides with caches of others.
    pub concern: Concern,
    /// It empties the stream at once.
    pub empties: bool,
    /// The name by which the file is opened. If it is not known (`None`), the removal of any name
    /// concerns this open.
    pub link: Option<Link>,
}

impl OpenRequest {
    /// An open that leaves the data as they are. Without any access it is about attributes alone.
    pub fn new(party: Party, access: Modes, deny: Modes) -> Self {
        let concern = if access == Modes::NONE { Concern::Attributes } else { Concern::Data };
        Self { party, access, deny, concern, empties: false, link: None }
    }

    /// Its effect on the caches of others.
    pub(super) fn cause(&self) -> Option<Cause> {
        match self.concern {
            _ if self.empties => Some(Cause::Overwrite),
            Concern::Attributes => None,
            Concern::Rights => Some(Cause::OpenRights),
            Concern::Data if self.access.intersects(Modes::WRITE) => Some(Cause::OpenWrite),
            Concern::Data => Some(Cause::OpenRead),
        }
    }
}

/// An open as the table keeps it.
pub(super) struct TableOpen {
    pub(super) id: OpenId,
    pub(super) stream: Stream,
    pub(super) party: Party,
    pub(super) access: Modes,
    pub(super) deny: Modes,
    pub(super) concern: Concern,
    pub(super) link: Option<Link>,
    /// Whether the owner of a range, or of a request that waits for one, has named it.
    pub(super) has_ranges: bool,
    /// Its client is not connected, and the file is kept for it.
    pub(super) reserved: bool,
}

impl TableOpen {
    /// Whether this open denies `access` to `stream`.
    pub(super) fn denies(&self, stream: &Stream, access: Modes) -> bool {
        self.deny.intersects(seen_by(&self.stream, stream, access))
    }
}

/// The effect of modes on stream `to` for an open of stream `of`: deletion concerns the file, the
/// rest the same stream.
pub(super) fn seen_by(of: &Stream, to: &Stream, modes: Modes) -> Modes {
    if of == to { modes } else { modes & Modes::REMOVE }
}

impl Entry {
    /// Whether an open (other than `except`) collides with this access and these denials.
    fn share_conflict(&self, stream: &Stream, access: Modes, deny: Modes, except: Option<OpenId>) -> bool {
        self.opens.denies(stream, access, except) || self.opens.does(stream, deny, except)
    }

    /// Whether the opens of others allow this one.
    pub(super) fn verdict(&self, stream: &Stream, request: &OpenRequest) -> Result<()> {
        if self.is_going(stream, request.link) {
            return Err(Error::BeingRemoved);
        }
        match self.share_conflict(stream, request.access, request.deny, None) {
            true => Err(Error::ShareConflict),
            false => Ok(()),
        }
    }

    /// One more open, within the limits of the file and of the client.
    pub(super) fn add_open(
        &mut self,
        table: &Table,
        stream: &Stream,
        request: &OpenRequest,
    ) -> Result<OpenId> {
        let OpenRequest { party, access, deny, concern, link, .. } = *request;
        if self.opens.len() >= table.ledger.limits.opens_per_file {
            return Err(Error::TooMany);
        }
        table.ledger.take(party.client, Resource::Open, 1)?;
        let id = OpenId(table.number());
        table.count_fork(stream, true);
        let (stream, has_ranges, reserved) = (stream.clone(), false, false);
        self.opens.insert(TableOpen { id, stream, party, access, deny, concern, link, has_ranges, reserved });
        Ok(id)
    }
}

impl State {
    /// Registers an open. `ShareConflict` if its access collides with what another open denies, or
    /// if it denies an access that another open has. A client's own opens count like those of
    /// others.
    ///
    /// A reservation without an open is the same: keep the guard as long as the reservation lasts.
    /// [`State::open_and_recall`] also recalls the caches of others.
    pub fn open(&self, file: FileId, stream: Stream, request: OpenRequest) -> Result<OpenGuard> {
        let request = self.linked(request);
        let open = |entry: &mut Entry| {
            entry.verdict(&stream, &request)?;
            entry.add_open(&self.table, &stream, &request)
        };
        let id = self.with_way(file, request.party.client, || self.table.with(file, open)?)?;
        Ok(self.guard(file, stream, id, &request))
    }

    /// Whether an open keeps this file for its client, which is not connected ([`OpenGuard::reserve`]), at any server.
    /// `LeaseRecall` if another server has the state of the file.
    pub fn is_reserved(&self, file: FileId) -> Result<bool> {
        Ok(self.table.look(file, |entry| entry.opens.is_reserved())?.unwrap_or(false))
    }

    /// A request as it is registered. Names have different numbers at different servers, so where
    /// several share files every removal concerns every open.
    pub(super) fn linked(&self, request: OpenRequest) -> OpenRequest {
        if self.table.is_joined() { OpenRequest { link: None, ..request } } else { request }
    }

    /// The guard of an open that is in the table.
    pub(super) fn guard(&self, file: FileId, stream: Stream, id: OpenId, request: &OpenRequest) -> OpenGuard {
        let OpenRequest { party, access, deny, link, .. } = *request;
        let (stream, modes) = (RwLock::new(stream), AtomicU16::new(pack(access, deny)));
        OpenGuard { state: self.clone(), file, stream, id, party, link, modes, lease: None, closed: false }
    }
}

/// An open. Dropping it gives back its deny modes, the byte ranges and waiting requests whose owner names
/// it, and the lease it keeps.
pub struct OpenGuard {
    pub(super) state: State,
    pub(super) file: FileId,
    pub(super) stream: RwLock<Stream, ranks::OpenStream>,
    pub(super) id: OpenId,
    party: Party,
    pub(super) link: Option<Link>,
    /// Access and denials, as in the table.
    modes: AtomicU16,
    lease: Option<Box<Lease>>,
    closed: bool,
}

fn pack(access: Modes, deny: Modes) -> u16 {
    u16::from_be_bytes([access.0, deny.0])
}

impl OpenGuard {
    /// Its number.
    pub fn id(&self) -> OpenId {
        self.id
    }

    /// Which file.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// Which of its streams.
    pub fn stream(&self) -> Stream {
        self.stream.read().clone()
    }

    /// The party that opened it.
    pub fn party(&self) -> Party {
        self.party
    }

    /// The client that opened it.
    pub fn client(&self) -> ClientId {
        self.party.client
    }

    /// Keeps a lease as long as it is open itself, instead of the lease that it kept.
    pub fn keep(&mut self, lease: Lease) {
        self.lease = Some(Box::new(lease));
    }

    /// The lease it keeps.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_deref()
    }

    /// Its present access and denials.
    pub fn modes(&self) -> (Modes, Modes) {
        let [access, deny] = self.modes.load(Ordering::Relaxed).to_be_bytes();
        (Modes(access), Modes(deny))
    }

    /// The client is not connected, and the file is kept for it; or it is back. That changes no rule: a protocol asks for it
    /// ([`State::is_reserved`]). If the state of the file is elsewhere, it is done when that has come.
    pub fn reserve(&self, reserved: bool) {
        let id = self.id;
        let last = self.state.table.when_here(self.file, move |_, entry| {
            entry.opens.reserve(id, reserved);
            Vec::new()
        });
        debug_assert!(last.is_empty(), "nothing is closed by it");
    }

    /// Changes access and denials. Leaves both as they are if other opens collide with that.
    pub fn change(&self, access: Modes, deny: Modes) -> Result<()> {
        let change = |entry: &mut Entry| {
            if entry.share_conflict(&self.stream.read(), access, deny, Some(self.id)) {
                return Err(Error::ShareConflict);
            }
            entry.opens.change(self.id, |own| (own.access, own.deny) = (access, deny));
            self.modes.store(pack(access, deny), Ordering::Relaxed);
            Ok(())
        };
        self.state.with_way(self.file, self.client(), || self.state.table.with(self.file, change)?)
    }
}

impl OpenGuard {
    /// Gives everything back, as dropping it does. Returns the result of the removal that the last
    /// close makes ([`OpenGuard::remove_when_unused`]).
    pub fn close(mut self) -> Result<()> {
        self.give_back()
    }

    /// As [`OpenGuard::close`], for a guard that is dropped later. Does nothing the second time.
    pub fn give_back(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        let (file, id, client) = (self.file, self.id, self.party.client);
        self.state.disclaim(file, id);
        let last = self.state.table.when_here(self.file, move |table, entry| {
            let open = entry.opens.remove(id);
            // An inherited open may not be in the state.
            if let Some(open) = &open {
                table.count_fork(&open.stream, false);
                table.ledger.give_back(client, Resource::Open, 1);
            }
            if open.is_some_and(|open| open.has_ranges) {
                entry.release(&table.ledger, |owner| owner.open == Some(id));
            }
            entry.take_unused(table, file)
        });
        self.lease = None;
        // All of them, whether or not one fails.
        last.into_iter().map(|last| last()).fold(Ok(()), Result::and)
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        if let Err(error) = self.give_back() {
            tracing::warn!(%error, file = ?self.file, "what was to be removed when its last user closed it was not");
        }
    }
}

impl fmt::Debug for OpenGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?} {:?} by {:?}", self.id, self.file, self.stream(), self.party)
    }
}
