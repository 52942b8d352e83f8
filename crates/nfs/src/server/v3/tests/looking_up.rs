//! LOOKUP and READLINK, RFC 1813 3.3.3 and 3.3.5.

use super::*;

#[test]
fn lookup_gives_the_handle_and_the_attributes_of_both() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let found = s.lookup(&s.root, b"notes").unwrap();
    assert_eq!(found.handle, file);
    assert_eq!(found.attributes, Some(s.attributes(&file)));
    assert_eq!(found.dir, Some(s.attributes(&s.root)));
}

#[test]
fn lookup_of_nothing_is_noent_with_the_folders_attributes() {
    let s = Session::new();
    let fail = s.lookup(&s.root, b"nothing").unwrap_err();
    assert_eq!((fail.status, fail.body), (Status::NOENT, Some(s.attributes(&s.root))));
}

#[test]
fn lookup_in_a_file_is_notdir() {
    let s = Session::new();
    let file = s.file("notes", b"");
    for name in [&b"a"[..], b".", b".."] {
        let fail = s.lookup(&file, name).unwrap_err();
        assert_eq!((fail.status, fail.body), (Status::NOTDIR, Some(s.attributes(&file))));
    }
}

#[test]
fn lookup_of_a_dot_is_the_folder_and_of_two_its_parent() {
    let s = Session::new();
    let folder = s.folder("folder");
    let inner = s.mkdir(&folder, b"inner", mode(0o755)).unwrap().handle;
    assert_eq!(s.lookup(&inner, b".").unwrap().handle, inner);
    assert_eq!(s.lookup(&inner, b"..").unwrap().handle, folder);
    assert_eq!(s.lookup(&folder, b"..").unwrap().handle, s.root);
}

#[test]
fn lookup_of_two_dots_never_leaves_the_share() {
    let s = Session::new();
    assert_eq!(s.lookup(&s.root, b"..").unwrap().handle, s.root);
}

#[test]
fn lookup_needs_the_right_to_pass_through() {
    let s = Session::new();
    let folder = s.folder("folder");
    s.create(&folder, b"notes", CreateHow::Guarded(mode(0o644))).unwrap();
    s.setattr(&folder, mode(0o744), None).unwrap();
    assert_eq!(s.user(2000).lookup(&folder, b"notes").unwrap_err().status, Status::ACCES);
    assert!(s.lookup(&folder, b"notes").is_ok());
}

#[test]
fn lookup_does_not_follow_a_link() {
    let s = Session::new();
    s.file("notes", b"");
    let link = s.symlink(&s.root, b"link", b"notes").unwrap().handle;
    assert_eq!(s.lookup(&s.root, b"link").unwrap().handle, link);
    assert_eq!(s.lookup(&link, b"notes").unwrap_err().status, Status::NOTDIR);
}

#[test]
fn readlink_gives_the_path_as_it_was_stored() {
    let s = Session::new();
    for path in [&b"../../etc/passwd"[..], b"/", b"\xff\xfe", &[b'x'; 4095]] {
        let link = s.symlink(&s.root, b"link", path).unwrap().handle;
        let (data, attributes) = s.readlink(&link).unwrap();
        assert_eq!(data, path);
        assert_eq!(attributes, Some(s.attributes(&link)));
        s.remove(&s.root, b"link").unwrap();
    }
}

#[test]
fn readlink_of_what_is_no_link_is_inval() {
    let s = Session::new();
    let file = s.file("notes", b"");
    for object in [&file, &s.root] {
        let fail = s.readlink(object).unwrap_err();
        assert_eq!((fail.status, fail.body), (Status::INVAL, Some(s.attributes(object))));
    }
}
