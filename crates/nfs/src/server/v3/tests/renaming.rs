//! RENAME, RFC 1813 3.3.14.

use super::*;

#[test]
fn a_moved_file_keeps_its_handle_and_both_folders_tell() {
    let s = Session::new();
    let (file, folder) = (s.file("notes", b"abc"), s.folder("folder"));
    let (from, to) = (s.attributes(&s.root), s.attributes(&folder));
    let ok = s.rename((&s.root, b"notes"), (&folder, b"moved")).unwrap();
    assert_wcc(&ok.from_dir_wcc, &from, &s.attributes(&s.root));
    assert_wcc(&ok.to_dir_wcc, &to, &s.attributes(&folder));
    assert_eq!(s.lookup(&folder, b"moved").unwrap().handle, file);
    assert_eq!(s.lookup(&s.root, b"notes").unwrap_err().status, Status::NOENT);
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn a_file_of_the_new_name_is_replaced_in_one_step() {
    let s = Session::new();
    let (old, new) = (s.file("old", b"old"), s.file("new", b"new"));
    s.rename((&s.root, b"new"), (&s.root, b"old")).unwrap();
    assert_eq!(s.lookup(&s.root, b"old").unwrap().handle, new);
    assert_eq!(s.getattr(&old), Err(Status::STALE));
}

#[test]
fn two_names_of_one_file_stay() {
    let s = Session::new();
    let file = s.file("a", b"abc");
    s.link(&file, &s.root, b"b").unwrap();
    s.rename((&s.root, b"a"), (&s.root, b"b")).unwrap();
    s.rename((&s.root, b"a"), (&s.root, b"a")).unwrap();
    assert!(s.lookup(&s.root, b"a").is_ok() && s.lookup(&s.root, b"b").is_ok());
    assert_eq!(s.attributes(&file).nlink, 2);
}

/// The text names EXIST for all of these. The list of errors has the errors of rename(2), which are
/// more precise.
#[test]
fn incompatible_kinds_and_full_folders_are_refused() {
    let s = Session::new();
    s.file("file", b"");
    let full = s.folder("full");
    s.mkdir(&full, b"inner", mode(0o755)).unwrap();
    s.folder("empty");
    let status = |from: &[u8], to: &[u8]| s.rename((&s.root, from), (&s.root, to)).unwrap_err().status;
    assert_eq!(status(b"file", b"empty"), Status::ISDIR);
    assert_eq!(status(b"empty", b"file"), Status::NOTDIR);
    assert_eq!(status(b"empty", b"full"), Status::NOTEMPTY);
    assert!(s.rename((&s.root, b"full"), (&s.root, b"empty")).is_ok());
    assert!(s.lookup(&s.root, b"empty").is_ok_and(|found| found.handle == full));
}

#[test]
fn a_folder_cannot_be_moved_into_itself() {
    let s = Session::new();
    let folder = s.folder("folder");
    let inner = s.mkdir(&folder, b"inner", mode(0o755)).unwrap().handle;
    assert_eq!(s.rename((&s.root, b"folder"), (&inner, b"x")).unwrap_err().status, Status::INVAL);
    assert_eq!(s.rename((&s.root, b"folder"), (&folder, b"x")).unwrap_err().status, Status::INVAL);
}

#[test]
fn a_moved_folder_has_another_parent() {
    let s = Session::new();
    let (a, b) = (s.folder("a"), s.folder("b"));
    let before = (s.attributes(&s.root).nlink, s.attributes(&b).nlink);
    s.rename((&s.root, b"a"), (&b, b"a")).unwrap();
    assert_eq!(s.lookup(&a, b"..").unwrap().handle, b);
    assert_eq!((s.attributes(&s.root).nlink, s.attributes(&b).nlink), (before.0 - 1, before.1 + 1));
}

#[test]
fn nothing_to_rename_is_noent_with_wcc_of_both() {
    let s = Session::new();
    let folder = s.folder("folder");
    let (from, to) = (s.attributes(&s.root), s.attributes(&folder));
    let fail = s.rename((&s.root, b"nothing"), (&folder, b"x")).unwrap_err();
    assert_eq!(fail.status, Status::NOENT);
    assert_wcc(&fail.body.from_dir_wcc, &from, &from);
    assert_wcc(&fail.body.to_dir_wcc, &to, &to);
}

#[test]
fn between_exports_it_is_xdev() {
    let exports =
        ["one", "two"].iter().zip(1..).map(|(name, tag)| export(name, tag, Arc::new(Memory::ticking())));
    let one = Session::with(exports.collect());
    let two = Session::mounted(one.client.clone(), "/two");
    let file = one.file("notes", b"abc");
    let fail = one.rename((&one.root, b"notes"), (&two.root, b"notes")).unwrap_err();
    assert_eq!(fail.status, Status::XDEV);
    assert_wcc(&fail.body.to_dir_wcc, &two.attributes(&two.root), &two.attributes(&two.root));
    assert_eq!(one.link(&file, &two.root, b"notes").unwrap_err().status, Status::XDEV);
    assert_eq!(one.content(&file), b"abc");
    // RFC 1813 3.3.14: the fsids of two file systems differ.
    assert_ne!(one.attributes(&one.root).fsid, two.attributes(&two.root).fsid);
}

#[test]
fn renaming_needs_the_right_to_change_both_folders() {
    let s = Session::new();
    let folder = s.folder("folder"); // 0755, of user 1000
    s.file("notes", b"");
    let other = s.user(2000);
    assert_eq!(other.rename((&s.root, b"notes"), (&folder, b"x")).unwrap_err().status, Status::ACCES);
    s.rename((&s.root, b"notes"), (&folder, b"x")).unwrap();
    assert_eq!(other.rename((&folder, b"x"), (&s.root, b"notes")).unwrap_err().status, Status::ACCES);
}
