//! Reads and changes an ACL, and finds what it allows a caller.

use auth::Grant;

use super::enforce::{Permissions, as_server};
use super::known::StoredAclCache;
use crate::acl::beside_mode::before_another_mode;
use crate::acl::inherit::{Heir, beside_mode};
use crate::acl::mode::{derive, rights_of, summary};
use crate::acl::stored::{ATTRIBUTE, SealKey, StoredAcl};
use crate::acl::team::TeamPlace;
use crate::acl::{
    Acl, AclChange, Entries, MAX_ENTRIES, MAX_FOREIGN, ModeInheritance, POSIX_ACL, Rights, TeamRights, Who,
    samba,
};
use crate::backend::{Found, Object, XattrMode};
use crate::caller::server;
use crate::changing::pipeline::attributes::AttributeChange;
use crate::permission::{by_mode, sticks};
use crate::streams::stores::Stores;
use crate::{
    Access, Actor, Attributes, Caller, Change, Description, Error, Kind, Result, SetAttributes, Volume,
};

/// An attribute with permissions, by its name on the disk; `None` if the file has none.
pub(crate) type RightsAttribute = (&'static [u8], Option<Vec<u8>>);

impl Volume {
    /// The permissions of a file: the stored ACL, else what its mode says.
    pub fn acl(&self, of: &Found) -> Result<Acl> {
        self.permissions().acl(of)
    }

    /// Whether a stored ACL applies to a file, and not its mode.
    pub fn has_stored_acl(&self, of: &Found) -> Result<bool> {
        Ok(self.permissions().stored_acl(of)?.is_some())
    }

    /// Everything that the caller may do to a file. `parent` is the folder that it is in. Without
    /// it, the rights that the folder adds are left out: a caller that may change the folder's
    /// entries may remove this file, and a caller that may list the folder may see attributes.
    pub fn rights(&self, caller: &Caller, of: &Found, parent: Option<&Found>) -> Result<Rights> {
        self.permissions().rights(caller, of, parent)
    }

    /// Changes owner, group or entries. The mode becomes a summary of the entries, for clients that
    /// see only the mode.
    pub fn set_acl(&self, actor: &Actor, of: &Found, change: &AclChange) -> Result<Change> {
        let before = self.may_change(of)?;
        let change = self.permissions().new_parts(of, change)?;
        let setting = AttributeChange::permitted_of_acl(self, actor, of, &change)?;
        setting.quiet()?.pinned()?.announce()?.apply(|_, _| {
            let owners = self.permissions().may_set_acl(&actor.caller, of, &change)?;
            self.acl_storage().put_acl(of, &change, owners)?;
            // What local programs may do follows the list.
            let now = Found { object: of.object.clone(), attributes: of.object.attributes()? };
            self.acl_storage().settle(&now).map(drop)
        })?;
        Ok(Change { before, after: of.object.attributes()? })
    }

    /// The ACLs of this volume as they are stored, and the attributes that they come with.
    pub(crate) fn acl_storage(&self) -> AclStorage<'_> {
        AclStorage { permissions: self.permissions() }
    }
}

