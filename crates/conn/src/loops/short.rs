//! Keeps short messages from waiting for streams: while connections of a loop stream, those that move short messages go to a loop of
//! their own, which sleeps most of the time. The kernel lets a thread that was asleep run before one that was always busy, so a
//! short request is answered at once even if all processors have work.

use std::sync::Arc;
use std::time::Duration;

use super::Socket;
use super::event_loop::Loop;

/// The loop for short messages gets no more connections when it was busy for more than this part of the time,
const ROOM: f64 = 0.4;
/// and gives half of its work back when it was busy for more than this part.
const FULL: f64 = 0.8;
/// Connections that move at once.
const MOST: usize = 256;

/// Where the loop for short messages is among all loops.
pub(super) fn place(loops: &[Arc<Loop>]) -> usize {
    loops.len() - 1
}

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Traffic {
    /// Nothing since the last look.
    Idle,
    Short,
    Stream,
}

/// A connection that changes its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Move {
    from: usize,
    /// Its place among those of its loop.
    connection: usize,
    to: usize,
}

/// Moves connections to the loop for short messages, and from it. `sockets`: those of each loop. `since`: the time since the last
/// call.
pub(super) fn sort_out(loops: &[Arc<Loop>], sockets: &[Vec<Arc<Socket>>], since: Duration) {
    let busy = loops[place(loops)].take_busy() as f64 / since.as_nanos() as f64;
    let traffic = |socket: &Arc<Socket>| match (socket.has_worked(), socket.streams()) {
        (false, _) => Traffic::Idle,
        (true, false) => Traffic::Short,
        (true, true) => Traffic::Stream,
    };
    let seen: Vec<Vec<Traffic>> = sockets.iter().map(|all| all.iter().map(traffic).collect()).collect();
    for Move { from, connection, to } in plan(&seen, busy) {
        sockets[from][connection].move_to(to);
    }
}

/// Which connections move. `seen`: those of each loop, the one for short messages last; `busy`: the part of the time that this one
/// had something to do.
fn plan(seen: &[Vec<Traffic>], busy: f64) -> Vec<Move> {
    let Some((short, general)) = seen.split_last() else { return Vec::new() };
    let place = general.len();
    let fewest = (0..place).min_by_key(|at| general[*at].len()).unwrap_or_default();
    let of = |all: &[Traffic], wanted| -> Vec<usize> {
        all.iter().enumerate().filter(|(_, is)| **is == wanted).map(|(at, _)| at).collect()
    };
    let back = |(index, connection)| Move { from: place, connection, to: (fewest + index) % place };
    let mut moves: Vec<Move> = of(short, Traffic::Stream).into_iter().enumerate().map(back).collect();
    if busy > FULL {
        let all = of(short, Traffic::Short);
        moves.extend(all[..all.len() / 2].iter().copied().enumerate().map(back));
    }
    if busy < ROOM {
        let streaming = general.iter().enumerate().filter(|(_, all)| all.contains(&Traffic::Stream));
        let short = streaming.flat_map(|(from, all)| {
            of(all, Traffic::Short).into_iter().map(move |connection| Move { from, connection, to: place })
        });
        moves.extend(short);
    }
    moves.truncate(MOST);
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Traffic = Traffic::Idle;
    const SHORT: Traffic = Traffic::Short;
    const STREAM: Traffic = Traffic::Stream;

    fn moves(seen: &[&[Traffic]], busy: f64) -> Vec<(usize, usize, usize)> {
        let seen: Vec<Vec<Traffic>> = seen.iter().map(|all| all.to_vec()).collect();
        plan(&seen, busy).into_iter().map(|Move { from, connection, to }| (from, connection, to)).collect()
    }

    #[test]
    fn short_messages_leave_a_loop_with_streams() {
        assert_eq!(moves(&[&[STREAM, SHORT, IDLE], &[SHORT], &[]], 0.0), [(0, 1, 2)]);
        assert_eq!(moves(&[&[SHORT, SHORT], &[IDLE], &[]], 0.0), []);
    }

    #[test]
    fn streams_leave_the_loop_for_short_messages() {
        assert_eq!(moves(&[&[IDLE], &[], &[SHORT, STREAM, STREAM]], 0.1), [(2, 1, 1), (2, 2, 0)]);
    }

    #[test]
    fn a_full_loop_for_short_messages_gets_none_and_gives_some() {
        assert_eq!(moves(&[&[STREAM, SHORT], &[SHORT]], 0.5), []);
        assert_eq!(moves(&[&[STREAM, SHORT], &[SHORT; 4]], 0.9), [(1, 0, 0), (1, 1, 0)]);
    }
}
