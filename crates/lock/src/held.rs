//! The locks that a thread holds, in debug builds.

#[cfg(debug_assertions)]
pub(crate) use checked::HeldLock;
#[cfg(debug_assertions)]
pub use checked::taken;
#[cfg(not(debug_assertions))]
pub(crate) use unchecked::HeldLock;
#[cfg(not(debug_assertions))]
pub use unchecked::taken;

#[cfg(not(debug_assertions))]
mod unchecked {
    use std::marker::PhantomData;

    use crate::rank::Rank;

    /// How many locks this thread has taken: not counted in release builds.
    pub fn taken() -> u64 {
        0
    }

    /// One lock that a thread holds. Release builds record nothing.
    pub(crate) struct HeldLock<R>(PhantomData<R>);

    impl<R: Rank> HeldLock<R> {
        #[inline(always)]
        pub(crate) fn in_order() -> Self {
            Self(PhantomData)
        }

        #[inline(always)]
        pub(crate) fn in_any_order() -> Self {
            Self(PhantomData)
        }

        #[inline(always)]
        pub(crate) fn assert_alone(&self) {}
    }
}

#[cfg(debug_assertions)]
mod checked {
    use std::cell::{Cell, RefCell};
    use std::marker::PhantomData;
    use std::panic::Location;

    use crate::rank::Rank;

    /// Where a lock was taken.
    type Place = &'static Location<'static>;

    thread_local! {
        /// The locks that this thread holds or waits for, in the order in which it took them.
        static HELD: RefCell<Vec<Acquisition>> = const { RefCell::new(Vec::new()) };
        static TAKEN: Cell<u64> = const { Cell::new(0) };
    }

    /// How many locks this thread has taken, for tests that count what an operation costs.
    pub fn taken() -> u64 {
        TAKEN.get()
    }

    #[derive(Clone, Copy)]
    struct Acquisition {
        rank: usize,
        name: &'static str,
        place: Place,
    }

    /// One lock that a thread holds.
    pub(crate) struct HeldLock<R: Rank>(PhantomData<R>);

    impl<R: Rank> HeldLock<R> {
        /// Registers a lock that the thread is about to wait for. Panics when the thread holds a
        /// lock of the same or a higher rank.
        #[track_caller]
        pub(crate) fn in_order() -> Self {
            let place = Location::caller();
            // The variable may be gone in a thread that ends. A panic during unwinding would end
            // the process.
            let highest = HELD.try_with(|held| held.borrow().iter().max_by_key(|held| held.rank).copied());
            if let Ok(Some(held)) = highest
                && held.rank >= R::NUMBER
                && !std::thread::panicking()
            {
                let (wanted, taken, held) = (R::NAME, held.place, held.name);
                panic!("lock order: `{wanted}` is wanted at {place} while `{held}` is held since {taken}");
            }
            Self::push(place)
        }

        /// Registers a lock that the thread does not wait for.
        #[track_caller]
        pub(crate) fn in_any_order() -> Self {
            Self::push(Location::caller())
        }

        fn push(place: Place) -> Self {
            let taken = Acquisition { rank: R::NUMBER, name: R::NAME, place };
            let _ = HELD.try_with(|held| held.borrow_mut().push(taken));
            TAKEN.set(TAKEN.get() + 1);
            Self(PhantomData)
        }

        #[track_caller]
        pub(crate) fn assert_alone(&self) {
            let other =
                HELD.try_with(|held| held.borrow().iter().find(|held| held.rank != R::NUMBER).copied());
            if let Ok(Some(other)) = other
                && !std::thread::panicking()
            {
                let (own, taken, other) = (R::NAME, other.place, other.name);
                panic!("lock order: a thread waits with `{own}` while it holds `{other}` since {taken}");
            }
        }
    }

    impl<R: Rank> Drop for HeldLock<R> {
        fn drop(&mut self) {
            let _ = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                let last = held.iter().rposition(|held| held.rank == R::NUMBER);
                last.map(|at| held.remove(at));
            });
        }
    }
}
