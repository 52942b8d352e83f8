//! What an open file is besides its bytes, changed through the open. The permission was checked
//! when it was opened: by the protocol if it said so (`granted`).

use super::Open;
use crate::acl::AclChange;
use crate::backend::Found;
use crate::mac::Metadata;
use crate::{Actor, Beside, Error, Result, SetAttributes, Xattr, XattrChange};

/// How often a change begins again because the file was moved meanwhile.
const MOST_TRIES: usize = 8;

impl Open {
    /// The file with its attributes as of now.
    pub fn found(&self) -> Result<Found> {
        Ok(Found { attributes: self.node.attributes()?, object: self.node.clone() })
    }

    /// Changes times, mode, owner or group; [`Open::truncate`] changes the size. Waits for leases
    /// of other clients.
    pub async fn set_attributes(&self, changes: &SetAttributes) -> Result<()> {
        let changes = SetAttributes { size: None, ..*changes };
        self.describing(|actor, of, _| self.volume.set_attributes(actor, of, &changes).map(drop)).await
    }

    /// Changes the file's Mac and DOS metadata. Waits for leases of other clients.
    pub async fn change_metadata(&self, change: impl Fn(&mut Metadata)) -> Result<()> {
        self.describing(|actor, of, place| self.volume.change_metadata(actor, of, place, &change)).await
    }

    /// Changes the file's extended attributes as in [`Volume::change_xattrs`](crate::Volume::change_xattrs). Waits for leases of
    /// other clients.
    pub async fn change_xattrs(&self, plan: impl Fn(Vec<Xattr>) -> Result<Vec<XattrChange>>) -> Result<()> {
        self.describing(|actor, of, place| self.volume.change_xattrs(actor, of, place, &plan)).await
    }

    /// Changes owner, group or entries of the file's ACL. Waits for leases of other clients. In a team folder the roles of the
    /// user count, too: who makes a file gets each right that he asks for, and may not say who else has rights.
    pub async fn set_acl(&self, change: &AclChange) -> Result<()> {
        let user = Actor { by_open: false, ..self.actor.clone() };
        self.describing(|actor, of, _| {
            let by = if self.volume.roles_at(of)?.is_some() { &user } else { actor };
            self.volume.set_acl(by, of, change).map(drop)
        })
        .await
    }

    async fn describing(
        &self,
        change: impl Fn(&Actor, &Found, Option<Beside<'_>>) -> Result<()>,
    ) -> Result<()> {
        let (doer, mut tried) = (self.doer(), 0);
        let change = || loop {
            tried += 1;
            let place = self.place();
            let place = place.as_ref().map(|(folder, name)| Beside { folder, name });
            match change(&doer, &self.found()?, place) {
                Err(Error::Stale) if tried < MOST_TRIES => {} // another server has moved it meanwhile
                other => return other,
            }
        };
        self.volume.settled(change).await
    }
}
