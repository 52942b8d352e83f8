//! A limit of lines in the log: a disk that fails, fails every call.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lines within [`PERIOD`].
const LINES: u64 = 10;
const PERIOD: Duration = Duration::from_secs(60);

/// Admits ten lines a minute. Both counts are approximate when threads meet.
pub struct LineLimiter {
    /// When the period began, in milliseconds.
    since: AtomicU64,
    lines: AtomicU64,
    left_out: AtomicU64,
}

impl Default for LineLimiter {
    fn default() -> Self {
        Self::new()
    }
}

impl LineLimiter {
    /// A limiter that has admitted no line yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { since: AtomicU64::new(0), lines: AtomicU64::new(0), left_out: AtomicU64::new(0) }
    }

    /// Whether a line may be written now, and how many were left out before it.
    pub fn admit(&self) -> Option<u64> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        self.admit_at(START.elapsed())
    }

    fn admit_at(&self, now: Duration) -> Option<u64> {
        let now = now.as_millis() as u64;
        let since = self.since.load(Ordering::Relaxed);
        if now.saturating_sub(since) >= PERIOD.as_millis() as u64
            && self.since.compare_exchange(since, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.lines.store(0, Ordering::Relaxed);
        }
        if self.lines.fetch_add(1, Ordering::Relaxed) < LINES {
            return Some(self.left_out.swap(0, Ordering::Relaxed));
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_a_minute_are_written_and_the_others_counted() {
        let limiter = LineLimiter::new();
        let admitted = (0..25).filter(|_| limiter.admit_at(Duration::from_secs(1)).is_some()).count();
        assert_eq!(admitted, 10);
        assert_eq!(limiter.admit_at(Duration::from_secs(59)), None);
        assert_eq!(limiter.admit_at(Duration::from_secs(61)), Some(16));
        assert_eq!(limiter.admit_at(Duration::from_secs(62)), Some(0));
    }
}
