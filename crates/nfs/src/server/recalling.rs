//! Waits until other clients give back leases.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use vfs::{FileId, Volume};

use super::call::Call;
use crate::wire::v3::{Arguments, NamedFile};

/// How long a call waits before its client is told to send it again later. Linux sends it again only after 5 s (JUKEBOX, and
/// DENIED_GRACE_PERIOD of NLM), while a client that is there gives its lease back within milliseconds.
pub(super) const LIMIT: Duration = Duration::from_secs(1);
/// How often a call is tried in that time: others may have got leases again.
const MOST_TRIES: u32 = 8;
/// How long a call waits for a locked range of another client, and between two tries.
const SHORT_LOCK: Duration = Duration::from_millis(100);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
/// Between two tries of a call that waits for the state of a file at another server, and does not say of which.
pub(super) const PAUSE: Duration = Duration::from_millis(2);

/// The attempts of one call of NFSv3.
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
    /// After an attempt that may have met a lease: waits until the leases of the files that the call names are returned.
    /// Answers whether to try again.
    pub(super) async fn again(&mut self, call: &Call<'_>, arguments: &Arguments<'_>) -> bool {
        let named = arguments.files();
        let mut files: Vec<_> = named.iter().flatten().filter_map(|named| found(call, named)).collect();
        files.retain(|(volume, file)| volume.is_recalling(*file));
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + LIMIT);
        if is_joined(call, named[0].as_ref()) {
            // It may be the state of a folder, of the owner of a sidecar, or one that has just come.
            sleep(PAUSE).await;
            if Instant::now() >= deadline {
                return false;
            }
        } else if files.is_empty() || self.left == 0 {
            return false;
        }
        self.left = self.left.saturating_sub(1);
        for (volume, file) in files {
            if timeout_at(deadline, volume.recalled(file)).await.is_err() {
                return false;
            }
        }
        true
    }
}

/// A READ or WRITE that a locked range of another client may refuse: it is repeated for [`SHORT_LOCK`] at most. Many locks
/// are short, and a client of NFSv3 does not repeat it itself.
#[derive(Debug, Default)]
pub(super) struct LockWait {
    deadline: Option<Instant>,
}

impl LockWait {
    /// Waits a little after a locked range has refused. Answers whether to try again.
    pub(super) async fn again<T>(&mut self, result: &vfs::Result<T>) -> bool {
        if !matches!(result, Err(vfs::Error::RangeLocked)) || tokio::runtime::Handle::try_current().is_err() {
            return false;
        }
        if Instant::now() >= *self.deadline.get_or_insert_with(|| Instant::now() + SHORT_LOCK) {
            return false;
        }
        sleep(BETWEEN_LOOKS).await;
        true
    }
}

/// Whether the state of this file can be at another server.
fn is_joined(call: &Call<'_>, named: Option<&NamedFile<'_>>) -> bool {
    let target = named.and_then(|named| call.target(&named.handle).ok());
    target.is_some_and(|target| target.export.volume.state().is_joined())
}

fn found(call: &Call<'_>, named: &NamedFile<'_>) -> Option<(Arc<Volume>, FileId)> {
    let target = call.target(&named.handle).ok()?;
    let volume = &target.export.volume;
    let file = match &named.name {
        None => target.found.object.id(),
        Some(name) => volume.lookup(&target.actor.caller, &target.found.object, name).ok()?.object.id(),
    };
    Some((volume.clone(), file))
}
