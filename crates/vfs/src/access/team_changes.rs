//! Changes of the rights to files in team folders: what is stored of them, what a mode means, and what moves along.

use super::enforce::{Permissions, as_server};
use super::operations::{AclStorage, RightsAttribute, check_entries, owned, there};
use crate::acl::inherit::{Heir, entries_of};
use crate::acl::mode::summary;
use crate::acl::stored::{ATTRIBUTE, StoredAcl};
use crate::acl::team::{TeamFolder, TeamPlace, mode_after};
use crate::acl::{Entries, Entry, EntryKind, Inherit, POSIX_ACL, Rights, Who};
use crate::backend::{Found, XattrMode};
use crate::caller::server;
use crate::{Attributes, Caller, Error, Kind, Result, SetAttributes, Volume};

/// How many files and folders get the list of their new folder at once when a folder was moved.
const MOST_FOLLOWING: usize = 10_000;

/// What a folder in a team folder passes on besides the roles.
pub(super) struct PassedOn {
    /// The entries that were set.
    set: Entries,
    /// The roles do not count below it.
    cut: bool,
}

impl PassedOn {
    /// The list of something in the folder that has these entries of its own.
    pub(super) fn list_of(&self, of: &Found, own: &[Entry]) -> StoredAcl {
        let Attributes { uid, gid, kind, .. } = of.attributes;
        let heir = Heir { is_folder: kind == Kind::Folder, uid, gid };
        let passed = entries_of(None, Some(&self.set), heir).map_or_else(Vec::new, |entries| entries.list);
        let list = own.iter().cloned().chain(passed).collect();
        let entries = Entries { list, protected: false, auto_inherited: true };
        let stored = StoredAcl::new((uid, gid), (None, Who::Group(gid)), entries);
        StoredAcl { in_team: true, cut: self.cut, ..stored }
    }
}

impl Permissions<'_> {
    /// What a folder in a team folder passes on besides the roles; `None`: nothing.
    pub(super) fn passed_on_in_team(&self, folder: &Found) -> Result<Option<PassedOn>> {
        let Some(acl) = self.stored_acl(folder)? else { return Ok(None) };
        let Some(team) = &acl.team else { return Ok(None) };
        let set = team.set(&acl.entries.list);
        let passes = |entry: &Entry| entry.inherit.intersects(Inherit::FILES.union(Inherit::FOLDERS));
        let list: Vec<Entry> = set.iter().filter(|entry| passes(entry)).cloned().collect();
        let cut = team.is_cut();
        let set = Entries { list, protected: false, auto_inherited: true };
        Ok((cut || !set.list.is_empty()).then_some(PassedOn { set, cut }))
    }

    /// Owner, group and mode that a client sets in a team folder. Owner and group change if the host lets the caller. Of a mode only
    /// the owner's right to execute counts, and it takes no rights of a role away: so copies that keep a mode succeed.
    pub(super) fn may_own_in_team<'a>(
        &self,
        caller: &'a Caller,
        of: &Found,
        changes: SetAttributes,
    ) -> Result<(&'a Caller, SetAttributes)> {
        let is = &of.attributes;
        let uid = changes.uid.filter(|uid| *uid != is.uid);
        let gid = changes.gid.filter(|gid| *gid != is.gid);
        let owns = caller.uid == is.uid;
        let moves = uid.is_some() || gid.is_some();
        if moves && caller.uid != 0 && (!owns || uid.is_some()) {
            return Err(Error::NotPermitted);
        }
        let may_describe = self.own_rights(caller, of)?.contains(Rights::WRITE_ATTRIBUTES);
        if changes.mode.is_some() && !may_describe && !owns {
            return Err(Error::AccessDenied);
        }
        let mode = changes.mode.filter(|_| may_describe).map(|said| mode_after(is, said));
        let mode = mode.filter(|mode| *mode != is.mode);
        let by = if moves { caller } else { as_server(caller, of, Rights::WRITE_ATTRIBUTES)? };
        Ok((by, SetAttributes { mode, uid, gid, ..SetAttributes::default() }))
    }
}

