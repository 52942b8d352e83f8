//! What an operation collides with: the deny modes, byte-range locks and leases of other clients. While no client holds
//! anything, all of this is a few atomic loads.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::backend::Found;
use crate::backend::Node;
use crate::changing::permitted::PermittedActor;
use crate::noted::{self, Spent};
use crate::state::{
    Cause, IoClient, MOST_TRIES, Modes, Party, RECALL_DEADLINE, Range, Recall, RecallOutcome, Stream,
};
use crate::volume::Actor;
use crate::{Error, FileId, IdMap, Result, Site, Volume};

/// The files whose leases are being recalled, each with the number of recalls that have not ended.
#[derive(Clone, Default)]
pub(crate) struct Recalls(Arc<watch::Sender<IdMap<FileId, usize>>>);

impl Recalls {
    /// Waits for the end of a recall, even if the operation that began it does not wait.
    pub(crate) fn settle(&self, file: FileId, recall: Recall) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let recalls = self.clone();
        recalls.0.send_modify(|files| *files.entry(file).or_default() += 1);
        runtime.spawn(async move {
            let deadline = tokio::time::sleep(recall.time());
            recall.within(deadline).await;
            recalls.0.send_modify(|files| match files.get_mut(&file) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(files.remove(&file)),
            });
        });
    }

    pub(crate) fn has(&self, file: FileId) -> bool {
        self.0.borrow().contains_key(&file)
    }

    async fn ended(&self, file: FileId) {
        // It fails only if the sender is gone, and this is the sender.
        let _ = self.0.subscribe().wait_for(|files| !files.contains_key(&file)).await;
    }
}

impl Volume {
    /// Runs an operation. If it meets a lease of another client, waits until that lease is returned
    /// and runs the operation again. Waits for `limit` at most, and then fails with `LeaseRecall`.
    pub async fn once_recalled<T>(&self, limit: Duration, mut run: impl FnMut() -> Result<T>) -> Result<T> {
        let mut deadline = None;
        let most = self.site.state.most_tries();
        for _ in 1..most {
            match run() {
                Err(Error::LeaseRecall(file)) => {
                    let deadline = *deadline.get_or_insert_with(|| Instant::now() + limit);
                    if timeout_at(deadline, self.site.recalled(file)).await.is_err() {
                        return Err(Error::LeaseRecall(file));
                    }
                }
                other => return other,
            }
        }
        run()
    }

    /// As [`Volume::once_recalled`], for a protocol whose clients wait: until every holder has
    /// answered, or has lost its lease.
    pub async fn settled<T>(&self, run: impl FnMut() -> Result<T>) -> Result<T> {
        self.once_recalled(self.site.state.longest_recall() + Duration::from_secs(1), run).await
    }

    /// Waits until a close is in force for the clients of all servers, and what was to be removed with it is removed: the client
    /// that is told of it may tell another one. The state of the file comes at once, or its server is lost, and is taken from it
    /// before this gives up.
    pub async fn closed_everywhere(&self, file: FileId) {
        if !self.state().is_joined() {
            return;
        }
        if self.state().is_coming(file) {
            let _ = timeout(RECALL_DEADLINE, self.state().arrived(file)).await;
        }
        let _ = timeout(RECALL_DEADLINE, self.state().removed_elsewhere(file)).await;
    }
}

