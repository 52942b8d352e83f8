use std::sync::Arc;

use super::*;
use crate::backend::{NewKind, Object, RenameMode, Stability, Wait, XattrMode};
use crate::{Access, Caller, SetAttributes, SetTime};

const OWNER: u32 = 10;

fn root() -> Caller {
    Caller::root()
}

fn owner() -> Caller {
    Caller::new(OWNER, 20, &[])
}

fn other() -> Caller {
    Caller::new(11, 21, &[])
}

fn top(volume: &Memory) -> Arc<dyn Object> {
    volume.root().unwrap().object
}

fn make(folder: &dyn Object, name: &str, new: NewKind<'_>, mode: u32) -> Arc<dyn Object> {
    folder.create(&owner(), name.as_bytes(), new, mode).unwrap().object
}

fn file(folder: &dyn Object, name: &str) -> Arc<dyn Object> {
    make(folder, name, NewKind::File, 0o644)
}

fn folder(parent: &dyn Object, name: &str) -> Arc<dyn Object> {
    make(parent, name, NewKind::Folder, 0o755)
}

fn names(folder: &dyn Object, cookie: u64) -> Vec<(Vec<u8>, u64)> {
    let mut names = Vec::new();
    let mut sink = |entry: crate::backend::ListEntry<'_>| {
        names.push((entry.name.to_vec(), entry.cookie));
        true
    };
    assert_eq!(folder.list(cookie, &mut sink), Ok(true));
    names
}

fn read(object: &dyn Object, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    object.read_at(offset, length, &mut bytes, Wait::Never).unwrap();
    bytes
}

fn set(object: &dyn Object, caller: &Caller, changes: SetAttributes) -> Result<()> {
    object.set_attributes(caller, &changes)
}

#[test]
fn a_file_of_5_gib_costs_the_pages_written() {
    let volume = Memory::ticking();
    let file = file(&*top(&volume), "big");
    let size = 5 << 30;
    set(&*file, &owner(), SetAttributes { size: Some(size), ..Default::default() }).unwrap();
    file.write_at(&owner(), size - 1, b"!", Stability::Unstable).unwrap();
    let attributes = file.attributes().unwrap();
    assert_eq!((attributes.size, attributes.allocated), (size, 4096));
    assert_eq!(read(&*file, size - 3, 10), b"\0\0!");
    assert_eq!(read(&*file, size, 10), b"");
    assert_eq!(file.seek(0, true), Ok(Some(size - 4096)));
    assert_eq!((file.seek(size - 4096, false), file.seek(5, false)), (Ok(None), Ok(Some(5))));
}

#[test]
fn shrinking_and_growing_shows_zeros() {
    let volume = Memory::ticking();
    let file = file(&*top(&volume), "f");
    file.write_at(&owner(), 0, &[1; 10_000], Stability::Unstable).unwrap();
    for size in [5000, 9000] {
        set(&*file, &owner(), SetAttributes { size: Some(size), ..Default::default() }).unwrap();
    }
    assert_eq!(read(&*file, 4999, 3), [1, 0, 0]);
    assert_eq!(file.attributes().unwrap().allocated, 8192);
    file.punch(&owner(), 10, 4990).unwrap();
    assert_eq!((read(&*file, 9, 2), file.attributes().unwrap().allocated), (vec![1, 0], 8192));
    file.punch(&owner(), 0, 1 << 40).unwrap();
    assert_eq!(file.attributes().unwrap().allocated, 0);
    assert_eq!(file.attributes().unwrap().size, 9000);
}

#[test]
fn a_full_disk_refuses_new_pages_only() {
    let volume = Memory::ticking();
    volume.set_capacity(Some(8192));
    let file = file(&*top(&volume), "f");
    file.write_at(&owner(), 0, &[1; 8192], Stability::Unstable).unwrap();
    assert_eq!(file.write_at(&owner(), 8192, b"x", Stability::Unstable), Err(Error::NoSpace));
    file.write_at(&owner(), 8000, b"x", Stability::Unstable).unwrap();
    assert_eq!(volume.space(&*volume.root().unwrap().object).unwrap().free, 0);
    top(&volume).remove(&owner(), b"f").unwrap();
    drop(file);
    assert_eq!(volume.space(&*volume.root().unwrap().object).unwrap().free, 8192);
}

#[test]
fn ranges_that_end_too_late_are_too_large() {
    let volume = Memory::ticking();
    let file = file(&*top(&volume), "f");
    for offset in [u64::MAX, i64::MAX as u64] {
        assert_eq!(file.write_at(&owner(), offset, b"x", Stability::Unstable), Err(Error::FileTooLarge));
    }
    let huge = SetAttributes { size: Some(1 << 63), ..Default::default() };
    assert_eq!(set(&*file, &owner(), huge), Err(Error::FileTooLarge));
}

