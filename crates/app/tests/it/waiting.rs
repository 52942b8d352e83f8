//! Tests wait for a condition, not for a time.

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime};

/// More than any condition takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Most conditions are asked of a server.
const PAUSE: Duration = Duration::from_millis(10);

/// Whether the condition holds within this time.
pub(crate) fn is_so_within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Waits until the condition holds. Fails with `what` if it never does.
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    assert!(is_so_within(LIMIT, is_so), "after {} s: {what}", LIMIT.as_secs());
}

/// Asks repeatedly until the answer is this one.
pub(crate) fn until_equal<T: PartialEq + Debug>(expected: &T, mut ask: impl FnMut() -> T) {
    let mut last = None;
    let is_so = is_so_within(LIMIT, || *last.insert(ask()) == *expected);
    assert!(is_so, "still {last:?}, not {expected:?}");
}

/// Waits until the clock shows another second, for names and times that are made of seconds.
pub(crate) fn until_next_second() {
    let second = || SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    let now = second();
    until("the clock stands still", || second() != now);
}
