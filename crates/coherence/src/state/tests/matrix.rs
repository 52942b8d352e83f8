//! The lock and open matrix: what client A holds, and how it then limits client B, whatever
//! protocols they use.
//!
//! The rules: a deny mode binds opens and I/O of all others. A mandatory range refuses locks and
//! I/O of others. An advisory range refuses locks of others, and I/O of mandatory clients only by
//! policy. A lease is broken before an open, write, truncation, removal, renaming or lock by
//! another client completes. A delegation is recalled before a conflicting open.

use tokio::sync::mpsc;

use super::servers::Servers;
use super::*;
use formats::Error;

/// What client A holds.
#[derive(Debug, Clone, Copy)]
enum Held {
    DenyWrite,
    DenyAll,
    Mandatory(LockKind),
    Advisory(LockKind),
    /// The same with `Policy::advisory_binds_io`.
    AdvisoryBinding(LockKind),
    Lease(Caching),
    /// For reading (false) or writing (true).
    Delegation(bool),
    /// A file that is removed when all its opens are closed.
    Going,
}

/// What client B does.
#[derive(Debug, Clone, Copy)]
enum Event {
    OpenRead,
    OpenWrite,
    /// For reading, denying others to read.
    OpenDeny,
    OpenDelete,
    /// Without an open.
    Read,
    Write,
    /// Through an open, by a client whose own locks are mandatory.
    ReadOpen,
    WriteOpen,
    Truncate,
    LockShared,
    LockExclusive,
    LockAdvisory,
    Attributes,
    Rename,
    Remove,
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Free,
    Refused(Error),
    /// A must reduce its lease to this, and B waits for it.
    Waits(Caching),
    /// A is told to reduce its lease to this, and B need not wait.
    Tells(Caching),
}

const ROWS: usize = 15;
const EVENTS: [Event; ROWS] = [
    Event::OpenRead,
    Event::OpenWrite,
    Event::OpenDeny,
    Event::OpenDelete,
    Event::Read,
    Event::Write,
    Event::ReadOpen,
    Event::WriteOpen,
    Event::Truncate,
    Event::LockShared,
    Event::LockExclusive,
    Event::LockAdvisory,
    Event::Attributes,
    Event::Rename,
    Event::Remove,
];

const R: Caching = Caching::READ;
const RH: Caching = Caching(3);
const RW: Caching = Caching(5);
const RWH: Caching = Caching::ALL;

const __: Outcome = Outcome::Free;
const SH: Outcome = Outcome::Refused(Error::ShareConflict);
const BR: Outcome = Outcome::Refused(Error::BeingRemoved);
const LK: Outcome = Outcome::Refused(Error::RangeLocked);
const T0: Outcome = Outcome::Tells(Caching::NONE);
const W0: Outcome = Outcome::Waits(Caching::NONE);
const WR: Outcome = Outcome::Waits(R);
const WH: Outcome = Outcome::Waits(RH);
const WW: Outcome = Outcome::Waits(RW);

#[rustfmt::skip]
const MATRIX: &[(Held, [Outcome; ROWS])] = &[
    //                                    opens by B     stateless  via open  cut  locks by B  set move remove
    //                                    r   w   deny del   r   w   r   w   tr   sh  ex  adv  at  mv  rm
    (Held::DenyWrite,                   [__, SH, SH, __,   __, SH, __, SH,  SH,  __, __, __,  __, __, __]),
    (Held::DenyAll,                     [SH, SH, SH, SH,   SH, SH, SH, SH,  SH,  __, __, __,  __, SH, SH]),
    (Held::Mandatory(Exclusive),        [__, __, SH, __,   LK, LK, LK, LK,  LK,  LK, LK, LK,  __, __, __]),
    (Held::Mandatory(Shared),           [__, __, SH, __,   __, LK, __, LK,  LK,  __, LK, LK,  __, __, __]),
    (Held::Advisory(Exclusive),         [__, __, __, __,   __, __, __, __,  __,  LK, LK, LK,  __, __, __]),
    (Held::Advisory(Shared),            [__, __, __, __,   __, __, __, __,  __,  __, LK, LK,  __, __, __]),
    (Held::AdvisoryBinding(Exclusive),  [__, __, __, __,   __, __, LK, LK,  __,  LK, LK, LK,  __, __, __]),
    (Held::AdvisoryBinding(Shared),     [__, __, __, __,   __, __, __, LK,  __,  __, LK, LK,  __, __, __]),
    (Held::Lease(R),                    [__, __, SH, __,   __, T0, __, T0,  T0,  T0, T0, T0,  __, __, __]),
    (Held::Lease(RH),                   [__, __, WR, __,   __, W0, __, W0,  W0,  W0, W0, W0,  __, WR, WR]),
    (Held::Lease(RW),                   [WR, WR, SH, WR,   WR, W0, WR, W0,  W0,  W0, W0, W0,  __, WR, WR]),
    (Held::Lease(RWH),                  [WH, WH, WW, WH,   WH, W0, WH, W0,  W0,  W0, W0, W0,  __, WR, WR]),
    (Held::Delegation(false),           [__, W0, W0, __,   __, W0, __, W0,  W0,  W0, W0, W0,  W0, W0, W0]),
    (Held::Delegation(true),            [W0, W0, W0, W0,   W0, W0, W0, W0,  W0,  W0, W0, W0,  W0, W0, W0]),
    (Held::Going,                       [BR, BR, BR, BR,   __, __, __, __,  __,  __, __, __,  __, __, __]),
];

