//! The rights to an arrived file or folder: owner, group, mode, and access control list.

use std::sync::Arc;

use crate::acl::posix;
use crate::acl::stored::StoredAcl;
use crate::acl::{Entries, Who};
use crate::backend::{Found, Object, XattrMode};
use crate::caller::server;
use crate::{Attributes, Error, Kind, Result, SetAttributes, Volume};

/// Modes of files and folders from servers that tell none: the rights of the folder that they are in, without those to execute
/// files.
const FILE_MODE: u32 = 0o666;
const FOLDER_MODE: u32 = 0o777;
/// What the owner may do.
const OWNERS: u32 = 0o700;
/// The list of the host, and what a folder passes on of it.
const POSIX: [&[u8]; 2] = [posix::ACCESS, posix::DEFAULT];

/// Who owns a file there, by numbers of this machine, and who may use it. `None`: the server does not tell, or it is nobody here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArrivingRights {
    /// The permissions of Unix. They give nobody more than the file's access control list there, nor if the owner or the group
    /// are others here.
    pub mode: Option<u32>,
    /// The owner.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
    /// The access control list, if it says more than the mode.
    pub list: Option<Entries>,
    /// The POSIX ACLs of a file of this machine, which say the same as `list`: that of the file, and that which a folder passes on.
    pub posix: [Option<Vec<u8>>; 2],
    /// Permissions that new files do not get if the server tells none.
    pub umask: u32,
}

/// Gives an entry its rights. A file from a server that tells no owner gets that of its folder. One whose owner cannot be set is
/// its present owner's alone: others would be in its group. Returns why its access control list stays behind, if it does: the
/// mode gives nobody more.
pub(super) fn give(
    lists: &Volume,
    above: &Attributes,
    object: &Arc<dyn Object>,
    kind: Kind,
    rights: &ArrivingRights,
) -> Result<Option<String>> {
    let ids = (rights.user.unwrap_or(above.uid), rights.group.unwrap_or(above.gid));
    let has_owner = owned(&**object, ids)?;
    if kind == Kind::Link {
        return Ok(None);
    }
    // Who has a list and shows no mode lets nobody in but those of the list.
    let Some(mode) = rights.mode.or(rights.list.as_ref().map(|_| 0)) else {
        let granted = if kind == Kind::Folder { FOLDER_MODE } else { FILE_MODE };
        return set_mode(&**object, above.mode & granted & !rights.umask).map(|()| None);
    };
    without_inherited(&**object)?;
    set_mode(&**object, if has_owner { mode } else { mode & OWNERS })?;
    if rights.list.is_none() && rights.posix.iter().all(Option::is_none) {
        return Ok(None);
    }
    if !has_owner {
        return Ok(Some("its access control list stays behind: its owner or group cannot be set".to_owned()));
    }
    match list(lists, object, ids, rights) {
        Err(error) if is_passing(error) => Err(error),
        Err(error) => Ok(Some(format!("its access control list cannot be kept: {error}"))),
        Ok(()) => Ok(None),
    }
}

/// Whether it is an error of the whole share, which is tried again.
fn is_passing(error: Error) -> bool {
    matches!(error, Error::NoSpace | Error::QuotaExceeded | Error::ReadOnly)
}

fn owned(object: &dyn Object, (uid, gid): (u32, u32)) -> Result<bool> {
    let own = object.attributes()?;
    let owner = SetAttributes {
        uid: (own.uid != uid).then_some(uid),
        gid: (own.gid != gid).then_some(gid),
        ..SetAttributes::default()
    };
    if owner.is_empty() {
        return Ok(true);
    }
    let set = object.set_attributes(server(), &owner);
    if let Err(error) = &set {
        tracing::debug!(%error, uid, gid, "the owner of an arrived file cannot be set");
    }
    Ok(set.is_ok())
}

fn set_mode(object: &dyn Object, mode: u32) -> Result<()> {
    object.set_attributes(server(), &SetAttributes { mode: Some(mode), ..SetAttributes::default() })
}

