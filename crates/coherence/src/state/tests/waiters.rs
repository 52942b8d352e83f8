use super::*;

fn lock(client: ClientId, range: Range, kind: LockKind) -> Lock {
    advisory(client, b"p", range, kind)
}

fn take(state: &State, lock: Lock) {
    state.lock(FILE, &Stream::Data, lock).unwrap();
}

fn unlock(state: &State, client: ClientId, range: Range) {
    assert_eq!(
        state.unlock(FILE, &Stream::Data, &LockOwner::named(client, b"p"), range, Flavour::Advisory),
        Ok(true)
    );
}

#[test]
fn a_free_range_needs_no_wait() {
    let state = State::default();
    let answer = state.wait_lock(FILE, &Stream::Data, lock(A, Range::ALL, Exclusive)).unwrap();
    assert!(matches!(answer, LockOutcome::Now));
    assert_eq!(state.totals().ranges, 1);
}

#[test]
fn a_waiter_is_granted_when_the_last_lock_in_its_way_goes() {
    let state = State::default();
    take(&state, lock(A, bytes(0, 10), Exclusive));
    take(&state, lock(B, bytes(10, 10), Shared));
    let mut waiter = waits(&state, lock(C, bytes(5, 10), Exclusive));
    assert_eq!(now(&mut waiter), None);
    unlock(&state, A, bytes(0, 10));
    assert_eq!(now(&mut waiter), None);
    unlock(&state, B, bytes(10, 1));
    assert_eq!(now(&mut waiter), None);
    // Bytes 10 to 14 are what it waits for; 15 to 19 may stay locked.
    unlock(&state, B, bytes(11, 4));
    assert_eq!(now(&mut waiter), Some(Ok(())));
    drop(waiter);
    assert!(state.test(FILE, &Stream::Data, &lock(A, bytes(5, 10), Shared)).unwrap().is_some());
}

#[test]
fn sharers_who_come_later_do_not_overtake_one_who_wants_the_range_alone() {
    let state = State::default();
    take(&state, lock(A, Range::ALL, Shared));
    let mut alone = waits(&state, lock(B, Range::ALL, Exclusive));
    let mut sharer = waits(&state, lock(C, Range::ALL, Shared));
    unlock(&state, A, Range::ALL);
    assert_eq!((now(&mut alone), now(&mut sharer)), (Some(Ok(())), None));
    unlock(&state, B, Range::ALL);
    assert_eq!(now(&mut sharer), Some(Ok(())));
}

#[test]
fn the_holder_itself_never_waits_behind_those_who_wait_for_it() {
    let state = State::default();
    take(&state, lock(A, bytes(0, 10), Shared));
    let mut waiter = waits(&state, lock(B, bytes(0, 20), Exclusive));
    let more = state.wait_lock(FILE, &Stream::Data, lock(A, bytes(10, 10), Shared)).unwrap();
    assert!(matches!(more, LockOutcome::Now));
    unlock(&state, A, bytes(0, 20));
    assert_eq!(now(&mut waiter), Some(Ok(())));
}

#[test]
fn turning_an_exclusive_lock_into_a_shared_one_lets_sharers_in() {
    let state = State::default();
    take(&state, lock(A, Range::ALL, Exclusive));
    let mut sharers =
        [waits(&state, lock(B, Range::ALL, Shared)), waits(&state, lock(C, Range::ALL, Shared))];
    take(&state, lock(A, Range::ALL, Shared));
    for sharer in &mut sharers {
        assert_eq!(now(sharer), Some(Ok(())));
    }
}

#[test]
fn a_cancelled_wait_says_so_and_lets_the_next_one_pass() {
    let state = State::default();
    take(&state, lock(A, Range::ALL, Shared));
    let mut alone = waits(&state, lock(B, Range::ALL, Exclusive));
    let mut sharer = waits(&state, lock(C, Range::ALL, Shared));
    let cancel = |range| state.cancel_wait(FILE, &Stream::Data, &LockOwner::named(B, b"p"), range).unwrap();
    assert!(!cancel(bytes(0, 1)));
    assert!(cancel(Range::ALL));
    assert!(!cancel(Range::ALL));
    assert_eq!((now(&mut alone), now(&mut sharer)), (Some(Err(CancelledWait)), Some(Ok(()))));
}

#[test]
fn a_dropped_waiter_leaves_the_queue_or_gives_back_what_it_was_just_granted() {
    let state = State::default();
    take(&state, lock(A, Range::ALL, Exclusive));
    drop(waits(&state, lock(B, Range::ALL, Exclusive)));
    assert_eq!(state.totals().waiters, 0);
    let (granted, mut next) =
        (waits(&state, lock(B, Range::ALL, Exclusive)), waits(&state, lock(C, Range::ALL, Shared)));
    unlock(&state, A, Range::ALL);
    assert_eq!(now(&mut next), None);
    drop(granted); // never polled
    assert_eq!(now(&mut next), Some(Ok(())));
    unlock(&state, C, Range::ALL);
    assert_quiet(&state);
}

#[test]
fn a_released_client_waits_for_nothing() {
    let state = State::default();
    take(&state, lock(A, Range::ALL, Exclusive));
    let mut waiter = waits(&state, lock(B, Range::ALL, Exclusive));
    state.release_client(B);
    assert_eq!(now(&mut waiter), Some(Err(CancelledWait)));
    state.release_client(A);
    drop(waiter);
    assert_quiet(&state);
}

#[test]
fn closing_an_open_serves_those_who_wait_for_its_locks_and_cancels_its_own_waits() {
    let state = State::default();
    let (a, b) = (
        open(&state, A, Modes::ALL, Modes::NONE).unwrap(),
        open(&state, B, Modes::ALL, Modes::NONE).unwrap(),
    );
    state.lock(FILE, &Stream::Data, mandatory(&a, bytes(0, 1), Exclusive)).unwrap();
    state.lock(FILE, &Stream::Data, mandatory(&b, bytes(1, 1), Exclusive)).unwrap();
    let mut of_a = waits(&state, mandatory(&a, bytes(1, 1), Shared));
    let mut of_b = waits(&state, mandatory(&b, bytes(0, 1), Shared));
    drop(a);
    assert_eq!((now(&mut of_a), now(&mut of_b)), (Some(Err(CancelledWait)), Some(Ok(()))));
    drop((of_a, of_b, b));
    assert_quiet(&state);
}
