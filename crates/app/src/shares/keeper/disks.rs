//! The looks at the machine's disks, where no timer of the system makes them. A disk that fails may hold one up for minutes, so that
//! each is on a thread of its own.

use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::host::health;

/// The first look is not made at once: the start of a machine has other work for its disks.
const FIRST_AFTER: Duration = Duration::from_secs(180);

/// The look that is being made.
pub(super) struct HealthLooks {
    begun: Instant,
    look: Option<JoinHandle<()>>,
}

impl HealthLooks {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), look: None }
    }

    /// Begins a look, if what is kept is old and none is being made.
    pub(super) fn look(&mut self, state: &Path) {
        let is_busy = self.look.as_ref().is_some_and(|look| !look.is_finished());
        if is_busy || self.begun.elapsed() < FIRST_AFTER {
            return;
        }
        let before = health::read(state);
        if !health::is_old(&before) {
            return;
        }
        let state = state.to_owned();
        let look = move || {
            if let Err(error) = health::write(&state, &health::look(&before)) {
                tracing::warn!(%error, "the health of the disks is not kept");
            }
        };
        self.look = Some(std::thread::spawn(look));
    }
}
