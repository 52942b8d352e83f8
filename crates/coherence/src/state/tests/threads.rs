use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

const THREADS: u64 = 4;
const ROUNDS: u64 = 2_000;

/// Each thread opens, locks, asks and closes on a few shared files. An exclusive lock is checked to be one.
#[test]
fn many_threads_exclude_each_other_and_leave_nothing_behind() {
    let state = State::default();
    let inside: Vec<AtomicU32> = (0..3).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (state, inside) = (&state, &inside);
            scope.spawn(move || (0..ROUNDS).for_each(|round| visit(state, inside, ClientId(thread), round)));
        }
    });
    assert!((0..3).all(|file| state.quiet(FileId::new(0, file))));
    assert_quiet(&state);
}

fn visit(state: &State, inside: &[AtomicU32], client: ClientId, round: u64) {
    let file = FileId::new(0, (round + client.0) % 3);
    let request = OpenRequest::new(Party::client(client), Modes::ALL, Modes::NONE);
    let open = state.open(file, Stream::Data, request).unwrap();
    if state.lock(file, &Stream::Data, mandatory(&open, bytes(0, 8), Exclusive)).is_ok() {
        assert_eq!(inside[file.inode as usize].fetch_add(1, Ordering::SeqCst), 0);
        let other = IoClient::stateless(ClientId(99));
        assert_eq!(
            state.check_io(file, &Stream::Data, other, bytes(4, 1), false),
            Err(formats::Error::RangeLocked)
        );
        inside[file.inode as usize].fetch_sub(1, Ordering::SeqCst);
    } else if let Ok(LockOutcome::Later(waiter)) =
        state.wait_lock(file, &Stream::Data, mandatory(&open, bytes(0, 8), Exclusive))
    {
        assert!(!state.quiet(file));
        drop(waiter);
    }
}
