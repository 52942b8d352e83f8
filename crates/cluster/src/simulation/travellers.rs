//! Clients whose opens outlive their server: each has a file open for itself alone, and locked, and looks for that at the
//! other servers when its own is lost. Half of them ask whether the successor has the open (persistent handles of SMB): if it has,
//! and only one server is lost after that, the open must be there.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use coherence::state::{
    BreakNotice, ClientId, Flavour, InheritedOpen, Lock, LockKind, LockOwner, Modes, OpenGuard, OpenRequest,
    Party, Range, State, Stream, Successor,
};
use formats::FileId;
use tokio::sync::{mpsc, oneshot};

use super::{Random, SimulatedServer};
use crate::node::ToKeep;
use crate::port::StateRequest;

/// The files that they use. Other clients do not use them.
const FILES: std::ops::Range<u64> = 100..103;
/// How long one looks for its open.
const AWAY_AT_MOST: Duration = Duration::from_secs(12);

/// What knows the clients of lost servers at a server of the simulation.
pub(super) struct SimulatedSuccessor(pub(super) u16);

impl Successor for SimulatedSuccessor {
    fn client(&self, name: &[u8; 16]) -> Option<(ClientId, mpsc::UnboundedSender<BreakNotice>)> {
        Some((id(self.0, usize::from(name[0])), mpsc::unbounded_channel().0))
    }

    fn inherit(&self, _lost: u16, _inherited: Vec<(InheritedOpen, Arc<[u8]>)>) {
        unreachable!("the simulation does it");
    }
}

/// The traveller as a client of a server.
pub(super) fn id(server: u16, traveller: usize) -> ClientId {
    ClientId((u64::from(server) << 48) + 0x1000 + traveller as u64)
}

/// What was seen of all of them.
#[derive(Debug, Default)]
pub(super) struct Travels {
    /// The traveller that has a file. True: its server is lost, and it has not come back.
    holders: BTreeMap<FileId, (usize, bool)>,
    /// Those whose file another one got meanwhile.
    overtaken: Vec<usize>,
    pub(super) returns: usize,
    /// How many of them were promised to come back.
    pub(super) kept: usize,
    /// All servers have been members at once. Those that join change who is whose successor.
    pub(super) are_all_there: bool,
}

#[derive(Debug)]
enum TravellerAction {
    Nothing,
    Opening,
    /// It waits until the successor knows of its open.
    Telling(oneshot::Receiver<Infallible>),
    /// It waits for the answer whether the successor has its open.
    Asking(oneshot::Receiver<bool>),
    Open,
    /// Its server is lost.
    Away(Duration),
}

/// One of them.
#[derive(Debug)]
pub(super) struct Traveller {
    at: usize,
    server: usize,
    file: FileId,
    doing: TravellerAction,
    guard: Option<OpenGuard>,
    until: Duration,
    is_stopping: bool,
    /// It was told that the successor has its open, when so many servers were lost.
    promised: Option<usize>,
}

/// How many servers are lost.
fn lost(now: Duration, servers: &[SimulatedServer]) -> usize {
    servers.iter().filter(|server| server.is_dead || now >= server.fence).count()
}

/// Has the successor of a server told of an open.
pub(super) fn keep(
    server: &SimulatedServer,
    traveller: usize,
    file: FileId,
    guard: &OpenGuard,
    persistent: bool,
) {
    let (open, lease, note) = (guard.id(), None, Arc::from(&b"note"[..]));
    let client = [u8::try_from(traveller).expect("few"); 16];
    server.port.want(StateRequest::Keep(ToKeep { file, open, lease, client, note, persistent }));
}

/// An inherited open is closed, whose traveller does not come for it.
pub(super) fn close_inherited(server: &mut SimulatedServer, traveller: u8) {
    if let Some(inherited) = server.inherited.remove(&traveller) {
        server.port.want(StateRequest::Drop(inherited.guard.id()));
    }
}