impl Permissions<'_> {
    /// The permissions of a file: the stored ACL, else what its mode says.
    pub(super) fn acl(&self, of: &Found) -> Result<Acl> {
        if let Some(stored) = self.stored_acl(of)? {
            return Ok(of_file(Acl::clone(&stored), &of.attributes));
        }
        let posix = match of.attributes.kind {
            Kind::File | Kind::Folder => there(of.object.xattr(POSIX_ACL))?,
            _ => None,
        };
        Ok(derive(&of.attributes, posix.as_deref()))
    }

    /// Everything that the caller may do to a file; see [`Volume::rights`].
    pub(super) fn rights(&self, caller: &Caller, of: &Found, parent: Option<&Found>) -> Result<Rights> {
        let mut rights = self.own_rights(caller, of)?;
        if let Some(parent) = parent.filter(|_| caller.uid != 0) {
            let above = self.own_rights(caller, parent)?;
            if above.contains(Rights::DELETE_CHILD) && !sticks(caller, &of.attributes, &parent.attributes) {
                rights = rights.union(Rights::DELETE);
            }
            if above.contains(Rights::READ_DATA) && !self.lists_only_own(caller, parent)? {
                rights = rights.union(Rights::READ_ATTRIBUTES);
            }
        }
        match of.object.admits(caller) {
            None => Err(Error::AccessDenied),
            Some(Grant::ReadWrite) if !self.refuses_changes(&of.object) => Ok(rights),
            Some(_) => Ok(rights.difference(Rights::CHANGING)),
        }
    }

    /// The rights by a file's own ACL or mode.
    pub(super) fn own_rights(&self, caller: &Caller, of: &Found) -> Result<Rights> {
        if caller.uid == 0 {
            return Ok(Rights::ALL);
        }
        let Attributes { uid, gid, .. } = of.attributes;
        let by_acl = self.stored_acl(of)?;
        if let Some(acl) = by_acl.as_ref().filter(|acl| !acl.within_mode) {
            return Ok(acl.rights(caller, uid, gid));
        }
        let by_host = by_host(caller, &of.attributes, of.object.access(caller, &of.attributes, Access(7))?);
        Ok(by_acl.map_or(by_host, |acl| acl.rights(caller, uid, gid).intersection(by_host)))
    }

    /// Everything that the caller may do to an entry of a listing of `folder`, as
    /// [`Volume::rights`] defines it. `above` are the caller's rights to the folder itself. The
    /// host is asked only about files that have more than a mode.
    pub(crate) fn listed_rights(
        &self,
        caller: &Caller,
        (folder, above): (&Found, Rights),
        name: &[u8],
        listed: &Description,
    ) -> Result<Rights> {
        let attributes = &listed.details.attributes;
        let team = self.team_of(&*folder.object)?;
        let plain = team.as_ref().and_then(|(team, _)| self.plain_team_acl(team, listed));
        let mut rights = match plain {
            _ if caller.uid == 0 => Rights::ALL,
            Some(acl) => acl.rights(caller, attributes.uid, attributes.gid),
            None if listed.has_acl => self.own_rights(caller, &folder.object.lookup(server(), name)?)?,
            None => by_host(caller, attributes, by_mode(attributes, caller)),
        };
        if above.contains(Rights::DELETE_CHILD) && !sticks(caller, attributes, &folder.attributes) {
            rights = rights.union(Rights::DELETE);
        }
        Ok(if self.refuses_changes(&folder.object) { rights.difference(Rights::CHANGING) } else { rights })
    }

    /// The change without the owner and the group that the file has: clients send back all that they have read.
    fn new_parts(&self, of: &Found, change: &AclChange) -> Result<AclChange> {
        if change.owner.is_none() && change.group.is_none() {
            return Ok(change.clone());
        }
        let is = self.acl(of)?;
        let new = |sent: &Option<Who>, is: &Who| sent.clone().filter(|sent| sent != is);
        Ok(AclChange {
            owner: new(&change.owner, &is.owner),
            group: new(&change.group, &is.group),
            entries: change.entries.clone(),
        })
    }

    /// Refuses a list for the share's own folder without what a role gives.
    fn may_leave_roles(&self, of: &Found, change: &AclChange) -> Result<()> {
        let (Some(list), Some((team, TeamPlace::Root))) = (&change.entries, self.team_of(&*of.object)?)
        else {
            return Ok(());
        };
        let Some(who) = team.lacking(list) else { return Ok(()) };
        tracing::warn!(target: "metadata", ?who,
            "a client would take a role away by the list of a share's top folder, which is refused: roles are settings of the \
             share, and 'fourfold share access SHARE' changes them");
        Err(Error::AccessDenied)
    }

    /// Whether the caller may make this change; returns the new owner and group of the host's file.
    pub(crate) fn may_set_acl(&self, caller: &Caller, of: &Found, change: &AclChange) -> Result<(u32, u32)> {
        let Attributes { mut uid, mut gid, kind, .. } = of.attributes;
        if !matches!(kind, Kind::File | Kind::Folder) {
            return Err(Error::NotSupported);
        }
        check(change)?;
        let has = self.rights(caller, of, None)?;
        if change.entries.is_some() && !has.contains(Rights::WRITE_ACL) {
            return Err(Error::AccessDenied);
        }
        self.may_leave_roles(of, change)?;
        let takes = has.contains(Rights::TAKE_OWNERSHIP);
        match change.owner {
            None => {}
            Some(Who::User(user)) if user == uid => {}
            Some(Who::User(_)) if !takes => return Err(Error::AccessDenied),
            Some(Who::User(user)) if caller.uid == 0 || caller.uid == user => uid = user,
            Some(Who::User(_)) => return Err(Error::NotPermitted),
            Some(Who::Foreign(_)) if !takes => return Err(Error::AccessDenied),
            Some(Who::Foreign(_)) => {}
            Some(_) => return Err(Error::Invalid),
        }
        let regroups = takes || caller.uid == of.attributes.uid;
        match change.group {
            None => {}
            Some(Who::Group(group)) if group == gid => {}
            Some(_) if !regroups => return Err(Error::AccessDenied),
            Some(Who::Group(group)) if caller.uid == 0 || caller.in_group(group) => gid = group,
            Some(Who::Group(_)) => return Err(Error::NotPermitted),
            Some(Who::Foreign(_)) => {}
            Some(_) => return Err(Error::Invalid),
        }
        Ok((uid, gid))
    }
}

