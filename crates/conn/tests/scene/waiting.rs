//! Tests wait for a condition, not for a time. The tests in `src` have this file, too.

use std::time::{Duration, Instant};

/// More than any condition takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Blocks until the condition holds. Fails with `what` if it never does.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "after {} s: {what}", LIMIT.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}
