//! What others are told of a change that was made: the subscribers that watch a folder, and the clients that have a lease on its
//! listing.

use std::sync::Arc;

use crate::backend::{Found, Node};
use crate::events::{Aspects, Change, ChangeKind};
use crate::local::{DATA, SIDECAR, owner_of_sidecar};
use crate::state::{Cause, Stream};
use crate::volume::Actor;
use crate::{FileId, Kind, Volume};

/// Tells others of changes that an actor has made.
#[derive(Clone, Copy)]
pub(crate) struct Notices<'a> {
    volume: &'a Volume,
    actor: &'a Actor,
}

impl<'a> Notices<'a> {
    pub(crate) fn of(volume: &'a Volume, actor: &'a Actor) -> Self {
        Self { volume, actor }
    }

    /// Ends the leases of other clients on a folder's listing.
    pub(crate) fn listing(&self, folder: FileId) {
        let (site, keeper) = (&self.volume.site, self.actor.keeper_of_listings());
        if let Some(recall) = site.state.break_for(folder, &Stream::Data, Cause::Entry, keeper) {
            site.recalls.settle(folder, recall);
        }
    }

    /// What happened to an entry of a folder: tells the subscribers that watch the folder, and recalls the leases on its
    /// listing.
    pub(crate) fn entry(&self, folder: &Node, name: &[u8], file: &Found, what: ChangeKind) {
        self.listing(folder.id());
        let volume = self.volume;
        if !volume.site.listens() {
            return;
        }
        let since = volume.site.subscriptions.deliveries();
        let owner = owner_of_sidecar(volume.streams.as_ref(), folder, name, what == ChangeKind::Removed);
        let (name, file, what) = match &owner {
            Some((owner, found)) => (owner.clone(), found, ChangeKind::Modified(SIDECAR)),
            None => {
                let name = Arc::from(name);
                volume.site.stateless_writes.note((folder, &name), file, &what, since);
                (name, file, what)
            }
        };
        let change = Change {
            folder: folder.id(),
            name,
            file: Some(file.object.id()),
            of: file.attributes.kind,
            what,
            by: Some(self.actor.party.client),
        };
        if change.of == Kind::Folder {
            for watched in volume.site.watched() {
                watched.watched_folders().follow(&change, Some(file));
            }
        }
        volume.publish(&**folder, || change);
    }

    /// An entry was removed that this server did not look at: no client has it, and no subscriber asks which one it was.
    pub(crate) fn removed_unseen(&self, folder: &Node, name: &[u8], of: Kind) {
        self.listing(folder.id());
        let volume = self.volume;
        volume.publish(&**folder, || {
            let owner = owner_of_sidecar(volume.streams.as_ref(), folder, name, true);
            let (name, file, of, what) = match owner {
                Some((owner, found)) => {
                    let kind = found.attributes.kind;
                    (owner, Some(found.object.id()), kind, ChangeKind::Modified(SIDECAR))
                }
                None => (Arc::from(name), None, of, ChangeKind::Removed),
            };
            let by = Some(self.actor.party.client);
            Change { folder: folder.id(), name, file, of, what, by }
        });
    }

    /// A file at this place has been modified. Its folder has the same entries.
    pub(crate) fn modified(&self, (folder, name): (&Node, &[u8]), file: (FileId, Kind), aspects: Aspects) {
        self.volume.publish(&**folder, || Change {
            folder: folder.id(),
            name: name.into(),
            file: Some(file.0),
            of: file.1,
            what: ChangeKind::Modified(aspects),
            by: Some(self.actor.party.client),
        });
    }

    /// The data of an open file at this place have been written.
    pub(crate) fn written(&self, (folder, name): (&Node, Arc<[u8]>), file: &Node) {
        self.volume.publish(&**folder, || Change {
            folder: folder.id(),
            name,
            file: Some(file.id()),
            of: file.kind(),
            what: ChangeKind::Modified(DATA),
            by: Some(self.actor.party.client),
        });
    }
}
