//! Files and streams that are removed once no client has them open any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::timeout;

use super::info::forget_info;
use super::places::Place;
use super::streams::cut_fork;
use super::{Open, may_remove};
use crate::backend::Node;
use crate::backend::{Found, same_file};
use crate::changing::busy::Changing;
use crate::changing::notices::Notices;
use crate::changing::permitted::PermittedActor;
use crate::changing::pipeline::{Asks, PermittedChange, Steps};
use crate::events::{Change, ChangeKind};
use crate::finding::entry_name::EntryName;
use crate::local::{EchoKind, Own};
use crate::mac::FileBits;
use crate::mac::layout::{is_sidecar_name, sidecar_name};
use crate::noted::Act;
use crate::state::{Cause, ChangeNotice, Last, NameChange, Pins, RECALL_DEADLINE, Stream};
use crate::streams::File;
use crate::{Access, Actor, Caller, Error, Kind, Result, Site, Volume};

impl Open {
    /// Whether the file is removed once its last open is closed (of a resource fork or named
    /// stream: that stream). Meanwhile it cannot be opened any more: `BeingRemoved`. It is removed
    /// from where it then is, with everything that is its own, unless another file has got its
    /// name.
    ///
    /// Waits for clients that keep it open only in their caches. A folder must be empty, now and
    /// then.
    pub async fn remove_on_close(&self, yes: bool) -> Result<()> {
        if !yes {
            self.guard.stay();
            return Ok(());
        }
        self.volume.notes().file(Act::Remove, &self.node);
        self.may_leave()?;
        if self.is_data {
            self.may_go()?;
        }
        self.recall(Cause::Remove).await;
        self.mark_going();
        // What was granted before the mark. After it there are no new delegations.
        self.recall(Cause::Remove).await;
        Ok(())
    }

    /// Removes the name by which the file was opened, as unlink(2) does: its other opens go on without it. The client has marked
    /// the file for removal through this open, which was made with the right to.
    pub fn unlink(&self) -> Result<()> {
        let Some(place) = &self.place else { return Err(Error::Invalid) };
        self.may_leave()?;
        self.may_go()?;
        match self.volume.remove_at(&self.actor, &self.node, place) {
            Err(Error::AccessDenied | Error::NotPermitted) if self.granted => {
                self.volume.remove_at(&self.doer(), &self.node, place)
            }
            other => other,
        }
    }

    /// Whether the stream, or the whole file, is removed once all its opens are closed.
    pub fn is_being_removed(&self) -> bool {
        self.guard.is_going()
    }

    /// Closes it: dropping does this, too. If it was the last open of something to be removed,
    /// returns the result of the removal. If another server has the state of the file, waits until
    /// the close has come into effect there.
    pub async fn close(mut self) -> Result<()> {
        _ = timeout(RECALL_DEADLINE, self.state().bring(self.node.id())).await;
        self.give_back()?;
        _ = timeout(RECALL_DEADLINE, self.state().removed_elsewhere(self.node.id())).await;
        Ok(())
    }

    fn give_back(&mut self) -> Result<()> {
        if std::mem::take(&mut self.remove_on_close) && (!self.is_data || self.may_go().is_ok()) {
            self.mark_going();
        }
        if *self.changed.get_mut()
            && let Some((folder, _)) = self.place()
        {
            self.changed.store(false, Ordering::Relaxed);
            Notices::of(&self.volume, &self.actor).listing(folder.id());
        }
        self.guard.give_back()
    }

    pub(super) fn mark_going(&self) {
        let Some(place) = self.place.clone() else { return };
        let (volume, node) = (self.volume.clone(), self.node.clone());
        let (actor, doer) = (self.actor.clone(), self.doer());
        let stream = self.guard.stream();
        let last: Last = match stream {
            // Most users may remove what the protocol lets them remove. Then the thread keeps the
            // user's ids: changing them to the server's and back takes six calls to the host.
            Stream::Data => Box::new(move || match volume.remove_at(&actor, &node, &place) {
                Err(Error::AccessDenied | Error::NotPermitted) if actor.caller != doer.caller => {
                    volume.remove_at(&doer, &node, &place)
                }
                other => other,
            }),
            stream => Box::new(move || volume.remove_stream_at(&node, &place, &stream)),
        };
        self.guard.remove_when_unused(last);
        if self.is_data && self.node.kind() == Kind::Folder {
            self.volume.site.watched().iter().for_each(|volume| volume.events.going(self.node.id()));
            self.tell_going();
        }
    }

    /// Tells those that watch the folder through other servers.
    fn tell_going(&self) {
        let Some((folder, name)) = self.place() else { return };
        let change = Change {
            folder: folder.id(),
            name,
            file: Some(self.node.id()),
            of: Kind::Folder,
            what: ChangeKind::Removed,
            by: Some(self.actor.party.client),
        };
        self.state().tell(|| ChangeNotice { folder: folder.key(), change, is_going: true });
    }

    /// Whether the open was made with what a removal or a move needs.
    pub(super) fn may_leave(&self) -> Result<()> {
        may_remove(self.volume.is_read_only(), self.place.is_some(), self.guard.modes().0)
    }

