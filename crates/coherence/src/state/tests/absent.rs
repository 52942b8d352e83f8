use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::*;
use formats::Error;

const R: Modes = Modes::READ;
const W: Modes = Modes::WRITE;

/// A client that is absent, what it has, and how often it was asked to give way.
struct Away {
    absence: Absence,
    held: Arc<Mutex<Option<OpenGuard>>>,
    asked: Arc<AtomicUsize>,
}

impl Away {
    fn new(state: &State, held: OpenGuard) -> Self {
        let client = held.client();
        let (held, asked) = (Arc::new(Mutex::new(Some(held))), Arc::new(AtomicUsize::new(0)));
        let (held_too, count) = (held.clone(), asked.clone());
        let give_way = move || {
            count.fetch_add(1, Ordering::Relaxed);
            held_too.lock().take();
        };
        Self { absence: state.leave(client, Arc::new(give_way)), held, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

#[test]
fn an_absent_holder_yields_only_to_conflicting_opens() {
    let state = State::default();
    let away = Away::new(&state, open(&state, A, R, W).unwrap());
    drop(open(&state, B, R, Modes::NONE).unwrap());
    assert_eq!(away.asked(), 0, "reading is not denied");
    let other =
        state.open(FileId::new(0, 8), Stream::Data, OpenRequest::new(Party::client(B), W, Modes::ALL));
    assert_eq!((other.is_ok(), away.asked()), (true, 0), "another file");
    let writer = open(&state, B, W, Modes::NONE).unwrap();
    assert_eq!(away.asked(), 1);
    drop((writer, other));
    assert_quiet(&state);
}

#[test]
fn an_absent_holder_yields_to_locks_reads_and_writes() {
    let attempts: [fn(&State, &OpenGuard) -> formats::Result<()>; 4] = [
        |state, own| Ok(state.lock(FILE, &Stream::Data, mandatory(own, bytes(5, 1), Exclusive))?),
        |state, own| match state.wait_lock(FILE, &Stream::Data, mandatory(own, bytes(5, 1), Exclusive))? {
            LockOutcome::Now => Ok(()),
            LockOutcome::Later(_) => Err(Error::WouldBlock),
        },
        |state, own| {
            let who = IoClient::through(own.client(), own.id());
            state.check_io(FILE, &Stream::Data, who, bytes(5, 1), false)
        },
        |state, own| state.check_resize(FILE, &Stream::Data, IoClient::through(own.client(), own.id()), 5),
    ];
    for (number, attempt) in attempts.iter().enumerate() {
        let state = State::default();
        let held = open(&state, A, R.union(W), Modes::NONE).unwrap();
        state.lock(FILE, &Stream::Data, mandatory(&held, bytes(0, 10), Exclusive)).unwrap();
        let own = open(&state, B, R.union(W), Modes::NONE).unwrap();
        assert!(attempt(&state, &own).is_err(), "{number}: a connected client");
        let away = Away::new(&state, held);
        attempt(&state, &own).unwrap();
        assert_eq!(away.asked(), 1, "{number}");
    }
}

#[test]
fn a_returned_holder_yields_no_more() {
    let state = State::default();
    let away = Away::new(&state, open(&state, A, R, W).unwrap());
    let Away { absence, held, asked } = away;
    drop(absence);
    assert_eq!(open(&state, B, W, Modes::NONE).unwrap_err(), Error::ShareConflict);
    assert_eq!((asked.load(Ordering::Relaxed), held.lock().is_some()), (0, true));
}

#[test]
fn removals_count_as_being_in_the_way() {
    let state = State::default();
    let away = Away::new(&state, open(&state, A, R, Modes::DELETE).unwrap());
    state.check_remove(FILE, IoClient::stateless(B)).unwrap();
    assert_eq!(away.asked(), 1);
}

#[test]
fn a_file_that_only_those_who_are_away_have_open_is_not_in_use() {
    let state = State::default();
    assert!(!state.is_in_use(FILE, B).unwrap());
    let here = open(&state, C, R, Modes::NONE).unwrap();
    assert!(state.is_in_use(FILE, B).unwrap());
    let away = Away::new(&state, here);
    assert!(!state.is_in_use(FILE, B).unwrap());
    assert_eq!(away.asked(), 1);
    let (_away, _here) = (Away::new(&state, open(&state, A, R, Modes::NONE).unwrap()), open(&state, C, R, W));
    assert!(state.is_in_use(FILE, B).unwrap(), "one of two is connected");
}

#[tokio::test]
async fn an_open_that_waits_for_caches_finds_who_is_away_gone_as_well() {
    let state = State::default();
    let away = Away::new(&state, open(&state, A, R, W).unwrap());
    let request = OpenRequest::new(Party::client(B), W, Modes::NONE);
    let opened = state.open_and_recall(FILE, Stream::Data, request, never).await;
    assert_eq!((opened.is_ok(), away.asked()), (true, 1));
}
