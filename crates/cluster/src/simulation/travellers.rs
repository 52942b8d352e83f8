//! Clients whose opens outlive their server: each has a file open for itself alone, and locked, and looks for that at the
//! other servers when its own is lost.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use vfs::FileId;
use vfs::state::{
    BreakNotice, ClientId, Flavour, Inherited, Lock, LockKind, LockOwner, Modes, OpenGuard, OpenRequest,
    Party, Range, State, Stream, Successor,
};

use super::{Random, Server};
use crate::node::ToKeep;
use crate::port::Wanted;

/// The files that they use. Other clients do not use them.
const FILES: std::ops::Range<u64> = 100..103;
/// How long one looks for its open.
const AWAY_AT_MOST: Duration = Duration::from_secs(12);

/// What knows the clients of lost servers at a server of the simulation.
pub(super) struct Known(pub(super) u16);

impl Successor for Known {
    fn client(&self, name: &[u8; 16]) -> Option<(ClientId, mpsc::UnboundedSender<BreakNotice>)> {
        Some((id(self.0, usize::from(name[0])), mpsc::unbounded_channel().0))
    }

    fn inherit(&self, _lost: u16, _inherited: Vec<(Inherited, Arc<[u8]>)>) {
        unreachable!("the simulation does it");
    }
}

fn id(server: u16, traveller: usize) -> ClientId {
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
}

#[derive(Debug)]
enum Doing {
    Nothing,
    Opening,
    /// It waits until the successor knows of its open.
    Telling(oneshot::Receiver<Infallible>),
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
    doing: Doing,
    guard: Option<OpenGuard>,
    until: Duration,
    is_stopping: bool,
}

impl Traveller {
    pub(super) fn new(at: usize, servers: usize) -> Self {
        let (server, file) = (at % servers, FileId::new(0, FILES.start));
        let (doing, until) = (Doing::Nothing, Duration::ZERO);
        Self { at, server, file, doing, guard: None, until, is_stopping: false }
    }

    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    pub(super) fn is_done(&self, servers: &[Server]) -> bool {
        matches!(self.doing, Doing::Nothing) || servers.iter().all(|server| server.is_dead)
    }

    pub(super) fn step(
        &mut self,
        now: Duration,
        servers: &mut [Server],
        travels: &mut Travels,
        random: &mut Random,
    ) {
        let server = &servers[self.server];
        let is_lost = server.is_dead || (server.fence != Duration::ZERO && now >= server.fence);
        if is_lost && !matches!(self.doing, Doing::Away(_)) {
            self.guard.take().into_iter().for_each(std::mem::forget); // it went with its server
            self.doing = self.leave(now, travels);
        }
        if !is_lost && !server.may_answer(now) {
            return;
        }
        let state = server.state.clone();
        self.doing = match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Nothing if self.is_stopping || is_lost || random.below(40) > 0 => Doing::Nothing,
            Doing::Nothing => {
                self.file = FileId::new(0, FILES.start + random.below(FILES.end - FILES.start));
                Doing::Opening
            }
            Doing::Opening => self.open(&state, server, travels),
            Doing::Telling(mut told) => match told.try_recv() {
                Err(oneshot::error::TryRecvError::Closed) => {
                    self.until = now + Duration::from_millis(100 + random.below(9_000));
                    Doing::Open
                }
                _ => Doing::Telling(told),
            },
            Doing::Open if now < self.until && !self.is_stopping => Doing::Open,
            Doing::Open => {
                let guard = self.guard.take().expect("it is open");
                server.port.want(Wanted::Drop(guard.id()));
                travels.holders.remove(&self.file);
                drop(guard);
                Doing::Nothing
            }
            Doing::Away(until) if now < until => self.look(now, until, servers, travels),
            Doing::Away(_) => {
                travels.forget(self.at);
                self.move_on(servers);
                Doing::Nothing
            }
        };
    }

    /// Its server is lost: what it has may come back.
    fn leave(&self, now: Duration, travels: &mut Travels) -> Doing {
        if let Some((holder, is_away)) = travels.holders.get_mut(&self.file)
            && *holder == self.at
        {
            *is_away = true;
        }
        Doing::Away(now + AWAY_AT_MOST)
    }

    fn open(&mut self, state: &State, server: &Server, travels: &mut Travels) -> Doing {
        let party = Party::client(id(server.number, self.at));
        let request = OpenRequest::new(party, Modes::WRITE, Modes::READ.union(Modes::WRITE));
        match state.open(self.file, Stream::Data, request) {
            Ok(guard) => {
                if let Some((holder, is_away)) = travels.holders.insert(self.file, (self.at, false)) {
                    assert!(is_away, "{self:?}: {holder} has it open");
                    travels.overtaken.push(holder);
                }
                state.lock(self.file, &Stream::Data, wanted(&guard)).expect("it is the only one");
                let (told, arrived) = oneshot::channel();
                let (open, lease, note) = (guard.id(), None, Arc::from(&b"note"[..]));
                let client = [u8::try_from(self.at).expect("few"); 16];
                let (file, persistent) = (self.file, false);
                server.port.want(Wanted::Keep(ToKeep { file, open, lease, client, note, persistent }));
                server.port.want(Wanted::Arrived(told));
                self.guard = Some(guard);
                Doing::Telling(arrived)
            }
            Err(vfs::Error::LeaseRecall(_)) => Doing::Opening,
            Err(_) => Doing::Nothing,
        }
    }

    /// It looks for its open at the other servers.
    fn look(
        &mut self,
        now: Duration,
        until: Duration,
        servers: &mut [Server],
        travels: &mut Travels,
    ) -> Doing {
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
                    travels.holders.insert(self.file, (self.at, false));
                    (self.server, self.guard, self.until) = (at, Some(inherited.guard), now);
                    return Doing::Open;
                }
                Ok(false) => {
                    server.inherited.remove(&name);
                    travels.forget(self.at);
                    self.server = at;
                    return Doing::Nothing;
                }
                Err(_) => return Doing::Away(until), // its state is asked for
            }
        }
        Doing::Away(until)
    }

    /// It uses a server that is there.
    fn move_on(&mut self, servers: &mut [Server]) {
        let name = u8::try_from(self.at).expect("few");
        for server in servers.iter_mut() {
            server.inherited.remove(&name);
        }
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