#[test]
fn what_one_client_holds_binds_every_other() {
    for servers in SITES {
        for (held, row) in MATRIX {
            for (event, expected) in EVENTS.iter().zip(row) {
                let mut scene = Scene::new(*held, servers);
                assert_eq!(scene.play(*event), *expected, "{held:?} × {event:?}");
                drop(scene.held);
                scene.servers.settle();
                scene.servers.bring(&scene.servers.second);
                let left = scene.servers.second.opens(None, 9);
                assert!(left.iter().all(|open| open.client == B), "{held:?} × {event:?}");
            }
        }
    }
}

#[test]
fn what_one_client_holds_does_not_stand_in_its_own_way() {
    for (servers, (held, _)) in SITES.iter().flat_map(|site| MATRIX.iter().map(move |row| (site, row))) {
        let scene = Scene::new(*held, *servers);
        let state = &scene.servers.first;
        scene.servers.bring(state);
        let party = scene.held.as_ref().map_or(Party::client(A), OpenGuard::party);
        for cause in [Cause::Read, Cause::Write, Cause::Truncate, Cause::Lock, Cause::Rename, Cause::Remove] {
            assert!(state.break_for(FILE, &DATA, cause, party).is_none());
        }
        let who = IoClient::stateless(A);
        let shared_range = matches!(held, Held::Mandatory(Shared));
        assert_eq!(state.check_io(FILE, &DATA, who, Range::ALL, true).is_ok(), !shared_range, "{held:?}");
        assert_eq!(state.check_remove(FILE, who), Ok(()));
    }
}

const DATA: Stream = Stream::Data;

/// The matrix is the same for two clients of one server, and for clients of two servers that share
/// their files.
const SITES: [fn(Policy) -> Servers; 2] = [Servers::one, Servers::two];

struct Scene {
    servers: Servers,
    held: Option<OpenGuard>,
    /// B looks at the attributes only. It could go on to read and write if that is checked alone.
    looking: OpenGuard,
    notices: mpsc::UnboundedReceiver<BreakNotice>,
}

impl Scene {
    fn new(held: Held, servers: fn(Policy) -> Servers) -> Self {
        let advisory_binds_io = matches!(held, Held::AdvisoryBinding(_));
        let servers = servers(Policy { advisory_binds_io, ..Policy::default() });
        let looking = servers.run(|| open(&servers.second, B, Modes::NONE, Modes::NONE)).unwrap();
        let (sender, notices) = mpsc::unbounded_channel();
        servers.bring(&servers.first);
        let held = hold(&servers.first, held, sender);
        Self { servers, held, looking, notices }
    }

    fn play(&mut self, event: Event) -> Outcome {
        let (cause, done) = self.perform(event);
        self.servers.bring(&self.servers.second);
        let cause = match (done, cause) {
            (Err(Error::ShareConflict), Cause::OpenRead | Cause::OpenWrite) => Cause::ShareConflict,
            (Err(error), _) => return Outcome::Refused(error),
            (Ok(()), cause) => cause,
        };
        let recall = self.servers.second.break_for(FILE, &DATA, cause, Party::client(B));
        self.servers.hear();
        match (self.notices.try_recv(), recall, done) {
            (Ok(notice), Some(_), _) if notice.needs_ack => Outcome::Waits(notice.to),
            (Ok(notice), None, Ok(())) if !notice.needs_ack => Outcome::Tells(notice.to),
            (Err(_), None, Ok(())) => Outcome::Free,
            (Err(_), None, Err(error)) => Outcome::Refused(error),
            (notice, recall, _) => panic!("{notice:?} with a wait: {}", recall.is_some()),
        }
    }

