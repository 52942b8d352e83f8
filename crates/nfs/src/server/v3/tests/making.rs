//! MKDIR, SYMLINK and MKNOD, RFC 1813 3.3.9 to 3.3.11.

use super::*;
use crate::server::{Rule, Squash};
use crate::wire::v3::types::{FileType, SpecData};

#[test]
fn a_new_folder_has_the_mode_asked_for_and_counts_in_its_parents_links() {
    let s = Session::new();
    let before = s.attributes(&s.root);
    let made = s.mkdir(&s.root, b"folder", mode(0o750)).unwrap();
    let now = s.attributes(&made.handle);
    assert_eq!(made.attributes, Some(now));
    assert_eq!((now.file_type, now.mode, now.nlink, now.uid), (FileType::DIR, 0o750, 2, 1000));
    let parent = s.attributes(&s.root);
    assert_wcc(&made.dir, &before, &parent);
    assert_eq!(parent.nlink, before.nlink + 1);
}

#[test]
fn making_over_anything_is_exist() {
    let s = Session::new();
    s.file("notes", b"");
    let now = s.attributes(&s.root);
    let fails = [
        s.mkdir(&s.root, b"notes", mode(0o755)).unwrap_err(),
        s.symlink(&s.root, b"notes", b"target").unwrap_err(),
        s.mknod(&s.root, b"notes", MknodData::Fifo(mode(0o644))).unwrap_err(),
    ];
    for fail in fails {
        assert_eq!(fail.status, Status::EXIST);
        assert_wcc(&fail.body, &now, &now);
    }
}

#[test]
fn a_link_keeps_any_path_and_an_empty_one_is_inval() {
    let s = Session::new();
    let made = s.symlink(&s.root, b"link", b"no/such/../place").unwrap();
    let now = made.attributes.unwrap();
    assert_eq!((now.file_type, now.size), (FileType::LNK, 16));
    assert_eq!(s.symlink(&s.root, b"other", b"").unwrap_err().status, Status::INVAL);
    assert_eq!(s.symlink(&s.root, b"other", b"a\0b").unwrap_err().status, Status::INVAL);
    assert_eq!(s.symlink(&s.root, b"other", &[b'x'; 4096]).unwrap_err().status, Status::NAMETOOLONG);
}

#[test]
fn mknod_makes_fifos_and_sockets_for_everybody() {
    let s = Session::new();
    let fifo = s.mknod(&s.root, b"fifo", MknodData::Fifo(mode(0o640))).unwrap().attributes.unwrap();
    assert_eq!((fifo.file_type, fifo.mode), (FileType::FIFO, 0o640));
    let socket = s.mknod(&s.root, b"socket", MknodData::Sock(mode(0o600))).unwrap().attributes.unwrap();
    assert_eq!((socket.file_type, socket.mode), (FileType::SOCK, 0o600));
}

#[test]
fn mknod_makes_devices_only_where_the_share_allows_them() {
    let device = SpecData { major: 4, minor: 64 };
    let refused = Session::new();
    for what in [MknodData::Chr(mode(0o600), device), MknodData::Blk(mode(0o600), device)] {
        assert_eq!(refused.mknod(&refused.root, b"device", what).unwrap_err().status, Status::PERM);
    }
    let mut allowed = export("share", 1, Arc::new(Memory::ticking()));
    allowed.options.device_nodes = true;
    allowed.options.rules = vec![Rule { squash: Squash::None, ..Rule::everybody() }];
    let s = Session::with(vec![allowed]).user(0);
    let made = s.mknod(&s.root, b"device", MknodData::Chr(mode(0o600), device)).unwrap();
    let now = made.attributes.unwrap();
    assert_eq!((now.file_type, now.rdev), (FileType::CHR, device));
}

#[test]
fn mknod_of_what_it_does_not_make_is_badtype() {
    let s = Session::new();
    for file_type in [FileType::REG, FileType::DIR, FileType::LNK, FileType(0), FileType(99)] {
        let fail = s.mknod(&s.root, b"odd", MknodData::Other(file_type)).unwrap_err();
        assert_eq!(fail.status, Status::BADTYPE);
    }
}

#[test]
fn reading_and_writing_what_is_no_file_is_refused() {
    let s = Session::new();
    let fifo = s.mknod(&s.root, b"fifo", MknodData::Fifo(mode(0o666))).unwrap().handle;
    let link = s.symlink(&s.root, b"link", b"notes").unwrap().handle;
    for (object, expected) in [(&s.root, Status::ISDIR), (&fifo, Status::INVAL), (&link, Status::INVAL)] {
        let now = s.attributes(object);
        let read = s.read(object, 0, 1).unwrap_err();
        assert_eq!((read.status, read.body), (expected, Some(now)));
        let write = s.write(object, 0, b"x", StableHow::UNSTABLE).unwrap_err();
        assert_eq!(write.status, expected);
        assert_wcc(&write.body, &now, &now);
    }
}
