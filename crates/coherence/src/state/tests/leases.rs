use tokio::sync::{mpsc, oneshot};

use super::*;
use formats::Error;

const R: Caching = Caching::READ;
const RH: Caching = Caching(3);
const RW: Caching = Caching(5);
const RWH: Caching = Caching::ALL;
const NONE: Caching = Caching::NONE;
const DATA: Stream = Stream::Data;

type Notices = mpsc::UnboundedReceiver<BreakNotice>;

fn keyed(client: ClientId, key: u8) -> Party {
    Party { client, key: Some([key; 16]) }
}

fn lease(state: &State, party: Party, want: Caching, whole: bool) -> (Lease, Notices) {
    let (notices, receiver) = mpsc::unbounded_channel();
    let style = if whole { Style::Whole } else { Style::Bits };
    (state.lease(FILE, &DATA, &LeaseRequest { party, want, style, notices }).unwrap(), receiver)
}

fn opened(state: &State, party: Party, access: Modes) -> OpenGuard {
    state.open(FILE, DATA, OpenRequest::new(party, access, Modes::NONE)).unwrap()
}

fn causes(state: &State, cause: Cause) -> Option<Recall> {
    state.break_for(FILE, &DATA, cause, Party::client(B))
}

/// A clock that the test controls: the deadline comes when the sender fires.
fn clock() -> (oneshot::Sender<()>, impl Future<Output = ()>) {
    let (fire, fired) = oneshot::channel();
    (fire, async { fired.await.unwrap() })
}

#[test]
fn what_is_granted_depends_on_what_others_hold() {
    /// Another party's access, its lease, what is wanted (as a whole?), what is granted.
    const CASES: &[(Modes, Caching, Caching, bool, Caching)] = &[
        (Modes::NONE, NONE, RWH, false, RWH),
        (Modes::READ, NONE, RWH, false, RH),
        (Modes::WRITE, NONE, RWH, false, RH),
        (Modes::WRITE, NONE, RW, false, R),
        (Modes::READ, RH, RWH, false, RH),
        (Modes::READ, R, RH, false, RH),
        (Modes::READ, RWH, RH, false, NONE),
        (Modes::READ, NONE, Caching::WRITE, false, NONE),
        // Delegations: all or nothing. None is granted for reading while another client may write.
        (Modes::NONE, NONE, RWH, true, RWH),
        (Modes::READ, NONE, RWH, true, NONE),
        (Modes::READ, NONE, RH, true, RH),
        (Modes::WRITE, NONE, RH, true, NONE),
    ];
    for (access, theirs, want, whole, granted) in CASES {
        let state = State::default();
        let _other = opened(&state, keyed(B, 1), *access);
        let _held = lease(&state, keyed(B, 1), *theirs, false);
        let _own = opened(&state, keyed(A, 1), Modes::ALL);
        assert_eq!(
            lease(&state, keyed(A, 1), *want, *whole).0.caching(),
            *granted,
            "{access:?} {theirs:?} {want:?}"
        );
    }
}

fn stepped(state: &State, party: Party, want: Caching) -> (Lease, Notices) {
    let (notices, receiver) = mpsc::unbounded_channel();
    let request = LeaseRequest { party, want, style: Style::Steps, notices };
    (state.lease(FILE, &DATA, &request).unwrap(), receiver)
}

#[test]
fn in_steps_it_is_everything_or_reading_alone() {
    /// What another one holds (in steps?), what is wanted (in steps?), what is granted.
    const CASES: &[(Caching, bool, Caching, bool, Caching)] = &[
        (NONE, true, RWH, true, RWH),
        (NONE, true, RW, true, RW),
        (R, true, RWH, true, R),
        (R, false, RWH, true, R),
        (RH, false, RWH, true, NONE),
        (R, true, RWH, false, R),
        (RWH, true, R, true, NONE),
    ];
    for (theirs, their_steps, want, steps, granted) in CASES {
        let state = State::default();
        let hold = |party, want, steps: bool| match steps {
            true => stepped(&state, party, want),
            false => lease(&state, party, want, false),
        };
        let _held = hold(keyed(B, 1), *theirs, *their_steps);
        let got = hold(keyed(A, 1), *want, *steps).0.caching();
        assert_eq!(got, *granted, "{theirs:?} {their_steps} {want:?} {steps}");
    }
}

