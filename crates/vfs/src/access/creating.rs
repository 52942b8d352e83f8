//! New files in folders that have a stored ACL, and new files that are given one.

use super::operations::check_entries;
use crate::acl::inherit::{Heir, beside_mode, entries_of};
use crate::acl::stored::StoredAcl;
use crate::acl::team::TeamFolder;
use crate::acl::{NewPermissions, Rights, Who};
use crate::backend::{Found, NewKind, NewOwner};
use crate::caller::server;
use crate::finding::entry_name::EntryName;
use crate::{Caller, Error, Kind, Result, SetAttributes, Volume};

/// Entries of a folder with this bit get its group.
const SETGID: u32 = 0o2000;

impl Volume {
    /// Makes an entry as the caller, or as the server on behalf of the caller if the folder's ACL
    /// lets the caller and its mode does not. The entry gets the ACL that it was given or inherits.
    pub(crate) fn create_for(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &EntryName<'_>,
        kind: NewKind<'_>,
        new: &NewPermissions<'_>,
    ) -> Result<Found> {
        let new = &self.options.rules.permissions(kind, new);
        let settled = self.options.rules.settled(caller, folder, kind);
        if new.acl.is_none() && settled.is_empty() && !self.permissions().has_acls()? {
            return self.pairs().create(caller, folder, name, kind, (new.mode, None));
        }
        if let Some((team, _)) = self.permissions().team_of(&*folder.object)? {
            return self.create_in_team(caller, folder, name, kind, (&team, new.mode));
        }
        let above = self.permissions().stored_acl(folder)?;
        let by = self.permissions().making(caller, folder, kind)?;
        let uid = settled.uid.unwrap_or(caller.uid);
        let heir = Heir { is_folder: matches!(kind, NewKind::Folder), uid, gid: caller.gid };
        let own = new.acl.map(|acl| &acl.entries);
        let takes_acl = matches!(kind, NewKind::File | NewKind::Folder);
        let above = above.as_ref().map(|acl| &acl.entries);
        let is_given = takes_acl && entries_of(own, above, heir).is_some();
        let as_server = !std::ptr::eq(by, caller) && caller.uid != 0;
        // No other user gets access before it is finished.
        let first = match (is_given, as_server) {
            (_, true) => new.mode & 0o700,
            (true, _) => new.mode & 0o7700,
            _ => new.mode,
        };
        let found = self.pairs().create(by, folder, name, kind, (first, None))?;
        if !is_given && !as_server && settled.is_empty() {
            return Ok(found);
        }
        let finish = || {
            if as_server {
                hand_over(caller, folder, &found, new.mode)?;
            }
            settled.settle(&found)?;
            let found = now(&found)?;
            let heir = Heir { gid: found.attributes.gid, ..heir };
            match entries_of(own, above, heir).filter(|_| is_given) {
                None => Ok(found),
                Some(mut entries) => {
                    if own.is_none() {
                        entries.list = beside_mode(entries.list, new.inherited, heir);
                    }
                    check_entries(&entries)?;
                    let (uid, gid) = (found.attributes.uid, found.attributes.gid);
                    self.acl_storage()
                        .store_acl(&found, StoredAcl::new((uid, gid), (None, Who::Group(gid)), entries))?;
                    now(&found)
                }
            }
        };
        finish().inspect_err(|_| undo(folder, name, kind, &found))
    }

    /// The same in a team folder: what the client says of permissions does not count, and nothing is stored unless the folder has
    /// a list to pass on. The caller makes it, if the host lets the caller, else the server, which gives it away.
    fn create_in_team(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &EntryName<'_>,
        kind: NewKind<'_>,
        (team, said): (&TeamFolder, u32),
    ) -> Result<Found> {
        let is_folder = matches!(kind, NewKind::Folder);
        let need = if is_folder { Rights::APPEND } else { Rights::WRITE_DATA };
        let mut by = self.permissions().acting(caller, folder, need)?;
        if matches!(kind, NewKind::CharDevice(..) | NewKind::BlockDevice(..)) {
            by = caller; // only the host says who may make these
        }
        let mode = match kind {
            NewKind::Link(_) => said,
            _ => team.mode_of_new(&folder.attributes, is_folder, said),
        };
        let passed = self.permissions().passed_on_in_team(folder)?;
        let as_server = !std::ptr::eq(by, caller) && caller.uid != 0 && self.backend.own_user() == 0;
        let gid = (folder.attributes.mode & SETGID == 0).then_some(caller.gid);
        let owner = as_server.then_some(NewOwner { caller, gid });
        let found = self.pairs().create(by, folder, name, kind, (mode, owner))?;
        if matches!(kind, NewKind::File)
            && self.site.acls.any()
            && let Some(file) = self.file_of_sidecar(&folder.object, name)?
        {
            let give = self.acl_storage().settle_sidecar(&found, &file).and_then(|()| now(&found));
            return give.inspect_err(|_| undo(folder, name, kind, &found));
        }
        match passed.filter(|_| matches!(kind, NewKind::File | NewKind::Folder)) {
            None => Ok(found),
            Some(passed) => {
                let give = || {
                    self.acl_storage().store_team_acl(&found, passed.list_of(&found, &[]))?;
                    let found = now(&found)?;
                    self.acl_storage().settle(&found)?;
                    now(&found)
                };
                give().inspect_err(|_| undo(folder, name, kind, &found))
            }
        }
    }
}

/// Removes something new that is not what it should be.
fn undo(folder: &Found, name: &EntryName<'_>, kind: NewKind<'_>, found: &Found) {
    let undone = match kind {
        NewKind::Folder => folder.object.remove_folder(server(), name),
        _ => folder.object.remove(server(), name),
    };
    if let Err(error) = undone {
        tracing::warn!(target: "metadata", %error, file = ?found.object.id(), "a new file without its ACL could not be removed");
    }
}

/// Gives what the server has made to the caller, as if the caller had made it.
fn hand_over(caller: &Caller, folder: &Found, made: &Found, mode: u32) -> Result<()> {
    let keeps_group = folder.attributes.mode & 0o2000 != 0;
    let special = made.attributes.mode & 0o7000;
    let changes = SetAttributes {
        uid: Some(caller.uid),
        gid: (!keeps_group).then_some(caller.gid),
        mode: (made.attributes.kind != Kind::Link).then_some(mode & 0o1777 | special),
        ..SetAttributes::default()
    };
    match made.object.set_attributes(server(), &changes) {
        Err(Error::NotPermitted) => Err(Error::AccessDenied),
        other => other,
    }
}

fn now(found: &Found) -> Result<Found> {
    Ok(Found { object: found.object.clone(), attributes: found.object.attributes()? })
}
