//! Paths: where they lead, and where they end. On the memory and the host backend.

use std::sync::Arc;

use vfs::acl::{AclChange, Entries, Entry, Rights, Who};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::memory::Memory;
use vfs::backend::{Found, NewKind};
use vfs::names::Folding;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, Error, Kind, PathError, ResolvedPath, Volume, VolumeOptions};

struct Tree {
    volume: Volume,
    root: Found,
    caller: Caller,
    _dir: Option<tempfile::TempDir>,
}

impl Tree {
    fn find(&self, path: &str) -> Result<ResolvedPath, PathError> {
        let components: Vec<&[u8]> =
            path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes).collect();
        self.volume.lookup_path(&self.caller, &self.root, &components, Folding::default())
    }

    fn fails(&self, path: &str) -> (usize, Error) {
        let PathError { at, why } = self.find(path).err().unwrap();
        (at, why)
    }
}

/// `Top/Mid/file`, `Top/link` to `Mid`, on each backend.
fn trees() -> Vec<Tree> {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::open(dir.path(), &HostOptions::default()).unwrap();
    let me = Caller::new(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw(), &[]);
    let options = VolumeOptions::default;
    let memory = (Volume::new(Arc::new(Memory::ticking()), options()), Caller::root(), None);
    let host = (Volume::new(Arc::new(host), options()), me, Some(dir));
    [memory, host].map(|(volume, caller, _dir)| tree(volume, caller, _dir)).into()
}

fn tree(volume: Volume, caller: Caller, _dir: Option<tempfile::TempDir>) -> Tree {
    let root = volume.root().unwrap();
    let actor = Actor::new(caller.clone(), Party::client(ClientId(1)));
    let make = |folder: &Found, name: &str, new| {
        volume.create(&actor, folder, name.as_bytes(), new, 0o755).unwrap().found
    };
    let top = make(&root, "Top", NewKind::Folder);
    let mid = make(&top, "Mid", NewKind::Folder);
    make(&mid, "file", NewKind::File);
    make(&mid, "Öl", NewKind::File);
    make(&top, "link", NewKind::Link(b"Mid"));
    Tree { volume, root, caller, _dir }
}

#[test]
fn names_on_the_way_and_at_the_end_need_not_be_exact() {
    for tree in trees() {
        let exact = tree.find("Top/Mid/file").unwrap();
        let folder = exact.parent.clone();
        let mid = tree.find("Top/Mid").unwrap().found.unwrap();
        assert_eq!((exact.name, folder.object.key()), (b"file".to_vec(), mid.object.key()));
        let key = exact.found.unwrap().object.key();
        for path in ["top/MID/FILE", "Top/Mid/FILE", "TOP/Mid/file"] {
            let found = tree.find(path).unwrap();
            assert_eq!(found.name, b"file");
            assert_eq!(found.parent.object.key(), mid.object.key());
            assert_eq!(found.found.unwrap().object.key(), key);
        }
        assert_eq!(tree.find("top/mid/o\u{308}L").unwrap().name, "Öl".as_bytes());
        let top = tree.find("").unwrap();
        assert_eq!(top.found.unwrap().object.key(), tree.root.object.key());
    }
}

#[test]
fn what_is_missing_is_told_apart() {
    for tree in trees() {
        let missing = tree.find("top/mid/New").unwrap();
        assert!(missing.found.is_none());
        assert_eq!(missing.name, b"New");
        let mid = tree.find("Top/Mid").unwrap().found.unwrap();
        assert_eq!(missing.parent.object.key(), mid.object.key());
        assert!(tree.find("new").unwrap().found.is_none());
        assert_eq!(tree.fails("Top/none/file"), (1, Error::NotFound));
        assert_eq!(tree.fails("none/none/file"), (0, Error::NotFound));
        assert_eq!(tree.fails("Top/Mid/file/more"), (2, Error::NotFolder));
        assert_eq!(tree.fails("Top/Mid/file/more/still"), (2, Error::NotFolder));
    }
}

