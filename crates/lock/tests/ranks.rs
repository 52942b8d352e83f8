//! The order of locks as threads meet it: what panics, what it costs, and which threads wait.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use lock::rank::{Band, number};
use lock::waiting::{self, WaitingThread};
use lock::{Condvar, Mutex, Rank, RwLock};

lock::ranks! {
    Band::Tree, from 0;

    /// Taken first.
    Outer,
    /// Taken in between.
    Middle,
}

lock::ranks! {
    Band::Sending, from 7;

    /// Taken last.
    Inner,
    /// So numerous that it records no holder.
    Small: UnrecordedHolder,
}

/// The message of the panic of a thread.
fn panics(act: impl FnOnce() + Send + 'static) -> String {
    let panic = thread::spawn(act).join().expect_err("a panic");
    *panic.downcast::<String>().expect("a message")
}

#[test]
fn locks_are_taken_in_the_order_of_their_ranks() {
    let outer = Mutex::<_, Outer>::new(1);
    let (middle, inner) = (RwLock::<_, Middle>::new(2), Mutex::<_, Inner>::new(3));
    let (one, two, three) = (outer.lock(), middle.read(), inner.lock());
    assert_eq!((*one, *two, *three), (1, 2, 3));
    drop(one); // drop(one); // not the last lock that was taken
    drop((two, three));
    assert_eq!((*outer.lock(), *middle.write()), (1, 2));
}

#[cfg(debug_assertions)]
#[test]
fn the_wrong_order_panics_with_both_names() {
    let said = panics(|| {
        let (outer, inner) = (Mutex::<_, Outer>::new(1), RwLock::<_, Inner>::new(3));
        let _inner = inner.write();
        let _outer = outer.lock();
    });
    assert!(said.contains("`Outer` is wanted at") && said.contains("`Inner` is held"), "{said}");
}

#[cfg(debug_assertions)]
#[test]
fn two_locks_of_one_rank_panic_and_so_does_reading_twice() {
    let said = panics(|| {
        let (one, other) = (Mutex::<_, Middle>::new(1), Mutex::<_, Middle>::new(2));
        let _one = one.lock();
        let _other = other.lock();
    });
    assert!(said.contains("`Middle` is wanted"), "{said}");
    let said = panics(|| {
        let lock = RwLock::<_, Middle>::new(1);
        let _one = lock.read();
        let _other = lock.read();
    });
    assert!(said.contains("`Middle` is wanted"), "{said}");
}

#[cfg(debug_assertions)]
#[test]
fn a_lock_that_was_tried_counts_from_then_on() {
    let said = panics(|| {
        let outer = Mutex::<_, Outer>::new(1);
        let (middle, inner) = (Mutex::<_, Middle>::new(2), Mutex::<_, Inner>::new(3));
        let _inner = inner.lock();
        let _outer = outer.try_lock().expect("free");
        let _middle = middle.lock();
    });
    assert!(said.contains("`Middle` is wanted") && said.contains("`Inner` is held"), "{said}");
}

#[cfg(debug_assertions)]
#[test]
fn a_thread_that_waits_for_a_condition_holds_nothing_else() {
    let said = panics(|| {
        let (outer, alarm, rang) = (Mutex::<_, Middle>::new(1), Mutex::<_, Inner>::new(2), Condvar::new());
        let _outer = outer.lock();
        rang.wait_for(&mut alarm.lock(), Duration::from_millis(1));
    });
    assert!(said.contains("waits with `Inner` while it holds `Middle`"), "{said}");
}

/// Blocks until the condition holds. Fails with `what` if it never does.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_thread_that_waits_is_listed_with_the_holder_until_it_has_the_lock() {
    let lock = Arc::new(Mutex::<_, Inner>::new(1));
    let held = lock.lock();
    let (tell, told) = mpsc::channel();
    let other = lock.clone();
    let waits = thread::spawn(move || {
        tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
        *other.lock()
    });
    let thread = told.recv().unwrap();
    let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    let expected = WaitingThread { thread, lock: "Inner", holder: Some(own) };
    until("it is not listed", || waiting::list().contains(&expected));
    drop(held);
    assert_eq!(waits.join().unwrap(), 1);
    assert!(!waiting::list().contains(&expected));
}

#[test]
fn a_rank_costs_no_memory() {
    assert_eq!(size_of::<Mutex<u64, Small>>(), size_of::<parking_lot::Mutex<u64>>());
    assert_eq!(size_of::<Mutex<u64, Inner>>(), size_of::<Mutex<u64, Outer>>());
}

#[test]
fn a_rank_counts_from_the_first_of_its_band() {
    assert_eq!(Outer::NUMBER, number(Band::Tree, 0));
    assert_eq!(Middle::NUMBER, Outer::NUMBER + 1);
    assert_eq!(Small::NUMBER, number(Band::Sending, 8));
    assert!(number(Band::Tree, 1023) < number(Band::Elsewhere, 0));
}