    /// Does all but the breaking of leases.
    fn perform(&self, event: Event) -> (Cause, formats::Result<()>) {
        let (servers, state) = (&self.servers, &self.servers.second);
        let opened = |access, deny| servers.run(|| open(state, B, access, deny)).map(drop);
        let check = |who, write| servers.run(|| state.check_io(FILE, &DATA, who, bytes(0, 1), write));
        let stateless = |write| check(IoClient::stateless(B), write);
        let through = |write| check(IoClient::through(B, self.looking.id()), write);
        let lock = |lock: Lock| servers.run(|| state.lock(FILE, &DATA, lock.clone()).map_err(Error::from));
        let remove = || servers.run(|| state.check_remove(FILE, IoClient::stateless(B)));
        let range = bytes(0, 1);
        match event {
            Event::OpenRead => (Cause::OpenRead, opened(Modes::READ, Modes::NONE)),
            Event::OpenWrite => (Cause::OpenWrite, opened(Modes::WRITE, Modes::NONE)),
            Event::OpenDeny => (Cause::OpenRead, opened(Modes::READ, Modes::READ)),
            Event::OpenDelete => (Cause::OpenRead, opened(Modes::DELETE, Modes::NONE)),
            Event::Read => (Cause::Read, stateless(false)),
            Event::Write => (Cause::Write, stateless(true)),
            Event::ReadOpen => (Cause::Read, through(false)),
            Event::WriteOpen => (Cause::Write, through(true)),
            Event::Truncate => {
                (Cause::Truncate, servers.run(|| state.check_resize(FILE, &DATA, IoClient::stateless(B), 0)))
            }
            Event::LockShared => (Cause::Lock, lock(mandatory(&self.looking, range, Shared))),
            Event::LockExclusive => (Cause::Lock, lock(mandatory(&self.looking, range, Exclusive))),
            Event::LockAdvisory => (Cause::Lock, lock(advisory(B, b"b", range, Exclusive))),
            Event::Attributes => (Cause::Attributes, Ok(())),
            Event::Rename => (Cause::Rename, remove()),
            Event::Remove => (Cause::Remove, remove()),
        }
    }
}

fn hold(state: &State, held: Held, notices: mpsc::UnboundedSender<BreakNotice>) -> Option<OpenGuard> {
    let both = Modes::READ.union(Modes::WRITE);
    let range = bytes(0, 10);
    match held {
        Held::DenyWrite => Some(open(state, A, Modes::READ, Modes::WRITE).unwrap()),
        Held::DenyAll => Some(open(state, A, Modes::READ, Modes::ALL).unwrap()),
        Held::Mandatory(kind) => {
            let guard = open(state, A, both, Modes::NONE).unwrap();
            state.lock(FILE, &DATA, mandatory(&guard, range, kind)).unwrap();
            Some(guard)
        }
        Held::Advisory(kind) | Held::AdvisoryBinding(kind) => {
            state.lock(FILE, &DATA, advisory(A, b"a", range, kind)).unwrap();
            None
        }
        Held::Lease(want) => {
            let party = Party { client: A, key: Some([1; 16]) };
            Some(hold_lease(state, LeaseRequest { party, want, style: Style::Bits, notices }, both))
        }
        Held::Going => {
            let guard = open(state, A, both, Modes::NONE).unwrap();
            guard.remove_when_unused(Box::new(|| Ok(())));
            Some(guard)
        }
        Held::Delegation(write) => {
            let (want, access) = if write { (RWH, both) } else { (RH, Modes::READ) };
            Some(hold_lease(
                state,
                LeaseRequest { party: Party::client(A), want, style: Style::Whole, notices },
                access,
            ))
        }
    }
}

fn hold_lease(state: &State, request: LeaseRequest, access: Modes) -> OpenGuard {
    let opened = OpenRequest::new(request.party, access, Modes::NONE);
    let mut guard = state.open(FILE, DATA, opened).unwrap();
    let lease = state.lease(FILE, &DATA, &request).unwrap();
    assert_eq!(lease.caching(), request.want);
    guard.keep(lease);
    guard
}
