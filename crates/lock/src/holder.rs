//! The thread that holds a lock.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

thread_local! {
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

/// The kernel's number of this thread.
#[inline]
pub(crate) fn this_thread() -> u32 {
    match THREAD.get() {
        0 => first_asked(),
        number => number,
    }
}

#[cold]
fn first_asked() -> u32 {
    let number = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    THREAD.set(number);
    number
}

/// What a lock remembers of the thread that has it.
pub trait Holder: Send + Sync {
    /// No thread has had the lock.
    const NEW: Self;
    /// Records that this thread has the lock now.
    fn set(&self);
    /// The thread that has it, or had it last.
    fn get(&self) -> Option<u32>;
}

/// The holder of most locks.
pub struct RecordedHolder(AtomicU32);

impl Holder for RecordedHolder {
    const NEW: Self = Self(AtomicU32::new(0));

    #[inline]
    fn set(&self) {
        self.0.store(this_thread(), Ordering::Relaxed);
    }

    fn get(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|number| *number != 0)
    }
}

/// The holder of locks that are so numerous that a field for the thread would take too much memory.
pub struct UnrecordedHolder;

impl Holder for UnrecordedHolder {
    const NEW: Self = Self;

    #[inline]
    fn set(&self) {}

    fn get(&self) -> Option<u32> {
        None
    }
}
