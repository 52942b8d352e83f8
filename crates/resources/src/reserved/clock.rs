//! Times as numbers, which atomics can have.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Times that are earlier than the first one are told apart for so long.
const EARLIER: Duration = Duration::from_secs(2);

/// Nanoseconds since the first call, and more than 0.
pub(super) fn nanos(time: Instant) -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = FIRST.get_or_init(|| time.checked_sub(EARLIER).unwrap_or(time));
    u64::try_from(time.saturating_duration_since(*first).as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}
