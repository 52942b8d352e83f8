#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::rank::{AbsentClients, EventQueue, IndexAlarm, Outbox, StateFiles, TABLE};
use crate::waiting::{self, WaitingThread};
use crate::{Condvar, Mutex, Rank, RwLock};

/// The message of the panic of a thread.
fn panics(act: impl FnOnce() + Send + 'static) -> String {
    let panic = thread::spawn(act).join().expect_err("a panic");
    *panic.downcast::<String>().expect("a message")
}

#[test]
fn locks_are_taken_in_the_order_of_the_table() {
    let outer = Mutex::<_, AbsentClients>::new(1);
    let (middle, inner) = (RwLock::<_, StateFiles>::new(2), Mutex::<_, EventQueue>::new(3));
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
        let (outer, inner) = (Mutex::<_, AbsentClients>::new(1), RwLock::<_, EventQueue>::new(3));
        let _inner = inner.write();
        let _outer = outer.lock();
    });
    assert!(said.contains("`AbsentClients` is wanted at") && said.contains("`EventQueue` is held"), "{said}");
}

#[cfg(debug_assertions)]
#[test]
fn two_locks_of_one_rank_panic_and_so_does_reading_twice() {
    let said = panics(|| {
        let (one, other) = (Mutex::<_, StateFiles>::new(1), Mutex::<_, StateFiles>::new(2));
        let _one = one.lock();
        let _other = other.lock();
    });
    assert!(said.contains("`StateFiles` is wanted"), "{said}");
    let said = panics(|| {
        let lock = RwLock::<_, StateFiles>::new(1);
        let _one = lock.read();
        let _other = lock.read();
    });
    assert!(said.contains("`StateFiles` is wanted"), "{said}");
}

#[cfg(debug_assertions)]
#[test]
fn a_lock_that_was_tried_counts_from_then_on() {
    let said = panics(|| {
        let outer = Mutex::<_, AbsentClients>::new(1);
        let (middle, inner) = (Mutex::<_, StateFiles>::new(2), Mutex::<_, EventQueue>::new(3));
        let _inner = inner.lock();
        let _outer = outer.try_lock().expect("free");
        let _middle = middle.lock();
    });
    assert!(said.contains("`StateFiles` is wanted") && said.contains("`EventQueue` is held"), "{said}");
}

#[cfg(debug_assertions)]
#[test]
fn a_thread_that_waits_for_a_condition_holds_nothing_else() {
    let said = panics(|| {
        let (outer, alarm, rang) =
            (Mutex::<_, StateFiles>::new(1), Mutex::<_, IndexAlarm>::new(2), Condvar::new());
        let _outer = outer.lock();
        rang.wait_for(&mut alarm.lock(), Duration::from_millis(1));
    });
    assert!(said.contains("waits with `IndexAlarm` while it holds `StateFiles`"), "{said}");
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
    let lock = Arc::new(Mutex::<_, Outbox>::new(1));
    let held = lock.lock();
    let (tell, told) = mpsc::channel();
    let other = lock.clone();
    let waits = thread::spawn(move || {
        tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
        *other.lock()
    });
    let thread = told.recv().unwrap();
    let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    let expected = WaitingThread { thread, lock: "Outbox", holder: Some(own) };
    until("it is not listed", || waiting::list().contains(&expected));
    drop(held);
    assert_eq!(waits.join().unwrap(), 1);
    assert!(!waiting::list().contains(&expected));
}

#[test]
fn a_rank_costs_no_memory_and_its_number_is_its_row() {
    assert_eq!(size_of::<Mutex<u64, crate::rank::EntryDetails>>(), size_of::<parking_lot::Mutex<u64>>());
    assert_eq!(TABLE[StateFiles::NUMBER].name, "StateFiles");
}

/// docs/design/lock-order.md has the rows of the table, in their order. `FOURFOLD_WRITE_DOCS=1`
/// writes them.
#[test]
fn the_table_is_on_its_page() {
    const HEAD: &str = "| rank | what it protects |\n|---|---|\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/design/lock-order.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(HEAD).expect("a table of ranks");
    let (there, after) = rest.split_once("\n\n").expect("an end of the table");
    let row = |row: &crate::rank::Row| format!("| `{}` | {} |", row.name, row.doc.trim());
    let rows: Vec<String> = TABLE.iter().map(row).collect();
    if std::env::var_os("FOURFOLD_WRITE_DOCS").is_some() {
        std::fs::write(path, [before, HEAD, &rows.join("\n"), "\n\n", after].concat()).unwrap();
    } else {
        assert_eq!(there, rows.join("\n"), "FOURFOLD_WRITE_DOCS=1 cargo test -p lock writes the table");
    }
}