#[test]
fn steps_go_down_to_reading_or_to_nothing() {
    for (held, cause, left) in [
        (RWH, Cause::OpenRead, Some(R)),
        (RWH, Cause::OpenRights, Some(R)),
        (RWH, Cause::ShareConflict, Some(R)),
        (RWH, Cause::Truncate, Some(NONE)),
        (RW, Cause::ShareConflict, None),
        (RW, Cause::OpenWrite, Some(R)),
    ] {
        let state = State::default();
        let (lease, mut notices) = stepped(&state, keyed(A, 1), held);
        assert_eq!(causes(&state, cause).is_some(), left.is_some(), "{held:?} {cause:?}");
        assert_eq!(notices.try_recv().ok().map(|notice| notice.to), left, "{held:?} {cause:?}");
        drop(lease);
    }
}

#[test]
fn own_writes_end_a_level_2_oplock() {
    let state = State::default();
    let (own, mut notices) = stepped(&state, keyed(A, 1), RWH);
    assert!(state.break_for(FILE, &DATA, Cause::Write, keyed(A, 1)).is_none());
    assert_eq!((own.caching(), notices.try_recv().is_err()), (RWH, true));
    assert!(causes(&state, Cause::OpenRead).is_some());
    own.acknowledge(R).unwrap();
    assert!(state.break_for(FILE, &DATA, Cause::OpenWrite, keyed(A, 1)).is_none());
    assert_eq!(own.caching(), R);
    assert!(state.break_for(FILE, &DATA, Cause::Write, keyed(A, 1)).is_none());
    assert_eq!(own.caching(), NONE);
}

#[tokio::test]
async fn an_open_stands_only_when_others_have_let_go() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), RWH, false);
    let request = OpenRequest::new(Party::client(B), Modes::READ, Modes::NONE);
    let mut opening = Box::pin(state.open_and_recall(FILE, DATA, request, never));
    assert!(now(&mut opening).is_none());
    assert_eq!((notices.recv().await.unwrap().to, state.totals().opens), (RH, 0));
    held.acknowledge(RH).unwrap();
    let _open = opening.await.unwrap();
    assert_eq!(state.totals().opens, 1);
}

#[test]
fn emptying_a_file_does_not_wait_for_clean_caches() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), RH, false);
    let empties =
        OpenRequest { empties: true, ..OpenRequest::new(Party::client(B), Modes::READ, Modes::NONE) };
    let open = |request| now(&mut Box::pin(state.open_and_recall(FILE, DATA, request, never)));
    assert!(open(empties).is_some());
    let notice = notices.try_recv().unwrap();
    assert_eq!((notice.to, notice.needs_ack, held.caching()), (NONE, true, RH));
    assert!(open(empties).is_some());
    // An open that wants what is granted waits until it is clear which client has it.
    assert!(open(OpenRequest::new(Party::client(B), Modes::READ, Modes::NONE)).is_none());
    assert_eq!(held.acknowledge(NONE), Ok(NONE));
    assert!(open(OpenRequest::new(Party::client(B), Modes::READ, Modes::NONE)).is_some());
}

#[test]
fn an_open_for_attributes_recalls_nothing() {
    let state = State::default();
    let (_held, mut notices) = stepped(&state, keyed(A, 1), RWH);
    let looks = OpenRequest::new(Party::client(B), Modes::NONE, Modes::NONE);
    let mut opening = Box::pin(state.open_and_recall(FILE, DATA, looks, never));
    assert!(now(&mut opening).is_some());
    assert!(notices.try_recv().is_err());
    let empties = OpenRequest { empties: true, ..looks };
    let mut opening = Box::pin(state.open_and_recall(FILE, DATA, empties, never));
    assert!(now(&mut opening).is_none());
    assert_eq!(notices.try_recv().unwrap().to, NONE);
}

#[test]
fn no_reads_are_cached_of_what_others_have_locked() {
    let state = State::default();
    state.lock(FILE, &DATA, advisory(B, b"p", bytes(0, 1), Shared)).unwrap();
    assert_eq!(lease(&state, keyed(A, 1), RWH, false).0.caching(), NONE);
    state.release_client(B);
    state.lock(FILE, &DATA, advisory(A, b"p", bytes(0, 1), Shared)).unwrap();
    assert_eq!(lease(&state, keyed(A, 1), RWH, false).0.caching(), RWH);
}

