//! Moves of entries.

use std::sync::Arc;

use super::entries::is_silly;
use super::{Asks, PermittedChange, Steps};
use crate::backend::{Found, Node, RenameMode};
use crate::changing::permitted::PermittedActor;
use crate::changing::safe_save::SafeSave;
use crate::events::{Aspects, ChangeKind};
use crate::finding::entry_name::{EntryName, Target};
use crate::local::{EchoKind, Own};
use crate::mac::layout::sidecar_name;
use crate::state::{Cause, Modes, NameChange, Pins};
use crate::{Actor, Error, Result, Volume};

/// A move of an entry to another name, or the exchange of two.
pub(crate) struct Move<'a> {
    folder: &'a Found,
    /// As the client has called it.
    called: &'a [u8],
    name: EntryName<'a>,
    to: &'a Found,
    target: Target<'a>,
    mode: RenameMode,
    /// The file behind the old name, and the one behind the new name, if any client may be concerned by that.
    moving: Option<Found>,
    replaced: Option<Found>,
    /// Whether the file keeps Mac metadata of the one that has or had its new name.
    keeps: bool,
    pins: Pins,
    /// No client gets a delegation until the move is over.
    _names: NameChange,
}

impl<'a> Move<'a> {
    pub(crate) fn permitted(
        volume: &'a Volume,
        actor: &'a Actor,
        from: (&'a Found, &'a [u8]),
        to: (&'a Found, &'a [u8]),
        mode: RenameMode,
    ) -> Result<PermittedChange<'a, Self>> {
        volume.site.may_gain_entry(to.0)?;
        volume.may_change(from.0)?;
        let name = volume.names().entry_name(&actor.caller, from.0, from.1)?;
        let target = volume.names().target(&actor.caller, (from, &name), to, mode)?;
        volume.inhibitions().may_move_away((from.0, &name), (to.0, &target.there), mode, actor)?;
        let _names = volume.site.state.change_name();
        let (source, there) = ((from.0, &*name), (to.0, &*target.there));
        let (by, [moving, replaced]) = volume.permit_move(actor, source, there, mode)?;
        // To give a file the name of those that wait for their removal is to remove it.
        if !by.may_replace() && is_silly(&by, &target.there) {
            return Err(Error::AccessDenied);
        }
        let mode = if by.may_replace() { mode } else { RenameMode::Keep };
        let (folder, called) = from;
        let (to, pins) = (to.0, Pins::default());
        let steps =
            Self { folder, called, name, to, target, mode, moving, replaced, keeps: false, pins, _names };
        Ok(PermittedChange::new(by, steps))
    }

    /// How it is done, as far as the actor may.
    pub(crate) fn mode(&self) -> RenameMode {
        self.mode
    }

    /// Where the entry is: its folder and its stored name.
    pub(crate) fn source(&self) -> (&Found, &EntryName<'a>) {
        (self.folder, &self.name)
    }

    /// Where it goes.
    pub(crate) fn target(&self) -> (&Found, &Target<'a>) {
        (self.to, &self.target)
    }

    /// Gives the file what it is to keep of the one that has or had the new name.
    pub(crate) fn keep_mac_metadata(&mut self, volume: &Volume, actor: &Actor) -> Result<()> {
        let (from, to) = ((self.folder, &*self.name), (self.to, &*self.target.there));
        self.keeps = SafeSave::by(volume, actor).keep_mac_metadata(from, to, self.mode)?;
        Ok(())
    }

    /// Opens follow their files, while both names are claimed. The entry has this name now.
    pub(crate) fn follow(&self, volume: &Volume, ended_as: &[u8]) {
        let moved = |found: &Option<Found>, (from, was): (&Node, &[u8]), folder, name| {
            let from = (from.id(), was);
            found.iter().for_each(|found| volume.site.places.moved(found.object.id(), from, folder, name));
        };
        moved(&self.moving, (&self.folder.object, &self.name), &self.to.object, ended_as);
        if self.mode == RenameMode::Exchange {
            moved(&self.replaced, (&self.to.object, ended_as), &self.folder.object, &self.name);
        }
        volume.site.subscriptions.delivered(); // the next write is told by the new name
    }

    /// The deny modes that stand against the move.
    fn denied_by(&self, by: &PermittedActor<'_>) -> Modes {
        let stays_in = self.folder.object.id() == self.to.object.id() && self.mode != RenameMode::Exchange;
        match by.profile.renames_open {
            _ if stays_in && is_silly(by, &self.target.there) => Modes::NONE,
            true => Modes::DELETE,
            false => Modes::REMOVE,
        }
    }
}

