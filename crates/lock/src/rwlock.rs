//! The lock for readers and writers with a rank, as `mutex.rs`.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::held::HeldLock;
use crate::holder::Holder;
use crate::rank::Rank;
use crate::waiting::{self, RETRY};

/// [`parking_lot::RwLock`] with the rank `R`.
pub struct RwLock<T: ?Sized, R: Rank> {
    /// The thread that last wrote; readers are not registered.
    holder: R::Holder,
    inner: parking_lot::RwLock<T>,
}

/// Releases the lock when it is dropped.
pub struct RwLockReadGuard<'a, T: ?Sized, R: Rank> {
    inner: parking_lot::RwLockReadGuard<'a, T>,
    _held: HeldLock<R>,
}

/// Releases the lock when it is dropped.
pub struct RwLockWriteGuard<'a, T: ?Sized, R: Rank> {
    inner: parking_lot::RwLockWriteGuard<'a, T>,
    _held: HeldLock<R>,
}

impl<T, R: Rank> RwLock<T, R> {
    /// Makes a lock that no thread holds.
    pub const fn new(value: T) -> Self {
        Self { holder: R::Holder::NEW, inner: parking_lot::RwLock::new(value) }
    }

    /// The protected value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized, R: Rank> RwLock<T, R> {
    /// Waits until no thread writes. A thread must not hold two read locks at a time: a writer that
    /// waits between the two would block it.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T, R> {
        let held = HeldLock::in_order();
        let inner = match self.inner.try_read() {
            Some(inner) => inner,
            None => self.wait_to_read(),
        };
        RwLockReadGuard { inner, _held: held }
    }

    /// Waits until no other thread reads or writes.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T, R> {
        let held = HeldLock::in_order();
        let inner = match self.inner.try_write() {
            Some(inner) => inner,
            None => self.wait_to_write(),
        };
        self.holder.set();
        RwLockWriteGuard { inner, _held: held }
    }

    /// Access without locking: no other thread can have the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    #[cold]
    fn wait_to_read(&self) -> parking_lot::RwLockReadGuard<'_, T> {
        waiting::wait::<R, _>(&self.holder, || self.inner.try_read_for(RETRY))
    }

    #[cold]
    fn wait_to_write(&self) -> parking_lot::RwLockWriteGuard<'_, T> {
        waiting::wait::<R, _>(&self.holder, || self.inner.try_write_for(RETRY))
    }
}

impl<T: Default, R: Rank> Default for RwLock<T, R> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized, R: Rank> fmt::Debug for RwLock<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RwLock({})", R::NAME)
    }
}

impl<T: ?Sized, R: Rank> Deref for RwLockReadGuard<'_, T, R> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized, R: Rank> Deref for RwLockWriteGuard<'_, T, R> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized, R: Rank> DerefMut for RwLockWriteGuard<'_, T, R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}