#[test]
fn a_key_finds_the_file_after_a_rename_and_never_its_successor() {
    let volume = Memory::ticking();
    let (top, key) = (top(&volume), file(&*top(&volume), "a").key());
    let sub = folder(&*top, "sub");
    top.rename(&owner(), b"a", &*sub, b"b", RenameMode::Replace).unwrap();
    let id = volume.by_key(&key).unwrap().object.id();
    sub.remove(&owner(), b"b").unwrap();
    assert_eq!(volume.by_key(&key).map(drop), Err(Error::Stale));
    let next = file(&*top, "c");
    assert_eq!(next.id(), id); // as a host does, the number is used again
    assert_eq!(volume.by_key(&key).map(drop), Err(Error::Stale));
    assert_eq!(volume.by_key(&HostKey::new(b"??").unwrap()).map(drop), Err(Error::Stale));
}

#[test]
fn a_file_without_names_lives_while_it_is_held() {
    let volume = Memory::ticking();
    let file = file(&*top(&volume), "a");
    file.write_at(&owner(), 0, b"abc", Stability::Unstable).unwrap();
    top(&volume).remove(&owner(), b"a").unwrap();
    assert_eq!((read(&*file, 0, 9), file.attributes().unwrap().links), (b"abc".to_vec(), 0));
    assert_eq!(volume.by_key(&file.key()).map(drop), Err(Error::Stale));
    assert_eq!(volume.files(), 2);
    drop(file);
    assert_eq!(volume.files(), 1);
}

#[test]
fn hard_links_are_one_file() {
    let volume = Memory::ticking();
    let (top, file) = (top(&volume), file(&*top(&volume), "a"));
    top.link(&owner(), &*file, b"b").unwrap();
    let second = top.lookup(&owner(), b"b").unwrap();
    assert_eq!((second.object.id(), second.attributes.links), (file.id(), 2));
    assert_eq!(top.link(&owner(), &*file, b"b"), Err(Error::Exists));
    assert_eq!(top.link(&owner(), &*top, b"c"), Err(Error::NotPermitted));
    top.rename(&owner(), b"a", &*top, b"b", RenameMode::Replace).unwrap(); // does nothing, says POSIX
    assert!(top.lookup(&owner(), b"a").is_ok());
    top.remove(&owner(), b"a").unwrap();
    assert_eq!(file.attributes().unwrap().links, 1);
}

#[test]
fn renames_replace_what_posix_lets_them() {
    let volume = Memory::ticking();
    let top = top(&volume);
    let (f, d) = (file(&*top, "f"), folder(&*top, "d"));
    folder(&*d, "inner");
    folder(&*top, "empty");
    let rename =
        |from: &str, to: &str, mode| top.rename(&owner(), from.as_bytes(), &*top, to.as_bytes(), mode);
    assert_eq!(rename("f", "d", RenameMode::Replace), Err(Error::IsFolder));
    assert_eq!(rename("d", "f", RenameMode::Replace), Err(Error::NotFolder));
    assert_eq!(rename("empty", "d", RenameMode::Replace), Err(Error::NotEmpty));
    assert_eq!(rename("f", "d", RenameMode::Keep), Err(Error::Exists));
    assert_eq!(rename("x", "y", RenameMode::Replace), Err(Error::NotFound));
    assert_eq!(rename("f", "y", RenameMode::Exchange), Err(Error::NotFound));
    assert_eq!(top.rename(&owner(), b"d", &*d, b"in", RenameMode::Replace), Err(Error::Invalid));
    rename("f", "d", RenameMode::Exchange).unwrap();
    assert_eq!(top.lookup(&owner(), b"d").unwrap().object.id(), f.id());
    rename("f", "empty", RenameMode::Replace).unwrap();
    assert_eq!(top.lookup(&owner(), b"empty").unwrap().object.id(), d.id());
    assert_eq!(top.attributes().unwrap().links, 3);
}

#[test]
fn folders_count_their_subfolders_and_die_empty() {
    let volume = Memory::ticking();
    let top = top(&volume);
    let (a, b) = (folder(&*top, "a"), folder(&*top, "b"));
    folder(&*a, "x");
    a.rename(&owner(), b"x", &*b, b"x", RenameMode::Replace).unwrap();
    assert_eq!((a.attributes().unwrap().links, b.attributes().unwrap().links), (2, 3));
    assert_eq!(top.remove_folder(&owner(), b"b"), Err(Error::NotEmpty));
    assert_eq!(top.remove(&owner(), b"a"), Err(Error::IsFolder));
    top.remove_folder(&owner(), b"a").unwrap();
    let gone = a.create(&owner(), b"late", NewKind::File, 0o644).map(drop);
    assert_eq!(gone, Err(Error::NotFound));
}

