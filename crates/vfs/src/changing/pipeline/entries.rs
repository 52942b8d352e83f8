//! Entries of a folder that are made, linked and removed.

use super::{Asks, PermittedChange, Steps};
use crate::backend::{Found, Node};
use crate::changing::permitted::{PermittedActor, Plan};
use crate::events::ChangeKind;
use crate::finding::entry_name::EntryName;
use crate::local::{EchoKind, Own};
use crate::mac::layout::sidecar_name;
use crate::state::{Cause, Modes, NameChange, Pins, Stream};
use crate::volume::Denials;
use crate::{Actor, Kind, Result, Volume};

/// A new entry.
pub(crate) struct Creation<'a> {
    folder: &'a Found,
    pub(crate) name: EntryName<'a>,
    pins: Pins,
}

impl<'a> Creation<'a> {
    /// The host judges it when it is made: no other client has anything of an entry that is not there.
    pub(crate) fn permitted(
        volume: &'a Volume,
        actor: &'a Actor,
        folder: &'a Found,
        name: &'a [u8],
    ) -> Result<PermittedChange<'a, Self>> {
        let name = new_name(volume, actor, folder, name)?;
        let by = volume.permit(actor, Plan::Make)?;
        Ok(PermittedChange::new(by, Self { folder, name, pins: Pins::default() }))
    }

    /// The entry is there: other servers find it.
    pub(crate) fn unpin(&mut self) {
        self.pins = Pins::default();
    }
}

impl<'a> Asks<'a> for Creation<'a> {
    fn quiet(&mut self, _by: &PermittedActor<'a>) -> Result<()> {
        Ok(())
    }
}

impl<'a> Steps<'a> for Creation<'a> {
    type Made = Found;

    fn pin(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        self.pins = by.volume().name_pins().pin_new(&self.folder.object, &self.name)?;
        Ok(())
    }

    fn echo(&mut self, by: &PermittedActor<'a>) -> Own {
        by.volume().site.announce(&[(self.folder.object.id(), &self.name, EchoKind::Created)])
    }

    fn tell(&self, by: &PermittedActor<'a>, made: &Found) {
        by.notices().entry(&self.folder.object, &self.name, made, ChangeKind::Created);
    }
}

/// A further name of a file.
pub(crate) struct LinkCreation<'a> {
    target: &'a Found,
    folder: &'a Found,
    pub(crate) name: EntryName<'a>,
    pins: Pins,
}

impl<'a> LinkCreation<'a> {
    pub(crate) fn permitted(
        volume: &'a Volume,
        actor: &'a Actor,
        target: &'a Found,
        (folder, name): (&'a Found, &'a [u8]),
    ) -> Result<PermittedChange<'a, Self>> {
        let name = new_name(volume, actor, folder, name)?;
        let by = volume.permit(actor, Plan::Link(target, folder))?;
        Ok(PermittedChange::new(by, Self { target, folder, name, pins: Pins::default() }))
    }
}

impl<'a> Asks<'a> for LinkCreation<'a> {
    fn quiet(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        by.may_lose_fork(self.folder, &self.name)?;
        by.recall(self.target.object.id(), Cause::Attributes)
    }
}

impl<'a> Steps<'a> for LinkCreation<'a> {
    type Made = ();

    fn pin(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        self.pins = by.volume().name_pins().pin_new(&self.folder.object, &self.name)?;
        Ok(())
    }

    fn echo(&mut self, by: &PermittedActor<'a>) -> Own {
        by.volume().site.announce(&[(self.folder.object.id(), &self.name, EchoKind::Created)])
    }

    fn changed(&self) -> Option<(&Node, Stream, Cause)> {
        Some((&self.target.object, Stream::Data, Cause::Attributes))
    }

    fn tell(&self, by: &PermittedActor<'a>, _made: &()) {
        by.notices().entry(&self.folder.object, &self.name, self.target, ChangeKind::Created);
        by.volume().site.stateless_writes.forget_place(self.target.object.id()); // it has a name more than the entry says
    }
}

/// The name of an entry that is to be made in a folder that may get one.
fn new_name<'a>(volume: &Volume, actor: &Actor, folder: &Found, name: &'a [u8]) -> Result<EntryName<'a>> {
    volume.may_change(folder)?;
    volume.site.may_gain_entry(folder)?;
    volume.names().new_entry_name(&actor.caller, folder, name)
}

/// The removal of an entry.
pub(crate) struct Removal<'a> {
    folder: &'a Found,
    pub(crate) name: EntryName<'a>,
    kind: Kind,
    /// What is behind the name, if any client may be concerned by it.
    going: Option<Found>,
    pins: Pins,
    /// No client gets a delegation until the removal is over.
    _names: NameChange,
}

impl<'a> Removal<'a> {
    pub(crate) fn permitted(
        volume: &'a Volume,
        actor: &'a Actor,
        (folder, name): (&'a Found, &'a [u8]),
        (kind, known): (Kind, Option<&Found>),
    ) -> Result<PermittedChange<'a, Self>> {
        volume.may_change(folder)?;
        let name = volume.names().entry_name(&actor.caller, folder, name)?;
        volume.inhibitions().may_take_away(actor, folder, &name)?;
        let _names = volume.site.state.change_name();
        let (by, going) = volume.permit_removal(actor, (folder, &name), (kind, known))?;
        Ok(PermittedChange::new(by, Self { folder, name, kind, going, pins: Pins::default(), _names }))
    }

    pub(crate) fn going(&self) -> Option<&Found> {
        self.going.as_ref()
    }
}

impl<'a> Asks<'a> for Removal<'a> {
    fn quiet(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        let denied_by = if is_silly(by, &self.name) { Modes::NONE } else { Modes::REMOVE };
        by.quiet_entry(self.going(), (Cause::Remove, denied_by))?;
        by.may_lose_fork(self.folder, &self.name)
    }
}

impl<'a> Steps<'a> for Removal<'a> {
    type Made = ();

    fn pin(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        let folder = &self.folder.object;
        let known = self.going().map_or(folder.id(), |going| going.object.id());
        self.pins = by.volume().name_pins().pin(&[(folder, &self.name)], &[known])?;
        Ok(())
    }

    fn recall_pinned(&self, by: &PermittedActor<'a>) -> Result<()> {
        by.recall_once_pinned([(self.going(), Cause::Remove)])?;
        by.volume().site.journals.before_entry(&self.folder.object, &self.name);
        Ok(())
    }

    fn echo(&mut self, by: &PermittedActor<'a>) -> Own {
        let (id, sidecar) = (self.folder.object.id(), sidecar_name(&self.name));
        by.volume().site.announce(&[(id, &self.name, EchoKind::Removed), (id, &sidecar, EchoKind::Anything)])
    }

    fn tell(&self, by: &PermittedActor<'a>, _made: &()) {
        match self.going() {
            Some(going) => by.notices().entry(&self.folder.object, &self.name, going, ChangeKind::Removed),
            None => by.notices().removed_unseen(&self.folder.object, &self.name, self.kind),
        }
    }
}

/// Whether an NFS client uses this name for a file that it removes while it has it open.
pub(super) fn is_silly(by: &PermittedActor<'_>, name: &[u8]) -> bool {
    by.volume().options.denials == Denials::SillyRename && by.open.is_none() && name.starts_with(b".nfs")
}
