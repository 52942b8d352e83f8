//! Gates: folders of a share that are shares of their own, as the tree sees them.

use std::fs::Permissions;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use auth::{FileProtocol, Grant, Grantee, Role, RoleEntry, Roles};
use vfs::backend::forest::{Admission, Forest, Gate, Hidden, Offer, Tree};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{Found, NewKind};
use vfs::{Access, Caller, Error, SetAttributes, Site, Time, Volume, VolumeOptions};

/// The account `bob` may do everything, `eve` may read, others may not pass.
struct Rules;

impl Admission for Rules {
    fn grant(&self, caller: &Caller) -> Option<Grant> {
        match caller.origin.as_ref().map(|origin| origin.account.as_deref()) {
            None | Some(Some("bob")) => Some(Grant::ReadWrite),
            Some(Some("eve")) => Some(Grant::ReadOnly),
            Some(_) => None,
        }
    }
}

fn gate(path: &[&str]) -> Gate {
    let path = path.iter().map(|name| name.as_bytes().to_vec()).collect();
    let hidden = Arc::new(Hidden::default());
    Gate { path, read_only: false, hidden, rules: Arc::new(Rules), roles: None }
}

/// Each has the ids of this process, so that only gates refuse.
fn user(name: &str) -> Caller {
    Caller::own().of(FileProtocol::Smb, Some(name), IpAddr::V4(Ipv4Addr::LOCALHOST))
}

struct Scene {
    folder: tempfile::TempDir,
    forest: Arc<Forest>,
    volume: Volume,
}

impl Scene {
    /// `a/inner/deep/file` behind the gate `a/inner`, and `a/inner2/file` beside it.
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for inner in ["a/inner/deep", "a/inner2"] {
            std::fs::create_dir_all(folder.path().join(inner)).unwrap();
            std::fs::write(folder.path().join(inner).join("file"), inner).unwrap();
        }
        let host = host(folder.path());
        let offer = Offer { hidden: vec![b".snapshot".to_vec()], listed: None };
        let forest = Arc::new(Forest::new(Arc::new(host), offer).unwrap());
        forest.set_gates(vec![gate(&["a", "inner"])]);
        let site: Arc<Site> = Arc::default();
        let volume = Volume::in_site(forest.clone(), VolumeOptions::default(), site);
        Self { folder, forest, volume }
    }

    fn find(&self, caller: &Caller, path: &str) -> vfs::Result<Found> {
        let mut found = self.volume.root()?;
        for name in path.split('/') {
            found = self.volume.lookup(caller, &found.object, name.as_bytes())?;
        }
        Ok(found)
    }
}

fn host(folder: &Path) -> Host {
    Host::open(folder, &HostOptions::default()).unwrap()
}

#[test]
fn a_gate_stops_those_whom_its_rules_do_not_admit_and_no_others() {
    let scene = Scene::new();
    let (ada, bob, eve) = (user("ada"), user("bob"), user("eve"));
    for path in ["a/inner", "a/inner/deep/file"] {
        assert_eq!(scene.find(&ada, path).err(), Some(Error::AccessDenied), "{path}");
        assert!(scene.find(&bob, path).is_ok() && scene.find(&eve, path).is_ok(), "{path}");
    }
    assert!(scene.find(&ada, "a/inner2/file").is_ok(), "a name that only begins alike");
    let root = scene.volume.root().unwrap().object;
    let long: [&[u8]; 4] = [b"a", b"inner", b"deep", b"file"];
    assert_eq!(root.lookup_path(&ada, &long).err(), Some(Error::AccessDenied), "also in one step");
    let file = scene.find(&eve, "a/inner/deep/file").unwrap();
    let all = Access::READ.union(Access::WRITE);
    assert_eq!(scene.volume.access(&eve, &file, all), Ok(Access::READ));
    assert_eq!(scene.volume.access(&bob, &file, all), Ok(all));
    let mode = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
    assert_eq!(file.object.set_attributes(&eve, &mode), Err(Error::ReadOnly));
    let deep = scene.find(&eve, "a/inner/deep").unwrap().object;
    assert_eq!(deep.create(&eve, b"new", NewKind::File, 0o600).err(), Some(Error::ReadOnly));
    assert!(deep.create(&bob, b"new", NewKind::File, 0o600).is_ok());
}

#[test]
fn a_file_that_is_reached_by_its_key_is_behind_its_gate() {
    let scene = Scene::new();
    let keys = ["a/inner", "a/inner/deep", "a/inner/deep/file"]
        .map(|path| scene.find(&user("bob"), path).unwrap().object.key());
    for key in keys {
        let found = scene.volume.node(&key).unwrap();
        assert_eq!(scene.volume.access(&user("ada"), &found, Access::READ), Ok(Access::NONE));
        assert_eq!(
            scene.volume.access(&user("eve"), &found, Access(7)).unwrap().intersection(Access::WRITE),
            Access::NONE
        );
        assert!(scene.volume.access(&user("bob"), &found, Access::READ).unwrap().contains(Access::READ));
    }
}

