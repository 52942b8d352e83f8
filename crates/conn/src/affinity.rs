//! The CPU affinity of a loop's thread, for a client on this machine that is alone.
//!
//! A client that waits for each reply and its server are never busy at the same time. The scheduler still puts them on two
//! processors, and each message has to wake one of these from its sleep: reads of 4 KiB by one SMB client then reach 15,000
//! a second here, and 40,000 on one processor. So while one local client is the only one that sends requests, the thread
//! that answers it runs on the processor that the client's last message came from. When another client sends one, threads
//! run on all processors again.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Messages in a row after which a client counts as alone.
const ALONE_AFTER: u64 = 64;
/// After this many messages the thread looks again from which processor they come.
const LOOK_EVERY: u64 = 32;

/// The connection that sent the last message, and how many in a row it has sent.
static LAST: AtomicU64 = AtomicU64::new(0);
static IN_A_ROW: AtomicU64 = AtomicU64::new(0);
/// The processors that this process may use.
static ALL: OnceLock<Option<CpuSet>> = OnceLock::new();

thread_local! {
    /// The one processor that this thread may use.
    static BOUND_TO: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Notes a message of a local client, and binds this thread to a processor if the client is alone. `waits`: the client waits
/// for the reply to this message, and for nothing else. A client with more in flight is better served by a second processor.
pub(crate) fn follow(connection: u64, socket: BorrowedFd<'_>, waits: bool) {
    if !waits {
        if LAST.load(Ordering::Relaxed) == connection {
            IN_A_ROW.store(0, Ordering::Relaxed);
        }
        return run_on_all();
    }
    if LAST.load(Ordering::Relaxed) != connection {
        LAST.store(connection, Ordering::Relaxed);
        IN_A_ROW.store(0, Ordering::Relaxed);
        return run_on_all();
    }
    let in_a_row = IN_A_ROW.load(Ordering::Relaxed) + 1;
    IN_A_ROW.store(in_a_row, Ordering::Relaxed);
    if in_a_row < ALONE_AFTER {
        run_on_all();
    } else if in_a_row.is_multiple_of(LOOK_EVERY)
        && let Ok(processor) = rustix::net::sockopt::socket_incoming_cpu(socket)
    {
        bind_to(processor as usize);
    }
}

/// Lets this thread run on all processors again.
pub(crate) fn run_on_all() {
    if BOUND_TO.get().is_some()
        && let Some(all) = all()
        && sched_setaffinity(None, all).is_ok()
    {
        BOUND_TO.set(None);
    }
}

/// For a thread that has just been started: it may use all processors, whichever thread started it.
pub fn begin_thread() {
    if let Some(all) = all() {
        let _ = sched_setaffinity(None, all); // only costs speed
    }
}

fn bind_to(processor: usize) {
    let allowed = all().is_some_and(|all| processor < CpuSet::MAX_CPU && all.is_set(processor));
    if BOUND_TO.get() == Some(processor) || !allowed {
        return;
    }
    let mut one = CpuSet::new();
    one.set(processor);
    if sched_setaffinity(None, &one).is_ok() {
        BOUND_TO.set(Some(processor));
    }
}

/// First called before any thread is bound.
fn all() -> Option<&'static CpuSet> {
    ALL.get_or_init(|| sched_getaffinity(None).ok()).as_ref()
}