impl AclStorage<'_> {
    /// Stores the list of something in a team folder, without the entries that only show the roles. Mode and POSIX ACL become what
    /// comes nearest to both, for programs that do not know the roles.
    pub(crate) fn store_team_acl(&self, of: &Found, stored: StoredAcl) -> Result<()> {
        self.put_team_acl(of, stored)?;
        let of = now(of)?;
        match self.settle_disk(&of) {
            // The host keeps the summary that it has.
            Ok(_) | Err(Error::NotSupported | Error::NotPermitted) => self.settle_own_sidecar(&of),
            Err(other) => Err(other),
        }
    }

    fn put_team_acl(&self, of: &Found, mut stored: StoredAcl) -> Result<()> {
        check_entries(&stored.entries)?;
        let (object, uid, gid) = (of.object.as_ref(), stored.uid, stored.gid);
        let has_nothing = stored.entries.list.is_empty() && !stored.entries.protected && !stored.cut;
        let is_plain = has_nothing && stored.owner.is_none() && stored.group == Who::Group(gid);
        if is_plain {
            there(object.remove_xattr(server(), ATTRIBUTE))?;
            self.acls().forget(object);
            let changes = owned(&of.attributes, uid, gid, None);
            return if changes.is_empty() { Ok(()) } else { object.set_attributes(server(), &changes) };
        }
        let Some((team, place)) = self.permissions.team_of(object)? else { return Err(Error::Stale) };
        let seal = self.seal_key(object)?;
        let said = summary(&team.acl(place, stored.clone()).entries.list, uid, gid);
        // The owner's own bits stay: a server that is not root is the owner of all.
        let mode = of.attributes.mode & (said | 0o700) & 0o777;
        stored.mode = mode as u16;
        let changes = owned(&of.attributes, uid, gid, Some(mode));
        let write = || {
            there(object.remove_xattr(server(), POSIX_ACL))?; // it would say something else to local users
            object.set_xattr(server(), ATTRIBUTE, &stored.seal(&seal), XattrMode::Set)?;
            if !changes.is_empty() {
                object.set_attributes(server(), &changes)?;
            }
            self.drop_sambas(object)
        };
        let written = write();
        self.acls().forget(object);
        written
    }

    /// Gives something that is restored in a team folder the owner and the group that it had, and no more local rights than it
    /// had. `lists`: the attributes with the list that it is to have; `None`: it keeps its own.
    pub(crate) fn put_owner_in_team(
        &self,
        of: &Found,
        had: &Attributes,
        lists: Option<&[RightsAttribute]>,
    ) -> Result<()> {
        let is = &of.attributes;
        let mode = if lists.is_some() { self.mode_restored(of, had)? } else { is.mode };
        let changes = SetAttributes {
            mode: (mode != is.mode && is.kind != Kind::Link).then_some(mode),
            uid: (is.uid != had.uid).then_some(had.uid),
            gid: (is.gid != had.gid).then_some(had.gid),
            ..SetAttributes::default()
        };
        if !changes.is_empty() {
            of.object.set_attributes(server(), &changes)?;
        }
        for (name, value) in lists.unwrap_or_default().iter().filter(|(name, _)| *name == ATTRIBUTE) {
            match value {
                Some(value) => of.object.set_xattr(server(), name, value, XattrMode::Set)?,
                None => there(of.object.remove_xattr(server(), name)).map(drop)?,
            }
        }
        self.acls().forget(&*of.object);
        Ok(())
    }

    fn mode_restored(&self, of: &Found, had: &Attributes) -> Result<u32> {
        let Some((team, _)) = self.permissions.team_of(&*of.object)? else { return Ok(had.mode) };
        let root = self.permissions.root()?.attributes;
        let new = team.mode_of_new(&root, had.kind == Kind::Folder, had.mode);
        Ok(had.mode & 0o7000 | new & (had.mode | 0o700) & 0o777)
    }

    /// The list of its own that something in a team folder has.
    pub(super) fn own_list(&self, of: &Found) -> Result<Option<StoredAcl>> {
        self.permissions.homes.learn(&of.object.key())?;
        if !self.acls().any() {
            return Ok(None);
        }
        let acls = self.acls();
        self.permissions.learning(of, |learn| acls.in_team(&*of.object, &of.attributes, learn))
    }

    /// The list that something in a folder should have, if it is another one than it has. With `all` it has no entries of its own.
    pub(super) fn renewed(
        &self,
        above: Option<&PassedOn>,
        of: &Found,
        all: bool,
    ) -> Result<Option<StoredAcl>> {
        let own = self.own_list(of)?;
        if own.as_ref().is_some_and(|own| own.entries.protected) && !all {
            return Ok(None);
        }
        let older = own.as_ref().is_some_and(|own| !own.in_team);
        let counts = |entry: &Entry| !older || takes(entry);
        let is_own = |entry: &&Entry| !all && counts(entry) && !entry.inherit.contains(Inherit::INHERITED);
        let kept: Vec<Entry> = own.iter().flat_map(|own| &own.entries.list).filter(is_own).cloned().collect();
        let none = PassedOn { set: Entries::default(), cut: false };
        let new = above.unwrap_or(&none).list_of(of, &kept);
        let is_same = match &own {
            Some(own) => own.entries.list == new.entries.list && own.cut == new.cut && !own.entries.protected,
            None => new.entries.list.is_empty() && !new.cut,
        };
        if is_same {
            return Ok(None);
        }
        let kept_ids =
            own.map(|own| (own.owner, own.group)).filter(|(_, group)| matches!(group, Who::Foreign(_)));
        let (owner, group) = kept_ids.unwrap_or((None, new.group.clone()));
        Ok(Some(StoredAcl { owner, group, ..new }))
    }
}