#[test]
fn rules_count_at_once_for_what_is_held_and_the_folder_stays_in_its_place() {
    let scene = Scene::new();
    let (bob, deep) = (user("bob"), scene.find(&user("bob"), "a/inner/deep").unwrap().object);
    scene.forest.set_gates(vec![Gate { read_only: true, ..gate(&["a", "inner"]) }]);
    assert_eq!(deep.create(&bob, b"x", NewKind::File, 0o600).err(), Some(Error::ReadOnly));
    assert_eq!(deep.create(&Caller::own(), b"x", NewKind::File, 0o600).err(), Some(Error::ReadOnly));
    scene.forest.set_gates(vec![gate(&["a", "inner"])]);
    assert!(deep.create(&bob, b"x", NewKind::File, 0o600).is_ok());
    let a = scene.find(&bob, "a").unwrap().object;
    let root = scene.volume.root().unwrap().object;
    let keep = vfs::backend::RenameMode::Keep;
    assert_eq!(a.rename(&bob, b"inner", &*a, b"other", keep), Err(Error::Busy));
    assert_eq!(root.rename(&bob, b"a", &*root, b"b", keep), Err(Error::Busy), "the folder above it");
    assert_eq!(a.rename(&bob, b"inner2", &*a, b"inner3", keep), Ok(()));
    // What is moved through a gate must be allowed on both sides.
    assert_eq!(
        root.lookup(&bob, b"a").unwrap().object.rename(&user("eve"), b"inner3", &*deep, b"y", keep),
        Err(Error::ReadOnly)
    );
    scene.forest.set_gates(Vec::new());
    assert!(scene.find(&user("ada"), "a/inner/deep/file").is_ok());
    assert!(scene.folder.path().join("a/inner/deep/x").exists());
}

#[test]
fn a_gate_counts_in_snapshots_too() {
    let scene = Scene::new();
    let copy = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir_all(copy.path().join("a/inner/deep")).unwrap();
    std::fs::write(copy.path().join("a/inner/deep/file"), "old").unwrap();
    let tree = Tree::new(NonZeroU64::MIN, Arc::new(host(copy.path()))).taken(Time { secs: 1, nanos: 0 });
    scene.forest.offer(b"monday", Arc::new(tree), Time { secs: 1, nanos: 0 }).unwrap();
    for path in [".snapshot/monday/a/inner/deep/file", "a/.snapshot/monday/inner/deep"] {
        assert_eq!(scene.find(&user("ada"), path).err(), Some(Error::AccessDenied), "{path}");
        assert!(scene.find(&user("eve"), path).is_ok(), "{path}");
    }
    assert!(scene.find(&user("ada"), ".snapshot/monday/a").is_ok());
    let key = scene.find(&user("bob"), ".snapshot/monday/a/inner/deep/file").unwrap().object.key();
    let found = scene.volume.node(&key).unwrap();
    assert_eq!(scene.volume.access(&user("ada"), &found, Access::READ), Ok(Access::NONE));
    // The folder of snapshots inside the gate leads to the same place.
    let by_bob = scene.find(&user("bob"), "a/inner/.snapshot").unwrap();
    assert_eq!(by_bob.object.lookup(&user("ada"), b"monday").err(), Some(Error::AccessDenied));
    assert!(by_bob.object.lookup(&user("bob"), b"monday").is_ok());
}

/// Bob, of whom the host knows a number that owns nothing.
fn numbered_bob() -> Caller {
    Caller::new(6001, 6001, &[]).of(FileProtocol::Smb, Some("bob"), IpAddr::V4(Ipv4Addr::LOCALHOST))
}

fn roles(role: Role, grantee: Grantee) -> Arc<Roles> {
    Arc::new(Roles::new(vec![RoleEntry { role, grantee }]))
}

#[test]
fn a_share_inside_another_one_has_its_own_roles_or_none() {
    let scene = Scene::new();
    for file in ["a/inner/deep/file", "a/inner2/file"] {
        std::fs::set_permissions(scene.folder.path().join(file), Permissions::from_mode(0o644)).unwrap();
    }
    let (bob, all) = (numbered_bob(), Access::READ.union(Access::WRITE));
    let may = |path: &str| scene.volume.access(&bob, &scene.find(&Caller::root(), path).unwrap(), all);
    let set = |inner: Option<Arc<Roles>>| {
        scene.forest.set_gates(vec![Gate { roles: inner, ..gate(&["a", "inner"]) }]);
    };
    set(Some(roles(Role::Editor, Grantee::User { name: "bob".into(), uid: None })));
    assert_eq!((may("a/inner/deep/file"), may("a/inner")), (Ok(all), Ok(all)));
    assert_eq!(may("a/inner2/file"), Ok(Access::READ), "by its mode");
    scene.volume.set_roles(Some(roles(Role::Drop, Grantee::Everyone)));
    assert_eq!((may("a/inner/deep/file"), may("a/inner2/file")), (Ok(all), Ok(Access::NONE)));
    let by_key = scene.find(&Caller::root(), "a/inner/deep/file").unwrap().object.key();
    assert_eq!(scene.volume.access(&bob, &scene.volume.node(&by_key).unwrap(), all), Ok(all));
    set(None);
    assert_eq!((may("a/inner/deep/file"), may("a/inner2/file")), (Ok(Access::READ), Ok(Access::NONE)));
}

#[test]
fn a_drop_box_inside_a_share_is_open_at_its_own_top() {
    let scene = Scene::new();
    let roles = roles(Role::Drop, Grantee::Everyone);
    scene.forest.set_gates(vec![Gate { roles: Some(roles), ..gate(&["a", "inner"]) }]);
    let may = |path: &str| {
        let folder = scene.find(&Caller::root(), path).unwrap();
        scene.volume.access(&numbered_bob(), &folder, Access::READ.union(Access::WRITE)).unwrap()
    };
    assert_eq!((may("a/inner"), may("a/inner/deep")), (Access::WRITE, Access::NONE));
}
