//! The rights of files as they are stored on the disk, for tools that look after them: what deviates from the roles of a team folder,
//! and how it is brought to them. The walk through a tree is in `access/tree.rs`.

use crate::acl::Deviation;
use crate::backend::Found;
use crate::{Result, Volume};

/// The rights of a volume's files on the disk.
#[derive(Clone, Copy)]
pub struct StoredRights<'a> {
    pub(crate) volume: &'a Volume,
}

impl Volume {
    /// The rights of this volume's files on the disk.
    pub fn stored_rights(&self) -> StoredRights<'_> {
        StoredRights { volume: self }
    }
}

impl StoredRights<'_> {
    /// Brings the mode and the POSIX ACLs of a file or folder to what the roles of its share, and its own list, say. What it may do
    /// less than that, and what more, ends with it. Anything but a file or folder of a team folder is left alone.
    ///
    /// Returns whether something was changed. Clients are not told: their rights are those of the roles, before and after.
    ///
    /// # Errors
    /// Those of the host: `NotPermitted` if the file belongs to another user and the server is not root.
    pub fn settle(&self, of: &Found) -> Result<bool> {
        self.volume.acl_storage().settle(of)
    }

    /// What local programs may do with a file or folder against the roles of its share, and what is wrong with its list.
    ///
    /// # Errors
    /// Those of the host.
    pub fn deviations(&self, of: &Found) -> Result<Vec<Deviation>> {
        self.volume.acl_storage().deviations(of, None)
    }
}