/// The ACLs of a volume as they are stored, with owner, group and mode: what is judged already is written here.
pub(crate) struct AclStorage<'a> {
    pub(super) permissions: Permissions<'a>,
}

impl AclStorage<'_> {
    /// Changes attributes, each under the identity that may change it.
    pub(crate) fn change_attributes(&self, actor: &Actor, of: &Found, changes: &SetAttributes) -> Result<()> {
        let (object, caller) = (&of.object, &actor.caller);
        let rest = SetAttributes { size: None, ..*changes };
        if actor.by_open && rest != *changes {
            let size = SetAttributes { size: changes.size, ..SetAttributes::default() };
            object.set_attributes(as_server(caller, of, Rights::WRITE_DATA)?, &size)?;
            return match rest == SetAttributes::default() {
                true => Ok(()),
                false => self.change_attributes(&Actor { by_open: false, ..actor.clone() }, of, &rest),
            };
        }
        let Some(acl) = self.permissions.stored_acl(of)? else {
            return object.set_attributes(caller, changes);
        };
        let none = SetAttributes::default();
        let is_restated = acl.team.is_none();
        let parts = self.permissions.attribute_parts(caller, of, changes)?;
        let changed = parts.iter().filter(|(_, part)| *part != none);
        changed.into_iter().try_for_each(|(by, part)| object.set_attributes(by, part))?;
        if parts[1].1 == none || !is_restated { Ok(()) } else { self.restate(of, &acl) }
    }

    /// After mode or owner have changed: the mode applies, or the ACL if it comes before a mode.
    fn restate(&self, of: &Found, before: &Acl) -> Result<()> {
        let now = Found { object: of.object.clone(), attributes: of.object.attributes()? };
        let Attributes { mode, uid, gid, kind, .. } = now.attributes;
        let Some(entries) = before_another_mode(&before.entries, mode, kind == Kind::Folder) else {
            self.drop_sambas(&*now.object)?;
            return self.drop_stale(of);
        };
        let foreign = |who: &Who| matches!(who, Who::Foreign(_)).then(|| who.clone());
        let group = foreign(&before.group).unwrap_or(Who::Group(gid));
        self.store_acl(&now, StoredAcl::new((uid, gid), (foreign(&before.owner), group), entries))
    }

    /// Removes a stored ACL that another mode or owner has made stale. Otherwise it would apply
    /// again if they became by chance what they were.
    fn drop_stale(&self, of: &Found) -> Result<()> {
        let now = Found { object: of.object.clone(), attributes: of.object.attributes()? };
        if self.permissions.stored_acl(&now)?.is_none() {
            there(now.object.remove_xattr(server(), ATTRIBUTE))?;
            self.acls().forget(&*now.object);
        }
        Ok(())
    }

    /// After this server has changed an ACL or a mode: what Samba has stored is stale. The file's own ACL is stored by now.
    pub(super) fn drop_sambas(&self, object: &dyn Object) -> Result<()> {
        if self.acls().has_sambas() {
            there(object.remove_xattr(server(), samba::ATTRIBUTE))?;
        }
        Ok(())
    }

    /// The attributes of a file that hold permissions, as they are on the disk.
    pub(crate) fn rights_of_file(&self, of: &Found) -> Result<Vec<RightsAttribute>> {
        [ATTRIBUTE, POSIX_ACL, samba::ATTRIBUTE]
            .into_iter()
            .map(|name| Ok((name, there(of.object.xattr(name))?)))
            .collect()
    }

    /// Gives a file the owner, group, mode and ACL that another one had, as far as the host lets the server.
    pub(crate) fn put_rights_of_file(
        &self,
        of: &Found,
        had: &Attributes,
        rights: &[RightsAttribute],
    ) -> Result<()> {
        let changes = SetAttributes {
            mode: (of.attributes.mode != had.mode).then_some(had.mode),
            uid: (of.attributes.uid != had.uid).then_some(had.uid),
            gid: (of.attributes.gid != had.gid).then_some(had.gid),
            ..SetAttributes::default()
        };
        for (name, value) in rights {
            let is = there(of.object.xattr(name))?;
            match value {
                _ if is == *value => {}
                Some(value) => of.object.set_xattr(server(), name, value, XattrMode::Set)?,
                None => there(of.object.remove_xattr(server(), name)).map(drop)?,
            }
        }
        let changed = if changes.is_empty() { Ok(()) } else { of.object.set_attributes(server(), &changes) };
        self.acls().forget(&*of.object);
        changed
    }

    /// As the server. The ACL is stored first. It applies once owner, group and mode are what it
    /// says.
    fn put_acl(&self, of: &Found, change: &AclChange, (uid, gid): (u32, u32)) -> Result<()> {
        if *change == AclChange::default() {
            return Ok(());
        }
        let now = Found { object: of.object.clone(), attributes: of.object.attributes()? };
        let current = self.permissions.acl(&now)?;
        let group = match (&change.group, current.group) {
            (Some(group), _) => group.clone(),
            (None, Who::Foreign(kept)) => Who::Foreign(kept),
            _ => Who::Group(gid),
        };
        let owner = match (&change.owner, current.owner) {
            (Some(Who::Foreign(given)), _) => Some(Who::Foreign(given.clone())),
            (None, Who::Foreign(kept)) => Some(Who::Foreign(kept)),
            _ => None,
        };
        if let Some((team, place)) = self.permissions.team_of(&*now.object)? {
            let rights = current.team.as_ref();
            let was_cut = rights.is_some_and(TeamRights::is_cut) && !current.entries.protected;
            let (entries, cut) = match change.entries.clone() {
                Some(sent) => team.to_store(place, sent, was_cut),
                None => {
                    let list = rights.map_or(&[][..], |rights| rights.set(&current.entries.list)).to_vec();
                    (Entries { list, ..current.entries }, was_cut)
                }
            };
            let stored = StoredAcl::new((uid, gid), (owner, group), entries);
            return self.store_team_acl(&now, StoredAcl { in_team: true, cut, ..stored });
        }
        let is_kept = current.stored || owner.is_some() || matches!(group, Who::Foreign(_));
        let kept = || match current.within_mode {
            // The mode bound beside them, and a stored list is final.
            true => {
                let heir = Heir { is_folder: now.attributes.kind == Kind::Folder, uid, gid };
                let said = ModeInheritance::Within(now.attributes.mode & 0o777);
                Entries { list: beside_mode(current.entries.list, said, heir), ..current.entries }
            }
            false => current.entries,
        };
        let entries = change.entries.clone().or_else(|| is_kept.then(kept));
        let Some(entries) = entries else {
            return now.object.set_attributes(server(), &owned(&now.attributes, uid, gid, None));
        };
        self.store_acl(&now, StoredAcl::new((uid, gid), (owner, group), entries))
    }

    pub(super) fn seal_key(&self, object: &dyn Object) -> Result<SealKey> {
        let homes = self.permissions.homes;
        let home = homes.of(&object.key())?.into_iter().next().ok_or(Error::Stale)?;
        self.acls().seal_key(homes.backend.as_ref(), &*home)
    }

    /// Stores an ACL whose mode is not known yet, and sets owner, group and mode.
    pub(crate) fn store_acl(&self, of: &Found, mut stored: StoredAcl) -> Result<()> {
        let (object, before) = (of.object.as_ref(), &of.attributes);
        let mode = summary(&stored.entries.list, stored.uid, stored.gid);
        stored.mode = mode as u16;
        let (uid, gid) = (stored.uid, stored.gid);
        let attributes = Attributes { mode, uid, gid, ..*before };
        let says_the_mode = {
            let derived = derive(&attributes, None);
            stored.owner.is_none() && derived.entries == stored.entries && derived.group == stored.group
        };
        let seal = if says_the_mode { None } else { Some(self.seal_key(object)?) };
        let changes = owned(before, uid, gid, Some(mode));
        let write = || {
            there(object.remove_xattr(server(), POSIX_ACL))?; // it would say something else to local users
            match seal {
                Some(seal) => object.set_xattr(server(), ATTRIBUTE, &stored.seal(&seal), XattrMode::Set)?,
                None => there(object.remove_xattr(server(), ATTRIBUTE)).map(drop)?,
            }
            if !changes.is_empty() {
                object.set_attributes(server(), &changes)?;
            }
            self.drop_sambas(object)
        };
        let written = write();
        self.acls().forget(object);
        written?;
        is_set(object, &stored)
    }

    pub(super) fn acls(&self) -> &StoredAclCache {
        &self.permissions.homes.site.acls
    }
}

