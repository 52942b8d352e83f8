//! CREATE, RFC 1813 3.3.8.

use super::*;
use crate::wire::v3::types::FileType;

#[test]
fn a_new_file_has_the_mode_and_size_asked_for_and_the_callers_ids() {
    let s = Session::new();
    let before = s.attributes(&s.root);
    let wanted = Sattr3 { mode: Some(0o640), size: Some(5), ..Sattr3::default() };
    let made = s.create(&s.root, b"notes", CreateHow::Unchecked(wanted)).unwrap();
    let now = s.attributes(&made.handle);
    assert_eq!(made.attributes, Some(now));
    assert_wcc(&made.dir, &before, &s.attributes(&s.root));
    assert_eq!((now.file_type, now.mode, now.size), (FileType::REG, 0o640, 5));
    assert_eq!((now.uid, now.gid), (1000, 100));
    assert_eq!(s.lookup(&s.root, b"notes").unwrap().handle, made.handle);
}

#[test]
fn unchecked_takes_the_file_that_is_there_and_sets_its_size_only() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let wanted = Sattr3 { mode: Some(0o777), size: Some(1), ..Sattr3::default() };
    let made = s.create(&s.root, b"notes", CreateHow::Unchecked(wanted)).unwrap();
    assert_eq!(made.handle, file);
    assert_eq!(s.content(&file), b"a");
    assert_eq!(s.attributes(&file).mode, 0o644);
    assert_eq!(made.attributes.map(|now| now.size), Some(1));
}

#[test]
fn unchecked_without_a_size_leaves_the_data() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    s.create(&s.root, b"notes", CreateHow::Unchecked(mode(0o600))).unwrap();
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn unchecked_over_a_folder_is_exist() {
    let s = Session::new();
    s.folder("folder");
    let fail = s.create(&s.root, b"folder", CreateHow::Unchecked(mode(0o644))).unwrap_err();
    assert_eq!(fail.status, Status::EXIST);
}

#[test]
fn unchecked_does_not_truncate_somebody_elses_file() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let fail = s.user(2000).create(&s.root, b"notes", CreateHow::Unchecked(size(0))).unwrap_err();
    assert_eq!(fail.status, Status::ACCES);
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn guarded_over_anything_is_exist_and_changes_nothing() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let before = s.attributes(&s.root);
    let fail = s.create(&s.root, b"notes", CreateHow::Guarded(size(0))).unwrap_err();
    assert_eq!(fail.status, Status::EXIST);
    assert_wcc(&fail.body, &before, &before);
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn exclusive_sent_again_with_its_verifier_is_the_same_success() {
    let s = Session::new();
    let first = s.create(&s.root, b"lock", CreateHow::Exclusive(*b"verifier")).unwrap();
    let again = s.create(&s.root, b"lock", CreateHow::Exclusive(*b"verifier")).unwrap();
    assert_eq!(first.handle, again.handle);
    // RFC 1813 3.3.8: the verifier also works without the reply cache. Another port has no cached
    // reply.
    let elsewhere = s.at_port(701);
    assert_eq!(
        elsewhere.create(&s.root, b"lock", CreateHow::Exclusive(*b"verifier")).unwrap().handle,
        first.handle
    );
}

#[test]
fn exclusive_with_another_verifier_is_exist() {
    let s = Session::new();
    s.create(&s.root, b"lock", CreateHow::Exclusive(*b"verifier")).unwrap();
    for other in [*b"Verifier", *b"verifieR", [0; 8], [0x7f; 8]] {
        let fail = s.create(&s.root, b"lock", CreateHow::Exclusive(other)).unwrap_err();
        assert_eq!(fail.status, Status::EXIST);
    }
}

#[test]
fn exclusive_over_a_file_made_otherwise_is_exist() {
    let s = Session::new();
    s.file("notes", b"");
    s.folder("folder");
    for name in [&b"notes"[..], b"folder"] {
        let fail = s.create(&s.root, name, CreateHow::Exclusive(*b"verifier")).unwrap_err();
        assert_eq!(fail.status, Status::EXIST);
    }
}

#[test]
fn after_an_exclusive_create_a_setattr_gives_the_file_its_attributes() {
    use crate::wire::v3::types::SetTime;
    let s = Session::new();
    let file = s.create(&s.root, b"lock", CreateHow::Exclusive(*b"verifier")).unwrap().handle;
    let wanted = Sattr3 {
        mode: Some(0o600),
        atime: SetTime::ToServerTime,
        mtime: SetTime::ToServerTime,
        ..Sattr3::default()
    };
    s.setattr(&file, wanted, None).unwrap();
    let now = s.attributes(&file);
    assert_eq!(now.mode, 0o600);
    // The verifier was in the times, which have changed: it does not match any more.
    let fail = s.create(&s.root, b"lock", CreateHow::Exclusive(*b"verifier")).unwrap_err();
    assert_eq!(fail.status, Status::EXIST);
}

#[test]
fn the_rules_for_new_modes_bind_the_mode_after_an_exclusive_create() {
    use vfs::{ModeRule, ShareRules};
    let disk = Arc::new(Memory::ticking());
    let files = ModeRule { mask: Some(0o640), set: 0o020 };
    let rules = Arc::new(ShareRules { files, ..ShareRules::default() });
    let volume = Arc::new(Volume::new(disk.clone(), VolumeOptions { rules, ..VolumeOptions::default() }));
    let s = Session::with(vec![Export { volume, ..export("share", 1, disk.clone()) }]);
    let file = s.create(&s.root, b"lock", CreateHow::Exclusive(*b"verifier")).unwrap().handle;
    s.setattr(&file, mode(0o666), None).unwrap();
    assert_eq!(s.attributes(&file).mode, 0o660);
    // The next one is no part of the creation.
    s.setattr(&file, mode(0o606), None).unwrap();
    assert_eq!(s.attributes(&file).mode, 0o606);
    let plain = s.create(&s.root, b"plain", CreateHow::Guarded(mode(0o606))).unwrap().handle;
    s.setattr(&plain, mode(0o666), None).unwrap();
    assert_eq!(s.attributes(&plain).mode, 0o666);
}

#[test]
fn creating_in_a_file_is_notdir_and_in_a_folder_without_the_right_acces() {
    let s = Session::new();
    let (file, folder) = (s.file("notes", b""), s.folder("folder"));
    for how in
        [CreateHow::Unchecked(mode(0o644)), CreateHow::Guarded(mode(0o644)), CreateHow::Exclusive([1; 8])]
    {
        assert_eq!(s.create(&file, b"a", how).unwrap_err().status, Status::NOTDIR);
        let fail = s.user(2000).create(&folder, b"a", how).unwrap_err();
        let now = s.attributes(&folder);
        assert_eq!(fail.status, Status::ACCES);
        assert_wcc(&fail.body, &now, &now);
    }
}

#[test]
fn what_cannot_be_given_its_attributes_is_not_made() {
    let s = Session::new();
    let wanted = Sattr3 { uid: Some(0), ..mode(0o644) };
    let fail = s.create(&s.root, b"notes", CreateHow::Guarded(wanted)).unwrap_err();
    assert_eq!(fail.status, Status::PERM);
    assert_eq!(s.lookup(&s.root, b"notes").unwrap_err().status, Status::NOENT);
}
