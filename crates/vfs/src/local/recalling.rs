//! What is done when a local process uses a file or folder that clients have in their caches.

use std::future::Future;
use std::sync::{Arc, Weak};

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

use crate::backend::{Ends, HearsLocal, LocalChange, LocalOpen};
use crate::changing::busy::Busy;
use crate::changing::coherence::Recalls;
use crate::open::Places;
use crate::state::MOST_TRIES;
use crate::state::{Cause, ClientId, Party, Recall, RecallOutcome, State, Stream};
use crate::{FileId, Site};

/// Recalls leases of clients for local processes, which are one party that has none.
pub(crate) struct Recalling {
    state: State,
    recalls: Recalls,
    places: Places,
    busy: Arc<Busy>,
    party: Party,
    runtime: Handle,
    itself: Weak<Self>,
}

impl Recalling {
    pub(crate) fn new(site: &Site, runtime: Handle) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            state: site.state.clone(),
            recalls: site.recalls.clone(),
            places: site.places.clone(),
            busy: site.busy.clone(),
            party: Party::client(ClientId::LOCAL),
            runtime,
            itself: itself.clone(),
        })
    }

    fn break_for(&self, file: FileId, cause: Cause) -> Option<Recall> {
        self.state.break_for(file, &Stream::Data, cause, self.party)
    }

    /// Recalls what `cause` collides with, and does not wait for it.
    fn recall(&self, file: FileId, cause: Cause) {
        if let Some(recall) = self.break_for(file, cause) {
            let _inside = self.runtime.enter();
            self.recalls.settle(file, recall);
        }
    }

    /// Waits for a recall, and for those of leases that were granted meanwhile.
    fn settled(self: Arc<Self>, first: Recall, open: LocalOpen) -> impl Future<Output = ()> + Send {
        let deadline = Instant::now() + first.time().min(open.at_most);
        async move {
            let mut next = Some(first);
            for _ in 0..MOST_TRIES {
                let Some(recall) = next else { break };
                if recall.within(sleep_until(deadline)).await == RecallOutcome::Revoked {
                    break;
                }
                next = self.break_for(open.file, cause(open.ends));
            }
            drop(open); // goes on
        }
    }

    fn names_changed(&self, file: FileId) {
        if let Some(this) = self.itself.upgrade() {
            self.runtime.spawn_blocking(move || this.check_names(file));
        }
    }

    /// A file that lost a name by which it is open: its clients give up their cached handles.
    fn check_names(&self, file: FileId) {
        if !self.state.quiet(file) && self.places.has_lost_a_name(file, &self.busy) {
            self.recall(file, Cause::Remove);
        }
    }
}

/// As other clients cause it that read or write. A local process asks for nothing when it writes, so clients stop to
/// cache reads when it opens the file.
fn cause(ends: Ends) -> Cause {
    match ends {
        Ends::Writes => Cause::Read,
        Ends::All => Cause::Write,
    }
}

impl HearsLocal for Recalling {
    fn opening(&self, open: LocalOpen) {
        let Some(recall) = self.break_for(open.file, cause(open.ends)) else { return };
        if let Some(this) = self.itself.upgrade() {
            let _inside = self.runtime.enter();
            self.runtime.spawn(this.settled(recall, open));
        }
    }

    fn changed(&self, file: FileId, change: LocalChange) {
        match change {
            LocalChange::Entry => self.recall(file, Cause::Entry),
            LocalChange::Unguarded(ends) => self.recall(file, cause(ends)),
            LocalChange::Names => self.names_changed(file),
            // Delegations promise that the attributes stay. Leases and oplocks do not.
            LocalChange::Attributes => {
                self.recall(file, Cause::Attributes);
                self.names_changed(file);
            }
        }
    }
}