/// What the folder passes on to a new file, a default ACL, would let others in beside the mode.
fn without_inherited(object: &dyn Object) -> Result<()> {
    for name in POSIX {
        match object.remove_xattr(server(), name) {
            Ok(()) | Err(Error::NoSuchAttribute | Error::NotSupported) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The list: POSIX ACLs as they are where the host has them, else entries of our own.
fn list(lists: &Volume, object: &Arc<dyn Object>, ids: (u32, u32), rights: &ArrivingRights) -> Result<()> {
    if rights.posix.iter().any(Option::is_some) {
        let mut all = POSIX.into_iter().zip(&rights.posix);
        let set = |(name, value): (&[u8], &Option<Vec<u8>>)| match value {
            Some(value) => object.set_xattr(server(), name, value, XattrMode::Set),
            None => Ok(()),
        };
        match all.try_for_each(set) {
            Err(Error::NotSupported) => {}
            set => return set,
        }
    }
    let Some(entries) = rights.list.clone() else { return Ok(()) };
    let (uid, gid) = ids;
    let of = Found { object: object.clone(), attributes: object.attributes()? };
    lists.acl_storage().store_acl(&of, StoredAcl::new((uid, gid), (None, Who::Group(gid)), entries))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::{Entry, Rights};
    use crate::backend::host::{Host, HostOptions};
    use crate::backend::memory::Memory;
    use crate::backend::{Backend, NewKind};
    use crate::{Access, Caller, Site, VolumeOptions};

    fn arrived(rights: &ArrivingRights) -> (Volume, Found) {
        let (disk, site) = (Arc::new(Memory::ticking()), Arc::<Site>::default());
        let lists = Volume::in_site(disk.clone(), VolumeOptions::default(), site.clone());
        let root = disk.root().unwrap();
        let made = root.object.create(server(), b"plan", NewKind::File, 0o700).unwrap().object;
        let lost = give(&lists, &root.attributes, &made, Kind::File, rights).unwrap();
        assert_eq!(lost, None);
        let served = Volume::in_site(disk, VolumeOptions::default(), site);
        let attributes = made.attributes().unwrap();
        (served, Found { object: made, attributes })
    }

    /// An ACL as linux/posix_acl_xattr.h has it, by which the user 12345 may do everything: version 2, then tag, permissions and id.
    fn open_to_one_more() -> Vec<u8> {
        let entries =
            [(0x01, u32::MAX), (0x02, 12_345), (0x04, u32::MAX), (0x10, u32::MAX), (0x20, u32::MAX)];
        let entry = |(tag, id): (u16, u32)| {
            [&tag.to_le_bytes()[..], &7_u16.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        [2_u32.to_le_bytes().to_vec(), entries.map(entry).concat()].concat()
    }

    #[test]
    fn a_default_acl_here_lets_nobody_into_what_arrives() {
        let place = tempfile::tempdir().unwrap();
        let host: Arc<dyn Backend> = Arc::new(Host::open(place.path(), &HostOptions::default()).unwrap());
        let lists = Volume::in_site(host.clone(), VolumeOptions::default(), Arc::default());
        let root = host.root().unwrap();
        if root.object.set_xattr(server(), POSIX[1], &open_to_one_more(), XattrMode::Set).is_err() {
            println!("skipped: no POSIX ACLs here");
            return;
        }
        for (name, new, kind) in [(b"a", NewKind::File, Kind::File), (b"b", NewKind::Folder, Kind::Folder)] {
            let made = root.object.create(server(), name, new, 0o700).unwrap().object;
            assert!(made.xattr(POSIX[0]).is_ok(), "the folder passes it on");
            let rights = ArrivingRights { mode: Some(0o640), ..ArrivingRights::default() };
            assert_eq!(give(&lists, &root.attributes, &made, kind, &rights), Ok(None));
            assert_eq!(POSIX.map(|name| made.xattr(name)), [const { Err(Error::NoSuchAttribute) }; 2]);
            assert_eq!(made.attributes().unwrap().mode & 0o7777, 0o640);
        }
    }

    #[test]
    fn a_list_without_a_mode_lets_in_nobody_else() {
        let list = vec![Entry::allow(Who::User(1001), Rights::READ_DATA)];
        let list = Some(Entries { list, ..Entries::default() });
        let rights = ArrivingRights { user: Some(1000), group: Some(100), list, ..ArrivingRights::default() };
        let (served, plan) = arrived(&rights);
        let may = |uid| served.access(&caller(uid), &plan, Access::READ).unwrap();
        assert_eq!((may(1001), may(1002)), (Access::READ, Access::empty()));
    }

    fn caller(uid: u32) -> Caller {
        Caller::new(uid, 9_999, &[])
    }

    #[test]
    fn an_arrived_list_counts_at_once() {
        let list = vec![
            Entry::deny(Who::User(1002), Rights::READ_DATA),
            Entry::allow(Who::User(1001), Rights::READ_DATA),
            Entry::allow(Who::Owner, Rights::READ_DATA.union(Rights::WRITE_DATA)),
        ];
        let list = Some(Entries { list, ..Entries::default() });
        let rights = ArrivingRights {
            mode: Some(0o600),
            user: Some(1000),
            group: Some(100),
            list,
            ..ArrivingRights::default()
        };
        let (served, plan) = arrived(&rights);
        let want = Access::READ | Access::WRITE;
        let may = |uid| served.access(&caller(uid), &plan, want).unwrap();
        assert_eq!((may(1000), may(1001)), (want, Access::READ));
        assert_eq!((may(1002), may(1003)), (Access::empty(), Access::empty()));
        assert_eq!((plan.attributes.uid, plan.attributes.gid), (1000, 100));
    }

    #[test]
    fn without_a_list_the_mode_decides() {
        let rights = ArrivingRights {
            mode: Some(0o640),
            user: Some(1000),
            group: Some(100),
            ..ArrivingRights::default()
        };
        let (served, plan) = arrived(&rights);
        assert_eq!(served.access(&caller(1001), &plan, Access::READ).unwrap(), Access::empty());
        assert_eq!((plan.attributes.mode & 0o777, served.has_stored_acl(&plan).unwrap()), (0o640, false));
    }
}
