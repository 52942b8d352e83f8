//! The ids of the host with which a thread acts for people with roles: never wider than what the roles permit needs, and those of
//! the client where the host lets these.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::Arc;

use auth::{Grantee, Role, RoleEntry, Roles};
use bytes::Bytes;

use vfs::backend::host::{Host, HostOptions, as_ourselves};
use vfs::backend::{Found, NewKind, Stability};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, Error, Kind, Volume, VolumeOptions};

const GROUP: u32 = 6200;
const EDITOR: u32 = 6201;
const READER: u32 = 6202;
const STRANGER: u32 = 6203;
/// How often the host refuses: the first time, and while that is believed.
const REFUSALS: usize = 2;

struct Share {
    folder: tempfile::TempDir,
    volume: Volume,
}

/// A folder of the host; a team folder unless it is `plain`. `None` if this process cannot act for others.
fn share(mode: u32, plain: bool) -> Option<Share> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can switch ids");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    give(folder.path(), mode);
    let host = Host::open(folder.path(), &HostOptions::default()).unwrap();
    let volume = Volume::new(Arc::new(host), VolumeOptions::default());
    let user = |uid, role| {
        let grantee = Grantee::User { name: format!("user{uid}"), uid: Some(uid) };
        RoleEntry { role, grantee }
    };
    if !plain {
        let entries = vec![user(EDITOR, Role::Editor), user(READER, Role::Reader)];
        volume.set_roles(Some(Arc::new(Roles::new(entries))));
    }
    Some(Share { folder, volume })
}

/// To the superuser and the group, whatever ids this thread has.
fn give(path: &Path, mode: u32) {
    let give = || {
        chown(path, Some(0), Some(GROUP)).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    as_ourselves(give).unwrap();
}

fn actor(uid: u32) -> Actor {
    Actor::new(Caller::new(uid, GROUP, &[]), Party::client(ClientId(u64::from(uid))))
}

/// The user whose rights the host checks for this thread.
fn worn() -> u32 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap()
}

impl Share {
    fn root(&self) -> Found {
        self.volume.root().unwrap()
    }

    fn make(&self, uid: u32, name: &str, kind: NewKind<'_>) -> vfs::Result<Found> {
        Ok(self.volume.create(&actor(uid), &self.root(), name.as_bytes(), kind, 0o600)?.found)
    }

    fn owner(&self, name: &str) -> (u32, u32) {
        let found = std::fs::symlink_metadata(self.folder.path().join(name)).unwrap();
        (found.uid(), found.gid())
    }