impl<'a> Asks<'a> for Move<'a> {
    fn quiet(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        let denied_by = self.denied_by(by);
        by.quiet_entry(self.moving.as_ref(), (Cause::Rename, denied_by))?;
        let replaced_by = if self.mode == RenameMode::Exchange { denied_by } else { Modes::REMOVE };
        by.quiet_entry(self.replaced.as_ref(), (Cause::Remove, replaced_by))?;
        by.may_move_fork((self.folder, &self.name), (self.to, &self.target.there))
    }
}

impl<'a> Steps<'a> for Move<'a> {
    /// The name that the entry has now.
    type Made = Vec<u8>;

    fn pin(&mut self, by: &PermittedActor<'a>) -> Result<()> {
        let known = [(&self.moving, self.folder), (&self.replaced, self.to)];
        let known = known.map(|(found, folder)| found.as_ref().unwrap_or(folder).object.id());
        let names = [(&self.folder.object, &*self.name), (&self.to.object, &*self.target.there)];
        self.pins = by.volume().name_pins().pin(&names, &known)?;
        Ok(())
    }

    fn recall_pinned(&self, by: &PermittedActor<'a>) -> Result<()> {
        let files = [(self.moving.as_ref(), Cause::Rename), (self.replaced.as_ref(), Cause::Remove)];
        by.recall_once_pinned(files)?;
        let journals = &by.volume().site.journals;
        journals.before_entry(&self.folder.object, &self.name);
        journals.before_entry(&self.to.object, &self.target.there);
        Ok(())
    }

    fn echo(&mut self, by: &PermittedActor<'a>) -> Own {
        let (source, target) = (self.folder.object.id(), self.to.object.id());
        let Target { there, ends_as } = &self.target;
        let (leaves, comes) = match self.mode {
            RenameMode::Exchange => (EchoKind::Anything, EchoKind::Anything),
            _ if there != ends_as => (EchoKind::MovedFrom, EchoKind::Anything),
            _ => (EchoKind::MovedFrom, EchoKind::MovedTo),
        };
        let sidecars = [sidecar_name(&self.name), sidecar_name(there), sidecar_name(ends_as)];
        let mut places = vec![
            (source, &*self.name, leaves),
            (target, &**there, comes),
            (source, &sidecars[0], EchoKind::Anything),
            (target, &sidecars[1], EchoKind::Anything),
        ];
        if there != ends_as {
            places.extend([(target, &**ends_as, comes), (target, &*sidecars[2], EchoKind::Anything)]);
        }
        by.volume().site.announce(&places)
    }

    fn tell(&self, by: &PermittedActor<'a>, ended_as: &Vec<u8>) {
        let (notices, saves) = (by.notices(), SafeSave::by(by.volume(), by.actor()));
        match self.keeps {
            true => saves.tell_kept(&self.to.object, ended_as),
            false => saves.vacated((self.folder, self.called), (self.to, ended_as)),
        }
        if self.folder.object.id() != self.to.object.id() {
            notices.listing(self.folder.object.id());
        }
        if self.mode == RenameMode::Exchange {
            // Both names are where they were: what has changed is what is behind them.
            let now = [(self.to, &**ended_as, &self.moving), (self.folder, &*self.name, &self.replaced)];
            for (folder, name, found) in now {
                let what = ChangeKind::Modified(Aspects::ALL);
                found.iter().for_each(|found| notices.entry(&folder.object, name, found, what.clone()));
            }
            return;
        }
        let there = &*self.target.there;
        if let Some(replaced) = self.replaced.as_ref().filter(|_| *there != **ended_as) {
            notices.entry(&self.to.object, there, replaced, ChangeKind::Removed);
        }
        if let Some(moving) = &self.moving {
            let (old_folder, old_name) = (self.folder.object.id(), Arc::from(&*self.name));
            let what = ChangeKind::Renamed { old_folder, old_name };
            notices.entry(&self.to.object, ended_as, moving, what);
        }
    }
}