/// If a host does not keep modes or owners, every stored ACL is stale.
fn is_set(object: &dyn Object, stored: &StoredAcl) -> Result<()> {
    if stored.is_fresh(&object.attributes()?) { Ok(()) } else { Err(Error::NotSupported) }
}

/// The changes of the host's attributes. The set-user-id and set-group-id bits of a file do not
/// survive a new owner or group.
pub(super) fn owned(before: &Attributes, uid: u32, gid: u32, mode: Option<u32>) -> SetAttributes {
    let moves = (uid, gid) != (before.uid, before.gid);
    let special = before.mode & if moves && before.kind == Kind::File { 0o1000 } else { 0o7000 };
    let mode = mode.unwrap_or(before.mode & 0o777) | special;
    SetAttributes {
        mode: (mode != before.mode || moves).then_some(mode),
        uid: (uid != before.uid).then_some(uid),
        gid: (gid != before.gid).then_some(gid),
        ..SetAttributes::default()
    }
}

pub(super) fn check_entries(entries: &Entries) -> Result<()> {
    if entries.list.len() > MAX_ENTRIES {
        return Err(Error::TooMany);
    }
    entries.list.iter().try_for_each(|entry| check_who(&entry.who))
}

fn check(change: &AclChange) -> Result<()> {
    change.entries.as_ref().map_or(Ok(()), check_entries)?;
    change.owner.iter().chain(&change.group).try_for_each(check_who)
}

