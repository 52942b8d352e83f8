//! Removal of files and streams that are not used any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use formats::Error;

/// Counts how often something was removed.
fn counted(count: &Arc<AtomicUsize>) -> Last {
    let count = count.clone();
    Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}

fn open_stream(state: &State, client: ClientId, stream: &str) -> formats::Result<OpenGuard> {
    let request = OpenRequest::new(Party::client(client), Modes::READ, Modes::NONE);
    state.open(FILE, Stream::Named(stream.into()), request)
}

#[test]
fn a_file_that_is_to_go_is_not_opened_any_more_and_goes_with_the_last_open() {
    let (state, gone) = (State::default(), Arc::default());
    let first = open(&state, A, Modes::DELETE, Modes::NONE).unwrap();
    let second = open(&state, B, Modes::READ, Modes::NONE).unwrap();
    let third = open_stream(&state, C, "s").unwrap();
    first.remove_when_unused(counted(&gone));
    assert!(state.is_going(FILE).unwrap() && second.is_going() && third.is_going());
    // This is checked before the denials, for every stream.
    let refused = open(&state, C, Modes::READ, Modes::ALL).unwrap_err();
    assert_eq!(refused, Error::BeingRemoved);
    assert_eq!(open_stream(&state, A, "s").unwrap_err(), Error::BeingRemoved);
    drop(first);
    drop(third);
    assert_eq!(gone.load(Ordering::Relaxed), 0);
    assert_eq!(second.close(), Ok(()));
    assert_eq!(gone.load(Ordering::Relaxed), 1);
    assert_quiet(&state);
    drop(open(&state, A, Modes::READ, Modes::NONE).unwrap());
    assert_eq!(gone.load(Ordering::Relaxed), 1);
}

#[test]
fn a_stream_goes_without_its_file() {
    let (state, gone) = (State::default(), Arc::default());
    let file = open(&state, A, Modes::READ, Modes::NONE).unwrap();
    let stream = open_stream(&state, A, "s").unwrap();
    stream.remove_when_unused(counted(&gone));
    assert!(!state.is_going(FILE).unwrap() && !file.is_going());
    assert_eq!(open_stream(&state, B, "s").unwrap_err(), Error::BeingRemoved);
    drop(open_stream(&state, B, "t").unwrap());
    drop(stream);
    assert_eq!(gone.load(Ordering::Relaxed), 1);
    drop(open_stream(&state, B, "s").unwrap());
}

#[test]
fn of_a_file_and_its_stream_that_go_at_once_both_are_removed() {
    let (state, files, streams) = (State::default(), Arc::default(), Arc::default());
    let file = open(&state, A, Modes::DELETE, Modes::NONE).unwrap();
    let stream = open_stream(&state, A, "s").unwrap();
    stream.remove_when_unused(counted(&streams));
    file.remove_when_unused(counted(&files));
    file.remove_when_unused(counted(&files)); // said twice
    drop(file);
    drop(stream);
    assert_eq!((files.load(Ordering::Relaxed), streams.load(Ordering::Relaxed)), (1, 1));
    assert_quiet(&state);
}

#[test]
fn any_open_can_cancel_the_removal() {
    let (state, gone) = (State::default(), Arc::default());
    let first = open(&state, A, Modes::DELETE, Modes::NONE).unwrap();
    let second = open(&state, B, Modes::DELETE, Modes::NONE).unwrap();
    first.remove_when_unused(counted(&gone));
    second.stay();
    assert!(!first.is_going());
    drop(open(&state, C, Modes::READ, Modes::NONE).unwrap());
    drop((first, second));
    assert_eq!(gone.load(Ordering::Relaxed), 0);
}

#[test]
fn closing_says_how_the_removal_went() {
    let state = State::default();
    let guard = open(&state, A, Modes::DELETE, Modes::NONE).unwrap();
    guard.remove_when_unused(Box::new(|| Err(Error::NotEmpty)));
    assert_eq!(guard.close(), Err(Error::NotEmpty));
    assert_quiet(&state);
}

#[test]
fn a_stream_that_is_renamed_keeps_what_is_held_on_it() {
    let state = State::default();
    let stream = open_stream(&state, A, "old").unwrap();
    let lock = mandatory(&stream, bytes(0, 10), Exclusive);
    state.lock(FILE, &stream.stream(), lock).unwrap();
    let other = open_stream(&state, B, "old").unwrap();
    let new = Stream::Named("new".into());
    assert_eq!(stream.move_stream(&new), Err(Error::ShareConflict)); // another client has it open
    drop(other);
    stream.move_stream(&new).unwrap();
    assert_eq!(stream.stream(), new);
    let other = open_stream(&state, B, "new").unwrap();
    let wanted = mandatory(&other, bytes(5, 1), Shared);
    assert!(state.test(FILE, &new, &wanted).unwrap().is_some());
    assert!(state.test(FILE, &Stream::Named("old".into()), &wanted).unwrap().is_none());
    drop((stream, other));
    assert_quiet(&state);
}

#[test]
fn a_name_goes_while_the_file_is_open_by_another_one() {
    let (state, gone) = (State::default(), Arc::default());
    let by = |client, link| {
        let request = OpenRequest::new(Party::client(client), Modes::ALL, Modes::NONE);
        state.open(FILE, Stream::Data, OpenRequest { link: Some(Link(link)), ..request })
    };
    let (first, same, other) = (by(A, 1).unwrap(), by(B, 1).unwrap(), by(B, 2).unwrap());
    first.remove_when_unused(counted(&gone));
    assert!(first.is_going() && same.is_going() && !other.is_going());
    assert_eq!(by(C, 1).unwrap_err(), Error::BeingRemoved);
    drop(by(C, 2).unwrap());
    // An open by a name that is not known may be by this one.
    assert_eq!(open(&state, C, Modes::READ, Modes::NONE).unwrap_err(), Error::BeingRemoved);
    other.stay(); // the other name
    assert!(first.is_going());
    other.remove_when_unused(counted(&gone));
    drop(first);
    assert_eq!(gone.load(Ordering::Relaxed), 0);
    drop(same);
    assert_eq!(gone.load(Ordering::Relaxed), 1);
    assert_eq!(by(C, 2).unwrap_err(), Error::BeingRemoved);
    drop(other);
    assert_eq!(gone.load(Ordering::Relaxed), 2);
    assert_quiet(&state);
}