/// A client with cached writes locks without asking, so it would have the range at the same time as the waiter.
#[test]
fn nothing_is_cached_of_what_others_wait_to_lock() {
    let state = State::default();
    let open = opened(&state, Party::client(A), Modes::WRITE);
    state.lock(FILE, &DATA, mandatory(&open, bytes(0, 8), Exclusive)).unwrap();
    let waiter = state.wait_lock(FILE, &DATA, advisory(B, b"b", bytes(0, 8), Exclusive)).unwrap();
    assert_eq!(lease(&state, keyed(A, 2), RWH, false).0.caching(), NONE);
    drop(waiter);
    assert_eq!(lease(&state, keyed(A, 3), RWH, false).0.caching(), RH);
}

#[test]
fn opens_with_the_same_key_share_one_lease_that_grows_but_never_shrinks_by_asking() {
    let state = State::default();
    let (first, _old) = lease(&state, keyed(A, 1), R, false);
    let (second, mut notices) = lease(&state, keyed(A, 1), RWH, false);
    assert_eq!((first.id(), first.caching()), (second.id(), RWH));
    let (third, _) = lease(&state, keyed(A, 1), R, false);
    assert_eq!((third.caching(), state.totals().leases), (RWH, 1));
    drop((first, third));
    assert_eq!(second.caching(), RWH);
    // The newest channel gets the notice. The third one's is closed, so its holder cannot be told,
    // and nothing is waited for.
    assert!(causes(&state, Cause::Write).is_none());
    assert!(notices.try_recv().is_err());
    assert_eq!(second.caching(), NONE);
    drop(second);
    assert_quiet(&state);
}

#[test]
fn a_break_waits_for_the_answer_and_then_lets_go() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), RWH, false);
    let mut recall = causes(&state, Cause::OpenRead).unwrap();
    let notice = notices.try_recv().unwrap();
    assert_eq!((notice.from, notice.to, notice.needs_ack, notice.revoked), (RWH, RH, true, false));
    assert_eq!((notice.lease, notice.file, notice.party), (held.id(), FILE, keyed(A, 1)));
    // Until it answers it may still be writing what it has cached.
    assert_eq!((held.caching(), held.is_breaking(), recall.waiting()), (RWH, true, 1));
    assert_eq!(held.acknowledge(RWH), Err(Error::Invalid));
    assert_eq!(held.acknowledge(RH), Ok(RH));
    assert_eq!((held.caching(), held.is_breaking(), recall.waiting()), (RH, false, 0));
    assert_eq!(held.acknowledge(RH), Err(Error::Invalid));
    assert!(causes(&state, Cause::OpenRead).is_none());
    assert!(notices.try_recv().is_err());
}

#[test]
fn a_lease_for_reading_alone_is_told_but_not_waited_for() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), R, false);
    assert!(causes(&state, Cause::Write).is_none());
    let notice = notices.try_recv().unwrap();
    assert_eq!((notice.from, notice.to, notice.needs_ack), (R, NONE, false));
    assert_eq!((held.caching(), held.is_breaking()), (NONE, false));
    assert!(causes(&state, Cause::Write).is_none());
    assert!(notices.try_recv().is_err());
}

#[test]
fn a_second_cause_during_a_break_makes_a_second_break_after_the_answer() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), RWH, false);
    let mut reader = causes(&state, Cause::OpenRead).unwrap();
    let mut writer = causes(&state, Cause::Write).unwrap();
    assert_eq!(notices.try_recv().unwrap().to, RH);
    assert!(notices.try_recv().is_err(), "one break at a time");
    assert_eq!(held.acknowledge(RH), Ok(RH));
    assert_eq!((reader.waiting(), writer.waiting()), (0, 1));
    // First to close what it keeps open, then to forget what it has read, which needs no answer.
    assert_eq!(notices.try_recv().unwrap().to, R);
    assert_eq!(held.acknowledge(R), Ok(NONE));
    let last = notices.try_recv().unwrap();
    assert_eq!((last.to, last.needs_ack, writer.waiting()), (NONE, false, 0));
}

#[test]
fn giving_the_lease_back_or_vanishing_is_an_answer() {
    let state = State::default();
    let (held, _notices) = lease(&state, keyed(A, 1), RWH, false);
    let mut recall = causes(&state, Cause::Write).unwrap();
    drop(held);
    assert_eq!(recall.waiting(), 0);

    let (_held, notices) = lease(&state, keyed(A, 1), RWH, false);
    drop(notices);
    assert!(causes(&state, Cause::Write).is_none());
}