impl Volume {
    /// After something has moved to another folder: it gets what that passes on. Its own entries move along. What cannot be
    /// done is logged, and found by `fourfold rights check`.
    pub(crate) fn follow_folder(&self, from: &Found, to: &Found, name: &[u8]) {
        if from.object.id() == to.object.id() || !self.site.acls.any() {
            return;
        }
        let follow = || -> Result<bool> {
            if self.permissions().team_of(&*to.object)?.is_none() {
                return Ok(true);
            }
            let to = now(to)?;
            let above = self.permissions().passed_on_in_team(&to)?;
            let moved = to.object.lookup(server(), name)?;
            renew(self, above.as_ref(), &moved, &mut { MOST_FOLLOWING })
        };
        let name = name.escape_ascii();
        match follow() {
            Ok(true) => {}
            Ok(false) => tracing::warn!(target: "metadata", %name,
                "a large folder was moved: some of what is in it has the rights of its old folder until 'fourfold rights reset'"),
            Err(error) => tracing::warn!(target: "metadata", %error, %name,
                "what was moved has the rights of its old folder until 'fourfold rights reset'"),
        }
    }
}

/// Gives something in a folder what the folder passes on now, and all below it. Returns whether all have it: at most `left`
/// files and folders are changed.
fn renew(volume: &Volume, above: Option<&PassedOn>, of: &Found, left: &mut usize) -> Result<bool> {
    if !matches!(of.attributes.kind, Kind::File | Kind::Folder) {
        return Ok(true);
    }
    let Some(new) = volume.acl_storage().renewed(above, of, false)? else { return Ok(true) };
    if *left == 0 {
        return Ok(false);
    }
    *left -= 1;
    volume.acl_storage().store_team_acl(of, new)?;
    if of.attributes.kind == Kind::Folder { renew_below(volume, &now(of)?, left) } else { Ok(true) }
}

/// The same for all that is in a folder.
fn renew_below(volume: &Volume, folder: &Found, left: &mut usize) -> Result<bool> {
    let above = volume.permissions().passed_on_in_team(folder)?;
    let mut names = Vec::new();
    folder.object.list(0, &mut |entry| {
        if !matches!(entry.name, b"." | b"..") {
            names.push(entry.name.to_vec());
        }
        true
    })?;
    let mut all = true;
    for name in names {
        match folder.object.lookup(server(), &name) {
            Err(Error::NotFound) => {}
            // A share of its own has its own rights.
            found => {
                let found = found?;
                let is_here = is_of_same_team(volume, folder, &found)?;
                all &= !is_here || renew(volume, above.as_ref(), &found, left)?;
            }
        }
    }
    Ok(all)
}

fn is_of_same_team(volume: &Volume, folder: &Found, entry: &Found) -> Result<bool> {
    let teams = [folder, entry].map(|of| volume.permissions().team_of(&*of.object));
    let [Some((above, _)), Some((below, place))] = [teams[0].clone()?, teams[1].clone()?] else {
        return Ok(false);
    };
    Ok(place != TeamPlace::Root && std::ptr::eq::<TeamFolder>(&*above, &*below))
}

/// Whether an entry of a list that was set when there were no roles still counts: it only takes rights. In the usual order, where
/// what takes comes first, such a list then says what it said before.
pub(super) fn takes(entry: &Entry) -> bool {
    entry.kind == EntryKind::Deny && !entry.rights.contains(Rights::FROM_MODE)
}

fn now(found: &Found) -> Result<Found> {
    Ok(Found { object: found.object.clone(), attributes: found.object.attributes()? })
}
