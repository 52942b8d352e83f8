//! Disk images whose contents are served for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::control::{BrowseAnswer, BrowseRequest};
use vfs::backend::host::as_ourselves;

use super::Running;
use crate::shares::browsing;
use crate::shares::volumes::Volumes;

/// How often it is looked whether one is to end.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Ends what is over, as long as the server runs.
pub(crate) async fn watch(running: Arc<Running>) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        every.tick().await;
        let running = running.clone();
        let _ = tokio::task::spawn_blocking(move || running.end_old_browsing()).await; // a panic there was logged
    }
}

impl Running {
    /// Executes a request, and has the protocols show what is served then.
    pub(super) fn execute_browse(&self, request: BrowseRequest) -> Result<BrowseAnswer, Vec<String>> {
        let is_listing = request == BrowseRequest::List;
        let answer = as_ourselves(|| browsing::execute(&self.parts.volumes, &self.current(), request));
        let answer =
            answer.map_err(anyhow::Error::from).flatten().map_err(|error| vec![format!("{error:#}")])?;
        if !is_listing && answer != BrowseAnswer::NeedsPassphrase {
            self.admit_again();
        }
        Ok(answer)
    }

    /// Ends what is over, or may not be read any more.
    pub(crate) fn end_old_browsing(&self) {
        let (volumes, current) = (&self.parts.volumes, self.current());
        let ended = as_ourselves(|| volumes.browsed().end_old(volumes, &current, Instant::now()));
        if ended.unwrap_or(false) {
            self.admit_again();
        }
    }

    /// The volumes of the shares.
    pub(crate) fn volumes(&self) -> &Arc<Volumes> {
        &self.parts.volumes
    }
}
