//! The mutex with a rank: `lock` verifies the order in debug builds, and registers a thread that has to wait.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::held::HeldLock;
use crate::holder::Holder;
use crate::rank::Rank;
use crate::waiting::{self, RETRY};

/// [`parking_lot::Mutex`] with the rank `R`.
pub struct Mutex<T: ?Sized, R: Rank> {
    holder: R::Holder,
    inner: parking_lot::Mutex<T>,
}

/// Releases the lock when it is dropped.
pub struct MutexGuard<'a, T: ?Sized, R: Rank> {
    pub(crate) inner: parking_lot::MutexGuard<'a, T>,
    held: HeldLock<R>,
}

impl<T, R: Rank> Mutex<T, R> {
    /// Makes a lock that no thread holds.
    pub const fn new(value: T) -> Self {
        Self { holder: R::Holder::NEW, inner: parking_lot::Mutex::new(value) }
    }

    /// The protected value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized, R: Rank> Mutex<T, R> {
    /// Waits until no other thread has the lock.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T, R> {
        let held = HeldLock::<R>::in_order();
        let inner = match self.inner.try_lock() {
            Some(inner) => inner,
            None => self.wait(),
        };
        self.holder.set();
        MutexGuard { inner, held }
    }

    /// Takes the lock if no thread has it. This call does not wait, so it may come in any order.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, R>> {
        let inner = self.inner.try_lock()?;
        self.holder.set();
        Some(MutexGuard { inner, held: HeldLock::in_any_order() })
    }

    /// Access without locking: no other thread can have the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    #[cold]
    fn wait(&self) -> parking_lot::MutexGuard<'_, T> {
        waiting::wait::<R, _>(&self.holder, || self.inner.try_lock_for(RETRY))
    }
}

impl<T: Default, R: Rank> Default for Mutex<T, R> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized, R: Rank> fmt::Debug for Mutex<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mutex({})", R::NAME)
    }
}

impl<T: ?Sized, R: Rank> MutexGuard<'_, T, R> {
    /// In debug builds, panics when the thread holds another lock, too.
    #[track_caller]
    pub(crate) fn assert_alone(&self) {
        self.held.assert_alone();
    }
}

impl<T: ?Sized, R: Rank> Deref for MutexGuard<'_, T, R> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized, R: Rank> DerefMut for MutexGuard<'_, T, R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}
