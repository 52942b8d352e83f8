//! The state of a file as plain values, for its way between two servers.
//!
//! An open, a lease, a waiting request or an operation that waits for a lease belongs to the server
//! whose client it is: the *home* of it, which is in its number. Only the home has the channels to
//! the client. When a state leaves a server, that server keeps its own part of it, with the
//! channels ([`LocalRemainder`]). The state is complete without the channels; what it has to say to a client
//! of another server goes there as a [`Back`].

use tokio::sync::oneshot;

use super::leases::{Breaking, Causer, LeaseEntry, Notices};
use super::removals::{RemovalTarget, Remove};
use super::table::{Entry, Table};
use super::waiters::{Granting, QueuedLock};
use super::{
    BreakNotice, Caching, Concern, LeaseId, Lock, Modes, OpenId, Party, Stream, Style, WaitId, opens,
};
use formats::FileId;

/// The server that a number of an open, lease or request comes from.
#[must_use]
pub const fn home(number: u64) -> u16 {
    (number >> 48) as u16
}

/// The state of one file on its way between two servers. The default is the state of a file that no
/// server has used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileState {
    /// The opens.
    pub opens: Vec<CarriedOpen>,
    /// The byte ranges that are held.
    pub ranges: Vec<(Stream, Lock)>,
    /// The requests that wait for ranges, in the order of arrival.
    pub queue: Vec<CarriedWait>,
    /// The leases.
    pub leases: Vec<CarriedLease>,
    /// What is removed when it is not open any more.
    pub removals: Vec<CarriedRemoval>,
    /// How many opens wait for leases at each server.
    pub openers: Vec<(u16, u32)>,
}

/// An open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedOpen {
    /// Its number.
    pub id: OpenId,
    /// The open stream.
    pub stream: Stream,
    /// Whose it is.
    pub party: Party,
    /// What it may do.
    pub access: Modes,
    /// What it denies.
    pub deny: Modes,
    /// The part of the file that it concerns.
    pub concern: Concern,
    /// Whether ranges or waiting requests name it.
    pub has_ranges: bool,
    /// Its client is not connected, and the file is kept for it ([`super::OpenGuard::reserve`]).
    pub reserved: bool,
}

/// A request that waits for a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedWait {
    /// Its number.
    pub id: WaitId,
    /// The stream.
    pub stream: Stream,
    /// What it waits for.
    pub wanted: Lock,
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedLease {
    /// Its number.
    pub id: LeaseId,
    /// The stream.
    pub stream: Stream,
    /// Who holds it.
    pub party: Party,
    /// How it is granted and lost.
    pub style: Style,
    /// What the holder may cache.
    pub held: Caching,
    /// While it is recalled: what the holder was told to keep, and what it may keep in the end.
    pub breaking: Option<(Caching, Caching)>,
    /// The numbers of operations that wait for it, with what each waits for.
    pub causers: Vec<(Caching, u64)>,
    /// How many guards of it there are at its home.
    pub guards: u32,
}

/// Something that is removed when it is not open any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedRemoval {
    /// The stream; the data fork stands for the file.
    pub stream: Stream,
    /// The server that removes it.
    pub home: u16,
    /// The number of the removal.
    pub number: u64,
    /// The server was told to remove it.
    pub told: bool,
}

/// What the server that has the state of a file tells the home of something in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Back {
    /// A holder is told of its lease; with what it may keep in the end.
    Notice(BreakNotice, Caching),
    /// A waiting request was granted.
    Granted(WaitId),
    /// A waiting request is not waiting any more, and was not granted.
    Cancelled(WaitId),
    /// What an operation waited for has come.
    Answered(u64),
    /// A file or stream is not used any more and is to be removed, by the removal of this number.
    Remove(u64),
}

/// What a server keeps of a state that has left it: the part of its own clients.
#[derive(Default)]
pub(super) struct LocalRemainder {
    pub(super) entry: Entry,
    /// The operations here that wait for leases.
    pub(super) causers: Vec<(u64, oneshot::Sender<std::convert::Infallible>)>,
}

impl LocalRemainder {
    pub(super) fn is_empty(&self) -> bool {
        self.entry.is_empty() && self.entry.removals.is_empty() && self.causers.is_empty()
    }
}

