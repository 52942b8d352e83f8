//! Other trees inside an export: one at a folder, and snapshots below each folder.

use std::num::NonZeroU64;

use vfs::Caller;
use vfs::backend::NewKind;
use vfs::backend::forest::{Forest, Offer, Tree};

use super::*;

/// A store with `folder/notes` in it.
fn store(content: &[u8]) -> Memory {
    let (memory, root) = (Memory::ticking(), Caller::root());
    let make =
        |at: &vfs::backend::Found, name: &[u8], kind| at.object.create(&root, name, kind, 0o777).unwrap();
    let folder = make(&memory.root().unwrap(), b"folder", NewKind::Folder);
    let notes = make(&folder, b"notes", NewKind::File);
    notes.object.write_at(&root, 0, content, vfs::backend::Stability::File).unwrap();
    memory
}

/// The tree of a backend with this number. It is read-only, and its files have a device number of its own.
fn tree(number: u64, backend: &Memory) -> Arc<Tree> {
    Arc::new(
        Tree::new(NonZeroU64::new(number).unwrap(), Arc::new(backend.clone())).with_own_device().read_only(),
    )
}

fn with_snapshots(main: &Memory, then: &Memory) -> Arc<Forest> {
    let offer = Offer { hidden: vec![b".snapshot".to_vec()], listed: None };
    let forest = Forest::new(Arc::new(main.clone()), offer).unwrap();
    forest.offer(b"one", tree(1, then), vfs::Time::default()).unwrap();
    forest.offer(b"two", tree(2, then), vfs::Time::default()).unwrap();
    Arc::new(forest)
}

#[test]
fn each_folder_leads_to_its_snapshots_which_are_other_file_systems() {
    let (main, then) = (store(b"now"), store(b"then"));
    let forest = with_snapshots(&main, &then);
    let s = Session::over(forest.clone());
    let folder = s.lookup(&s.root, b"folder").unwrap().handle;
    let names = |dir: &[u8]| -> Vec<Vec<u8>> {
        s.readdirplus(dir, 0, 4096, 4096).unwrap().entries.into_iter().map(|entry| entry.name).collect()
    };
    assert_eq!(names(&folder), [&b"."[..], b"..", b"notes"]);

    let snapshots = s.lookup(&folder, b".snapshot").unwrap().handle;
    assert_eq!(names(&snapshots), [&b"."[..], b"..", b"one", b"two"]);
    let [one, two] = [b"one", b"two"].map(|name| s.lookup(&snapshots, name).unwrap().handle);
    let [notes, other] = [&one, &two].map(|at| s.lookup(at, b"notes").unwrap().handle);
    assert_eq!(
        (s.content(&notes), s.content(&s.lookup(&folder, b"notes").unwrap().handle)),
        (b"then".to_vec(), b"now".to_vec())
    );
    // RFC 1813 2.5: fsid and fileid together name a file.
    let file_systems = [&folder, &snapshots, &one, &two].map(|handle| s.attributes(handle).fsid);
    for (at, id) in file_systems.iter().enumerate() {
        assert!(!file_systems[..at].contains(id), "{file_systems:?}");
    }
    assert_eq!(s.attributes(&notes).fsid, s.attributes(&one).fsid);
    assert_ne!(notes, other);
    assert_eq!(s.lookup(&snapshots, b"..").unwrap().handle, folder);
    for entry in s.readdirplus(&snapshots, 2, 4096, 4096).unwrap().entries {
        assert_eq!(entry.attributes.unwrap().fileid, entry.fileid);
    }

    // A client goes on after a restart of the server, and sees when a snapshot is removed.
    let forest = with_snapshots(&main, &then);
    let s = Session::over(forest.clone());
    assert_eq!(s.content(&notes), b"then");
    forest.detach(NonZeroU64::new(1).unwrap(), vfs::Time::default()).unwrap();
    assert_eq!(s.getattr(&notes), Err(Status::STALE));
    assert_eq!(s.content(&other), b"then");
}

#[test]
fn a_snapshot_is_a_read_only_file_system() {
    let s = Session::over(with_snapshots(&store(b"now"), &store(b"then")));
    let folder = s.lookup(&s.root, b"folder").unwrap().handle;
    let snapshots = s.lookup(&folder, b".snapshot").unwrap().handle;
    let one = s.lookup(&snapshots, b"one").unwrap().handle;
    let notes = s.lookup(&one, b"notes").unwrap().handle;
    let guarded = || CreateHow::Guarded(mode(0o644));
    assert_eq!(s.write(&notes, 0, b"x", StableHow::UNSTABLE).unwrap_err().status, Status::ROFS);
    assert_eq!(s.setattr(&notes, size(0), None).unwrap_err().status, Status::ROFS);
    assert_eq!(s.create(&one, b"new", guarded()).unwrap_err().status, Status::ROFS);
    assert_eq!(s.remove(&one, b"notes").unwrap_err().status, Status::ROFS);
    assert_eq!(s.create(&snapshots, b"new", guarded()).unwrap_err().status, Status::ROFS);
    assert_eq!(s.mkdir(&folder, b".snapshot", mode(0o755)).unwrap_err().status, Status::EXIST);
    const MODIFY: u32 = 0x4;
    assert_eq!(s.access(&notes, MODIFY).unwrap().access, 0);
    assert_eq!(s.link(&notes, &folder, b"new").unwrap_err().status, Status::XDEV);
    assert_eq!(s.content(&notes), b"then");
}

#[test]
fn a_tree_at_a_folder_is_another_file_system_that_nothing_moves_to() {
    let (main, data) = (store(b"main"), store(b"data"));
    data.set_capacity(Some(1 << 20));
    let forest = Arc::new(Forest::new(Arc::new(main.clone()), Offer::default()).unwrap());
    let tree = Tree::new(NonZeroU64::MIN, Arc::new(data)).with_own_device();
    forest.attach(&*main.root().unwrap().object, b"folder", Arc::new(tree)).unwrap();
    let s = Session::over(forest);
    let file = s.file("file", b"abc");
    let at = s.lookup(&s.root, b"folder").unwrap().handle;
    assert_ne!(s.attributes(&at).fsid, s.attributes(&s.root).fsid);
    let listed = s.readdirplus(&s.root, 0, 4096, 4096).unwrap().entries;
    let entry = listed.iter().find(|entry| entry.name == b"folder").unwrap();
    assert_eq!((entry.handle.as_ref(), entry.attributes), (Some(&at), Some(s.attributes(&at))));
    assert_eq!(s.fsstat(&at).unwrap().total_bytes, 1 << 20);
    assert_eq!(s.rename((&s.root, b"file"), (&at, b"file")).unwrap_err().status, Status::XDEV);
    assert_eq!(s.link(&file, &at, b"file").unwrap_err().status, Status::XDEV);
    let inner = s.lookup(&at, b"folder").unwrap().handle;
    assert_eq!(s.content(&s.lookup(&inner, b"notes").unwrap().handle), b"data");
    assert_eq!(s.lookup(&at, b"..").unwrap().handle, s.root);
    assert_eq!(s.create(&at, b"new", CreateHow::Guarded(mode(0o644))).map(drop), Ok(()));
}