impl PermittedActor<'_> {
    /// Whether nothing that others hold stands against a read, or a write, of a part of the data. Recalls their leases.
    pub(crate) fn quiet_data(&self, file: FileId, (offset, length): (u64, usize), write: bool) -> Result<()> {
        let state = &self.volume().site.state;
        if state.quiet(file) {
            return Ok(());
        }
        if let Some(range) = Range::new(offset, length as u64) {
            state.check_io(file, &Stream::Data, who(self), range, write)?;
        }
        self.recall(file, if write { Cause::Write } else { Cause::Read })
    }

    /// Whether no range that others have locked is cut off. `smaller`: of the sizes before and after.
    pub(crate) fn may_resize(&self, file: FileId, smaller: u64) -> Result<()> {
        let state = &self.volume().site.state;
        if state.quiet(file) { Ok(()) } else { state.check_resize(file, &Stream::Data, who(self), smaller) }
    }

    /// Recalls the leases of other clients that `cause` collides with. `LeaseRecall`: they are not
    /// returned yet.
    pub fn recall(&self, file: FileId, cause: Cause) -> Result<()> {
        self.recall_stream(file, &Stream::Data, cause)
    }

    /// The same, and waits for `limit` at most until they are returned.
    pub async fn recall_within(&self, limit: Duration, file: FileId, cause: Cause) -> Result<()> {
        self.volume().once_recalled(limit, || self.recall(file, cause)).await
    }

    /// As [`PermittedActor::recall`], for another stream of the file.
    pub(crate) fn recall_stream(&self, file: FileId, stream: &Stream, cause: Cause) -> Result<()> {
        let site = &self.volume().site;
        match site.state.break_for(file, stream, cause, self.party) {
            None => Ok(()),
            Some(recall) => {
                site.recalls.settle(file, recall);
                Err(Error::LeaseRecall(file))
            }
        }
    }

    /// Recalls the leases of other clients that `cause` collides with, and waits until they are
    /// returned, or taken at the deadline.
    pub(crate) async fn recall_and_wait(&self, file: FileId, stream: &Stream, cause: Cause) {
        self.volume().site.recall_and_wait(self.party, file, stream, cause).await;
    }

    /// Asks the clients that keep a file open only in their caches to close it, and waits until
    /// they have. A client that is not connected closes it as well.
    pub async fn recall_handles(&self, file: &Node) {
        self.volume().site.state.make_way(file.id(), self.party.client);
        self.recall_and_wait(file.id(), &Stream::Data, Cause::Remove).await;
    }

    /// Asks the clients that have a file behind a name that is about to go: fails if an open of another one denies one of these
    /// modes, and recalls the leases that stand against it.
    pub(crate) fn quiet_entry(
        &self,
        going: Option<&Found>,
        (cause, denied_by): (Cause, Modes),
    ) -> Result<()> {
        let Some(going) = going else { return Ok(()) };
        self.volume().site.state.check_leave(going.object.id(), who(self), denied_by)?;
        self.recall(going.object.id(), cause)
    }

    /// Recalls what another server may have granted on files that are about to lose a name, before their states were here to
    /// stay.
    pub(crate) fn recall_once_pinned<const N: usize>(
        &self,
        files: [(Option<&Found>, Cause); N],
    ) -> Result<()> {
        if !self.volume().site.state.is_joined() {
            return Ok(());
        }
        let mut known = files.iter().filter_map(|(found, cause)| Some(((*found)?, *cause)));
        known.try_for_each(|(found, cause)| self.recall(found.object.id(), cause))
    }
}

impl Site {
    /// Waits until no lease of this file is being recalled, its state is here, and no other server is removing it.
    pub(crate) async fn recalled(&self, file: FileId) {
        let _timed = noted::timed(Spent::Leases);
        self.state.may_be_pinned(file).await;
        self.recalls.ended(file).await;
    }

    /// Recalls the leases of others than `by` that `cause` collides with, and waits until they are returned, or taken at the
    /// deadline.
    pub(crate) async fn recall_and_wait(&self, by: Party, file: FileId, stream: &Stream, cause: Cause) {
        let begun = Instant::now();
        for _ in 0..MOST_TRIES {
            let Some(recall) = self.state.break_for(file, stream, cause, by) else { return };
            let deadline = sleep_until(begun + recall.time());
            // After a state from another server has come, its leases are asked for.
            if recall.within(deadline).await == RecallOutcome::Revoked {
                return;
            }
        }
    }
}

pub(crate) fn who(actor: &Actor) -> IoClient<'_> {
    match actor.open {
        Some(open) => IoClient::through(actor.party.client, open),
        None => IoClient::stateless(actor.party.client),
    }
}
