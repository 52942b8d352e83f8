//! The roles of a team folder on the disk: brings the mode and the POSIX ACLs of an entry to the form that `acl/disk.rs` says, and
//! finds what differs from it.

use std::sync::Arc;

use super::operations::AclStorage;
use super::team_changes::takes;
use crate::acl::deviation::DiskState;
use crate::acl::disk::{DiskForm, RightsSource, SETGID, STICKY};
use crate::acl::posix::{self, PosixAcl};
use crate::acl::stored::{ATTRIBUTE, StoredAcl};
use crate::acl::team::TeamPlace;
use crate::acl::{Deviation, Entries};
use crate::backend::{Found, Node, XattrMode};
use crate::caller::server;
use crate::mac::layout::sidecar_owner;
use crate::names::own::is_own_name;
use crate::streams::sidecar::{self, take_list};
use crate::{Attributes, Error, Kind, Result, SetAttributes, Volume};

/// An entry of a team folder: how it is on the disk, and how it should be.
struct DiskRights {
    is: DiskState,
    form: Arc<DiskForm>,
    is_folder: bool,
    has_acls: bool,
    /// A list of its own counts.
    has_list: bool,
}

impl Volume {
    /// The file beside which something of this name is a sidecar: that has the rights of the file.
    pub(super) fn file_of_sidecar(&self, folder: &Node, name: &[u8]) -> Result<Option<Found>> {
        let owner = sidecar_owner(name).filter(|owner| self.keeps_streams() && !is_own_name(owner));
        let Some(owner) = owner else { return Ok(None) };
        match folder.lookup(server(), owner) {
            Ok(file) => {
                Ok(Some(file).filter(|file| matches!(file.attributes.kind, Kind::File | Kind::Folder)))
            }
            Err(Error::NotFound) => Ok(None),
            Err(other) => Err(other),
        }
    }
}

impl AclStorage<'_> {
    /// See [`StoredRights::deviations`](crate::StoredRights::deviations). A sidecar should have what its `file` has.
    pub(crate) fn deviations(&self, of: &Found, file: Option<&Found>) -> Result<Vec<Deviation>> {
        let Some(rights) = self.disk_rights(of, file)? else { return Ok(Vec::new()) };
        let mut found = rights.deviations();
        if rights.form.leaves_out_groups {
            found.push(Deviation::GroupsLeftOut);
        }
        if !rights.has_acls {
            found.push(Deviation::NoPosixAcls);
        }
        match file {
            Some(file) if list_of(of)? != list_of(file)? => found.push(Deviation::StaleList),
            None if !rights.has_list && list_of(of)?.is_some() => found.push(Deviation::UnsealedList),
            _ => {}
        }
        Ok(found)
    }

    /// Gives a sidecar the list of its file, and the form on the disk that the list says.
    pub(super) fn settle_sidecar(&self, sidecar: &Found, file: &Found) -> Result<()> {
        take_list(&*sidecar.object, &*file.object)?;
        self.acls().forget(&*sidecar.object);
        let sidecar = Found { object: sidecar.object.clone(), attributes: sidecar.object.attributes()? };
        match self.disk_rights(&sidecar, Some(file))? {
            Some(rights) if !rights.deviations().is_empty() => rights.write(&sidecar),
            _ => Ok(()),
        }
    }

    /// The same for the sidecar that the server has made for a file whose list was changed.
    pub(super) fn settle_own_sidecar(&self, file: &Found) -> Result<()> {
        match self.own_sidecar(file)? {
            Some(sidecar) => self.settle_sidecar(&sidecar, file),
            None => Ok(()),
        }
    }

    /// The same without the form on the disk.
    pub(super) fn give_list_to_sidecar(&self, file: &Found) -> Result<()> {
        let Some(sidecar) = self.own_sidecar(file)? else { return Ok(()) };
        take_list(&*sidecar.object, &*file.object)?;
        self.acls().forget(&*sidecar.object);
        Ok(())
    }

    fn own_sidecar(&self, file: &Found) -> Result<Option<Found>> {
        sidecar::marked(self.permissions.homes.backend.as_ref(), &*file.object)
    }

    /// See [`StoredRights::settle`](crate::StoredRights::settle). A list that was set when there were no roles counts as long as the mode does not change: it
    /// becomes one of the team folder first, with what it takes.
    pub(crate) fn settle(&self, of: &Found) -> Result<bool> {
        if self.permissions.team_of(&*of.object)?.is_none() {
            return Ok(false);
        }
        match self.own_list(of)?.filter(|own| !own.in_team && !own.cut && !own.entries.protected) {
            None => self.settle_disk(of),
            Some(own) => {
                let list = own.entries.list.iter().filter(|entry| takes(entry)).cloned().collect();
                let entries = Entries { list, ..own.entries };
                self.store_team_acl(of, StoredAcl { in_team: true, entries, ..own }).map(|()| true)
            }
        }
    }

    /// Brings mode and POSIX ACLs to their form.
    pub(super) fn settle_disk(&self, of: &Found) -> Result<bool> {
        let Some(rights) = self.disk_rights(of, None)? else { return Ok(false) };
        if rights.deviations().is_empty() {
            return Ok(false);
        }
        rights.write(of)?;
        Ok(true)
    }

    /// A sidecar should have the rights of its `file`.
    fn disk_rights(&self, of: &Found, file: Option<&Found>) -> Result<Option<DiskRights>> {
        if !matches!(of.attributes.kind, Kind::File | Kind::Folder) {
            return Ok(None);
        }
        let Some((team, place)) = self.permissions.team_of(&*of.object)? else { return Ok(None) };
        let own = self.own_list(file.unwrap_or(of))?;
        let is_cut = own.as_ref().is_some_and(|own| own.cut || own.entries.protected);
        let older = own.as_ref().is_some_and(|own| !own.in_team);
        if older && is_cut {
            return Ok(None); // only its mode says that it counts, and nothing of it is wider than the roles
        }
        let as_root = self.permissions.homes.backend.own_user() == 0;
        let Attributes { uid, gid, mode, .. } = of.attributes;
        let form = match &own {
            None => team.plain_form(place, mode),
            Some(own) => {
                let roles = (!is_cut || place == TeamPlace::Root).then_some(&**team.roles());
                let list = &own.entries.list;
                Arc::new(RightsSource { roles, list, older, place, uid, mode }.form())
            }
        };
        let (is, has_acls) = state(of, as_root)?;
        let form = match has_acls && as_root {
            true => form,
            false => {
                let access = PosixAcl::of_mode(form.mode_alone(gid));
                Arc::new(DiskForm { access, default: None, leaves_out_groups: form.leaves_out_groups })
            }
        };
        let is_folder = of.attributes.kind == Kind::Folder;
        Ok(Some(DiskRights { is, form, is_folder, has_acls, has_list: own.is_some() }))
    }
}