impl Table {
    /// Divides an entry into what leaves and what this server keeps.
    pub(super) fn divide(&self, mut entry: Entry) -> (FileState, LocalRemainder) {
        let server = self.server();
        let mut causers = Vec::new();
        let mut carried = |lease: &mut LeaseEntry| {
            let waiting = lease.causers.drain(..).map(|(gone, causer)| match causer {
                Causer::Here(sender) => {
                    let number = self.number();
                    causers.push((number, sender));
                    (gone, number)
                }
                Causer::There(far) => (gone, far.leave_number()),
            });
            let causers = waiting.collect();
            CarriedLease { causers, ..carried_lease(lease) }
        };
        let leases = entry.leases.iter_mut().map(&mut carried).collect();
        entry.queue.iter_mut().for_each(|queued| queued.granted.leave());
        let state = FileState { leases, ..self.carried(&entry) };
        entry.retain_home(server);
        (state, LocalRemainder { entry, causers })
    }

    /// An entry as values, without the operations that wait for leases.
    pub(super) fn carried(&self, entry: &Entry) -> FileState {
        let server = self.server();
        let ranges =
            entry.ranges.iter().flat_map(|(stream, ranges)| ranges.iter().map(move |lock| (stream, lock)));
        let own = (entry.openers > 0).then(|| (server, u32::try_from(entry.openers).unwrap_or(u32::MAX)));
        FileState {
            opens: entry.opens.iter().map(carried_open).collect(),
            ranges: ranges.map(|(stream, lock)| (stream.clone(), lock.clone())).collect(),
            queue: entry.queue.iter().map(carried_wait).collect(),
            leases: entry.leases.iter().map(carried_lease).collect(),
            removals: entry.removals.iter().map(|going| carried_removal(going, server)).collect(),
            openers: entry.far_openers.iter().copied().chain(own).collect(),
        }
    }

    /// An entry out of a state that has come and what this server has kept of it.
    pub(super) fn unite(&self, file: FileId, state: FileState, kept: LocalRemainder) -> Entry {
        let LocalRemainder { entry: mut own, mut causers } = kept;
        let server = self.server();
        let mut entry = Entry { view: own.view, ..Entry::default() };
        for open in state.opens {
            entry.opens.insert(open.into());
        }
        for (stream, lock) in state.ranges {
            entry.ranges_mut(&stream).put(lock);
        }
        for CarriedWait { id, stream, wanted } in state.queue {
            let kept =
                own.queue.iter().position(|queued| queued.id == id).map(|at| own.queue.swap_remove(at));
            let granted = match kept {
                Some(kept) => kept.granted,
                None => self.far(file, Back::Cancelled(id)).map_or_else(Granting::nowhere, Granting::There),
            };
            entry.queue.push(QueuedLock { id, stream, wanted, granted });
        }
        for lease in state.leases {
            entry.leases.push(self.unite_lease(file, lease, &mut own, &mut causers));
        }
        for CarriedRemoval { stream, home, number, told } in state.removals {
            let kept = own.removals.iter().position(|going| going.number == number);
            let last = match kept.map(|at| own.removals.swap_remove(at).last) {
                Some(last) => last,
                None if home == server => continue, // it has been removed
                None => Remove::There { home, told },
            };
            entry.removals.push(RemovalTarget { stream, link: None, number, last });
        }
        for (of, count) in state.openers {
            match of == server {
                true => entry.openers = count as usize,
                false => entry.far_openers.push((of, count)),
            }
        }
        entry
    }

    fn unite_lease(
        &self,
        file: FileId,
        carried: CarriedLease,
        own: &mut Entry,
        waiting: &mut Vec<(u64, oneshot::Sender<std::convert::Infallible>)>,
    ) -> LeaseEntry {
        let CarriedLease { id, stream, party, style, held, breaking, causers, guards } = carried;
        let kept = own.leases.iter().position(|lease| lease.id == id).map(|at| own.leases.swap_remove(at));
        let notices = match (kept, self.coordinator()) {
            (Some(kept), _) => kept.notices,
            (None, Some(to)) => Notices::There(home(id.0), to.clone()),
            (None, None) => Notices::nowhere(),
        };
        let breaking = breaking.map(|(announced, last)| Breaking { announced, last });
        let causers = causers.into_iter().filter_map(|(gone, number)| {
            let here = waiting.iter().position(|(own, _)| *own == number);
            match here.map(|at| waiting.swap_remove(at).1) {
                Some(sender) => Some((gone, Causer::Here(sender))),
                None if home(number) == self.server() => None, // it was answered
                None => Some((gone, Causer::There(self.far(file, Back::Answered(number))?))),
            }
        });
        let (causers, guards) = (causers.collect(), guards as usize);
        LeaseEntry { id, stream, party, style, held, breaking, causers, notices, guards }
    }
}

