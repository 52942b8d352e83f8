//! The identity under which an operation is done. If a stored ACL applies, its verdict is final:
//! what it allows is done as the server itself, as the host knows only the mode. If none applies,
//! the host judges the caller.

use std::sync::Arc;

use auth::Grant;

use super::team::TeamFolders;
use crate::acl::{Acl, Rights};
use crate::backend::Node;
use crate::backend::{Found, NewKind, RenameMode};
use crate::caller::server;
use crate::homes::Homes;
use crate::volume::VolumeOptions;
use crate::{Access, Actor, Attributes, Caller, Error, Kind, Result, SetAttributes, SetTime, Volume};

/// Bits of a mode that make a program run as another user or group.
const RUNS_AS: u32 = 0o6000;

/// The server itself, for a caller that may do this in the share.
pub(super) fn as_server(caller: &Caller, of: &Found, need: Rights) -> Result<&'static Caller> {
    match of.object.admits(caller) {
        Some(Grant::ReadWrite) => Ok(server()),
        Some(Grant::ReadOnly) if need.intersects(Rights::CHANGING) => Err(Error::ReadOnly),
        Some(Grant::ReadOnly) => Ok(server()),
        None => Err(Error::AccessDenied),
    }
}

/// What callers may do to the files of a volume, by stored ACLs and by modes. It judges and changes nothing.
#[derive(Clone, Copy)]
pub(crate) struct Permissions<'a> {
    /// Where the stored ACLs and their keys are.
    pub(super) homes: &'a Homes,
    options: &'a VolumeOptions,
    pub(super) teams: &'a TeamFolders,
}

impl Volume {
    /// What callers may do to the files of this volume.
    pub(crate) fn permissions(&self) -> Permissions<'_> {
        Permissions { homes: &self.homes, options: &self.options, teams: &self.teams }
    }
}

