//! Making entries.

use super::{Actor, Change, CreatedEntry, Volume};
use crate::acl::NewPermissions;
use crate::backend::{Found, NewKind};
use crate::changing::pipeline::entries::Creation;
use crate::changing::safe_save::SafeSave;
use crate::noted::Act;
use crate::{Beside, Result};

impl Volume {
    /// Makes an entry. `Exists` also where an entry has this name in another form.
    pub fn create(
        &self,
        actor: &Actor,
        folder: &Found,
        name: &[u8],
        new: NewKind<'_>,
        mode: u32,
    ) -> Result<CreatedEntry> {
        let before = folder.attributes;
        let permissions = NewPermissions { mode, ..NewPermissions::default() };
        let found = self.create_with_permissions(actor, folder, name, new, &permissions)?;
        Ok(CreatedEntry { found, folder: Change { before, after: folder.object.attributes()? } })
    }

    /// As [`Volume::create`], with an ACL of its own. Without one it has what the folder's ACL passes on; if that is nothing,
    /// the mode counts.
    pub fn create_with_permissions(
        &self,
        actor: &Actor,
        folder: &Found,
        name: &[u8],
        kind: NewKind<'_>,
        permissions: &NewPermissions<'_>,
    ) -> Result<Found> {
        self.notes().entry(Act::Create, &folder.object, name, None);
        let creation = Creation::permitted(self, actor, folder, name)?.quiet()?.pinned()?.announce()?;
        creation.apply(|creation, by| {
            let found = self.create_for(by, folder, &creation.name, kind, permissions)?;
            creation.unpin();
            let place = Beside { folder: &folder.object, name: &creation.name };
            SafeSave::by(self, actor).keep_for_new(&found, place);
            Ok(found)
        })
    }
}