    /// Whether the file could be removed now.
    fn may_go(&self) -> Result<()> {
        let Some((folder, name)) = self.place() else { return Err(Error::Invalid) };
        self.volume.inhibitions().may_despite(&self.node, FileBits::DELETE_INHIBIT)?;
        if !self.granted {
            let want = Access::WRITE.union(Access::EXECUTE);
            let found = Found { attributes: folder.attributes()?, object: folder };
            let by = self.volume.permissions().removing(&self.actor.caller, &found, &name)?;
            if found.object.access(by, &found.attributes, want)? != want {
                return Err(Error::AccessDenied);
            }
        }
        match self.node.kind() == Kind::Folder && !is_empty_folder(&self.node, self.volume.keeps_streams())? {
            true => Err(Error::NotEmpty),
            false => Ok(()),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Err(error) = self.give_back() {
            tracing::warn!(%error, file = ?self.node.id(), "it was to go with its last open, and did not");
        }
    }
}

impl Volume {
    fn remove_at(&self, actor: &Actor, node: &Node, place: &Arc<Place>) -> Result<()> {
        let removal = LastRemoval { node, place, there: None, claim: None };
        let permitted = PermittedChange::new(PermittedActor::by_open(self, actor), removal);
        let pinned = permitted.quiet()?.pinned()?;
        if pinned.steps().there.is_none() {
            return Ok(());
        }
        pinned.announce()?.apply(|removal, _| {
            let _claim = removal.claim.take();
            let Some((folder, name, going)) = &removal.there else { return Ok(()) };
            let by = match self.permissions().has_acls()? {
                true => {
                    let found = Found { attributes: folder.attributes()?, object: folder.clone() };
                    self.permissions().removing(&actor.caller, &found, name)?
                }
                false => &actor.caller,
            };
            let kind = (going.attributes.kind, Some(going));
            self.pairs().remove(by, folder, &EntryName::exact(name)?, kind)
        })
    }

    fn remove_stream_at(&self, node: &Node, place: &Arc<Place>, stream: &Stream) -> Result<()> {
        let streams = self.streams.as_ref().ok_or(Error::NotSupported)?;
        let _pins = self.site.state.pin_if_here(node.id());
        let (_changing, folder, name) = place.claim(&self.site.busy);
        if still_there(&Caller::root(), &folder, &name, node)?.is_none() {
            return Ok(());
        }
        let file = File { folder: &*folder, name: &name, object: &**node };
        let ourselves = Caller::root();
        match stream {
            Stream::Named(stream) => match streams.remove_stream(&ourselves, &file, stream.as_bytes()) {
                Err(Error::NoSuchAttribute) => Ok(()),
                Ok(()) => streams.annotations().heed_stream(&file, stream.as_bytes()),
                Err(other) => Err(other),
            },
            Stream::Info => forget_info(streams, &file),
            _ => cut_fork(streams, &ourselves, &file, 0),
        }
    }
}

/// The removal of a file by its last open. Leases were recalled when it was marked for removal.
struct LastRemoval<'a> {
    node: &'a Node,
    place: &'a Place,
    /// Where the file still is: its folder and its name there.
    there: Option<(Node, Arc<[u8]>, Found)>,
    /// What keeps others from the place: other threads, other servers, and delegations of its name. If the state of the file is
    /// elsewhere, it stays there until this is done, and the other server waits.
    claim: Option<(Changing<'a>, NameChange, Pins)>,
}

impl<'a> Asks<'a> for LastRemoval<'a> {
    fn quiet(&mut self, _by: &PermittedActor<'a>) -> Result<()> {
        Ok(())
    }
}

impl<'a> Steps<'a> for LastRemoval<'a> {
    type Made = ();

    fn pin(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        let volume = by.volume();
        let pins = volume.site.state.pin_if_here(self.node.id());
        let names = volume.site.state.change_name();
        let (changing, folder, name) = self.place.claim(&volume.site.busy);
        let going = still_there(&by.caller, &folder, &name, self.node)?;
        self.there = going.map(|going| (folder, name, going));
        self.claim = Some((changing, names, pins));
        Ok(())
    }

    fn echo(&mut self, by: &PermittedActor<'a>) -> Own {
        let Some((folder, name, _)) = &self.there else { return Own::default() };
        let (id, sidecar) = (folder.id(), sidecar_name(name));
        by.volume().site.announce(&[(id, name, EchoKind::Removed), (id, &sidecar, EchoKind::Anything)])
    }

    fn changed(&self) -> Option<(&Node, Stream, Cause)> {
        Some((self.node, Stream::Data, Cause::Remove))
    }

    fn tell(&self, by: &PermittedActor<'a>, _made: &()) {
        if let Some((folder, name, going)) = &self.there {
            by.notices().entry(folder, name, going, ChangeKind::Removed);
        }
    }
}

/// Sidecars of files that are gone do not count: removing the folder removes them.
fn is_empty_folder(folder: &Node, has_sidecars: bool) -> Result<bool> {
    let own = |name: &[u8]| matches!(name, b"." | b"..") || (has_sidecars && is_sidecar_name(name));
    folder.list(0, &mut |entry| own(entry.name))
}

/// The file, if it still is in this folder under this name.
fn still_there(caller: &Caller, folder: &Node, name: &[u8], node: &Node) -> Result<Option<Found>> {
    match folder.lookup(caller, name) {
        Ok(found) => Ok(same_file(&*found.object, &**node).then_some(found)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Site {
    /// Fails if no new entry may be put into this folder, because the folder is being removed.
    pub(crate) fn may_gain_entry(&self, folder: &Found) -> Result<()> {
        if self.state.is_going(folder.object.id())? { Err(Error::BeingRemoved) } else { Ok(()) }
    }
}