fn check_who(who: &Who) -> Result<()> {
    match who {
        Who::Foreign(bytes) if bytes.len() > MAX_FOREIGN => Err(Error::Invalid),
        _ => Ok(()),
    }
}

/// The ACL with the owner and the group of the file that has it.
fn of_file(acl: Acl, of: &Attributes) -> Acl {
    if acl.team.is_none() {
        return acl;
    }
    let foreign = |who: Who| matches!(who, Who::Foreign(_)).then_some(who);
    let owner = foreign(acl.owner).unwrap_or(Who::User(of.uid));
    Acl { owner, group: foreign(acl.group).unwrap_or(Who::Group(of.gid)), ..acl }
}

/// The rights that the host's permission gives to a file without a stored ACL.
fn by_host(caller: &Caller, of: &Attributes, granted: Access) -> Rights {
    let owning = if caller.uid == of.uid { Rights::BY_OWNING } else { Rights::NONE };
    let by_mode = rights_of(granted.0.into(), of.kind == Kind::Folder);
    // The host removes an entry for a caller that may write to the folder and pass through it.
    let passes = granted.contains(Access::EXECUTE);
    let by_mode = if passes { by_mode } else { by_mode.difference(Rights::DELETE_CHILD) };
    by_mode.union(owning).union(Rights::BY_ANY_MODE)
}

/// Turns "there is none" into `None`.
pub(super) fn there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::NoSuchAttribute | Error::NotSupported) => Ok(None),
        Err(other) => Err(other),
    }
}
