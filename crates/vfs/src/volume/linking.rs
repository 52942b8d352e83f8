//! Further names of files.

use super::{Actor, Change, Volume};
use crate::Result;
use crate::backend::Found;
use crate::changing::permitted::Plan;
use crate::events::ChangeKind;
use crate::local::What;
use crate::state::Cause;

impl Volume {
    /// Another name for a file.
    pub fn link(&self, actor: &Actor, target: &Found, folder: &Found, name: &[u8]) -> Result<Change> {
        self.notes().link(&target.object, &folder.object, name);
        let before = self.may_change(folder)?;
        self.site.may_gain_entry(folder)?;
        let name = self.names().new_entry_name(&actor.caller, folder, name)?;
        let permitted = self.permit(actor, Plan::Link(target, folder))?;
        self.may_lose_fork(&permitted, folder, &name)?;
        let mut operation = self.change_file(&permitted, &target.object, Cause::Attributes)?;
        operation.announce(&[(folder.object.id(), &name, What::Created)]);
        let by = self.permissions().linking(&actor.caller, target, folder)?;
        let _pins = self.pin_new_name(&folder.object, &name)?;
        self.pairs().link(by, target, folder, &name)?;
        self.listings.forget_details(); // of its other names, of which no watch tells
        operation.commit_entry(&folder.object, &name, target, ChangeKind::Created);
        Ok(Change { before, after: folder.object.attributes()? })
    }
}