impl Traveller {
    pub(super) fn new(at: usize, servers: usize) -> Self {
        let (server, file) = (at % servers, FileId::new(0, FILES.start));
        let (doing, until) = (TravellerAction::Nothing, Duration::ZERO);
        Self { at, server, file, doing, guard: None, until, is_stopping: false, promised: None }
    }

    /// All faults are over.
    pub(super) fn stop(&mut self, now: Duration) {
        self.is_stopping = true;
        if let TravellerAction::Away(until) = &mut self.doing {
            *until = now + AWAY_AT_MOST;
        }
    }

    pub(super) fn is_done(&self, servers: &[SimulatedServer]) -> bool {
        matches!(self.doing, TravellerAction::Nothing) || servers.iter().all(|server| server.is_dead)
    }

    pub(super) fn step(
        &mut self,
        now: Duration,
        servers: &mut [SimulatedServer],
        travels: &mut Travels,
        random: &mut Random,
    ) {
        let server = &servers[self.server];
        let is_lost = server.is_dead || (server.fence != Duration::ZERO && now >= server.fence);
        if is_lost && !matches!(self.doing, TravellerAction::Away(_)) {
            self.guard.take().into_iter().for_each(std::mem::forget); // it went with its server
            self.doing = self.leave(now, travels);
        }
        if !is_lost && !server.may_answer(now) {
            return;
        }
        let state = server.state.clone();
        self.doing = match std::mem::replace(&mut self.doing, TravellerAction::Nothing) {
            TravellerAction::Nothing if self.is_stopping || is_lost || random.below(40) > 0 => {
                TravellerAction::Nothing
            }
            TravellerAction::Nothing => {
                self.file = FileId::new(0, FILES.start + random.below(FILES.end - FILES.start));
                TravellerAction::Opening
            }
            TravellerAction::Opening => self.open(&state, server, travels),
            TravellerAction::Telling(mut told) => match told.try_recv() {
                Err(oneshot::error::TryRecvError::Closed) => {
                    self.until = now + Duration::from_millis(100 + random.below(9_000));
                    TravellerAction::Open
                }
                _ => TravellerAction::Telling(told),
            },
            TravellerAction::Asking(mut asked) => match asked.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => TravellerAction::Asking(asked),
                answer => {
                    self.promised = (answer == Ok(true)).then(|| lost(now, servers));
                    self.until = now + Duration::from_millis(100 + random.below(9_000));
                    TravellerAction::Open
                }
            },
            TravellerAction::Open if now < self.until && !self.is_stopping => TravellerAction::Open,
            TravellerAction::Open => {
                let guard = self.guard.take().expect("it is open");
                server.port.want(StateRequest::Drop(guard.id()));
                travels.holders.remove(&self.file);
                self.promised = None;
                drop(guard);
                TravellerAction::Nothing
            }
            TravellerAction::Away(until) if now < until => self.look(now, until, servers, travels),
            TravellerAction::Away(_) if self.promised.is_some() && !self.is_stopping => {
                TravellerAction::Away(now + AWAY_AT_MOST)
            }
            TravellerAction::Away(_) => {
                self.is_given_up(now, servers);
                travels.forget(self.at);
                self.move_on(servers);
                TravellerAction::Nothing
            }
        };
    }

    /// Its server is lost: what it has may come back.
    fn leave(&self, now: Duration, travels: &mut Travels) -> TravellerAction {
        if let Some((holder, is_away)) = travels.holders.get_mut(&self.file)
            && *holder == self.at
        {
            *is_away = true;
        }
        TravellerAction::Away(now + AWAY_AT_MOST)
    }

    fn open(&mut self, state: &State, server: &SimulatedServer, travels: &mut Travels) -> TravellerAction {
        let party = Party::client(id(server.number, self.at));
        let request = OpenRequest::new(party, Modes::WRITE, Modes::READ.union(Modes::WRITE));
        match state.open(self.file, Stream::Data, request) {
            Ok(guard) => {
                if let Some((holder, is_away)) = travels.holders.insert(self.file, (self.at, false)) {
                    assert!(is_away, "{self:?}: {holder} has it open");
                    travels.overtaken.push(holder);
                }
                state.lock(self.file, &Stream::Data, wanted(&guard)).expect("it is the only one");
                let persistent = travels.are_all_there && self.at.is_multiple_of(2);
                keep(server, self.at, self.file, &guard, persistent);
                if persistent {
                    return self.ask(server, guard);
                }
                let (told, arrived) = oneshot::channel();
                server.port.want(StateRequest::Arrived(told));
                self.guard = Some(guard);
                TravellerAction::Telling(arrived)
            }
            Err(formats::Error::LeaseRecall(_)) => TravellerAction::Opening,
            Err(_) => TravellerAction::Nothing,
        }
    }

    /// It asks whether the successor has its open.
    fn ask(&mut self, server: &SimulatedServer, guard: OpenGuard) -> TravellerAction {
        let (answer, asked) = oneshot::channel();
        server.port.want(StateRequest::Kept(guard.id(), answer));
        (self.guard, self.promised) = (Some(guard), None);
        TravellerAction::Asking(asked)
    }

    /// It looks for its open at the other servers.
    fn look(
        &mut self,
        now: Duration,
        until: Duration,
        servers: &mut [SimulatedServer],
        travels: &mut Travels,
    ) -> TravellerAction {
        let name = u8::try_from(self.at).expect("few");
        for (at, server) in servers.iter_mut().enumerate().filter(|(_, server)| server.may_answer(now)) {
            let Some(inherited) = server.inherited.get(&name) else { continue };
            match server.state.has_open(self.file, inherited.guard.id()) {
                Ok(true) => {
                    let inherited = server.inherited.remove(&name).expect("it is there");
                    assert!(!travels.overtaken.contains(&self.at), "two have it open: {self:?} {travels:?}");
                    let had = server.state.test(self.file, &Stream::Data, &foreign());
                    assert!(matches!(had, Ok(Some(_))), "its lock is lost: {self:?} {had:?}");
                    travels.returns += 1;
                    travels.kept += usize::from(self.promised.is_some());
                    travels.holders.insert(self.file, (self.at, false));
                    self.server = at;
                    if self.promised.is_some() {
                        return self.ask(server, inherited.guard);
                    }
                    (self.guard, self.until) = (Some(inherited.guard), now);
                    return TravellerAction::Open;
                }
                Ok(false) => {
                    close_inherited(server, name);
                    self.is_given_up(now, servers);
                    travels.forget(self.at);
                    self.server = at;
                    return TravellerAction::Nothing;
                }
                Err(_) => return TravellerAction::Away(until), // its state is asked for
            }
        }
        TravellerAction::Away(until)
    }

    /// Its open is not at any server. That may be so if more than its own server was lost since it was promised.
    fn is_given_up(&mut self, now: Duration, servers: &[SimulatedServer]) {
        let Some(before) = self.promised.take() else { return };
        let since = lost(now, servers) - before;
        assert!(since > 1, "what the successor had is lost: {self:?}");
    }

    /// It uses a server that is there.
    fn move_on(&mut self, servers: &mut [SimulatedServer]) {
        let name = u8::try_from(self.at).expect("few");
        servers.iter_mut().for_each(|server| close_inherited(server, name));
        self.server = servers.iter().position(|server| !server.is_dead).unwrap_or(self.server);
    }
}

impl Travels {
    fn forget(&mut self, traveller: usize) {
        self.holders.retain(|_, (holder, _)| *holder != traveller);
        self.overtaken.retain(|of| *of != traveller);
    }
}

fn wanted(guard: &OpenGuard) -> Lock {
    let owner = LockOwner::open(guard.client(), guard.id());
    Lock { owner, range: Range::ALL, kind: LockKind::Exclusive, flavour: Flavour::Mandatory }
}

fn foreign() -> Lock {
    let owner = LockOwner::named(ClientId(7), b"other");
    Lock { owner, range: Range::ALL, kind: LockKind::Exclusive, flavour: Flavour::Mandatory }
}