#[test]
fn cookies_stay_right_while_entries_come_and_go() {
    let volume = Memory::ticking();
    let top = top(&volume);
    for name in ["a", "b", "c", "d"] {
        file(&*top, name);
    }
    let all = names(&*top, 0);
    assert_eq!(all.len(), 6);
    assert_eq!((&all[0].0[..], &all[1].0[..]), (&b"."[..], &b".."[..]));
    let after_b = all[3].1;
    top.remove(&owner(), b"b").unwrap();
    top.remove(&owner(), b"c").unwrap();
    file(&*top, "e");
    let rest: Vec<_> = names(&*top, after_b).into_iter().map(|(name, _)| name).collect();
    assert_eq!(rest, [b"d", b"e"]);
    assert_eq!(names(&*top, u64::MAX), []);
    assert_eq!(top.list(0, &mut |_| false), Ok(false));
}

#[test]
fn permission_is_that_of_the_first_class_that_fits() {
    let volume = Memory::ticking();
    let file = make(&*top(&volume), "f", NewKind::File, 0o640);
    let want = Access::READ.union(Access::WRITE);
    let member = Caller::new(12, 1, &[20]);
    assert_eq!(file.access(&owner(), &file.attributes().unwrap(), want), Ok(want));
    assert_eq!(file.access(&member, &file.attributes().unwrap(), want), Ok(Access::READ));
    assert_eq!(file.access(&other(), &file.attributes().unwrap(), want), Ok(Access::NONE));
    assert_eq!(file.access(&root(), &file.attributes().unwrap(), Access(7)), Ok(want));
    let now = file.attributes().unwrap();
    assert_eq!(file.prepare(&other(), &now, Access::READ, true), Err(Error::AccessDenied));
    set(&*file, &owner(), SetAttributes { mode: Some(0), ..Default::default() }).unwrap();
    assert_eq!(file.prepare(&owner(), &now, Access::READ, false), Err(Error::AccessDenied));
    assert_eq!(file.prepare(&owner(), &now, Access::READ, true), Ok(()));
    assert_eq!(top(&volume).prepare(&owner(), &now, Access::READ, true), Err(Error::IsFolder));
}

#[test]
fn entries_change_only_with_write_permission_on_the_folder() {
    let volume = Memory::ticking();
    let mine = folder(&*top(&volume), "mine");
    file(&*mine, "f");
    assert_eq!(mine.create(&other(), b"x", NewKind::File, 0o644).map(drop), Err(Error::AccessDenied));
    assert_eq!(mine.remove(&other(), b"f"), Err(Error::AccessDenied));
    set(&*mine, &owner(), SetAttributes { mode: Some(0o1777), ..Default::default() }).unwrap();
    assert_eq!(mine.remove(&other(), b"f"), Err(Error::NotPermitted)); // sticky
    mine.remove(&owner(), b"f").unwrap();
    set(&*mine, &owner(), SetAttributes { mode: Some(0o600), ..Default::default() }).unwrap();
    assert_eq!(mine.lookup(&owner(), b"f").map(drop), Err(Error::AccessDenied));
    let node = mine.create(&owner(), b"n", NewKind::BlockDevice(1, 2), 0o600).map(drop);
    assert_eq!(node, Err(Error::AccessDenied));
}

#[test]
fn ownership_changes_as_posix_says() {
    let volume = Memory::ticking();
    let file = make(&*top(&volume), "f", NewKind::File, 0o6755);
    let give = SetAttributes { uid: Some(11), ..Default::default() };
    assert_eq!(set(&*file, &owner(), give), Err(Error::NotPermitted));
    assert_eq!(
        set(&*file, &other(), SetAttributes { mode: Some(0o777), ..Default::default() }),
        Err(Error::NotPermitted)
    );
    let regroup = SetAttributes { gid: Some(21), ..Default::default() };
    assert_eq!(set(&*file, &owner(), regroup), Err(Error::NotPermitted));
    set(&*file, &Caller::new(OWNER, 20, &[21]), regroup).unwrap();
    assert_eq!(file.attributes().unwrap().mode, 0o755);
    set(&*file, &root(), give).unwrap();
    assert_eq!((file.attributes().unwrap().uid, file.attributes().unwrap().gid), (11, 21));
}

