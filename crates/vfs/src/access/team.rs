//! The team folder that a file is in: a share with roles, which decide about all that is in it.
//!
//! Nothing is stored for a file that has no list of its own, so a change of the roles counts at once. A share inside another one
//! has its own roles, or none: it is behind a gate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use auth::Roles;
use lock::RwLock;

use super::enforce::Permissions;
use crate::acl::team::{TeamFolder, TeamPlace};
use crate::acl::{Acl, Rights};
use crate::backend::{Backend, Found, Object};
use crate::caller::server;
use crate::{Caller, Description, Error, FileId, Kind, Result, Volume, ranks};

/// The roles of a volume, which a reload replaces.
#[derive(Default)]
pub(crate) struct TeamFolders {
    /// Whether there are any: a plain folder costs one atomic load.
    any: AtomicBool,
    current: RwLock<Option<VolumeTeam>, ranks::TeamRoles>,
}

#[derive(Clone)]
struct VolumeTeam {
    folder: Arc<TeamFolder>,
    /// The share's own folder, unless that was not there.
    root: Option<FileId>,
}

impl TeamFolders {
    #[inline]
    fn current(&self) -> Option<VolumeTeam> {
        if self.any.load(Ordering::Acquire) { self.current.read().clone() } else { None }
    }

    fn set(&self, backend: &dyn Backend, roles: Option<Arc<Roles>>) {
        let root = || backend.root().ok().map(|root| root.object.id());
        let team = |roles| VolumeTeam {
            folder: Arc::new(TeamFolder::new(roles, backend.own_user() == 0)),
            root: root(),
        };
        let team = roles.map(team);
        let mut current = self.current.write();
        self.any.store(team.is_some(), Ordering::Release);
        *current = team;
    }
}

impl Volume {
    /// From now on the share is a team folder with these roles, or none.
    pub fn set_roles(&self, roles: Option<Arc<Roles>>) {
        self.teams.set(self.backend.as_ref(), roles);
    }

    /// The roles of the share, if it is a team folder.
    pub fn roles(&self) -> Option<Arc<Roles>> {
        self.teams.current().map(|team| team.folder.roles().clone())
    }

    /// Whether roles decide about a file.
    pub(crate) fn is_team_folder(&self, of: &Found) -> Result<bool> {
        Ok(self.permissions().team_of(&*of.object)?.is_some())
    }

    /// The roles that count for a file: those of the share, or of the share inside it that the file is in. `None`: it is in no
    /// team folder, and mode and ACL decide.
    pub fn roles_at(&self, of: &Found) -> Result<Option<Arc<Roles>>> {
        Ok(self.permissions().team_of(&*of.object)?.map(|(team, _)| team.roles().clone()))
    }
}

impl Permissions<'_> {
    /// The team folder that a file is in, and where it is there.
    #[inline]
    pub(crate) fn team_of(&self, of: &dyn Object) -> Result<Option<(Arc<TeamFolder>, TeamPlace)>> {
        if self.homes.backend.has_gates()
            && let Some(gate) = of.gate()
        {
            let place = if gate.is_root { TeamPlace::Root } else { place_of(of) };
            return Ok(gate.team.map(|team| (team, place)));
        }
        let Some(VolumeTeam { folder, root }) = self.teams.current() else { return Ok(None) };
        let place = match place_of(of) {
            TeamPlace::Folder => {
                let root = match root {
                    Some(root) => root,
                    None => self.homes.backend.root()?.object.id(),
                };
                if of.id() == root { TeamPlace::Root } else { TeamPlace::Folder }
            }
            other => other,
        };
        Ok(Some((folder, place)))
    }

    /// Whether any file may be in a team folder.
    #[inline]
    pub(crate) fn has_teams(&self) -> bool {
        self.teams.any.load(Ordering::Acquire) || self.homes.backend.has_team_gates()
    }

    /// Whether listings of a folder have only what the caller may see: the top of a share for backups.
    pub(crate) fn lists_only_own(&self, caller: &Caller, folder: &Found) -> Result<bool> {
        let team = if caller.uid == 0 { None } else { self.team_of(&*folder.object)? };
        Ok(team.is_some_and(|(team, place)| place == TeamPlace::Root && team.lists_only_own(caller)))
    }

    /// Whether the caller sees an entry of such a folder.
    pub(crate) fn sees(&self, caller: &Caller, folder: &Found, name: &[u8]) -> Result<bool> {
        match folder.object.lookup(server(), name) {
            Ok(entry) => Ok(self.own_rights(caller, &entry)?.contains(Rights::READ_DATA)),
            Err(Error::NotFound) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// The ACL of an entry of a listing in a team folder; `None`: the entry has to be looked up, because it may have a list of its
    /// own, or be a share of its own.
    pub(crate) fn plain_team_acl(&self, team: &TeamFolder, entry: &Description) -> Option<Arc<Acl>> {
        let is_folder = entry.details.attributes.kind == Kind::Folder;
        let place = if is_folder { TeamPlace::Folder } else { TeamPlace::File };
        let may_be_gate = is_folder && self.homes.backend.has_gates();
        (!may_be_gate && !entry.has_list).then(|| team.plain(place).clone())
    }

    /// The ACL of something in a team folder.
    pub(super) fn team_acl(&self, of: &Found, team: &TeamFolder, place: TeamPlace) -> Result<Arc<Acl>> {
        self.homes.learn(&of.object.key())?;
        if !self.homes.site.acls.any() || !matches!(of.attributes.kind, Kind::File | Kind::Folder) {
            return Ok(team.plain(place).clone());
        }
        let own =
            self.learning(of, |learn| self.homes.site.acls.in_team(&*of.object, &of.attributes, learn))?;
        Ok(own.map_or_else(|| team.plain(place).clone(), |own| Arc::new(team.acl(place, own))))
    }
}

fn place_of(of: &dyn Object) -> TeamPlace {
    if of.kind() == Kind::Folder { TeamPlace::Folder } else { TeamPlace::File }
}
