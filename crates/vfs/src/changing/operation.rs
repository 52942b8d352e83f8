//! A change that a client makes, from the recall of leases to the last event.
//!
//! ```text
//! recall leases ─► announce echo ─► (change) ─┬─► commit ─► echo known ─► events published
//!                                             └─► drop ─► forget details ─► recall late leases
//! ```
//!
//! The code that makes a change begins an [`Operation`] for it, makes it and commits it. If the
//! change fails, the operation is dropped. Then an event that was taken for the echo was of a
//! change by another program, and no event is published. What must happen in either case, because a
//! failed change may have been made in part, is done when the operation is dropped.

use std::sync::Arc;

use super::permitted::PermittedActor;
use crate::backend::Found;
use crate::backend::Node;
use crate::events::{Aspects, Change, ChangeKind};
use crate::local::{DATA, Own, What};
use crate::state::{Cause, Stream};
use crate::volume::Actor;
use crate::{FileId, Kind, Result, Volume};

/// A change that is being made.
#[must_use = "it is committed when the change was made"]
pub(crate) struct Operation<'a> {
    volume: &'a Volume,
    actor: &'a Actor,
    /// The stream of a file that is changed. Leases on it that are granted meanwhile are recalled
    /// after the change.
    changed: Option<(&'a Node, Stream, Cause)>,
    own: Option<Own>,
}

impl Volume {
    /// Begins a change of entries of folders, whose echo is announced.
    pub(crate) fn change_entries<'a>(
        &'a self,
        actor: &'a Actor,
        places: &[(FileId, &[u8], What)],
    ) -> Operation<'a> {
        Operation { volume: self, actor, changed: None, own: Some(self.site.announce(places)) }
    }

    /// Begins a change of a file's data or attributes. Recalls the leases of other clients that it
    /// collides with. If there are any, this is `LeaseRecall`.
    pub(crate) fn change_file<'a>(
        &'a self,
        by: &PermittedActor<'a>,
        file: &'a Node,
        cause: Cause,
    ) -> Result<Operation<'a>> {
        self.recall(by, file.id(), cause)?;
        Ok(self.change_stream(by.actor(), file, Stream::Data, cause))
    }

    /// Begins a change of a stream whose leases were recalled.
    pub(crate) fn change_stream<'a>(
        &'a self,
        actor: &'a Actor,
        file: &'a Node,
        stream: Stream,
        cause: Cause,
    ) -> Operation<'a> {
        self.notes().change(cause, file);
        Operation { volume: self, actor, changed: Some((file, stream, cause)), own: None }
    }
}

impl Operation<'_> {
    /// Announces the echo of the change.
    pub(crate) fn announce(&mut self, places: &[(FileId, &[u8], What)]) {
        self.own = Some(self.volume.site.announce(places));
    }

    /// The change was made.
    pub(crate) fn commit(mut self) {
        self.own.take().into_iter().for_each(Own::made);
    }

    /// The change was made, and this is what happened to an entry of a folder.
    pub(crate) fn commit_entry(self, folder: &Node, name: &[u8], file: &Found, what: ChangeKind) {
        let (volume, actor) = (self.volume, self.actor);
        self.commit();
        volume.entry_changed(actor, folder, name, file, what);
    }

    /// The change was made, and a file at this place has been modified. Its folder has the same entries.
    pub(crate) fn commit_modified(self, place: (&Node, Arc<[u8]>), file: (FileId, Kind), aspects: Aspects) {
        let (volume, by) = (self.volume, Some(self.actor.party.client));
        self.commit();
        volume.publish(&**place.0, || Change {
            folder: place.0.id(),
            name: place.1,
            file: Some(file.0),
            of: file.1,
            what: ChangeKind::Modified(aspects),
            by,
        });
    }

    /// The same for the data of an open file.
    pub(crate) fn commit_data(self, place: (&Node, Arc<[u8]>), file: &Node) {
        self.commit_modified(place, (file.id(), file.kind()), DATA);
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        if let Some((node, stream, cause)) = &self.changed {
            self.volume.unheard(node);
            // A lease that was granted while the change was made.
            let (site, file) = (&self.volume.site, node.id());
            if let Some(recall) = site.state.break_for(file, stream, *cause, self.actor.party) {
                site.recalls.settle(file, recall);
            }
        }
    }
}