    fn write(&self, uid: u32, file: &Found) -> vfs::Result<()> {
        let (actor, data) = (actor(uid), Bytes::from_static(b"hello"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let written = self.volume.stateless().write(&actor, file, 0, data, Stability::Unstable);
        runtime.block_on(written).map(drop)
    }
}

#[test]
fn an_editor_makes_files_with_the_editors_own_ids() {
    let Some(share) = share(0o2770, false) else { return };
    for (name, kind) in [("f", NewKind::File), ("d", NewKind::Folder), ("l", NewKind::Link(b"f"))] {
        let made = share.make(EDITOR, name, kind).unwrap();
        assert_eq!((made.attributes.uid, share.owner(name)), (EDITOR, (EDITOR, GROUP)), "{name}");
        assert_eq!(worn(), EDITOR, "{name}");
    }
    let file = share.make(EDITOR, "g", NewKind::File).unwrap();
    assert_eq!((share.write(EDITOR, &file), worn()), (Ok(()), EDITOR));
    let gone = share.volume.remove(&actor(EDITOR), &share.root(), b"g", Kind::File);
    assert_eq!((gone.is_ok(), worn()), (true, EDITOR));
}

#[test]
fn a_file_that_the_host_refuses_is_made_and_given_away() {
    let Some(share) = share(0o2700, false) else { return };
    for round in 0..REFUSALS {
        for (name, kind) in [("f", NewKind::File), ("d", NewKind::Folder), ("l", NewKind::Link(b"f"))] {
            let name = format!("{name}{round}");
            let made = share.make(EDITOR, &name, kind).unwrap();
            assert_eq!((made.attributes.uid, share.owner(&name)), (EDITOR, (EDITOR, GROUP)), "{name}");
        }
    }
    give(share.folder.path(), 0o2770); // a refusal that is still believed changes nothing for clients
    share.make(EDITOR, "later", NewKind::File).unwrap();
    assert_eq!(share.owner("later"), (EDITOR, GROUP));
}

#[test]
fn a_file_outside_the_group_of_its_folder_is_its_makers() {
    let Some(share) = share(0o777, false) else { return };
    chown(share.folder.path(), Some(0), Some(0)).unwrap();
    share.make(EDITOR, "f", NewKind::File).unwrap();
    assert_eq!(share.owner("f"), (EDITOR, GROUP));
}

#[test]
fn roles_refuse_whatever_ids_the_thread_has() {
    let Some(share) = share(0o2777, false) else { return };
    for before in [0, EDITOR] {
        match before {
            0 => drop(share.volume.parent(&share.root()).unwrap()), // the server's own ids
            _ => drop(share.make(EDITOR, "f", NewKind::File).unwrap()),
        }
        assert_eq!(worn(), before);
        assert_eq!(share.make(READER, "r", NewKind::File).err(), Some(Error::AccessDenied));
        assert_eq!(share.make(STRANGER, "s", NewKind::File).err(), Some(Error::AccessDenied));
        let gone = share.volume.remove(&actor(STRANGER), &share.root(), b"f", Kind::File);
        assert_eq!(gone.err(), Some(Error::AccessDenied));
        let found = share.volume.lookup(&actor(STRANGER).caller, &share.root().object, b"f");
        assert_eq!(found.err(), Some(Error::AccessDenied));
    }
}

#[test]
fn what_roles_permit_is_done_with_narrow_ids_or_else_the_servers() {
    let Some(share) = share(0o2770, false) else { return };
    let file = share.make(EDITOR, "f", NewKind::File).unwrap();
    let looked = |uid| share.volume.lookup(&actor(uid).caller, &share.root().object, b"f");
    assert_eq!((looked(READER).is_ok(), worn()), (true, EDITOR), "the host lets these ids");
    give(share.folder.path(), 0o2700);
    let found = looked(READER).unwrap();
    assert_eq!((found.object.key(), worn()), (file.object.key(), 0), "the host refuses them");
    share.make(EDITOR, "g", NewKind::File).unwrap();
    let gone = share.volume.remove(&actor(EDITOR), &share.root(), b"f", Kind::File);
    assert!(gone.is_ok() && !share.folder.path().join("f").exists());
}

#[test]
fn in_a_plain_folder_the_host_judges_each_caller() {
    let Some(share) = share(0o755, true) else { return };
    std::fs::write(share.folder.path().join("f"), b"").unwrap();
    let root = Actor { caller: Caller::root(), ..actor(0) };
    for before in [0, EDITOR] {
        match before {
            0 => drop(share.volume.create(&root, &share.root(), b"r", NewKind::File, 0o600).unwrap()),
            _ => assert_eq!(share.make(EDITOR, "e", NewKind::File).err(), Some(Error::AccessDenied)),
        }
        assert_eq!(worn(), before);
        assert_eq!(share.make(READER, "x", NewKind::File).err(), Some(Error::AccessDenied));
        let gone = share.volume.remove(&actor(READER), &share.root(), b"f", Kind::File);
        assert_eq!(gone.err(), Some(Error::AccessDenied));
    }
    give(share.folder.path(), 0o700);
    let found = share.volume.lookup(&actor(READER).caller, &share.root().object, b"f");
    assert_eq!(found.err(), Some(Error::AccessDenied));
    assert!(share.volume.lookup(&Caller::root(), &share.root().object, b"f").is_ok());
    assert!(share.volume.remove(&root, &share.root(), b"f", Kind::File).is_ok());
}
