//! Waiting for leases that other clients give back.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::rpc::Call;

/// How long a call waits before its client is told to send it again later. Linux sends it again only after 5 s (JUKEBOX, and
/// DENIED_GRACE_PERIOD of NLM), while a client that is there gives its lease back within milliseconds.
const LIMIT: Duration = Duration::from_secs(1);
/// How often a call is tried in that time: others may have got leases again.
const MOST_TRIES: u32 = 8;

/// The attempts of one call.
#[derive(Debug)]
pub(super) struct Attempts {
    deadline: Option<Instant>,
    left: u32,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { deadline: None, left: MOST_TRIES }
    }
}

impl Attempts {
    /// After an attempt that may have met a lease: waits until no lease is being recalled. Answers whether to try again.
    pub(super) async fn again(&mut self, call: &Call<'_>) -> bool {
        let mut volumes: Vec<_> = call.service.exports().iter().map(|export| export.volume.clone()).collect();
        volumes.retain(|volume| volume.is_recalling());
        if volumes.is_empty() || self.left == 0 {
            return false;
        }
        self.left -= 1;
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + LIMIT);
        for volume in volumes {
            if timeout_at(deadline, volume.recalled()).await.is_err() {
                return false;
            }
        }
        true
    }
}
