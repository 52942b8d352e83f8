//! REMOVE and RMDIR, RFC 1813 3.3.12 and 3.3.13.

use super::*;

#[test]
fn a_removed_file_is_gone_and_its_handle_stale() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let before = s.attributes(&s.root);
    let ok = s.remove(&s.root, b"notes").unwrap();
    assert_wcc(&ok.dir_wcc, &before, &s.attributes(&s.root));
    assert_eq!(s.lookup(&s.root, b"notes").unwrap_err().status, Status::NOENT);
    assert_eq!(s.getattr(&file), Err(Status::STALE));
}

#[test]
fn a_file_with_another_name_lives_on() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    s.link(&file, &s.root, b"other").unwrap();
    s.remove(&s.root, b"notes").unwrap();
    assert_eq!(s.attributes(&file).nlink, 1);
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn remove_of_nothing_is_noent_with_wcc() {
    let s = Session::new();
    let now = s.attributes(&s.root);
    for fail in [s.remove(&s.root, b"nothing").unwrap_err(), s.rmdir(&s.root, b"nothing").unwrap_err()] {
        assert_eq!(fail.status, Status::NOENT);
        assert_wcc(&fail.body, &now, &now);
    }
}

#[test]
fn remove_takes_links_and_devices_but_no_folders() {
    let s = Session::new();
    s.symlink(&s.root, b"link", b"x").unwrap();
    s.mknod(&s.root, b"fifo", MknodData::Fifo(mode(0o644))).unwrap();
    assert!(s.remove(&s.root, b"link").is_ok() && s.remove(&s.root, b"fifo").is_ok());
    s.folder("folder");
    let fail = s.remove(&s.root, b"folder").unwrap_err();
    // unlink(2) of Linux; RFC 1813 3.3.12 leaves it open.
    assert_eq!(fail.status, Status::ISDIR);
    assert!(s.lookup(&s.root, b"folder").is_ok());
}

#[test]
fn rmdir_takes_empty_folders_only() {
    let s = Session::new();
    s.file("notes", b"");
    let folder = s.folder("folder");
    s.create(&folder, b"inner", CreateHow::Guarded(mode(0o644))).unwrap();
    assert_eq!(s.rmdir(&s.root, b"notes").unwrap_err().status, Status::NOTDIR);
    assert_eq!(s.rmdir(&s.root, b"folder").unwrap_err().status, Status::NOTEMPTY);
    s.remove(&folder, b"inner").unwrap();
    let before = s.attributes(&s.root);
    let ok = s.rmdir(&s.root, b"folder").unwrap();
    assert_wcc(&ok.dir_wcc, &before, &s.attributes(&s.root));
    assert_eq!(s.attributes(&s.root).nlink, before.nlink - 1);
    assert_eq!(s.getattr(&folder), Err(Status::STALE));
}

#[test]
fn nothing_can_be_made_in_a_removed_folder() {
    let s = Session::new();
    let folder = s.folder("folder");
    s.rmdir(&s.root, b"folder").unwrap();
    let fail = s.create(&folder, b"inner", CreateHow::Guarded(mode(0o644))).unwrap_err();
    assert_eq!(fail.status, Status::STALE);
}

#[test]
fn removing_needs_the_right_to_change_the_folder() {
    let s = Session::new();
    let folder = s.folder("folder"); // 0755
    s.create(&folder, b"inner", CreateHow::Guarded(mode(0o666))).unwrap();
    assert_eq!(s.user(2000).remove(&folder, b"inner").unwrap_err().status, Status::ACCES);
    s.setattr(&folder, mode(0o1777), None).unwrap();
    // In a sticky folder only the owner removes.
    assert_eq!(s.user(2000).remove(&folder, b"inner").unwrap_err().status, Status::PERM);
    assert!(s.remove(&folder, b"inner").is_ok());
}

#[test]
fn removing_from_a_file_is_notdir() {
    let s = Session::new();
    let file = s.file("notes", b"");
    assert_eq!(s.remove(&file, b"a").unwrap_err().status, Status::NOTDIR);
    assert_eq!(s.rmdir(&file, b"a").unwrap_err().status, Status::NOTDIR);
}
