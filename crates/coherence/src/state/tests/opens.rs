use super::*;
use formats::Error;

const R: Modes = Modes::READ;
const W: Modes = Modes::WRITE;
const D: Modes = Modes::DELETE;
const NONE: Modes = Modes::NONE;

/// Access and denial of the first and the second open, and whether both may be.
const MODES: &[(Modes, Modes, Modes, Modes, bool)] = &[
    (R, NONE, R, NONE, true),
    (R, W, R, NONE, true),
    (R, W, W, NONE, false),
    (R, W, R, W, true),
    (W, NONE, R, W, false),
    (W, W, R, NONE, true),
    (R, R, R, NONE, false),
    (R, R, W, NONE, true),
    (NONE, R, R, NONE, false),
    (NONE, R, NONE, R, true),
    (R, D, D, NONE, false),
    (D, NONE, R, D, false),
    (D, NONE, R, W, true),
    (Modes::ALL, NONE, Modes::ALL, NONE, true),
    (R, Modes::ALL, NONE, NONE, true),
];

#[test]
fn an_open_fails_when_its_access_is_denied_or_it_denies_what_another_does() {
    for (access, deny, access2, deny2, both) in MODES {
        for second_client in [A, B] {
            let state = State::default();
            let first = open(&state, A, *access, *deny).unwrap();
            let second = open(&state, second_client, *access2, *deny2);
            assert_eq!(second.is_ok(), *both, "{access:?} {deny:?} then {access2:?} {deny2:?}");
            drop((first, second));
            assert_quiet(&state);
        }
    }
}

#[test]
fn reading_and_writing_are_denied_per_stream_and_deletion_per_file() {
    let state = State::default();
    let party = Party::client(A);
    let deny_all = OpenRequest::new(party, R, Modes::ALL);
    let _resource = state.open(FILE, Stream::Resource, deny_all).unwrap();
    open(&state, B, R.union(W), NONE).unwrap();
    assert_eq!(open(&state, B, D, NONE).unwrap_err(), Error::ShareConflict);
    let other_stream = Stream::Named("a".into());
    state.open(FILE, other_stream, OpenRequest::new(party, R, R)).unwrap();
}

#[test]
fn an_open_can_be_changed_only_into_what_it_could_have_been() {
    let state = State::default();
    let first = open(&state, A, R, NONE).unwrap();
    let second = open(&state, B, R.union(W), NONE).unwrap();
    assert_eq!(first.change(R, W), Err(Error::ShareConflict));
    assert_eq!(first.modes(), (R, NONE));
    second.change(R, NONE).unwrap();
    first.change(R, W).unwrap();
    assert_eq!(second.change(W, NONE), Err(Error::ShareConflict));
}

#[test]
fn a_client_without_opens_is_bound_by_deny_modes_of_others_only() {
    let state = State::default();
    let _held = open(&state, A, R, W).unwrap();
    let io = |who, write| state.check_io(FILE, &Stream::Data, who, bytes(0, 1), write);
    assert_eq!(io(IoClient::stateless(B), true), Err(Error::ShareConflict));
    assert_eq!(io(IoClient::stateless(B), false), Ok(()));
    assert_eq!(io(IoClient::stateless(A), true), Ok(()));
    assert_eq!(state.check_resize(FILE, &Stream::Data, IoClient::stateless(B), 0), Err(Error::ShareConflict));
    assert_eq!(state.check_io(FILE, &Stream::Resource, IoClient::stateless(B), Range::ALL, true), Ok(()));
}

#[test]
fn removing_heeds_a_denial_of_deletion_unless_the_policy_is_that_of_unix() {
    for (deny_binds_remove, answer) in [(true, Err(Error::ShareConflict)), (false, Ok(()))] {
        let state = State::new(Policy { deny_binds_remove, ..Policy::default() }, Limits::default());
        let held = open(&state, A, R, D).unwrap();
        assert_eq!(state.check_remove(FILE, IoClient::stateless(B)), answer);
        assert_eq!(state.check_remove(FILE, IoClient::through(A, held.id())), Ok(()));
        drop(held);
        assert_eq!(state.check_remove(FILE, IoClient::stateless(B)), Ok(()));
    }
}

#[test]
fn the_listing_says_who_has_what_open() {
    let state = State::default();
    let _a = open(&state, A, R, W).unwrap();
    let b = open(&state, B, R, NONE).unwrap();
    state.lock(FILE, &Stream::Data, mandatory(&b, bytes(3, 4), Exclusive)).unwrap();
    let mut listed: Vec<_> = state.opens(None, 10).iter().map(|o| (o.client, o.access, o.deny)).collect();
    listed.sort_by_key(|(client, ..)| *client);
    assert_eq!(listed, [(A, R, W), (B, R, NONE)]);
    assert_eq!(state.opens(Some(FileId::new(0, 8)), 10).len(), 0);
    assert_eq!(state.opens(Some(FILE), 1).len(), 1);
    assert_eq!(state.ranges(None, 10)[0].lock.range, bytes(3, 4));
    assert_eq!(state.totals(), Totals { opens: 2, ranges: 1, ..Totals::default() });
}