#[test]
fn times_are_set_to_now_by_writers_and_to_anything_by_owners() {
    let volume = Memory::ticking();
    let file = make(&*top(&volume), "f", NewKind::File, 0o666);
    let then = Time { secs: -1, nanos: 5 };
    let to = |time| SetAttributes { modified: time, ..Default::default() };
    assert_eq!(set(&*file, &other(), to(SetTime::To(then))), Err(Error::NotPermitted));
    set(&*file, &other(), to(SetTime::Now)).unwrap();
    set(&*file, &owner(), to(SetTime::To(then))).unwrap();
    let before = file.attributes().unwrap();
    assert_eq!(before.modified, then);
    file.write_at(&other(), 0, b"x", Stability::Unstable).unwrap();
    let after = file.attributes().unwrap();
    assert!(after.modified > before.changed && after.changed == after.modified);
    assert_eq!(after.created, before.created);
}

#[test]
fn a_set_gid_folder_gives_its_group_to_what_is_made_in_it() {
    let volume = Memory::ticking();
    let shared = make(&*top(&volume), "shared", NewKind::Folder, 0o2777);
    let inner = shared.create(&other(), b"inner", NewKind::Folder, 0o755).unwrap();
    assert_eq!((inner.attributes.gid, inner.attributes.mode), (20, 0o2755));
}

#[test]
fn extended_attributes_obey_mode_limit_and_kind() {
    let limits = Limits { xattr: 100, ..LIMITS };
    let volume = Memory::with_limits(limits, Time::default);
    let file = file(&*top(&volume), "f");
    let set = |caller: &Caller, name: &str, size, mode| {
        file.set_xattr(caller, name.as_bytes(), &vec![7; size], mode)
    };
    assert_eq!(set(&owner(), "user.a", 101, XattrMode::Set), Err(Error::FileTooLarge));
    assert_eq!(set(&owner(), "user.a", 1, XattrMode::Replace), Err(Error::NoSuchAttribute));
    set(&owner(), "user.a", 100, XattrMode::Create).unwrap();
    assert_eq!(set(&owner(), "user.a", 1, XattrMode::Create), Err(Error::Exists));
    assert_eq!(set(&other(), "user.a", 1, XattrMode::Set), Err(Error::AccessDenied));
    assert_eq!(set(&owner(), "trusted.a", 1, XattrMode::Set), Err(Error::NotPermitted));
    assert_eq!(file.list_xattrs(), Ok(vec![b"user.a".to_vec()]));
    file.remove_xattr(&owner(), b"user.a").unwrap();
    assert_eq!(file.xattr(b"user.a"), Err(Error::NoSuchAttribute));
    let link = make(&*top(&volume), "l", NewKind::Link(b"f"), 0);
    assert_eq!(link.set_xattr(&owner(), b"user.a", b"", XattrMode::Set), Err(Error::NotPermitted));
    assert_eq!(link.read_link(), Ok(b"f".to_vec()));
}

#[test]
fn a_read_only_volume_refuses_every_change() {
    let volume = Memory::ticking();
    let (top, file) = (top(&volume), file(&*top(&volume), "f"));
    volume.set_read_only(true);
    let refused = Err(Error::ReadOnly);
    assert_eq!(top.create(&root(), b"x", NewKind::File, 0).map(drop), refused);
    assert_eq!(top.create(&root(), b"f", NewKind::File, 0).map(drop), Err(Error::Exists));
    assert_eq!(top.remove(&root(), b"f"), refused);
    assert_eq!(top.rename(&root(), b"f", &*top, b"g", RenameMode::Replace), refused);
    assert_eq!(file.write_at(&root(), 0, b"x", Stability::Unstable), refused);
    assert_eq!(file.set_xattr(&root(), b"user.a", b"", XattrMode::Set), refused);
    assert_eq!(set(&*file, &root(), SetAttributes { mode: Some(0), ..Default::default() }), refused);
    assert_eq!(file.prepare(&root(), &file.attributes().unwrap(), Access::WRITE, true), refused);
    assert_eq!(file.access(&root(), &file.attributes().unwrap(), Access(6)), Ok(Access::READ));
}

#[test]
fn devices_keep_their_numbers() {
    let volume = Memory::ticking();
    let top = top(&volume);
    let device = top.create(&root(), b"d", NewKind::CharDevice(1, 3), 0o666).unwrap();
    assert_eq!((device.attributes.kind, device.attributes.device), (Kind::CharDevice, (1, 3)));
    let refused = top.create(&owner(), b"e", NewKind::BlockDevice(1, 3), 0o666).map(drop);
    assert_eq!(refused, Err(Error::NotPermitted));
    make(&*top, "p", NewKind::Fifo, 0o600);
    assert_eq!(top.lookup(&owner(), b"p").unwrap().attributes.kind, Kind::Fifo);
}
