//! The threads that wait for locks, for the report of a stalled server.

use std::cell::OnceCell;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::holder::{self, Holder};
use crate::rank::Rank;

/// A waiting thread reads the lock's holder again after this time.
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// A thread that waits for a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingThread {
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The name of the lock's rank.
    pub lock: &'static str,
    /// The thread that has the lock, or had it a second ago at most. Unknown for locks that are
    /// held for reading, and for the smallest locks.
    pub holder: Option<u32>,
}

/// What one thread waits for. A thread writes it only when it has to wait.
struct Slot {
    thread: u32,
    waiting: parking_lot::Mutex<Option<WaitingThread>>,
}

/// The slots of all threads that have waited. Its rank would be below all others: no call to
/// another module is made while it is held.
static SLOTS: parking_lot::Mutex<Vec<Weak<Slot>>> = parking_lot::Mutex::new(Vec::new());

thread_local! {
    static SLOT: OnceCell<Arc<Slot>> = const { OnceCell::new() };
}

/// The threads that wait now.
pub fn list() -> Vec<WaitingThread> {
    let slots: Vec<Arc<Slot>> = SLOTS.lock().iter().filter_map(Weak::upgrade).collect();
    slots.iter().filter_map(|slot| slot.waiting.lock().clone()).collect()
}

/// Registers that this thread waits for the lock, until `attempt` has it. One `attempt` waits for
/// [`RETRY`] at most.
pub(crate) fn wait<R: Rank, G>(holder: &R::Holder, mut attempt: impl FnMut() -> Option<G>) -> G {
    let slot = SLOT.try_with(|slot| slot.get_or_init(Slot::register).clone()).ok();
    loop {
        if let Some(slot) = &slot {
            let lock = R::NAME;
            *slot.waiting.lock() = Some(WaitingThread { thread: slot.thread, lock, holder: holder.get() });
        }
        if let Some(guard) = attempt() {
            if let Some(slot) = &slot {
                *slot.waiting.lock() = None;
            }
            return guard;
        }
    }
}

impl Slot {
    fn register() -> Arc<Self> {
        let slot = Arc::new(Self { thread: holder::this_thread(), waiting: parking_lot::Mutex::new(None) });
        let mut slots = SLOTS.lock();
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        slot
    }
}
