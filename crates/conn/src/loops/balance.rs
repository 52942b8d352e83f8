//! Moves connections from a busy loop to an idle one, ends waits whose deadline has passed, and frees buffers that
//! are not used.

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::Socket;
use super::event_loop::Loop;
use super::short;
use super::socket::now_ms;
use crate::buffers;

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(250);
/// Every so many ticks the loops are balanced, and unused buffers are freed.
const BALANCE_EVERY: u64 = 4;
/// Times in a row that the loops must be out of balance before connections move.
const IN_A_ROW: u32 = 2;
/// A loop that is busy for less than this much of the time is not helped.
const BUSY: f64 = 0.5;
/// How much more than what evens the loops out may move.
const SLACK: f64 = 1.25;
/// Connections that a loop may have beyond twice those of another one.
const SPREAD: usize = 16;

/// Starts the thread that ends late waits, frees unused buffers and balances the loops, until they end. The last of them is the one
/// for short messages.
pub(super) fn start(loops: &Arc<[Arc<Loop>]>) -> io::Result<()> {
    let loops = Arc::downgrade(loops);
    thread::Builder::new().name("balance".into()).spawn(move || run(&loops)).map(drop)
}

fn run(loops: &Weak<[Arc<Loop>]>) {
    let (mut ticks, mut uneven) = (0, 0);
    loop {
        thread::sleep(TICK);
        let Some(loops) = loops.upgrade() else { return };
        if loops.iter().all(|one| one.is_over()) {
            return;
        }
        ticks += 1;
        let sockets: Vec<_> = loops.iter().map(|one| one.sockets()).collect();
        let now = now_ms();
        sockets.iter().flatten().for_each(|socket| socket.end_late(now));
        if ticks % BALANCE_EVERY == 0 {
            buffers::free_unused();
        }
        short::sort_out(&loops, &sockets, TICK);
        if ticks % BALANCE_EVERY == 0 {
            let general = &loops[..short::place(&loops)];
            let loads = general.iter().zip(sockets).map(|(one, sockets)| {
                let busy = one.take_busy() as f64 / (TICK * BALANCE_EVERY as u32).as_nanos() as f64;
                let work = sockets.iter().map(|socket| socket.take_work()).collect();
                (Load { busy, work }, sockets)
            });
            let (loads, sockets): (Vec<_>, Vec<_>) = loads.unzip();
            balance(&loads, &sockets, &mut uneven);
        }
    }
}

/// What a loop did since the last look.
struct Load {
    /// The part of the time in which it had something to do.
    busy: f64,
    /// What each of its connections did.
    work: Vec<u64>,
}

fn balance(loads: &[Load], sockets: &[Vec<Arc<Socket>>], uneven: &mut u32) {
    let Some((from, to, moved)) = plan(loads) else {
        *uneven = 0;
        return;
    };
    *uneven += 1;
    if *uneven >= IN_A_ROW {
        *uneven = 0;
        tracing::debug!(from, to, connections = moved.len(), "connections move to another loop");
        moved.into_iter().for_each(|at| sockets[from][at].move_to(to));
    }
}

/// Which connections to move from which loop to which.
fn plan(loads: &[Load]) -> Option<(usize, usize, Vec<usize>)> {
    let by_busy = |(_, one): &(usize, &Load), (_, other): &(usize, &Load)| one.busy.total_cmp(&other.busy);
    let (from, most) = loads.iter().enumerate().max_by(by_busy)?;
    let (to, least) = loads.iter().enumerate().min_by(by_busy)?;
    if most.busy >= BUSY && least.busy < most.busy / 2.0 {
        let moved = busy_ones(most, least);
        if !moved.is_empty() {
            return Some((from, to, moved));
        }
    }
    let by_count = |(_, load): &(usize, &Load)| load.work.len();
    let (from, most) = loads.iter().enumerate().max_by_key(by_count)?;
    let (to, least) = loads.iter().enumerate().min_by_key(by_count)?;
    if most.work.len() <= 2 * least.work.len() + SPREAD {
        return None;
    }
    // The idle ones first: the busy ones are where they should be.
    let mut moved: Vec<usize> = (0..most.work.len()).collect();
    moved.sort_by_key(|at| most.work[*at]);
    moved.truncate((most.work.len() - least.work.len()) / 2);
    Some((from, to, moved))
}

/// Connections that do about half of what one loop does more than the other: never all that it does.
fn busy_ones(most: &Load, least: &Load) -> Vec<usize> {
    let total: u64 = most.work.iter().sum();
    let share = (most.busy - least.busy) / most.busy / 2.0;
    let mut left = (total as f64 * share * SLACK) as u64;
    let mut moved: Vec<usize> = (0..most.work.len()).filter(|at| most.work[*at] > 0).collect();
    moved.sort_by_key(|at| std::cmp::Reverse(most.work[*at]));
    moved.retain(|at| {
        let fits = most.work[*at] <= left;
        left -= if fits { most.work[*at] } else { 0 };
        fits
    });
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(busy: f64, work: &[u64]) -> Load {
        Load { busy, work: work.to_vec() }
    }

    #[test]
    fn the_only_busy_connection_stays_where_it_is() {
        assert_eq!(plan(&[load(1.0, &[100, 0, 0]), load(0.0, &[0])]), None);
    }

    #[test]
    fn of_two_busy_connections_on_one_loop_one_moves() {
        assert_eq!(plan(&[load(0.1, &[0]), load(1.0, &[90, 100, 0])]), Some((1, 0, vec![1])));
        assert_eq!(plan(&[load(0.6, &[50]), load(1.0, &[90, 100])]), None, "both loops are busy");
    }

    #[test]
    fn idle_connections_spread_over_the_loops() {
        let (from, to, moved) = plan(&[load(0.0, &[0; 10_000]), load(0.0, &[])]).unwrap();
        assert_eq!((from, to, moved.len()), (0, 1, 5000));
        assert_eq!(plan(&[load(0.0, &[0; 16]), load(0.0, &[])]), None);
    }
}