#[tokio::test]
async fn an_answer_before_the_deadline_settles_the_recall() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), RW, false);
    let (_fire, deadline) = clock();
    let recall = causes(&state, Cause::Truncate).unwrap().within(deadline);
    let holder = async {
        let notice = notices.recv().await.unwrap();
        held.acknowledge(notice.to).unwrap();
        std::future::pending::<()>().await
    };
    tokio::select! {
        settled = recall => assert_eq!(settled, RecallOutcome::Answered),
        () = holder => unreachable!(),
    }
    assert_eq!(held.caching(), NONE);
}

#[tokio::test]
async fn at_the_deadline_what_was_not_answered_is_revoked() {
    let state = State::default();
    let (late, mut notices) = lease(&state, keyed(A, 1), RH, false);
    let (punctual, _kept) = lease(&state, keyed(C, 1), RH, false);
    let (fire, deadline) = clock();
    let mut recall = Box::pin(causes(&state, Cause::Remove).unwrap().within(deadline));
    assert_eq!(now(&mut recall), None);
    punctual.acknowledge(R).unwrap();
    assert_eq!(now(&mut recall), None);
    fire.send(()).unwrap();
    assert_eq!(recall.await, RecallOutcome::Revoked);
    assert_eq!((late.caching(), punctual.caching()), (NONE, R));
    assert!(!notices.try_recv().unwrap().revoked);
    assert!(notices.try_recv().unwrap().revoked);
    assert_eq!(late.acknowledge(R), Err(Error::Invalid));
}

/// A delegation has the longer time. Another lease is taken after 35 seconds.
#[test]
fn the_holder_of_a_delegation_has_as_long_as_its_client_has_to_renew() {
    let state = State::default();
    let (_held, _notices) = lease(&state, keyed(A, 1), RWH, false);
    let time = |state: &State| causes(state, Cause::Write).unwrap().time();
    state.give_delegations(Duration::from_secs(60));
    assert_eq!(time(&state), Duration::from_secs(35));
    let state = State::default();
    let (_held, _notices) = lease(&state, keyed(A, 1), RWH, true);
    assert_eq!(time(&state), Duration::from_secs(35));
    state.give_delegations(Duration::from_secs(60));
    assert_eq!(time(&state), Duration::from_secs(60));
    state.give_delegations(Duration::from_secs(5));
    assert_eq!(time(&state), Duration::from_secs(60), "it never has less");
}

#[test]
fn what_was_answered_in_time_is_not_revoked() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), RWH, false);
    let recall = causes(&state, Cause::OpenRead).unwrap();
    held.acknowledge(RH).unwrap();
    assert_eq!(recall.revoke(), RecallOutcome::Answered);
    assert_eq!((held.caching(), notices.try_recv().unwrap().to), (RH, RH));
    assert!(notices.try_recv().is_err());
}

#[test]
fn a_recall_that_nobody_waits_for_any_more_goes_on() {
    let state = State::default();
    let (held, _notices) = lease(&state, keyed(A, 1), RH, false);
    drop(causes(&state, Cause::Write).unwrap());
    assert!(held.is_breaking());
    // A second operation joins the same break, and can still end it.
    assert_eq!(causes(&state, Cause::Write).unwrap().revoke(), RecallOutcome::Revoked);
    assert_eq!(held.caching(), NONE);
}

#[test]
fn a_folders_lease_ends_when_its_entries_change() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), RH, false);
    // The party that made the change knows of it.
    assert!(state.break_for(FILE, &DATA, Cause::Entry, keyed(A, 1)).is_none());
    assert!(state.break_for(FILE, &DATA, Cause::Entry, keyed(A, 2)).is_some());
    assert_eq!(notices.try_recv().unwrap().to, NONE);
    drop(held);
}

/// RFC 8881 10.9: the holder of a delegation of a folder that is told of entries keeps it when they change.
#[test]
fn a_holder_that_is_told_of_entries_keeps_its_listing() {
    let state = State::default();
    let (notices, mut told) = mpsc::unbounded_channel();
    let request = LeaseRequest { party: keyed(A, 1), want: RH, style: Style::Told, notices };
    let held = state.lease(FILE, &DATA, &request).unwrap();
    assert!(causes(&state, Cause::Entry).is_none() && told.try_recv().is_err());
    assert_eq!(held.caching(), RH);
    // The folder itself gets another name or other attributes.
    assert!(causes(&state, Cause::Rename).is_some());
    assert_eq!(told.try_recv().unwrap().to, NONE);
}

