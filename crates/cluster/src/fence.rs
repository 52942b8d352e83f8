//! Until when this server may answer: other servers take its state only after that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time until which this server is surely a member. It is compared with the clock each time, so a server that
/// was stopped for a while finds out before it answers.
#[derive(Debug, Default)]
pub struct Fence {
    /// In nanoseconds of [`now`]; 0 before the server has been a member.
    until: AtomicU64,
}

impl Fence {
    /// A server that is not a member yet: everything waits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The server is a member until then. Never earlier than before.
    pub fn extend(&self, until: Duration) {
        self.until.fetch_max(nanos(until), Ordering::AcqRel);
    }

    /// The server is not a member from now on.
    pub fn close(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Whether the server may not answer any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        nanos(now()) >= self.until.load(Ordering::Acquire)
    }

    /// How long the server may still answer.
    #[must_use]
    pub fn left(&self) -> Duration {
        Duration::from_nanos(self.until.load(Ordering::Acquire).saturating_sub(nanos(now())))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The time since the host's start, with the time that it slept. No setting of the clock changes it.
#[must_use]
pub fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