impl FileState {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds another part: the rest of a state that comes in several messages, or what the clients of
    /// another server have ([`super::State::part`]) in a state whose server is lost.
    pub fn merge(&mut self, other: Self) {
        let Self { opens, ranges, queue, leases, removals, openers } = other;
        self.opens.extend(opens);
        self.ranges.extend(ranges);
        self.queue.extend(queue);
        self.leases.extend(leases);
        self.removals.extend(removals);
        self.openers.extend(openers);
    }
}

impl Entry {
    /// Keeps what belongs to the clients of this server.
    pub(super) fn retain_home(&mut self, server: u16) {
        self.retain(|number| home(number) == server, server);
    }

    /// Removes what belongs to the clients of a server that is lost.
    pub(super) fn forget_home(&mut self, lost: u16) {
        self.retain(|number| home(number) != lost, lost);
        self.far_openers.retain(|(server, _)| *server != lost);
        for lease in &mut self.leases {
            lease.causers.retain(|(_, causer)| !matches!(causer, Causer::There(far) if far.home() == lost));
        }
        self.removals.retain(|going| !matches!(going.last, Remove::There { home, .. } if home == lost));
    }

    fn retain(&mut self, stays: impl Fn(u64) -> bool, server: u16) {
        let gone: Vec<OpenId> = self.opens.iter().map(|open| open.id).filter(|id| !stays(id.0)).collect();
        gone.into_iter().for_each(|id| {
            self.opens.remove(id);
        });
        for (_, ranges) in &mut self.ranges {
            ranges.release(|owner| !stays(owner.open.map_or(owner.client.0, |open| open.0)), |_| {});
        }
        self.ranges.retain(|(_, ranges)| ranges.len() > 0);
        self.queue.retain(|queued| stays(queued.id.0));
        self.leases.retain(|lease| stays(lease.id.0));
        if stays(u64::from(server) << 48) {
            self.removals.retain(|going| !matches!(going.last, Remove::There { .. }));
        }
    }
}

pub(super) fn carried_open(open: &opens::TableOpen) -> CarriedOpen {
    let opens::TableOpen { id, stream, party, access, deny, concern, has_ranges, reserved, .. } = open;
    CarriedOpen {
        id: *id,
        stream: stream.clone(),
        party: *party,
        access: *access,
        deny: *deny,
        concern: *concern,
        has_ranges: *has_ranges,
        reserved: *reserved,
    }
}

impl From<CarriedOpen> for opens::TableOpen {
    fn from(carried: CarriedOpen) -> Self {
        let CarriedOpen { id, stream, party, access, deny, concern, has_ranges, reserved } = carried;
        Self { id, stream, party, access, deny, concern, link: None, has_ranges, reserved }
    }
}

fn carried_wait(queued: &QueuedLock) -> CarriedWait {
    CarriedWait { id: queued.id, stream: queued.stream.clone(), wanted: queued.wanted.clone() }
}

pub(super) fn carried_lease(lease: &LeaseEntry) -> CarriedLease {
    CarriedLease {
        id: lease.id,
        stream: lease.stream.clone(),
        party: lease.party,
        style: lease.style,
        held: lease.held,
        breaking: lease.breaking.as_ref().map(|breaking| (breaking.announced, breaking.last)),
        causers: Vec::new(),
        guards: u32::try_from(lease.guards).unwrap_or(u32::MAX),
    }
}

fn carried_removal(going: &RemovalTarget, server: u16) -> CarriedRemoval {
    let (home, told) = match going.last {
        Remove::Here(_) => (server, false),
        Remove::There { home, told } => (home, told),
    };
    CarriedRemoval { stream: going.stream.clone(), home, number: going.number, told }
}