#[test]
fn names_concern_all_streams_and_data_only_their_own() {
    let state = State::default();
    let (notices, mut receiver) = mpsc::unbounded_channel();
    let request = LeaseRequest { party: keyed(A, 1), want: RH, style: Style::Bits, notices };
    let _held = state.lease(FILE, &Stream::Resource, &request).unwrap();
    assert!(causes(&state, Cause::Write).is_none());
    assert!(causes(&state, Cause::Remove).is_some());
    assert_eq!(receiver.try_recv().unwrap().to, R);
}

#[tokio::test]
async fn an_open_that_a_cached_handle_stands_against_succeeds_once_it_is_closed() {
    let state = State::default();
    let mut holder = opened(&state, keyed(A, 1), Modes::READ);
    let (held, mut notices) = lease(&state, keyed(A, 1), RWH, false);
    holder.keep(held);
    let request = OpenRequest::new(Party::client(B), Modes::READ, Modes::READ);
    let mut opening = Box::pin(state.open_and_recall(FILE, DATA, request, never));
    assert!(now(&mut opening).is_none());
    assert_eq!(notices.recv().await.unwrap().to, RW);
    drop(holder); // its user had closed it long ago
    let open = opening.await.unwrap();
    assert_eq!(open.modes(), (Modes::READ, Modes::READ));
    drop(open);
    assert_quiet(&state);
}

#[tokio::test]
async fn an_open_that_a_living_handle_stands_against_fails_after_asking() {
    let state = State::default();
    let mut holder = opened(&state, keyed(A, 1), Modes::READ);
    let (held, mut notices) = lease(&state, keyed(A, 1), RH, false);
    holder.keep(held);
    let request = OpenRequest::new(Party::client(B), Modes::READ, Modes::READ);
    let mut opening = Box::pin(state.open_and_recall(FILE, DATA, request, never));
    assert!(now(&mut opening).is_none());
    assert_eq!(notices.recv().await.unwrap().to, R);
    holder.lease().unwrap().acknowledge(R).unwrap();
    assert_eq!(opening.await.unwrap_err(), Error::ShareConflict);
}

#[tokio::test]
async fn an_open_waits_for_cached_writes_and_nobody_can_cache_new_ones_meanwhile() {
    let state = State::default();
    let (held, mut notices) = lease(&state, keyed(A, 1), RWH, false);
    let request = OpenRequest::new(Party::client(B), Modes::READ, Modes::NONE);
    let mut opening = Box::pin(state.open_and_recall(FILE, DATA, request, never));
    assert!(now(&mut opening).is_none());
    assert_eq!(notices.recv().await.unwrap().to, RH);
    held.acknowledge(RH).unwrap();
    assert_eq!(lease(&state, keyed(A, 1), RWH, false).0.caching(), RH);
    opening.await.unwrap();
}

#[test]
fn no_delegation_is_granted_while_a_name_changes() {
    let state = State::default();
    let _own = opened(&state, keyed(A, 1), Modes::READ);
    let change = state.change_name();
    assert_eq!(lease(&state, keyed(A, 1), RH, true).0.caching(), NONE);
    assert_eq!(lease(&state, keyed(A, 1), RH, false).0.caching(), RH, "which promises nothing about names");
    drop(change);
    assert_eq!(lease(&state, keyed(A, 1), RH, true).0.caching(), RH);
}

#[test]
fn no_delegation_is_granted_of_what_may_be_removed() {
    let state = State::default();
    let _own = opened(&state, keyed(A, 1), Modes::READ);
    let remover = opened(&state, keyed(B, 1), Modes::DELETE);
    assert_eq!(lease(&state, keyed(A, 1), RH, true).0.caching(), NONE);
    remover.remove_when_unused(Box::new(|| Ok(())));
    assert_eq!(lease(&state, keyed(A, 1), RH, true).0.caching(), NONE);
    drop(remover);
    assert_eq!(
        lease(&state, keyed(A, 1), RH, true).0.caching(),
        NONE,
        "the removal waits for the other open"
    );
}
