//! A local folder by the session's calls, beside what the standard library says of it.

use std::fs;

use super::*;
use crate::tree::{Kind, Tree};

fn local() -> (tempfile::TempDir, Local) {
    let folder = tempfile::tempdir().unwrap();
    let local = Local::open(folder.path().to_str().unwrap()).unwrap();
    (folder, local)
}

#[test]
fn what_is_written_is_in_the_file_and_is_read_again() {
    let (folder, mut local) = local();
    local.make_folder("sub").unwrap();
    let file = local.open("sub/film", OpenIntent::Create).unwrap();
    local.start(file, DataTransfer::Write { offset: 3, data: b"hello", stable: true }).unwrap();
    assert_eq!(local.finish().unwrap().length, 5);
    local.start(file, DataTransfer::Read { offset: 1, length: 100 }).unwrap();
    let done = local.finish().unwrap();
    assert_eq!((done.length, &done.head), (7, b"\0\0hello\0"));
    local.flush(file).unwrap();
    local.close(file).unwrap();
    assert_eq!(fs::read(folder.path().join("sub/film")).unwrap(), b"\0\0\0hello");
    assert_eq!((local.stat("sub/film").unwrap(), local.list("sub").unwrap()), (8, 1));
    local.remove("sub/film").unwrap();
    local.remove_folder("sub").unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn no_name_is_made_twice_and_a_missing_one_is_said_so() {
    let (folder, mut local) = local();
    fs::write(folder.path().join("taken"), b"abc").unwrap();
    assert!(local.open("taken", OpenIntent::Create).is_err() && local.make_folder("taken").is_err());
    for how in [OpenIntent::Read, OpenIntent::Write] {
        assert!(matches!(local.open("none", how), Err(Error::Missing(_))), "{how:?}");
    }
    assert!(matches!(local.stat("none"), Err(Error::Missing(_))));
    assert!(matches!(local.remove("none"), Err(Error::Missing(_))));
    assert_eq!(fs::read(folder.path().join("taken")).unwrap(), b"abc");
}

#[test]
fn a_tree_tells_files_folders_links_and_the_rest_apart() {
    let (folder, mut local) = local();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), b"abc").unwrap();
    fs::hard_link(at("file"), at("same")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    std::os::unix::fs::symlink("file", at("link")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let mut entries = local.entries("").unwrap().entries;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let found: Vec<_> = entries.iter().map(|one| (&*one.name, one.kind)).collect();
    let expected =
        [("file", Kind::File), ("folder", Kind::Folder), ("link", Kind::Link), ("pipe", Kind::Other)];
    assert_eq!(found, [&expected[..], &[("same", Kind::File)]].concat());
    assert_eq!((entries[0].length, entries[0].links), (3, 2));
}

#[test]
fn a_hole_is_passed_over_to_the_next_data() {
    let (folder, mut local) = local();
    let made = fs::File::create(folder.path().join("sparse")).unwrap();
    made.set_len(8 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&made, b"end", 4 << 20).unwrap();
    let file = local.open("sparse", OpenIntent::Read).unwrap();
    let next = local.next_data(file, 0).unwrap();
    assert!(next == Some(4 << 20) || next == Some(0), "{next:?}: a file system may keep no holes");
    assert_eq!(local.read(file, (4 << 20) + 1, 100).unwrap()[..3], *b"nd\0");
    assert!(local.read(file, 8 << 20, 100).unwrap().is_empty(), "none behind its end");
}
