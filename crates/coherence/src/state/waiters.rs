//! Requests that wait for a byte range, in the order of their arrival.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::carried::Back;
use super::far::Far;
use super::ledger::{Ledger, Resource};
use super::locks::LockRefusal;
use super::range::{Lock, LockOwner, Range};
use super::table::Entry;
use super::{State, Stream};
use formats::FileId;

/// The number of a waiting request, never used twice while the process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WaitId(pub u64);

/// How a request that may wait was answered.
#[derive(Debug)]
pub enum LockOutcome {
    /// The lock is held.
    Now,
    /// It will be held when the waiter resolves.
    Later(Waiter),
}

/// The wait was ended: cancelled, or its owner was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelledWait;

/// A request in the queue of its file.
pub(super) struct QueuedLock {
    pub(super) id: WaitId,
    pub(super) stream: Stream,
    pub(super) wanted: Lock,
    pub(super) granted: Granting,
}

/// The way of an answer to a waiting request. Dropping it tells that the request is cancelled.
pub(super) enum Granting {
    /// To a request of this server.
    Here(oneshot::Sender<()>),
    /// To a request of another server.
    There(Far),
}

impl Granting {
    /// A request that nothing waits for.
    pub(super) fn nowhere() -> Self {
        Self::Here(oneshot::channel().0)
    }

    fn is_closed(&self) -> bool {
        matches!(self, Self::Here(sender) if sender.is_closed())
    }

    /// Tells that the request is granted.
    pub(super) fn send(self, id: WaitId) {
        match self {
            // If the waiter is dropped right now, it finds the unread answer and gives the lock back.
            Self::Here(sender) => _ = sender.send(()),
            Self::There(far) => far.say(Back::Granted(id)),
        }
    }

    /// The state leaves with the request: nothing is told by dropping this.
    pub(super) fn leave(&mut self) {
        if let Self::There(far) = self {
            far.leave();
        }
    }
}

impl State {
    /// Takes a lock, or queues for it. The queue is fair: of two requests that collide, the first
    /// one is granted first. So shared requests that keep coming do not starve a request for an
    /// exclusive lock.
    pub fn wait_lock(&self, file: FileId, stream: &Stream, wanted: Lock) -> Result<LockOutcome, LockRefusal> {
        let ledger = &self.table.ledger;
        if self.test(file, stream, &wanted)?.is_some() {
            self.make_way(file, wanted.owner.client);
        }
        self.table.with(file, |entry| {
            if !entry.must_wait(stream, &wanted, entry.queue.len()) {
                return entry.lock(ledger, stream, &wanted).map(|()| LockOutcome::Now);
            }
            if entry.queue.len() >= ledger.limits.waiters_per_file {
                return Err(LockRefusal::TooMany);
            }
            ledger.take(wanted.owner.client, Resource::Waiter, 1).map_err(|_| LockRefusal::TooMany)?;
            let (id, (granted, answer)) = (WaitId(self.table.number()), oneshot::channel());
            wanted.owner.open.into_iter().for_each(|open| entry.opens.note_ranges(open));
            entry.queue.push(QueuedLock {
                id,
                stream: stream.clone(),
                wanted: wanted.clone(),
                granted: Granting::Here(granted),
            });
            let (state, stream) = (self.clone(), stream.clone());
            Ok(LockOutcome::Later(Waiter { state, file, stream, id, wanted, answer, settled: false }))
        })?
    }

    /// Cancels the waits of this owner for exactly this range. Returns whether there was one; if
    /// not, it may have been granted already.
    pub fn cancel_wait(
        &self,
        file: FileId,
        stream: &Stream,
        owner: &LockOwner,
        range: Range,
    ) -> formats::Result<bool> {
        let is_meant = |queued: &QueuedLock| {
            queued.stream == *stream && queued.wanted.owner == *owner && queued.wanted.range == range
        };
        let ledger = &self.table.ledger;
        let cancelled = self.table.with_existing(file, |entry| {
            let any = entry.cancel(ledger, is_meant);
            entry.serve_queue(ledger);
            any
        });
        Ok(cancelled?.unwrap_or(false))
    }
}

