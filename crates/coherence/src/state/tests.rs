//! What one client holds and how it limits another, through [`State`] alone: no file, clock or
//! socket.

mod absent;
mod leases;
mod limits;
mod matrix;
mod opens;
mod pins;
mod ranges;
mod ranges_model;
mod removals;
mod reserved;
mod servers;
mod threads;
mod waiters;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::*;

pub(super) const FILE: FileId = FileId::new(0, 7);
pub(super) const A: ClientId = ClientId(1);
pub(super) const B: ClientId = ClientId(2);
pub(super) const C: ClientId = ClientId(3);
pub(super) use LockKind::{Exclusive, Shared};

/// An open by a client, without recalls.
pub(super) fn open(
    state: &State,
    client: ClientId,
    access: Modes,
    deny: Modes,
) -> formats::Result<OpenGuard> {
    let party = Party::client(client);
    state.open(FILE, Stream::Data, OpenRequest::new(party, access, deny))
}

/// A lock as a mandatory client takes it, through an open.
pub(super) fn mandatory(open: &OpenGuard, range: Range, kind: LockKind) -> Lock {
    let owner = LockOwner::open(open.client(), open.id());
    Lock { owner, range, kind, flavour: Flavour::Mandatory }
}

/// A lock as a client without opens takes it, for one of its processes.
pub(super) fn advisory(client: ClientId, process: &[u8], range: Range, kind: LockKind) -> Lock {
    Lock { owner: LockOwner::named(client, process), range, kind, flavour: Flavour::Advisory }
}

/// `start..start + length`.
pub(super) fn bytes(start: u64, length: u64) -> Range {
    Range::new(start, length).unwrap()
}

/// A deadline that does not come, however long the holders have.
pub(super) fn never(_: Duration) -> std::future::Pending<()> {
    std::future::pending()
}

/// The answer of a future if it has one now.
pub(super) fn now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// The waiter of a request that has to wait.
pub(super) fn waits(state: &State, lock: Lock) -> Waiter {
    match state.wait_lock(FILE, &Stream::Data, lock) {
        Ok(LockOutcome::Later(waiter)) => waiter,
        other => panic!("it should wait, not be {other:?}"),
    }
}

/// Releases the ranges of one lock owner in a file, as closing its open does.
pub(super) fn release_owner(state: &State, file: FileId, owner: &LockOwner) {
    let release = |entry: &mut table::Entry| entry.release(&state.table.ledger, |held| held == owner);
    state.table.with_existing(file, release).unwrap();
}

/// Nothing is held or counted any more.
pub(super) fn assert_quiet(state: &State) {
    assert!(state.quiet(FILE));
    assert_eq!(state.totals(), Totals::default());
}