impl DiskRights {
    fn deviations(&self) -> Vec<Deviation> {
        self.is.deviations(&self.form, self.is_folder)
    }

    /// The ACL first, with which the host sets the permission bits of the mode at once; nothing is wider in between.
    fn write(&self, of: &Found) -> Result<()> {
        let (object, form) = (&of.object, &self.form);
        if self.has_acls {
            object.set_xattr(server(), posix::ACCESS, &form.access.encode(), XattrMode::Set)?;
            if let Some(default) = &form.default {
                object.set_xattr(server(), posix::DEFAULT, &default.encode(), XattrMode::Set)?;
            }
        }
        let special = match self.is_folder {
            true => self.is.mode & !0o777 & !STICKY | if self.is.keeps_setgid { SETGID } else { 0 },
            false => self.is.mode & !0o777,
        };
        let mode = special | form.access.mode();
        if object.attributes()?.mode & 0o7777 == mode & 0o7777 {
            return Ok(());
        }
        object.set_attributes(
            server(),
            &SetAttributes { mode: Some(mode & 0o7777), ..SetAttributes::default() },
        )
    }
}

/// The value of the attribute of a list, whether it counts or not.
fn list_of(file: &Found) -> Result<Option<Vec<u8>>> {
    match file.object.xattr(ATTRIBUTE) {
        Ok(value) => Ok(Some(value)),
        Err(Error::NoSuchAttribute | Error::NotSupported) => Ok(None),
        Err(other) => Err(other),
    }
}