impl Entry {
    /// Whether a lock has to wait behind what is held, or behind one of the first `ahead` of the queue.
    fn must_wait(&self, stream: &Stream, wanted: &Lock, ahead: usize) -> bool {
        let ranges = self.ranges_of(stream);
        let blocked = ranges.is_some_and(|ranges| ranges.blocker(wanted).is_some());
        blocked
            || self.queue[..ahead].iter().any(|earlier| {
                earlier.stream == *stream && earlier.wanted.blocks(wanted) && !self.holds_up(wanted, earlier)
            })
    }

    /// Whether the owner of `wanted` holds what `earlier` waits for. To queue behind it would be a
    /// deadlock.
    fn holds_up(&self, wanted: &Lock, earlier: &QueuedLock) -> bool {
        let ranges = self.ranges_of(&earlier.stream);
        ranges.is_some_and(|r| r.iter().any(|held| held.same_owner(wanted) && held.blocks(&earlier.wanted)))
    }

    /// Grants what can be granted, in order of arrival. A grant that reaches a limit is cancelled.
    pub(super) fn serve_queue(&mut self, ledger: &Ledger) {
        let mut at = 0;
        while at < self.queue.len() {
            let QueuedLock { stream, wanted, .. } = &self.queue[at];
            if self.must_wait(stream, wanted, at) {
                at += 1;
                continue;
            }
            let queued = self.queue.remove(at);
            ledger.give_back(queued.wanted.owner.client, Resource::Waiter, 1);
            // A waiter about to be dropped gets nothing. If a request cannot be granted, its sender
            // is dropped, which tells its waiter.
            if !queued.granted.is_closed() && self.grant(ledger, &queued.stream, &queued.wanted).is_ok() {
                queued.granted.send(queued.id);
                at = 0; // A lock that changed its kind may have unblocked an earlier request.
            }
        }
    }

    /// Cancels the waits that `which` selects; returns whether there were any. Serve the queue
    /// afterwards.
    pub(super) fn cancel(&mut self, ledger: &Ledger, which: impl Fn(&QueuedLock) -> bool) -> bool {
        let before = self.queue.len();
        self.queue.retain(|queued| {
            let stays = !which(queued);
            if !stays {
                ledger.give_back(queued.wanted.owner.client, Resource::Waiter, 1);
            }
            stays
        });
        self.queue.len() < before
    }
}

/// A lock that will be granted. Resolves when it is held, or to [`CancelledWait`]. Dropping it leaves
/// the queue. A lock that is granted while its waiter has not yet been polled is given back.
#[derive(Debug)]
pub struct Waiter {
    state: State,
    file: FileId,
    stream: Stream,
    id: WaitId,
    wanted: Lock,
    answer: oneshot::Receiver<()>,
    settled: bool,
}

impl Waiter {
    /// What it waits for.
    pub fn wanted(&self) -> &Lock {
        &self.wanted
    }
}

impl Future for Waiter {
    type Output = Result<(), CancelledWait>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = std::task::ready!(Pin::new(&mut self.answer).poll(context));
        self.settled = true;
        Poll::Ready(answer.map_err(|_| CancelledWait))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let (id, stream, wanted) = (self.id, self.stream.clone(), self.wanted.clone());
        let mut answer = std::mem::replace(&mut self.answer, oneshot::channel().1);
        self.state.table.when_here(self.file, move |table, entry| {
            let is_cancelled = entry.cancel(&table.ledger, |queued| queued.id == id);
            entry.serve_queue(&table.ledger);
            if !is_cancelled && answer.try_recv().is_ok() {
                let Lock { owner, range, flavour, .. } = &wanted;
                // This can pass a limit only by cutting a merged lock in two. Then the client keeps
                // the lock that it asked for.
                let _ = entry.unlock(&table.ledger, &stream, owner, *range, *flavour);
            }
            Vec::new()
        });
    }
}
