//! Removing entries.

use super::{Actor, Change, Denials, Volume};
use crate::backend::Found;
use crate::changing::permitted::Plan;
use crate::events::ChangeKind;
use crate::local::What;
use crate::mac::layout::sidecar_name;
use crate::noted::Act;
use crate::state::{Cause, Modes};
use crate::{Kind, Result};

impl Volume {
    /// Removes an entry that is not a folder (`kind` File), or an empty folder (`kind` Folder).
    pub fn remove(&self, actor: &Actor, folder: &Found, name: &[u8], kind: Kind) -> Result<Change> {
        self.notes().entry(Act::Remove, &folder.object, name, None);
        let before = self.may_change(folder)?;
        let stored = self.names().entry_name(&actor.caller, folder, name)?;
        self.may_take_away(actor, folder, &stored)?;
        let denied_by = if self.is_silly(actor, &stored) { Modes::NONE } else { Modes::REMOVE };
        let _names = self.site.state.change_name();
        let permitted = self.permit(actor, Plan::Remove(folder, &stored))?;
        let going = permitted.moving.as_ref();
        self.concerned(&permitted, going, (Cause::Remove, denied_by))?;
        self.may_lose_fork(&permitted, folder, &stored)?;
        let (id, sidecar) = (folder.object.id(), sidecar_name(&stored));
        let known = going.map_or(id, |going| going.object.id());
        let pins = self.pin_names(&[(&folder.object, &stored)], &[known])?;
        self.recall_once_pinned(&permitted, [(going, Cause::Remove)])?;
        let places = [(id, &*stored, What::Removed), (id, &*sidecar, What::Anything)];
        let operation = self.change_entries(actor, &places);
        let by = self.permissions().removing(&actor.caller, folder, &stored)?;
        let changing = self.site.busy.change_pinned(&[(id, &*stored)], pins);
        self.pairs().remove(by, &folder.object, &stored, (kind, going))?;
        drop(changing);
        match going {
            Some(going) => operation.commit_entry(&folder.object, &stored, going, ChangeKind::Removed),
            None => operation.commit(),
        }
        Ok(Change { before, after: folder.object.attributes()? })
    }

    /// Whether an NFS client uses this name for a file that it removes while it has it open.
    pub(crate) fn is_silly(&self, actor: &Actor, name: &[u8]) -> bool {
        self.options.denials == Denials::SillyRename && actor.open.is_none() && name.starts_with(b".nfs")
    }
}
