//! Moving entries.

use std::sync::Arc;

use super::{Actor, Change, Volume};
use crate::backend::Node;
use crate::backend::{Found, RenameMode};
use crate::changing::operation::Operation;
use crate::changing::permitted::Plan;
use crate::events::{Aspects, ChangeKind};
use crate::finding::entry_name::{EntryName, Target};
use crate::local::What;
use crate::mac::layout::sidecar_name;
use crate::state::{Cause, Modes};
use crate::{Error, Result};

/// A move that was made.
struct CompletedMove<'a> {
    from: (&'a Found, &'a EntryName<'a>),
    to: (&'a Found, &'a Target<'a>),
    mode: RenameMode,
    /// The file behind the old name, and the one behind the new name, if any client is concerned by
    /// that.
    moving: Option<Found>,
    replaced: Option<Found>,
    /// The name that the file has now.
    name: Vec<u8>,
}

impl Volume {
    /// Moves an entry; returns what happened to both folders. An entry that has the new name in
    /// another normal form is replaced like one that has exactly this name. An entry can be given
    /// its own name in another normal form.
    pub fn rename(
        &self,
        actor: &Actor,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
    ) -> Result<(Change, Change)> {
        self.rename_if(actor, from, to, mode, |_| true)
    }

    /// The same if the entry is still the expected one; else `Stale`.
    pub(crate) fn rename_if(
        &self,
        actor: &Actor,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
        is_right: impl FnOnce(&[u8]) -> bool,
    ) -> Result<(Change, Change)> {
        self.notes().rename((&from.0.object, from.1), (&to.0.object, to.1));
        self.site.may_gain_entry(to.0)?;
        let (before, before_to) = (self.may_change(from.0)?, to.0.attributes);
        let name = self.names().entry_name(&actor.caller, from.0, from.1)?;
        let target = self.names().target(&actor.caller, (from, &name), to, mode)?;
        self.may_move_away((from.0, &name), (to.0, &target.there), mode, actor)?;
        let denied_by = self.denied_by(actor, from.0, (to.0, &target.there), mode);
        let _names = self.site.state.change_name();
        let plan = Plan::Move((from.0, &name), (to.0, &target.there), mode);
        let mut permitted = self.permit(actor, plan)?;
        let (moving, replaced) = (permitted.moving.take(), permitted.replaced.take());
        self.concerned(&permitted, moving.as_ref(), (Cause::Rename, denied_by))?;
        let replaced_by = if mode == RenameMode::Exchange { denied_by } else { Modes::REMOVE };
        self.concerned(&permitted, replaced.as_ref(), (Cause::Remove, replaced_by))?;
        self.may_move_fork(&permitted, (from.0, &name), (to.0, &target.there))?;
        let known = [(&moving, from.0), (&replaced, to.0)];
        let known = known.map(|(found, folder)| found.as_ref().unwrap_or(folder).object.id());
        let _pins = self.pin_names(&[(&from.0.object, &name), (&to.0.object, &target.there)], &known)?;
        let files = [(moving.as_ref(), Cause::Rename), (replaced.as_ref(), Cause::Remove)];
        self.recall_once_pinned(&permitted, files)?;
        let keeps = self.keep_mac_metadata(actor, (from.0, &name), (to.0, &target.there), mode)?;
        let operation = self.begin_move(actor, (from.0, &name), (to.0, &target), mode);
        let by = self.permissions().moving(&actor.caller, (from.0, &name), (to.0, &target.there), mode)?;
        let may_go = || if is_right(&name) { Ok(()) } else { Err(Error::Stale) };
        let (from, to) = ((from.0, &name), (to.0, &target));
        let ended_as = self.pairs().rename(by, from, to, mode, may_go, |ended_as| {
            let moved = |found: &Option<Found>, (from, was): (&Node, &[u8]), folder, name| {
                let from = (from.id(), was);
                found.iter().for_each(|found| self.site.places.moved(found.object.id(), from, folder, name));
            };
            moved(&moving, (&from.0.object, &name), &to.0.object, ended_as);
            if mode == RenameMode::Exchange {
                moved(&replaced, (&to.0.object, ended_as), &from.0.object, &name);
            }
        })?;
        operation.commit();
        match keeps {
            true => self.tell_kept(actor, &to.0.object, &ended_as),
            false => self.vacated(actor, (from.0, from.1), (to.0, &ended_as)),
        }
        self.tell_moved(actor, CompletedMove { from, to, mode, moving, replaced, name: ended_as });
        let change = Change { before, after: from.0.object.attributes()? };
        Ok((change, Change { before: before_to, after: to.0.object.attributes()? }))
    }

    /// The deny modes that stand against a move.
    fn denied_by(&self, actor: &Actor, from: &Found, to: (&Found, &[u8]), mode: RenameMode) -> Modes {
        let stays_in = from.object.id() == to.0.object.id() && mode != RenameMode::Exchange;
        match actor.renames_open {
            _ if stays_in && self.is_silly(actor, to.1) => Modes::NONE,
            true => Modes::DELETE,
            false => Modes::REMOVE,
        }
    }

    fn begin_move<'a>(
        &'a self,
        actor: &'a Actor,
        from: (&Found, &EntryName<'_>),
        to: (&Found, &Target<'_>),
        mode: RenameMode,
    ) -> Operation<'a> {
        let (source, target) = (from.0.object.id(), to.0.object.id());
        let (leaves, comes) = match mode {
            RenameMode::Exchange => (What::Anything, What::Anything),
            _ if to.1.there != to.1.ends_as => (What::MovedFrom, What::Anything),
            _ => (What::MovedFrom, What::MovedTo),
        };
        let (there, ends_as) = (&to.1.there, &to.1.ends_as);
        let sidecars = [sidecar_name(from.1), sidecar_name(there), sidecar_name(ends_as)];
        let mut places = vec![
            (source, &**from.1, leaves),
            (target, &**there, comes),
            (source, &sidecars[0], What::Anything),
            (target, &sidecars[1], What::Anything),
        ];
        if there != ends_as {
            places.extend([(target, &**ends_as, comes), (target, &sidecars[2], What::Anything)]);
        }
        self.change_entries(actor, &places)
    }

    fn tell_moved(&self, actor: &Actor, moved: CompletedMove<'_>) {
        let CompletedMove { from, to, mode, moving, replaced, name } = moved;
        if from.0.object.id() != to.0.object.id() {
            self.listing_changed(actor, from.0.object.id());
        }
        if mode == RenameMode::Exchange {
            // Both names are where they were: what has changed is what is behind them.
            let now = [(to.0, &*name, &moving), (from.0, &**from.1, &replaced)];
            for (folder, name, found) in now {
                let what = ChangeKind::Modified(Aspects::ALL);
                found
                    .iter()
                    .for_each(|found| self.entry_changed(actor, &folder.object, name, found, what.clone()));
            }
            return;
        }
        if let Some(replaced) = replaced.filter(|_| *to.1.there != *name) {
            self.entry_changed(actor, &to.0.object, &to.1.there, &replaced, ChangeKind::Removed);
        }
        if let Some(moving) = moving {
            let (old_folder, old_name) = (from.0.object.id(), Arc::from(&**from.1));
            let what = ChangeKind::Renamed { old_folder, old_name };
            self.entry_changed(actor, &to.0.object, &name, &moving, what);
        }
    }
}
