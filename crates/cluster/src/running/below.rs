//! What is open here inside a folder that a client of another server moves.

use std::sync::Arc;
use std::time::Duration;

use coherence::state::Elsewhere;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::RunContext;
use crate::fence;
use crate::node::Below;

/// How many folders are looked through at once. A move beyond them is refused.
pub(super) const MOST_LOOKS: usize = 128;
/// How long clients may take to close what they have open only in their caches: as long as a lease may take to be given back. The
/// other server waits longer.
const CLOSED_WITHIN: Duration = Duration::from_secs(36);

impl RunContext {
    /// Finds the answer to a question of another server. Returns at once.
    pub(super) fn look_below(self: &Arc<Self>, below: Below) {
        let (shared, permit) = (self.clone(), self.looks_below.clone().try_acquire_owned());
        self.runtime.spawn(async move {
            let held = match &permit {
                Ok(_) => timeout(CLOSED_WITHIN, shared.hold_below(&below)).await.unwrap_or(None),
                Err(_) => None,
            };
            drop(permit);
            shared.with(|node| node.answer_below(fence::now(), &below, held));
        });
    }

    async fn hold_below(&self, below: &Below) -> Option<Elsewhere> {
        let (tree, folder) = (self.tree.clone(), below.folder);
        let look = spawn_blocking(move || tree.files_open_below(folder));
        let files = look.await.ok()?; // if it has panicked, that was logged, and the folder stays where it is
        self.tree.recall_opens(below.by, &files).await;
        let tree = self.tree.clone();
        spawn_blocking(move || tree.hold_below(folder)).await.ok()?
    }
}
