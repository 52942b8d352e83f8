//! What stands between an operation and its file: others' deny modes, byte ranges and leases; and who is told of it.
//! While nobody holds or watches anything, all of this is a few atomic loads.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::backend::Found;
use crate::events::{self, Happened};
use crate::local::SIDECAR;
use crate::state::{Cause, Range, Recall, Stream, Totals, Who};
use crate::volume::Actor;
use crate::{Error, FileId, Result, Volume};

/// How long the holder of a lease may take to give it back before it is taken.
pub(crate) const RECALL_DEADLINE: Duration = Duration::from_secs(35);

/// How many recalls of a volume's leases have not ended yet.
#[derive(Clone, Default)]
pub(crate) struct Recalls(Arc<watch::Sender<usize>>);

impl Recalls {
    /// Sees a recall to its end, even if the operation that began it does not wait.
    fn settle(&self, recall: Recall) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let recalls = self.clone();
        recalls.0.send_modify(|count| *count += 1);
        runtime.spawn(async move {
            recall.within(tokio::time::sleep(RECALL_DEADLINE)).await;
            recalls.0.send_modify(|count| *count -= 1);
        });
    }
}

impl Volume {
    /// Whether a lease of some file is being recalled.
    pub fn is_recalling(&self) -> bool {
        *self.site.recalls.0.borrow() > 0
    }

    /// Waits until no lease is being recalled.
    pub async fn recalled(&self) {
        // It fails only if the sender is gone, and the volume has it.
        let _ = self.site.recalls.0.subscribe().wait_for(|count| *count == 0).await;
    }

    pub(crate) fn may_read(&self, actor: &Actor, file: FileId, offset: u64, length: usize) -> Result<()> {
        if self.site.state.quiet(file) {
            return Ok(());
        }
        self.check_io(actor, file, offset, length, false)?;
        self.recall(actor, file, Cause::Read)
    }

    pub(crate) fn may_write(&self, actor: &Actor, file: FileId, offset: u64, length: usize) -> Result<()> {
        if self.site.state.quiet(file) {
            return Ok(());
        }
        self.check_io(actor, file, offset, length, true)?;
        self.recall(actor, file, Cause::Write)
    }

    pub(crate) fn may_resize(&self, actor: &Actor, file: FileId, smaller: u64) -> Result<()> {
        if self.site.state.quiet(file) {
            return Ok(());
        }
        self.site.state.check_resize(file, &Stream::Data, who(actor), smaller)
    }

    fn check_io(&self, actor: &Actor, file: FileId, offset: u64, length: usize, write: bool) -> Result<()> {
        let Some(range) = Range::new(offset, length as u64) else { return Ok(()) };
        self.site.state.check_io(file, &Stream::Data, who(actor), range, write)
    }

    /// Asks for others' leases that `cause` collides with. `LeaseRecall`: not given back yet, ask again soon.
    pub fn recall(&self, actor: &Actor, file: FileId, cause: Cause) -> Result<()> {
        match self.site.state.break_for(file, &Stream::Data, cause, actor.party) {
            None => Ok(()),
            Some(recall) => {
                self.site.recalls.settle(recall);
                Err(Error::LeaseRecall)
            }
        }
    }

    /// Whether another client may have data of this file in its cache only: size and times of the host are too old then.
    pub fn is_written_behind(&self, actor: &Actor, file: FileId) -> bool {
        self.site.state.is_written_behind(file, &Stream::Data, actor.party)
    }

    /// The same after the change: for a lease granted while it was made.
    pub(crate) fn recall_stream_late(&self, actor: &Actor, file: FileId, stream: &Stream, cause: Cause) {
        if let Some(recall) = self.site.state.break_for(file, stream, cause, actor.party) {
            self.site.recalls.settle(recall);
        }
    }

    /// The file behind an entry that is about to go or move, if anybody may be concerned by that; refused when somebody
    /// has it open against it.
    pub(crate) fn concerned(
        &self,
        actor: &Actor,
        folder: &Found,
        name: &[u8],
        cause: Cause,
    ) -> Result<Option<Found>> {
        if self.site.state.totals() == Totals::default() && !self.site.listens() {
            return Ok(None);
        }
        let found = match folder.object.lookup(self.passing(&actor.caller, folder)?, name) {
            Ok(found) => found,
            Err(Error::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.site.state.check_remove(found.object.id(), who(actor))?;
        self.recall(actor, found.object.id(), cause)?;
        Ok(Some(found))
    }

    /// Ends what others keep of a folder's listing.
    pub(crate) fn listing_changed(&self, actor: &Actor, folder: FileId) {
        let keeper = actor.keeper_of_listings();
        if let Some(recall) = self.site.state.break_for(folder, &Stream::Data, Cause::Entry, keeper) {
            self.site.recalls.settle(recall);
        }
    }

    /// Tells those who watch the folder, and who cache its listing.
    pub(crate) fn entry_changed(
        &self,
        actor: &Actor,
        folder: &Found,
        name: &[u8],
        file: &Found,
        what: Happened,
    ) {
        self.listing_changed(actor, folder.object.id());
        if !self.site.listens() {
            return;
        }
        let owner = self.owner_of_sidecar(folder, name, what == Happened::Removed);
        let (name, file, what) = match &owner {
            Some((owner, found)) => (owner.clone(), found, Happened::Modified(SIDECAR)),
            None => (Arc::from(name), file, what),
        };
        let change = events::Change {
            folder: folder.object.id(),
            name,
            file: Some(file.object.id()),
            of: file.attributes.kind,
            what,
            by: Some(actor.party.client),
        };
        self.site.watched().iter().for_each(|volume| volume.follow(&change, Some(file)));
        self.publish(&*folder.object, || change);
    }
}

pub(crate) fn who(actor: &Actor) -> Who<'_> {
    match actor.open {
        Some(open) => Who::through(actor.party.client, open),
        None => Who::stateless(actor.party.client),
    }
}
