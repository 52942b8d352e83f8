//! Clients of the servers, and what they may not see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coherence::state::{
    ClientId, Flavour, Lock, LockKind, LockOutcome, LockOwner, LockRefusal, Modes, OpenGuard, OpenRequest,
    Party, Range, Stream, Waiter,
};
use formats::FileId;

use super::history::Right;
use super::{Call, History};
use super::{Random, SimulatedServer};

/// Few files, so that clients meet.
pub(super) const FILES: u64 = 4;

/// What is so, as clients were told.
#[derive(Debug, Default)]
pub(super) struct ClientFacts {
    /// The clients that have the exclusive lock of each file.
    locks: BTreeMap<FileId, usize>,
    /// The clients that have a file open and deny writing, or write.
    denying: BTreeMap<FileId, Vec<usize>>,
    writing: BTreeMap<FileId, Vec<usize>>,
    /// Answers that were given.
    pub(super) acknowledged: usize,
    /// All that was asked and answered.
    pub(super) history: History,
}

#[derive(Debug)]
enum ClientAction {
    Nothing,
    /// Asks for the lock, once.
    Trying(Call),
    /// Asks for the lock, and waits for it.
    Locking(Call),
    Waiting(Waiter, Call),
    Locked,
    Unlocking(Call),
    /// Waits until what it has given up or closed is so for all: the state of the file is at its server.
    Settling(Settling),
    Opening(bool, Call),
    Open(bool),
}

/// What a client gives back without an answer of its own.
#[derive(Debug)]
enum Settling {
    Closed(Call),
    /// A lock that perhaps came, and went.
    GivenUp(Call, Call),
}

/// A client of one server.
#[derive(Debug)]
pub(super) struct SimulatedClient {
    at: usize,
    server: usize,
    id: ClientId,
    file: FileId,
    doing: ClientAction,
    guard: Option<OpenGuard>,
    until: Duration,
    is_stopping: bool,
    /// How often a removal that it wanted was made.
    removals: Arc<AtomicUsize>,
    is_gone: bool,
}

impl SimulatedClient {
    pub(super) fn new(at: usize, servers: usize) -> Self {
        let server = at % servers;
        let id = ClientId(((server as u64 + 1) << 48) + at as u64 + 1);
        Self {
            at,
            server,
            id,
            file: FileId::new(0, 1),
            doing: ClientAction::Nothing,
            guard: None,
            until: Duration::ZERO,
            is_stopping: false,
            removals: Arc::default(),
            is_gone: false,
        }
    }

    /// It ends what it does, and begins nothing new.
    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Whether it has nothing, and waits for nothing.
    pub(super) fn is_done(&self, servers: &[SimulatedServer]) -> bool {
        servers[self.server].is_dead || matches!(self.doing, ClientAction::Nothing)
    }

    fn owner(&self) -> LockOwner {
        LockOwner::named(self.id, b"c")
    }

    fn wanted(&self) -> Lock {
        let (owner, range) = (self.owner(), Range::ALL);
        Lock { owner, range, kind: LockKind::Exclusive, flavour: Flavour::Advisory }
    }

    pub(super) fn step(
        &mut self,
        now: Duration,
        servers: &mut [SimulatedServer],
        facts: &mut ClientFacts,
        random: &mut Random,
    ) {
        let server = &servers[self.server];
        // Its rights end when its server may not answer any more: before that, no other server takes them.
        if !self.is_gone && (server.is_dead || now >= server.fence) && server.fence != Duration::ZERO {
            self.is_gone = true;
            self.lose(facts);
            facts.forget(self.at);
        }
        if server.is_dead || !server.may_answer(now) || self.is_gone {
            return;
        }
        let (state, stream) = (server.state.clone(), Stream::Data);
        self.doing = match std::mem::replace(&mut self.doing, ClientAction::Nothing) {
            ClientAction::Nothing if self.is_stopping || random.below(20) > 0 => ClientAction::Nothing,
            ClientAction::Nothing => self.begin(now, facts, random),
            ClientAction::Trying(call) => match state.lock(self.file, &stream, self.wanted()) {
                Ok(()) => self.locked(facts, &call),
                Err(LockRefusal::Blocked(_)) => {
                    facts.history.refused(&call);
                    ClientAction::Nothing
                }
                Err(LockRefusal::Elsewhere(_)) => ClientAction::Trying(call),
                Err(other) => panic!("{other:?}"),
            },
            ClientAction::Locking(call) => match state.wait_lock(self.file, &stream, self.wanted()) {
                Ok(LockOutcome::Now) => self.locked(facts, &call),
                Ok(LockOutcome::Later(waiter)) => ClientAction::Waiting(waiter, call),
                Err(LockRefusal::Elsewhere(_)) => ClientAction::Locking(call),
                Err(other) => panic!("{other:?}"),
            },
            ClientAction::Waiting(mut waiter, call) => match poll(&mut waiter) {
                Some(Ok(())) => self.locked(facts, &call),
                // Some give up. The lock may be granted at this moment by another server.
                answer if answer.is_some() || random.one_in(400) => {
                    drop(waiter);
                    let back = facts.history.call(self.file, self.at, Right::Lock);
                    ClientAction::Settling(Settling::GivenUp(call, back))
                }
                _ => ClientAction::Waiting(waiter, call),
            },
            ClientAction::Locked if now < self.until => ClientAction::Locked,
            ClientAction::Locked => {
                ClientAction::Unlocking(facts.history.call(self.file, self.at, Right::Lock))
            }
            ClientAction::Unlocking(call) => {
                // From the request on it may be another client's.
                facts.locks.retain(|_, holder| *holder != self.at);
                match state.unlock(self.file, &stream, &self.owner(), Range::ALL, Flavour::Advisory) {
                    Ok(had) => {
                        assert!(had, "an acknowledged lock is lost: {self:?}");
                        facts.history.given(&call);
                        ClientAction::Nothing
                    }
                    Err(_) => ClientAction::Unlocking(call),
                }
            }
            ClientAction::Settling(settling) => self.settle(settling, &state, facts),
            ClientAction::Opening(writes, call) => self.open(writes, &state, facts, call),
            ClientAction::Open(writes) if now < self.until => ClientAction::Open(writes),
            ClientAction::Open(writes) => self.close(writes, facts, random),
        };
    }