impl Permissions<'_> {
    /// The share's folder.
    pub(crate) fn root(&self) -> Result<Found> {
        self.homes.backend.root()
    }

    /// Whether each change of a file is refused: in a read-only volume, or a read-only tree of a writable one.
    pub(crate) fn refuses_changes(&self, of: &Node) -> bool {
        self.options.read_only || of.is_read_only()
    }

    /// The stored ACL that applies to a file.
    pub(crate) fn stored_acl(&self, of: &Found) -> Result<Option<Arc<Acl>>> {
        if let Some((team, place)) = self.team_of(&*of.object)? {
            return self.team_acl(of, &team, place).map(Some);
        }
        self.homes.learn(&of.object.key())?;
        if !self.homes.site.acls.any() || !matches!(of.attributes.kind, Kind::File | Kind::Folder) {
            return Ok(None);
        }
        self.learning(of, |learn| self.homes.site.acls.of(&*of.object, &of.attributes, learn))
    }

    /// Reads a stored ACL, and gives what looks for keys that another server has made lately.
    pub(super) fn learning<T>(
        &self,
        of: &Found,
        read: impl FnOnce(Option<&dyn Fn() -> Result<()>>) -> Result<T>,
    ) -> Result<T> {
        let learn = || {
            self.homes.forget();
            self.homes.learn(&of.object.key())
        };
        read(if self.options.shared { Some(&learn) } else { None })
    }

    /// Whether a stored ACL, or the roles of a team folder, may apply to any file.
    pub(crate) fn has_acls(&self) -> Result<bool> {
        self.homes.learn_root()?;
        Ok(self.homes.site.acls.any() || self.has_teams())
    }

    /// The identity under which something that needs these rights is done once: the caller, or the
    /// server if a stored ACL allows it.
    pub(crate) fn acting<'a>(&self, caller: &'a Caller, of: &Found, need: Rights) -> Result<&'a Caller> {
        match self.stored_acl(of)? {
            None => Ok(caller),
            Some(acl) if grants(&acl, caller, of, need) && acl.within_mode => Ok(caller),
            Some(acl) if grants(&acl, caller, of, need) => as_server(caller, of, need),
            Some(_) => Err(Error::AccessDenied),
        }
    }

    /// The same for the data of a file, which an open may have decided about.
    pub(crate) fn acting_on_data<'a>(
        &self,
        actor: &'a Actor,
        of: &Found,
        need: Rights,
    ) -> Result<&'a Caller> {
        if actor.by_open { as_server(&actor.caller, of, need) } else { self.acting(&actor.caller, of, need) }
    }

    /// The identity under which something is made in a folder: the caller, if the host lets the
    /// caller.
    pub(super) fn making<'a>(
        &self,
        caller: &'a Caller,
        folder: &Found,
        kind: NewKind<'_>,
    ) -> Result<&'a Caller> {
        let need = if matches!(kind, NewKind::Folder) { Rights::APPEND } else { Rights::WRITE_DATA };
        let by = self.acting(caller, folder, need)?;
        let wanted = Access::WRITE.union(Access::EXECUTE);
        let is_device = matches!(kind, NewKind::CharDevice(..) | NewKind::BlockDevice(..));
        let by_host = is_device || folder.object.access(caller, &folder.attributes, wanted)? == wanted;
        Ok(if by_host { caller } else { by })
    }

    /// The identity under which entries of a folder are looked up.
    pub(crate) fn passing<'a>(&self, caller: &'a Caller, folder: &Found) -> Result<&'a Caller> {
        match folder.attributes.kind {
            Kind::Folder if caller.bypasses_traverse() => self.acting(caller, folder, Rights::NONE),
            Kind::Folder => self.acting(caller, folder, Rights::EXECUTE),
            _ => Ok(caller),
        }
    }

    /// The same for a folder whose attributes are not known.
    pub(crate) fn passing_through<'a>(&self, caller: &'a Caller, folder: &Node) -> Result<&'a Caller> {
        self.homes.learn(&folder.key())?;
        if !self.homes.site.acls.any() && !self.has_teams() {
            return Ok(caller);
        }
        self.passing(caller, &Found { object: folder.clone(), attributes: folder.attributes()? })
    }

    /// Which of `want` the caller may do.
    pub(crate) fn access(&self, caller: &Caller, to: &Found, want: Access) -> Result<Access> {
        let granted = match self.access_by_acl(caller, to, want)? {
            Some(_) if to.object.admits(caller).is_none() => Access::NONE,
            Some(granted) if to.object.admits(caller) == Some(Grant::ReadOnly) => {
                granted.difference(Access::WRITE)
            }
            Some(granted) => granted,
            None => to.object.access(caller, &to.attributes, want)?,
        };
        Ok(if self.refuses_changes(&to.object) { Access(granted.0 & !Access::WRITE.0) } else { granted })
    }

    /// Whether the actor is a client that reads programs to run them, and its user may run this one.
    pub(crate) fn may_run(&self, actor: &Actor, of: &Found) -> Result<bool> {
        let is_program = actor.profile.reads_to_run && of.attributes.kind == Kind::File;
        Ok(is_program && self.access(&actor.caller, of, Access::EXECUTE)? == Access::EXECUTE)
    }

    /// Which of `want` the caller may do by the ACL; `None` if no ACL applies.
    fn access_by_acl(&self, caller: &Caller, to: &Found, want: Access) -> Result<Option<Access>> {
        let Some(acl) = self.stored_acl(to)? else { return Ok(None) };
        let granted = acl.access(caller, &to.attributes).intersection(want);
        Ok(Some(match acl.within_mode {
            true => granted.intersection(to.object.access(caller, &to.attributes, granted)?),
            false => granted,
        }))
    }

    /// The changes of size, of owner, group and mode, and of times, each with the identity that makes it, if an ACL applies. All
    /// permissions are asked before the first change.
    pub(crate) fn attribute_parts<'a>(
        &self,
        caller: &'a Caller,
        of: &Found,
        changes: &SetAttributes,
    ) -> Result<[(&'a Caller, SetAttributes); 3]> {
        let none = SetAttributes::default();
        let size = SetAttributes { size: changes.size, ..none };
        let SetAttributes { accessed, modified, mode, uid, gid, .. } = *changes;
        let (times, owning) =
            (SetAttributes { accessed, modified, ..none }, SetAttributes { mode, uid, gid, ..none });
        let only_now = ![accessed, modified].iter().any(|time| matches!(time, SetTime::To(_)));
        let sizing = if size == none { caller } else { self.acting(caller, of, Rights::WRITE_DATA)? };
        let timing = match self.acting(caller, of, Rights::WRITE_ATTRIBUTES) {
            _ if times == none => caller,
            Err(Error::AccessDenied) if only_now => self.acting(caller, of, Rights::WRITE_DATA)?,
            other => other?,
        };
        let (owner, owning) = match self.team_of(&*of.object)? {
            _ if owning == none => (caller, owning),
            Some(_) => self.may_own_in_team(caller, of, owning)?,
            None => self.may_own(caller, of, owning)?,
        };
        Ok([(sizing, size), (owner, owning), (timing, times)])
    }

    /// A caller that may change the ACL may set a mode. Owner and group change only if the host
    /// lets the caller.
    fn may_own<'a>(
        &self,
        caller: &'a Caller,
        of: &Found,
        changes: SetAttributes,
    ) -> Result<(&'a Caller, SetAttributes)> {
        let by = self.acting(caller, of, Rights::WRITE_ACL)?;
        if caller.uid == of.attributes.uid || changes.uid.is_some() || changes.gid.is_some() {
            return Ok((caller, changes));
        }
        // Only the owner may let programs of other users run as the owner.
        let kept = of.attributes.mode & RUNS_AS;
        let mode =
            changes.mode.map(|mode| if caller.uid == 0 { mode } else { mode & !RUNS_AS | kept & mode });
        Ok((by, SetAttributes { mode, ..changes }))
    }

    /// The identity under which another name is made for a file. A caller that does not own the
    /// file and may not read and write it cannot make one.
    pub(crate) fn linking<'a>(
        &self,
        caller: &'a Caller,
        target: &Found,
        folder: &Found,
    ) -> Result<&'a Caller> {
        let by = self.acting(caller, folder, Rights::WRITE_DATA)?;
        let all = Rights::READ_DATA.union(Rights::WRITE_DATA);
        if std::ptr::eq(by, caller) {
            return Ok(by);
        }
        let owns = target.attributes.uid == caller.uid;
        if owns || self.own_rights(caller, target)?.contains(all) { Ok(by) } else { Err(Error::NotPermitted) }
    }

    /// The identity under which an entry is removed.
    pub(crate) fn removing<'a>(&self, caller: &'a Caller, folder: &Found, name: &[u8]) -> Result<&'a Caller> {
        if !self.has_acls()? {
            return Ok(caller);
        }
        let Some(entry) = self.entry(caller, folder, name)? else {
            return self.acting(caller, folder, Rights::DELETE_CHILD);
        };
        let acls = [self.stored_acl(folder)?, self.stored_acl(&entry)?];
        if acls.iter().all(Option::is_none) {
            return Ok(caller);
        }
        let may = self.rights(caller, &entry, Some(folder))?.contains(Rights::DELETE);
        let is_within_mode = acls.iter().flatten().any(|acl| acl.within_mode);
        match may {
            true if is_within_mode => Ok(caller),
            true => Ok(server()),
            false => Err(Error::AccessDenied),
        }
    }

    /// The identity under which an entry is moved: out of a folder, into another, perhaps in place
    /// of an existing entry.
    pub(crate) fn moving<'a>(
        &self,
        caller: &'a Caller,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
    ) -> Result<MovingRight<'a>> {
        let may_replace = |by| MovingRight { by, replaces: true };
        if !self.has_acls()? {
            return Ok(may_replace(caller));
        }
        let Some(moved) = self.entry(caller, from.0, from.1)? else {
            return self.acting(caller, from.0, Rights::DELETE_CHILD).map(may_replace);
        };
        let replaced = self.entry(caller, to.0, to.1)?;
        let involved = [Some(&moved), Some(from.0), Some(to.0), replaced.as_ref()];
        let (mut by_acl, mut within_mode) = (false, false);
        for found in involved.into_iter().flatten() {
            let acl = self.stored_acl(found)?;
            by_acl |= acl.is_some();
            within_mode |= acl.is_some_and(|acl| acl.within_mode);
        }
        if !by_acl {
            return Ok(may_replace(caller));
        }
        let has = self.rights(caller, &moved, Some(from.0))?;
        if !has.contains(Rights::DELETE) && has.contains(Rights::RENAMES) {
            return self.renaming(caller, &moved, [from.0, to.0], replaced.is_some());
        }
        let may = |found: &Found, folder: &Found, need| -> Result<()> {
            let granted = self.rights(caller, found, Some(folder))?;
            if granted.contains(need) { Ok(()) } else { Err(Error::AccessDenied) }
        };
        may(&moved, from.0, Rights::DELETE)?;
        may(to.0, to.0, adding(&moved))?;
        if let Some(replaced) = &replaced {
            may(replaced, to.0, Rights::DELETE)?;
            if mode == RenameMode::Exchange {
                may(from.0, from.0, adding(replaced))?;
            }
        }
        Ok(may_replace(if within_mode { caller } else { server() }))
    }

    /// A move of what its user may only rename: from and to folders of one share in which its user may add, to a free name.
    fn renaming<'a>(
        &self,
        caller: &Caller,
        moved: &Found,
        folders: [&Found; 2],
        is_taken: bool,
    ) -> Result<MovingRight<'a>> {
        for folder in folders {
            if is_taken || !self.rights(caller, folder, None)?.contains(adding(moved)) {
                return Err(Error::AccessDenied);
            }
        }
        let [from, to] = [self.team_of(&*folders[0].object)?, self.team_of(&*folders[1].object)?];
        match (from, to) {
            (Some((from, _)), Some((to, _))) if Arc::ptr_eq(&from, &to) => {
                Ok(MovingRight { by: server(), replaces: false })
            }
            _ => Err(Error::AccessDenied),
        }
    }

    /// What the caller finds under a name. A sidecar need not be on the disk.
    fn entry(&self, caller: &Caller, folder: &Found, name: &[u8]) -> Result<Option<Found>> {
        match folder.object.lookup(self.passing(caller, folder)?, name) {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotFound) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

/// The permission for a move.
pub(crate) struct MovingRight<'a> {
    /// The identity under which it is done.
    pub(crate) by: &'a Caller,
    /// It may replace what has the new name.
    pub(crate) replaces: bool,
}

/// The right to add something of this kind to a folder.
fn adding(found: &Found) -> Rights {
    match found.attributes.kind {
        Kind::Folder => Rights::APPEND,
        _ => Rights::WRITE_DATA,
    }
}

fn grants(acl: &Acl, caller: &Caller, of: &Found, need: Rights) -> bool {
    let Attributes { uid, gid, .. } = of.attributes;
    acl.rights(caller, uid, gid).contains(need)
}
