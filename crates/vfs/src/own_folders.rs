//! The folders at a share's root that are the server's own. No client sees or reaches them, by whatever protocol.

use crate::acl::server;
use crate::backend::{Found, NewKind};
use crate::streams::{STORE, find_or_make};
use crate::{Error, Kind, Result, Volume};

/// Where disks are kept that are served block by block.
pub const DISKS: &[u8] = b".fourfold-luns";

/// Whether nobody but the server itself may use this name, anywhere in a share.
#[must_use]
pub fn is_own_name(name: &[u8]) -> bool {
    name == STORE || name == DISKS
}

/// Nobody's business.
pub(crate) fn refuse_own(name: &[u8]) -> Result<()> {
    if is_own_name(name) { Err(Error::AccessDenied) } else { Ok(()) }
}

impl Volume {
    /// The folder of [`DISKS`], if there is one. `NotPermitted` when somebody else has put something in its place.
    pub fn disks(&self) -> Result<Option<Found>> {
        match self.root()?.object.lookup(server(), DISKS) {
            Ok(found) => self.really_own(found).map(Some),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same, made if need be.
    pub fn make_disks(&self) -> Result<Found> {
        if self.is_read_only() {
            return self.disks()?.ok_or(Error::ReadOnly);
        }
        self.really_own(find_or_make(&*self.root()?.object, DISKS, NewKind::Folder, 0o700)?)
    }

    /// Whoever may write into the share could have made it before us.
    fn really_own(&self, found: Found) -> Result<Found> {
        let attributes = &found.attributes;
        let is_ours = attributes.uid == 0 || attributes.uid == self.backend.own_user();
        if attributes.kind == Kind::Folder && is_ours && attributes.mode & 0o022 == 0 {
            return Ok(found);
        }
        tracing::warn!(file = ?found.object.id(), "somebody else's, in place of the server's own folder for disks");
        Err(Error::NotPermitted)
    }
}
