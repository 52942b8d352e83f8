use std::time::{Duration, Instant};

use super::*;
use formats::Error;

fn state(change: impl FnOnce(&mut Limits)) -> State {
    let mut limits = Limits::default();
    change(&mut limits);
    State::new(Policy::default(), limits)
}

fn plain(state: &State, client: ClientId) -> formats::Result<OpenGuard> {
    open(state, client, Modes::READ, Modes::NONE)
}

fn one_byte(state: &State, client: ClientId, at: u64) -> Result<(), LockRefusal> {
    state.lock(FILE, &Stream::Data, advisory(client, b"p", bytes(at, 1), Exclusive))
}

#[test]
fn opens_are_limited_per_client_and_in_all() {
    let state = state(|limits| (limits.opens, limits.opens_per_client) = (3, 2));
    let held = [plain(&state, A).unwrap(), plain(&state, A).unwrap()];
    assert_eq!(plain(&state, A).unwrap_err(), Error::TooMany);
    let third = plain(&state, B).unwrap();
    assert_eq!(plain(&state, B).unwrap_err(), Error::TooMany);
    drop(held);
    let again = plain(&state, B).unwrap();
    drop((third, again));
    assert_quiet(&state);
}

#[test]
fn ranges_are_limited_per_client_per_file_and_in_all() {
    let per_client = state(|limits| limits.ranges_per_client = 2);
    assert_eq!((one_byte(&per_client, A, 0), one_byte(&per_client, A, 2)), (Ok(()), Ok(())));
    assert_eq!(one_byte(&per_client, A, 4), Err(LockRefusal::TooMany));
    // Filling the gap makes one of two, and is no more than there was.
    assert_eq!(one_byte(&per_client, A, 1), Ok(()));
    assert_eq!(one_byte(&per_client, B, 4), Ok(()));

    for limited in [state(|limits| limits.ranges_per_file = 2), state(|limits| limits.ranges = 2)] {
        assert_eq!((one_byte(&limited, A, 0), one_byte(&limited, B, 2)), (Ok(()), Ok(())));
        assert_eq!(one_byte(&limited, C, 4), Err(LockRefusal::TooMany));
        limited.release_client(A);
        assert_eq!(one_byte(&limited, C, 4), Ok(()));
    }
}

#[test]
fn unlocking_holes_cannot_pass_the_limit_either() {
    let state = state(|limits| limits.ranges_per_client = 1);
    state.lock(FILE, &Stream::Data, advisory(A, b"p", bytes(0, 10), Exclusive)).unwrap();
    let unlock =
        |range| state.unlock(FILE, &Stream::Data, &LockOwner::named(A, b"p"), range, Flavour::Advisory);
    assert_eq!(unlock(bytes(5, 1)), Err(Error::TooMany));
    assert_eq!(unlock(bytes(5, 5)), Ok(true));
}

#[test]
fn waiting_requests_are_limited_per_client_per_file_and_in_all() {
    for (limited, other_may) in [
        (state(|limits| limits.waiters_per_client = 1), true),
        (state(|limits| limits.waiters_per_file = 1), false),
        (state(|limits| limits.waiters = 1), false),
    ] {
        one_byte(&limited, A, 0).unwrap();
        let ask = |client| limited.wait_lock(FILE, &Stream::Data, advisory(client, b"q", Range::ALL, Shared));
        let first = ask(B).unwrap();
        assert!(matches!(ask(B), Err(LockRefusal::TooMany)));
        assert_eq!(ask(C).is_ok(), other_may);
        drop(first);
        assert!(ask(C).is_ok());
    }
}

#[test]
fn opens_and_leases_are_limited_per_file() {
    let state = state(|limits| (limits.opens_per_file, limits.leases_per_file) = (2, 1));
    let held = [plain(&state, A).unwrap(), plain(&state, B).unwrap()];
    assert_eq!(plain(&state, C).unwrap_err(), Error::TooMany);
    let other = OpenRequest::new(Party::client(C), Modes::READ, Modes::NONE);
    let elsewhere = state.open(FileId::new(0, 8), Stream::Data, other).unwrap();
    let lease = |client| {
        let (notices, _told) = tokio::sync::mpsc::unbounded_channel();
        let (party, want, style) = (Party::client(client), Caching::READ, Style::Bits);
        state.lease(FILE, &Stream::Data, &LeaseRequest { party, want, style, notices })
    };
    let granted = lease(A).unwrap();
    assert_eq!(lease(B).unwrap_err(), Error::TooMany);
    drop((held, elsewhere, granted));
    assert_quiet(&state);
}

/// The opens of one file share a lock with the opens of others.
#[test]
fn many_opens_of_one_file_come_and_go_without_holding_up_others() {
    const OPENS: usize = 61_000;
    let state = state(|_| ());
    let start = Instant::now();
    let held: Vec<OpenGuard> =
        (0..OPENS).map(|_| open(&state, A, Modes::READ.union(Modes::WRITE), Modes::NONE).unwrap()).collect();
    assert_eq!(open(&state, B, Modes::READ, Modes::WRITE).unwrap_err(), Error::ShareConflict);
    let dropping = std::thread::spawn(move || drop(held));
    let (mut slowest, mut rounds) = (Duration::ZERO, 0);
    while !dropping.is_finished() || rounds == 0 {
        let begun = Instant::now();
        drop(plain(&state, B).unwrap());
        (slowest, rounds) = (slowest.max(begun.elapsed()), rounds + 1);
    }
    dropping.join().unwrap();
    // Quadratic work took minutes in a debug build.
    assert!(start.elapsed() < Duration::from_secs(60) && slowest < Duration::from_secs(10), "{slowest:?}");
    assert_quiet(&state);
}
