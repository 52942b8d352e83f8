//! Running where the client runs, for a client on this machine that is alone.
//!
//! When a client on the same machine waits for each reply, client and server are never busy at once, and the scheduler
//! still puts them on two processors, each of which has to be woken from its sleep for every message: some 50 µs on a
//! virtual machine, where the whole exchange takes 12 on one processor. So while one local client is the only one that
//! asks, the thread that answers it keeps to the processor that the client's last message came from. As soon as
//! somebody else asks, threads go back to wherever the scheduler puts them.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Messages in a row after which a client counts as alone.
const ALONE_AFTER: u64 = 64;
/// Every so many messages the thread looks where the client is now.
const LOOK_EVERY: u64 = 32;

/// Which connection asked last, and how often in a row.
static LAST: AtomicU64 = AtomicU64::new(0);
static IN_A_ROW: AtomicU64 = AtomicU64::new(0);
/// The processors that this process may use.
static ALL: OnceLock<Option<CpuSet>> = OnceLock::new();

thread_local! {
    /// The processor that this thread keeps to.
    static KEPT_TO: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Notes a message of a local client, and moves this thread when that pays. `waits` when nothing of the client is left to
/// do or to send after it: one with more under way is best served by a second processor.
pub(crate) fn follow(connection: u64, socket: BorrowedFd<'_>, waits: bool) {
    if LAST.load(Ordering::Relaxed) != connection || !waits {
        LAST.store(connection, Ordering::Relaxed);
        IN_A_ROW.store(0, Ordering::Relaxed);
        return run_anywhere();
    }
    let in_a_row = IN_A_ROW.load(Ordering::Relaxed) + 1;
    IN_A_ROW.store(in_a_row, Ordering::Relaxed);
    if in_a_row < ALONE_AFTER {
        run_anywhere();
    } else if in_a_row.is_multiple_of(LOOK_EVERY)
        && let Ok(processor) = rustix::net::sockopt::socket_incoming_cpu(socket)
    {
        keep_to(processor as usize);
    }
}

/// Lets this thread run anywhere again.
pub(crate) fn run_anywhere() {
    if KEPT_TO.get().is_some()
        && let Some(all) = all()
        && sched_setaffinity(None, all).is_ok()
    {
        KEPT_TO.set(None);
    }
}

/// For a thread that has just been started: it runs anywhere, whichever thread started it.
pub fn begin_thread() {
    if let Some(all) = all() {
        let _ = sched_setaffinity(None, all); // it runs all the same
    }
}

fn keep_to(processor: usize) {
    let allowed = all().is_some_and(|all| processor < CpuSet::MAX_CPU && all.is_set(processor));
    if KEPT_TO.get() == Some(processor) || !allowed {
        return;
    }
    let mut one = CpuSet::new();
    one.set(processor);
    if sched_setaffinity(None, &one).is_ok() {
        KEPT_TO.set(Some(processor));
    }
}

/// Asked before any thread has been moved.
fn all() -> Option<&'static CpuSet> {
    ALL.get_or_init(|| sched_getaffinity(None).ok()).as_ref()
}
