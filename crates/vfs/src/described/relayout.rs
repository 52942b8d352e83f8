//! Files get another layout on the disk, one after the other, while the share is served: `fourfold adopt --convert`.

use super::metadata::file_at;
use crate::backend::Found;
use crate::changing::permitted::PermittedActor;
use crate::changing::pipeline::describing::DescriptionChange;
use crate::events::Aspects;
use crate::streams::{Raw, Style};
use crate::{Actor, Beside, Error, Result, Volume};

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relayout {
    /// It has the layout already.
    Nothing,
    /// It would be changed: these parts are elsewhere.
    Outside(Vec<&'static str>),
    /// It was changed; the sum of what is on the disk now.
    Done(u128),
    /// A client has it open, or one of its streams.
    Open,
    /// Copies of these parts differ.
    Conflict(Vec<&'static str>),
    /// What clients see would have changed. All is as it was.
    Differs,
}

/// How files are changed.
#[derive(Debug, Clone, Copy)]
pub struct RelayoutOptions {
    /// The layout.
    pub style: Style,
    /// Of copies that differ, the one that clients see counts, and the others go.
    pub shown_counts: bool,
    /// Change nothing.
    pub dry_run: bool,
}

impl Volume {
    /// Moves what a file or folder has besides its data to where a layout has it. `save` gets what is on the disk before
    /// anything changes; an error of it ends the change. The server compares what clients see, with the sums of all streams and
    /// the fork, and restores everything if it differs.
    pub fn relayout(
        &self,
        actor: &Actor,
        of: &Found,
        place: Beside<'_>,
        options: RelayoutOptions,
        save: &mut dyn FnMut(&Raw) -> Result<()>,
    ) -> Result<Relayout> {
        let Some(streams) = &self.streams else { return Err(Error::NotSupported) };
        let by = PermittedActor::by_server(self, actor);
        let pinned = DescriptionChange::by(by, (of, Some(place)), None).quiet()?.pinned()?;
        let (file, style) = (file_at(of, place), options.style);
        let untouched = if streams.has_sidecar(&file)? { Some(streams.raw(&file, true)?) } else { None };
        let outside = streams.outside(&file, style)?;
        let conflicts = streams.conflicts(&file)?;
        if let Some(untouched) = untouched
            && streams.raw(&file, true)?.sum() != untouched.sum()
        {
            // The look has taken in what another server wrote into the sidecar. Neither a dry run nor what is taken back
            // leaves that.
            streams.restore_raw(&file, &untouched)?;
        }
        if !conflicts.is_empty() && !options.shown_counts {
            return Ok(Relayout::Conflict(conflicts));
        }
        if outside.is_empty() {
            return Ok(Relayout::Nothing);
        }
        if options.dry_run {
            return Ok(Relayout::Outside(outside));
        }
        if !self.site.state.opens(Some(of.object.id()), 1).is_empty() {
            return Ok(Relayout::Open);
        }
        let keeps_fork = !outside.contains(&"resource fork") && !outside.contains(&"header file");
        let (before, seen) = (streams.raw(&file, keeps_fork)?, streams.content(&file)?);
        save(&before)?;
        let mut is_same = false;
        self.may_change(of)?;
        let change = pinned.of(Aspects::ATTRIBUTES, Vec::new()).announce()?;
        let changed = change.apply(|_, _| {
            let moved = streams.relayout(&file, style);
            is_same = moved.is_ok() && seen.is_in(&streams.content(&file)?);
            if !is_same {
                streams.restore_raw(&file, &before)?;
            }
            moved
        });
        match changed {
            Ok(()) if !is_same => Ok(Relayout::Differs),
            Ok(()) => Ok(Relayout::Done(streams.raw(&file, true)?.sum())),
            Err(error) => Err(error),
        }
    }

    /// Makes what is on the disk of a file what it was before [`Volume::relayout`]. `after`: the sum that this returned; if it
    /// is another one now, somebody has changed the file since, and nothing is done. Without a sum the change may have been cut off.
    /// A file that is what it was already stays so: it was taken back before.
    pub fn undo_relayout(
        &self,
        actor: &Actor,
        of: &Found,
        place: Beside<'_>,
        before: &Raw,
        after: Option<u128>,
    ) -> Result<bool> {
        let Some(streams) = &self.streams else { return Err(Error::NotSupported) };
        let by = PermittedActor::by_server(self, actor);
        let pinned = DescriptionChange::by(by, (of, Some(place)), None).quiet()?.pinned()?;
        let file = file_at(of, place);
        let now = |keeps_fork| streams.raw(&file, keeps_fork).map(|raw| raw.sum());
        if after.is_some_and(|after| now(true).is_ok_and(|now| now != after)) {
            let before = before.sum();
            return Ok([true, false]
                .into_iter()
                .any(|keeps_fork| now(keeps_fork).is_ok_and(|now| now == before)));
        }
        if !self.site.state.opens(Some(of.object.id()), 1).is_empty() {
            return Ok(false);
        }
        self.may_change(of)?;
        let change = pinned.of(Aspects::ATTRIBUTES, Vec::new()).announce()?;
        change.apply(|_, _| streams.restore_raw(&file, before))?;
        Ok(true)
    }
}
