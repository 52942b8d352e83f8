//! The roles of the share that a file is in. A share with roles is a team folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use auth::Roles;
use lock::RwLock;

use crate::{Volume, ranks};

/// The roles of a volume, which a reload replaces.
#[derive(Default)]
pub(crate) struct TeamFolders {
    /// Whether there are any: a plain folder costs one atomic load.
    any: AtomicBool,
    roles: RwLock<Option<Arc<Roles>>, ranks::TeamRoles>,
}

impl TeamFolders {
    /// The roles of the share itself.
    #[inline]
    pub(crate) fn roles(&self) -> Option<Arc<Roles>> {
        if self.any.load(Ordering::Acquire) { self.roles.read().clone() } else { None }
    }

    fn set(&self, roles: Option<Arc<Roles>>) {
        let mut current = self.roles.write();
        self.any.store(roles.is_some(), Ordering::Release);
        *current = roles;
    }
}

impl Volume {
    /// From now on the share is a team folder with these roles, or none.
    pub fn set_roles(&self, roles: Option<Arc<Roles>>) {
        self.teams.set(roles);
    }

    /// The roles of the share, if it is a team folder.
    pub fn roles(&self) -> Option<Arc<Roles>> {
        self.teams.roles()
    }
}
