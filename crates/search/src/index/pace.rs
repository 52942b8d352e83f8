//! The pace of the thread that keeps an index: it leaves the processor and the disks to others.

use std::time::{Duration, Instant};

/// Of the time, one part in so many is worked.
const PART: u32 = 2;
/// How long it works before it pauses.
const STRETCH: Duration = Duration::from_millis(10);
/// The lowest priority of a thread: it gets what others leave. Its requests to disks wait longer, too.
const NICE: i32 = 19;

/// When the next pause is due.
pub(super) struct Pace {
    since: Instant,
}

impl Pace {
    /// The pace of this thread, which gets the lowest priority.
    pub(super) fn of_this_thread() -> Self {
        // On Linux, this is the priority of the calling thread.
        if let Err(error) = rustix::process::setpriority_process(None, NICE) {
            tracing::debug!(%error, "the priority of the thread of an index stays");
        }
        Self { since: Instant::now() }
    }

    /// A pause, if it is time for one.
    pub(super) fn rest(&mut self) {
        let worked = self.since.elapsed();
        if worked >= STRETCH {
            std::thread::sleep(worked.min(STRETCH * 10) * (PART - 1));
            self.since = Instant::now();
        }
    }

    /// A pause was made anyway.
    pub(super) fn restart(&mut self) {
        self.since = Instant::now();
    }
}
