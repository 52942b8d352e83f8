//! A condition variable whose waiting thread holds no other lock.

use std::time::Duration;

use crate::mutex::MutexGuard;
use crate::rank::Rank;

/// [`parking_lot::Condvar`]. A thread that waits for a condition holds no lock but the condition's.
#[derive(Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// Makes a condition that no thread waits for.
    pub const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    /// Wakes one of the threads that wait.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Releases the lock, waits, and takes the lock again.
    #[track_caller]
    pub fn wait<T: ?Sized, R: Rank>(&self, guard: &mut MutexGuard<'_, T, R>) {
        guard.assert_alone();
        self.0.wait(&mut guard.inner);
    }

    /// Like [`Self::wait`], but for at most this time.
    #[track_caller]
    pub fn wait_for<T: ?Sized, R: Rank>(&self, guard: &mut MutexGuard<'_, T, R>, time: Duration) {
        guard.assert_alone();
        self.0.wait_for(&mut guard.inner, time);
    }
}
