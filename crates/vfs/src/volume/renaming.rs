//! Moving entries.

use super::{Actor, Change, Volume};
use crate::backend::{Found, RenameMode};
use crate::changing::pipeline::moving::Move;
use crate::{Error, Result};

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

    /// As [`Volume::rename`], if the entry is still the expected one; else `Stale`.
    pub(crate) fn rename_if(
        &self,
        actor: &Actor,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
        is_right: impl FnOnce(&[u8]) -> bool,
    ) -> Result<(Change, Change)> {
        self.notes().rename((&from.0.object, from.1), (&to.0.object, to.1));
        let renaming = Move::permitted(self, actor, from, to, mode)?.quiet()?.pinned()?.announce()?;
        renaming.apply(|moving, by| {
            moving.keep_mac_metadata(self, actor)?;
            let (from, to, mode) = (moving.source(), moving.target(), moving.mode());
            let may_go = || if is_right(from.1) { Ok(()) } else { Err(Error::Stale) };
            let ended_as =
                self.pairs().rename(by, from, to, mode, may_go, |ended_as| moving.follow(self, ended_as))?;
            self.follow_folder(from.0, to.0, &ended_as);
            if mode == RenameMode::Exchange {
                self.follow_folder(to.0, from.0, from.1);
            }
            Ok(ended_as)
        })?;
        let change = |folder: &Found| -> Result<Change> {
            Ok(Change { before: folder.attributes, after: folder.object.attributes()? })
        };
        let source = change(from.0)?;
        let target = match from.0.object.id() == to.0.object.id() {
            true => Change { before: to.0.attributes, after: source.after },
            false => change(to.0)?,
        };
        Ok((source, target))
    }
}