/// What the disk says, and whether it keeps POSIX ACLs.
fn state(of: &Found, as_root: bool) -> Result<(DiskState, bool)> {
    let mode = of.attributes.mode;
    let read = |name| match of.object.xattr(name) {
        Ok(value) => Ok((PosixAcl::decode(&value), true)),
        Err(Error::NoSuchAttribute) => Ok((None, true)),
        Err(Error::NotSupported) => Ok((None, false)),
        Err(other) => Err(other),
    };
    let (access, has_acls) = read(posix::ACCESS)?;
    let default = if has_acls && of.attributes.kind == Kind::Folder { read(posix::DEFAULT)?.0 } else { None };
    let access = access.unwrap_or_else(|| PosixAcl::of_mode(mode));
    Ok((DiskState { access, default, mode, keeps_setgid: as_root }, has_acls))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use auth::{Grantee, Role, RoleEntry, Roles};

    use super::*;
    use crate::VolumeOptions;
    use crate::backend::host::{Host, HostOptions};
    use crate::backend::memory::Memory;
    use crate::backend::{Backend, NewKind};

    fn team(disk: Arc<dyn Backend>) -> Volume {
        let volume = Volume::new(disk, VolumeOptions::default());
        let entry = |role, grantee| RoleEntry { role, grantee };
        let entries = vec![entry(Role::Editor, Grantee::Group(50)), entry(Role::Reader, Grantee::Group(51))];
        volume.set_roles(Some(Arc::new(Roles::new(entries))));
        volume
    }

    fn found(volume: &Volume, name: &[u8]) -> Found {
        volume.root().unwrap().object.lookup(server(), name).unwrap()
    }

    #[test]
    fn what_is_made_in_a_settled_folder_has_its_form() {
        let place = tempfile::tempdir().unwrap();
        let volume = team(Arc::new(Host::open(place.path(), &HostOptions::default()).unwrap()));
        let root = volume.root().unwrap();
        let has_acls = root.object.set_xattr(
            server(),
            posix::ACCESS,
            &PosixAcl::of_mode(0o755).encode(),
            XattrMode::Set,
        );
        if has_acls.is_err() || !rustix::process::geteuid().is_root() {
            println!("skipped: no POSIX ACLs here, or not root");
            return;
        }
        assert_eq!(volume.stored_rights().settle(&root), Ok(true));
        assert_eq!(volume.stored_rights().settle(&volume.root().unwrap()), Ok(false));
        assert_eq!(volume.root().unwrap().attributes.mode & 0o7777, 0o2770);
        root.object.create(server(), b"file", NewKind::File, 0o660).unwrap();
        root.object.create(server(), b"folder", NewKind::Folder, 0o2770).unwrap();
        std::fs::write(place.path().join("local"), b"x").unwrap();
        for name in [&b"file"[..], b"folder"] {
            assert_eq!(
                volume.stored_rights().deviations(&found(&volume, name)),
                Ok(vec![]),
                "{}",
                name.escape_ascii()
            );
        }
        assert_eq!(found(&volume, b"file").attributes.mode & 0o7777, 0o660);
        let file = found(&volume, b"file");
        file.object
            .set_attributes(server(), &SetAttributes { mode: Some(0o644), ..SetAttributes::default() })
            .unwrap();
        let lacks = Deviation::Lacks { who: crate::acl::Who::Group(50), bits: 2, passed_on: false };
        let exceeds = Deviation::Exceeds { who: crate::acl::Who::Everyone, bits: 4, passed_on: false };
        assert_eq!(volume.stored_rights().deviations(&found(&volume, b"file")), Ok(vec![lacks, exceeds]));
        assert_eq!(volume.stored_rights().settle(&found(&volume, b"file")), Ok(true));
        assert_eq!(volume.stored_rights().deviations(&found(&volume, b"file")), Ok(vec![]));
    }

    #[test]
    fn without_posix_acls_the_mode_says_what_it_can() {
        let volume = team(Arc::new(Memory::ticking()));
        let root = volume.root().unwrap();
        let made = root.object.create(server(), b"plan", NewKind::File, 0o666).unwrap();
        made.object
            .set_attributes(server(), &SetAttributes { gid: Some(50), ..SetAttributes::default() })
            .unwrap();
        assert_eq!(volume.stored_rights().settle(&found(&volume, b"plan")), Ok(true));
        let plan = found(&volume, b"plan");
        assert_eq!(plan.attributes.mode & 0o777, 0o660);
        assert_eq!(volume.stored_rights().deviations(&plan), Ok(vec![Deviation::NoPosixAcls]));
        assert!(Deviation::NoPosixAcls.is_note());
    }

    #[test]
    fn a_share_without_roles_is_left_alone() {
        let volume = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
        let root = volume.root().unwrap();
        assert_eq!(
            (volume.stored_rights().settle(&root), volume.stored_rights().deviations(&root)),
            (Ok(false), Ok(vec![]))
        );
    }
}
