use super::*;
use formats::Error;

const D: Stream = Stream::Data;

fn blocked_by(answer: Result<(), LockRefusal>) -> Lock {
    match answer {
        Err(LockRefusal::Blocked(lock)) => lock,
        other => panic!("should be blocked, not {other:?}"),
    }
}

#[test]
fn ranges_end_at_the_last_offset_and_never_beyond() {
    assert_eq!(Range::new(5, 0), None);
    assert_eq!(Range::new(u64::MAX, 1), Some(Range::to_end(u64::MAX)));
    assert_eq!(Range::new(u64::MAX, 2), None);
    assert_eq!(Range::new(1, u64::MAX), Some(Range::to_end(1)));
    assert_eq!(Range::ALL.length(), None);
    assert_eq!(bytes(2, 3).length(), Some(3));
    assert_eq!(Range::between(4, 3), None);
}

#[test]
fn locks_conflict_across_flavours_and_clients() {
    for (held, wanted, free) in [
        (Shared, Shared, true),
        (Shared, Exclusive, false),
        (Exclusive, Shared, false),
        (Exclusive, Exclusive, false),
    ] {
        for held_is_mandatory in [true, false] {
            let state = State::default();
            let (a, b) =
                (open(&state, A, Modes::READ, Modes::NONE), open(&state, B, Modes::READ, Modes::NONE));
            let (a, b) = (a.unwrap(), b.unwrap());
            let range = bytes(10, 10);
            let first = match held_is_mandatory {
                true => mandatory(&a, range, held),
                false => advisory(A, b"p", range, held),
            };
            state.lock(FILE, &D, first.clone()).unwrap();
            for other in [mandatory(&b, bytes(19, 5), wanted), advisory(B, b"p", bytes(19, 5), wanted)] {
                assert_eq!(state.test(FILE, &D, &other), Ok((!free).then(|| first.clone())));
                assert_eq!(state.lock(FILE, &D, other.clone()).is_ok(), free);
                let beyond = Lock { range: bytes(20, 5), ..other.clone() };
                assert_eq!(state.test(FILE, &D, &beyond), Ok(None));
                assert_eq!(state.test(FILE, &Stream::Resource, &other), Ok(None));
                release_owner(&state, FILE, &other.owner);
            }
        }
    }
}

#[test]
fn mandatory_locks_of_one_owner_do_not_merge() {
    let state = State::default();
    let a = open(&state, A, Modes::READ, Modes::NONE).unwrap();
    let owner = LockOwner::open(A, a.id());
    let unlock = |range| state.unlock(FILE, &D, &owner, range, Flavour::Mandatory);
    state.lock(FILE, &D, mandatory(&a, bytes(0, 10), Exclusive)).unwrap();
    // The owner's own lock refuses it, and the owner can tell that the lock is its own.
    let blocker = blocked_by(state.lock(FILE, &D, mandatory(&a, bytes(5, 10), Exclusive)));
    assert_eq!((blocker.owner, blocker.range), (owner.clone(), bytes(0, 10)));
    // A lock beside it stays a lock of its own.
    state.lock(FILE, &D, mandatory(&a, bytes(10, 10), Exclusive)).unwrap();
    assert_eq!(unlock(bytes(0, 20)), Ok(false));
    assert_eq!(unlock(bytes(0, 5)), Ok(false));
    assert_eq!(unlock(bytes(0, 10)), Ok(true));
    assert_eq!(unlock(bytes(0, 10)), Ok(false));
    assert_eq!(state.totals().ranges, 1);
}

#[test]
fn shared_mandatory_locks_stack_and_each_needs_its_unlock() {
    let state = State::default();
    let a = open(&state, A, Modes::READ, Modes::NONE).unwrap();
    let unlock = || state.unlock(FILE, &D, &LockOwner::open(A, a.id()), bytes(0, 10), Flavour::Mandatory);
    for kind in [Exclusive, Shared, Shared] {
        state.lock(FILE, &D, mandatory(&a, bytes(0, 10), kind)).unwrap();
    }
    // The exclusive one goes first.
    assert_eq!(unlock(), Ok(true));
    assert!(state.ranges(None, 9).iter().all(|held| held.lock.kind == Shared));
    assert_eq!((unlock(), unlock(), unlock()), (Ok(true), Ok(true), Ok(false)));
}

#[test]
fn two_opens_of_one_client_are_two_owners() {
    let state = State::default();
    let one = open(&state, A, Modes::READ, Modes::NONE).unwrap();
    let two = open(&state, A, Modes::READ, Modes::NONE).unwrap();
    state.lock(FILE, &D, mandatory(&one, bytes(0, 10), Exclusive)).unwrap();
    blocked_by(state.lock(FILE, &D, mandatory(&two, bytes(0, 1), Shared)));
    let io = |open: &OpenGuard| state.check_io(FILE, &D, IoClient::through(A, open.id()), bytes(9, 9), true);
    assert_eq!((io(&one), io(&two)), (Ok(()), Err(Error::RangeLocked)));
    drop(one);
    state.lock(FILE, &D, mandatory(&two, bytes(0, 1), Shared)).unwrap();
}

