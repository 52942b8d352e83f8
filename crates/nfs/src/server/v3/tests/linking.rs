//! LINK, RFC 1813 3.3.15.

use super::*;

#[test]
fn a_linked_file_counts_one_more_name() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let before = s.attributes(&s.root);
    let ok = s.link(&file, &s.root, b"other").unwrap();
    assert_eq!(ok.attributes, Some(s.attributes(&file)));
    assert_eq!(ok.attributes.map(|now| now.nlink), Some(2));
    assert_wcc(&ok.link_dir_wcc, &before, &s.attributes(&s.root));
    assert_eq!(s.lookup(&s.root, b"other").unwrap().handle, file);
}

#[test]
fn a_taken_name_is_exist_with_the_attributes_of_both() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    s.folder("folder");
    let now = s.attributes(&s.root);
    for name in [&b"notes"[..], b"folder"] {
        let fail = s.link(&file, &s.root, name).unwrap_err();
        assert_eq!(fail.status, Status::EXIST);
        assert_eq!(fail.body.attributes, Some(s.attributes(&file)));
        assert_wcc(&fail.body.link_dir_wcc, &now, &now);
    }
}

#[test]
fn a_folder_is_not_linked() {
    let s = Session::new();
    let folder = s.folder("folder");
    let status = s.link(&folder, &s.root, b"other").unwrap_err().status;
    assert_eq!(status, Status::PERM); // link(2): EPERM
}

#[test]
fn linking_into_a_file_is_notdir() {
    let s = Session::new();
    let (file, other) = (s.file("notes", b""), s.file("other", b""));
    assert_eq!(s.link(&file, &other, b"x").unwrap_err().status, Status::NOTDIR);
}

#[test]
fn as_many_names_as_pathconf_says_and_no_more() {
    let limits = vfs::backend::Limits { links: 8, ..vfs::backend::memory::LIMITS };
    let s = Session::over(Arc::new(Memory::with_limits(limits, vfs::Time::default)));
    let most = s.pathconf(&s.root).unwrap().linkmax;
    let file = s.file("notes", b"");
    for number in 1..most {
        s.link(&file, &s.root, number.to_string().as_bytes()).unwrap();
    }
    assert_eq!(s.link(&file, &s.root, b"more").unwrap_err().status, Status::MLINK);
    assert_eq!(s.attributes(&file).nlink, most);
}