    /// It asks for something.
    fn begin(&mut self, now: Duration, facts: &mut ClientFacts, random: &mut Random) -> ClientAction {
        self.file = FileId::new(0, 1 + random.below(FILES));
        self.until = now + Duration::from_millis(random.below(80));
        let mut call = |right| facts.history.call(self.file, self.at, right);
        match random.below(4) {
            0 => ClientAction::Opening(true, call(Right::Writing)),
            1 => ClientAction::Opening(false, call(Right::Reading)),
            2 => ClientAction::Trying(call(Right::Lock)),
            _ => ClientAction::Locking(call(Right::Lock)),
        }
    }

    /// It closes its open; now and then it is the one that wants the file removed.
    fn close(&mut self, writes: bool, facts: &mut ClientFacts, random: &mut Random) -> ClientAction {
        facts.forget_opens(self.at);
        let call = facts.history.call(self.file, self.at, opened(writes));
        if let Some(guard) = self.guard.take()
            && random.one_in(3)
        {
            let removals = self.removals.clone();
            guard.remove_when_unused(Box::new(move || {
                removals.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }));
        }
        ClientAction::Settling(Settling::Closed(call))
    }

    /// What it has given back is so for all when its server has the state of the file.
    fn settle(
        &self,
        settling: Settling,
        state: &coherence::state::State,
        facts: &mut ClientFacts,
    ) -> ClientAction {
        if state.test(self.file, &Stream::Data, &self.wanted()).is_err() {
            return ClientAction::Settling(settling);
        }
        match settling {
            Settling::Closed(call) => facts.history.given(&call),
            Settling::GivenUp(call, back) => facts.history.went_by(&call, &back),
        }
        ClientAction::Nothing
    }

    /// What it has and asks for goes with its server, at some time.
    pub(super) fn lose(&mut self, facts: &mut ClientFacts) {
        let history = &mut facts.history;
        match std::mem::replace(&mut self.doing, ClientAction::Nothing) {
            ClientAction::Nothing => {}
            ClientAction::Trying(call)
            | ClientAction::Locking(call)
            | ClientAction::Waiting(_, call)
            | ClientAction::Opening(_, call) => {
                history.abandoned(&call);
            }
            ClientAction::Unlocking(call) | ClientAction::Settling(Settling::Closed(call)) => {
                history.unanswered_return(&call)
            }
            ClientAction::Settling(Settling::GivenUp(call, back)) => history.unanswered(&call, &back),
            ClientAction::Locked => history.leaves(self.file, self.at, Right::Lock),
            ClientAction::Open(writes) => history.leaves(self.file, self.at, opened(writes)),
        }
    }

    fn locked(&self, facts: &mut ClientFacts, call: &Call) -> ClientAction {
        facts.acknowledged += 1;
        facts.history.taken(call);
        let before = facts.locks.insert(self.file, self.at);
        assert_eq!(before, None, "two clients have the lock of {:?}: {self:?}", self.file);
        ClientAction::Locked
    }

    fn open(
        &mut self,
        writes: bool,
        state: &coherence::state::State,
        facts: &mut ClientFacts,
        call: Call,
    ) -> ClientAction {
        let (access, deny) = if writes { (Modes::WRITE, Modes::NONE) } else { (Modes::READ, Modes::WRITE) };
        let request = OpenRequest::new(Party::client(self.id), access, deny);
        match state.open(self.file, Stream::Data, request) {
            Ok(guard) => {
                self.guard = Some(guard);
                facts.acknowledged += 1;
                facts.history.taken(&call);
                let (own, others) = match writes {
                    true => (&mut facts.writing, &facts.denying),
                    false => (&mut facts.denying, &facts.writing),
                };
                let others = others.get(&self.file).cloned().unwrap_or_default();
                assert!(others.is_empty(), "{self:?} is open against the denial of {others:?}");
                own.entry(self.file).or_default().push(self.at);
                ClientAction::Open(writes)
            }
            Err(formats::Error::LeaseRecall(_)) => ClientAction::Opening(writes, call),
            Err(formats::Error::ShareConflict) => {
                facts.history.refused(&call);
                ClientAction::Nothing
            }
            // It is about to be removed, or its server may not answer now: it is not open.
            Err(_) => {
                facts.history.failed(&call);
                ClientAction::Nothing
            }
        }
    }
}

fn opened(writes: bool) -> Right {
    if writes { Right::Writing } else { Right::Reading }
}

impl ClientFacts {
    fn forget(&mut self, client: usize) {
        self.locks.retain(|_, holder| *holder != client);
        self.forget_opens(client);
    }

    fn forget_opens(&mut self, client: usize) {
        for opens in self.denying.values_mut().chain(self.writing.values_mut()) {
            opens.retain(|holder| *holder != client);
        }
    }
}

fn poll(waiter: &mut Waiter) -> Option<<Waiter as Future>::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(waiter).poll(&mut context) {
        std::task::Poll::Ready(answer) => Some(answer),
        std::task::Poll::Pending => None,
    }
}