#[test]
fn io_is_stopped_by_mandatory_ranges_of_others() {
    let state = State::default();
    let a = open(&state, A, Modes::ALL, Modes::NONE).unwrap();
    let io = |who, start, write| state.check_io(FILE, &D, who, bytes(start, 10), write);
    state.lock(FILE, &D, mandatory(&a, bytes(100, 10), Exclusive)).unwrap();
    state.lock(FILE, &D, mandatory(&a, bytes(200, 10), Shared)).unwrap();
    let (own, other) = (IoClient::through(A, a.id()), IoClient::stateless(B));
    for (who, start, write, answer) in [
        (other, 90, true, Ok(())),
        (other, 91, true, Err(Error::RangeLocked)),
        (other, 109, false, Err(Error::RangeLocked)),
        (other, 110, false, Ok(())),
        (other, 200, false, Ok(())),
        (other, 200, true, Err(Error::RangeLocked)),
        (own, 100, true, Ok(())),
        // A shared lock keeps even its owner from writing.
        (own, 200, true, Err(Error::RangeLocked)),
        (own, 200, false, Ok(())),
    ] {
        assert_eq!(io(who, start, write), answer, "{who:?} at {start}, write {write}");
    }
    assert_eq!(state.check_resize(FILE, &D, other, 210), Ok(()));
    assert_eq!(state.check_resize(FILE, &D, other, 205), Err(Error::RangeLocked));
}

#[test]
fn advisory_ranges_stop_mandatory_clients_only_by_policy_and_never_each_other() {
    for advisory_binds_io in [false, true] {
        let state = State::new(Policy { advisory_binds_io, ..Policy::default() }, Limits::default());
        let b = open(&state, B, Modes::ALL, Modes::NONE).unwrap();
        state.lock(FILE, &D, advisory(A, b"p", Range::ALL, Exclusive)).unwrap();
        let io = |who| state.check_io(FILE, &D, who, bytes(0, 1), false).is_ok();
        assert_eq!(io(IoClient::through(B, b.id())), !advisory_binds_io);
        assert!(io(IoClient::stateless(B)));
        assert!(io(IoClient::stateless(A)));
    }
}

#[test]
fn releasing_an_owner_or_a_client_frees_its_ranges_on_all_files() {
    let state = State::default();
    for file in 0..100 {
        for (client, process) in [(A, b"1"), (A, b"2"), (B, b"1")] {
            let lock =
                advisory(client, process, bytes(client.0 * 10 + u64::from(process[0] & 3), 1), Exclusive);
            state.lock(FileId::new(0, file), &D, lock).unwrap();
        }
    }
    (0..100).for_each(|file| release_owner(&state, FileId::new(0, file), &LockOwner::named(A, b"1")));
    assert_eq!(state.totals().ranges, 200);
    state.release_client(A);
    assert_eq!(state.totals().ranges, 100);
    assert!(state.ranges(None, 1000).iter().all(|held| held.lock.owner.client == B));
    state.release_client(B);
    assert!((0..100).all(|file| state.quiet(FileId::new(0, file))));
    assert_quiet(&state);
}

#[test]
fn a_lock_of_no_bytes_conflicts_only_with_a_range_that_it_lies_within() {
    // MS-FSA 2.1.4.10: [0, 0] never overlaps; else with the last offsets 1 = o+l-1 and 2 likewise, ranges overlap when
    // o1 <= last2 and last1 >= o2. Held offset and length, wanted offset and length, whether they overlap.
    const CASES: &[(u64, u64, u64, u64, bool)] = &[
        (10, 10, 10, 0, false), // at its start
        (10, 10, 11, 0, true),
        (10, 10, 19, 0, true), // before its last byte
        (10, 10, 20, 0, false),
        (10, 1, 10, 0, false),
        (0, 10, 0, 0, false),
        (10, 0, 10, 0, false), // two points
        (10, 0, 9, 2, true),
        (10, 0, 10, 2, false),
        (10, 0, 9, 1, false),
        (0, 0, 0, u64::MAX, false),
    ];
    let range = |start, length| Range::new(start, length).unwrap_or(Range::empty(start));
    for &(held, held_length, start, length, overlap) in CASES {
        let state = State::default();
        let a = open(&state, A, Modes::READ, Modes::NONE).unwrap();
        let b = open(&state, B, Modes::READ, Modes::NONE).unwrap();
        state.lock(FILE, &D, mandatory(&a, range(held, held_length), Exclusive)).unwrap();
        let wanted = range(start, length);
        let answer = state.lock(FILE, &D, mandatory(&b, wanted, Shared));
        assert_eq!(answer.is_err(), overlap, "{held}+{held_length} and {wanted:?}");
    }
}

#[test]
fn a_lock_of_no_bytes_is_held_and_given_back_by_its_offset() {
    let state = State::default();
    let a = open(&state, A, Modes::READ, Modes::NONE).unwrap();
    let (point, owner) = (Range::empty(10), LockOwner::open(A, a.id()));
    let unlock = |range| state.unlock(FILE, &D, &owner, range, Flavour::Mandatory);
    state.lock(FILE, &D, mandatory(&a, point, Exclusive)).unwrap();
    assert_eq!((state.totals().ranges, point.length()), (1, Some(0)));
    assert_eq!(unlock(bytes(10, 1)), Ok(false));
    assert_eq!(unlock(Range::empty(11)), Ok(false));
    assert_eq!(unlock(point), Ok(true));
    assert_eq!(unlock(point), Ok(false));
    // A request for a range waits if there is a point within it.
    state.lock(FILE, &D, mandatory(&a, point, Exclusive)).unwrap();
    let b = open(&state, B, Modes::READ, Modes::NONE).unwrap();
    let mut waiter = waits(&state, mandatory(&b, bytes(9, 2), Exclusive));
    assert!(now(&mut waiter).is_none());
    assert_eq!(unlock(point), Ok(true));
    assert_eq!(now(&mut waiter), Some(Ok(())));
    drop((waiter, a, b));
    assert_quiet(&state);
}