#[test]
fn links_are_not_followed() {
    for tree in trees() {
        assert_eq!(tree.find("Top/link").unwrap().found.unwrap().attributes.kind, Kind::Link);
        assert_eq!(tree.fails("Top/link/file"), (1, Error::IsLink));
        assert_eq!(tree.fails("top/LINK/file"), (1, Error::IsLink));
    }
}

#[test]
fn nothing_outside_and_nothing_of_ours_is_reached() {
    for tree in trees() {
        assert_eq!(tree.fails("Top/../Top"), (1, Error::InvalidName));
        assert_eq!(tree.fails("Top/./Mid"), (1, Error::InvalidName));
        assert_eq!(tree.fails(".fourfold-streams/x"), (0, Error::AccessDenied));
        assert_eq!(tree.fails(".fourfold-luns/x"), (0, Error::AccessDenied));
    }
}

#[test]
fn a_path_needs_the_right_to_pass() {
    let volume = Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default());
    let mut tree = tree(volume, Caller::root(), None);
    let top = tree.find("Top").unwrap().found.unwrap();
    let closed = vfs::SetAttributes { mode: Some(0o700), ..Default::default() };
    top.object.set_attributes(&Caller::root(), &closed).unwrap();
    tree.caller = Caller::new(10, 10, &[]);
    assert_eq!(tree.fails("Top/Mid/file"), (1, Error::AccessDenied));
}

#[test]
fn a_stored_acl_on_the_way_counts_whatever_the_mode_says() {
    for mut tree in trees() {
        if tree.caller.uid != 0 {
            println!("skipped: only root acts as others");
            continue;
        }
        let top = tree.find("Top").unwrap().found.unwrap();
        let all = Entry::allow(Who::Everyone, Rights::ALL);
        let list = vec![Entry::deny(Who::User(10), Rights::EXECUTE), all];
        let entries = Some(Entries { list, protected: true, auto_inherited: false });
        let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
        tree.volume.set_acl(&actor, &top, &AclChange { entries, ..AclChange::default() }).unwrap();
        tree.caller = Caller::new(11, 11, &[]);
        assert!(tree.find("Top/Mid/file").unwrap().found.is_some());
        tree.caller = Caller::new(10, 10, &[]);
        assert_eq!(tree.fails("Top/Mid/file"), (1, Error::AccessDenied));
    }
}

#[test]
fn a_path_longer_than_the_hosts_longest_is_followed_in_steps() {
    for tree in trees() {
        let actor = Actor::new(tree.caller.clone(), Party::client(ClientId(1)));
        let (mut folder, mut path) = (tree.root.clone(), String::new());
        for _ in 0..20 {
            let name = "d".repeat(250);
            folder =
                tree.volume.create(&actor, &folder, name.as_bytes(), NewKind::Folder, 0o755).unwrap().found;
            path = format!("{path}/{name}");
        }
        assert_eq!(tree.find(&path).unwrap().found.unwrap().object.key(), folder.object.key());
        assert!(tree.find(&format!("{path}/new")).unwrap().found.is_none());
    }
}

#[test]
fn a_link_is_followed_inside_the_volume_and_as_far_as_it_leads() {
    for tree in trees() {
        let actor = Actor::new(tree.caller.clone(), Party::client(ClientId(1)));
        let top = tree.find("Top").unwrap().found.unwrap();
        let deep = "../".repeat(100);
        for (target, leads_to) in [
            ("Mid", Some(Kind::Folder)),
            ("./mid/", Some(Kind::Folder)),
            ("../Top/link/file", Some(Kind::File)),
            ("..", Some(Kind::Folder)),
            ("Mid/file/more", None),
            ("Mid/nothing", None),
            ("../../Top/Mid", None),
            ("../..", None),
            ("/Top/Mid", None),
            ("round", None),
            (&deep, None),
        ] {
            let new = NewKind::Link(target.as_bytes());
            let link = tree.volume.create(&actor, &top, b"round", new, 0o777).unwrap().found;
            let found = tree
                .volume
                .caching_tree()
                .follow_link(&tree.caller, &top, &link, Folding::default())
                .unwrap();
            assert_eq!(found.map(|found| found.attributes.kind), leads_to, "{target}");
            tree.volume.remove(&actor, &top, b"round", Kind::File).unwrap();
        }
    }
}
