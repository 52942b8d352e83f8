//! Clients of the servers, and what they may not see.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use vfs::FileId;
use vfs::state::{
    ClientId, Flavour, Lock, LockKind, LockOwner, Locked, Modes, OpenGuard, OpenRequest, Party, Range,
    Refused, Stream, Waiter,
};

use super::{Random, Server};

/// Few files, so that clients meet.
const FILES: u64 = 4;

/// What is so, as clients were told.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The clients that have the exclusive lock of each file.
    locks: HashMap<FileId, usize>,
    /// The clients that have a file open and deny writing, or write.
    denying: HashMap<FileId, Vec<usize>>,
    writing: HashMap<FileId, Vec<usize>>,
    /// Answers that were given.
    pub(super) acknowledged: usize,
}

#[derive(Debug)]
enum Doing {
    Nothing,
    Locking,
    Waiting(Waiter),
    Locked,
    Unlocking,
    Opening(bool),
    Open(bool),
}

/// A client of one server.
#[derive(Debug)]
pub(super) struct Client {
    at: usize,
    server: usize,
    id: ClientId,
    file: FileId,
    doing: Doing,
    guard: Option<OpenGuard>,
    until: Duration,
    is_stopping: bool,
    /// How often a removal that it wanted was made.
    removals: Arc<AtomicUsize>,
    is_gone: bool,
}

impl Client {
    pub(super) fn new(at: usize, servers: usize) -> Self {
        let server = at % servers;
        let id = ClientId(((server as u64 + 1) << 48) + at as u64 + 1);
        Self {
            at,
            server,
            id,
            file: FileId::new(0, 1),
            doing: Doing::Nothing,
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
    pub(super) fn is_done(&self, servers: &[Server]) -> bool {
        servers[self.server].is_dead || matches!(self.doing, Doing::Nothing)
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
        servers: &mut [Server],
        facts: &mut Facts,
        random: &mut Random,
    ) {
        let server = &servers[self.server];
        // Its rights end when its server may not answer any more: before that, no other server takes them.
        if !self.is_gone && (server.is_dead || now >= server.fence) && server.fence != Duration::ZERO {
            self.is_gone = true;
            facts.forget(self.at);
        }
        if server.is_dead || !server.may_answer(now) || self.is_gone {
            return;
        }
        let (state, stream) = (server.state.clone(), Stream::Data);
        self.doing = match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Nothing if self.is_stopping || random.below(20) > 0 => Doing::Nothing,
            Doing::Nothing => {
                self.file = FileId::new(0, 1 + random.below(FILES));
                self.until = now + Duration::from_millis(random.below(80));
                match random.below(4) {
                    0 => Doing::Opening(true),
                    1 => Doing::Opening(false),
                    _ => Doing::Locking,
                }
            }
            Doing::Locking => match state.wait_lock(self.file, &stream, self.wanted()) {
                Ok(Locked::Now) => self.locked(facts),
                Ok(Locked::Later(waiter)) => Doing::Waiting(waiter),
                Err(Refused::Elsewhere(_)) => Doing::Locking,
                Err(other) => panic!("{other:?}"),
            },
            Doing::Waiting(mut waiter) => match poll(&mut waiter) {
                Some(Ok(())) => self.locked(facts),
                Some(Err(_)) => Doing::Nothing,
                // Some give up. The lock may be granted at this moment by another server.
                None if random.one_in(400) => Doing::Nothing,
                None => Doing::Waiting(waiter),
            },
            Doing::Locked if now < self.until => Doing::Locked,
            Doing::Locked | Doing::Unlocking => {
                // From the request on it may be another client's.
                facts.locks.retain(|_, holder| *holder != self.at);
                match state.unlock(self.file, &stream, &self.owner(), Range::ALL, Flavour::Advisory) {
                    Ok(had) => {
                        assert!(had, "an acknowledged lock is lost: {self:?}");
                        Doing::Nothing
                    }
                    Err(_) => Doing::Unlocking,
                }
            }
            Doing::Opening(writes) => self.open(writes, &state, facts),
            Doing::Open(writes) if now < self.until => Doing::Open(writes),
            Doing::Open(_) => self.close(facts, random),
        };
    }

    /// It closes its open; now and then it is the one that wants the file removed.
    fn close(&mut self, facts: &mut Facts, random: &mut Random) -> Doing {
        facts.forget_opens(self.at);
        if let Some(guard) = self.guard.take()
            && random.one_in(3)
        {
            let removals = self.removals.clone();
            guard.remove_when_unused(Box::new(move || {
                removals.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }));
        }
        Doing::Nothing
    }

    fn locked(&self, facts: &mut Facts) -> Doing {
        facts.acknowledged += 1;
        let before = facts.locks.insert(self.file, self.at);
        assert_eq!(before, None, "two clients have the lock of {:?}: {self:?}", self.file);
        Doing::Locked
    }

    fn open(&mut self, writes: bool, state: &vfs::state::State, facts: &mut Facts) -> Doing {
        let (access, deny) = if writes { (Modes::WRITE, Modes::NONE) } else { (Modes::READ, Modes::WRITE) };
        let request = OpenRequest::new(Party::client(self.id), access, deny);
        match state.open(self.file, Stream::Data, request) {
            Ok(guard) => {
                self.guard = Some(guard);
                facts.acknowledged += 1;
                let (own, others) = match writes {
                    true => (&mut facts.writing, &facts.denying),
                    false => (&mut facts.denying, &facts.writing),
                };
                let others = others.get(&self.file).cloned().unwrap_or_default();
                assert!(others.is_empty(), "{self:?} is open against the denial of {others:?}");
                own.entry(self.file).or_default().push(self.at);
                Doing::Open(writes)
            }
            Err(vfs::Error::LeaseRecall(_)) => Doing::Opening(writes),
            Err(_) => Doing::Nothing,
        }
    }
}

impl Facts {
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
