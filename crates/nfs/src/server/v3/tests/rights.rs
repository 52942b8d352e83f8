//! Access rights: client rules, read-only exports, squashed users. RFC 1813 4.4 and 4.5.

use super::*;
use crate::server::{Rule, Squash};

fn with_rule(rule: Rule) -> Session {
    let mut export = export("share", 1, Arc::new(Memory::ticking()));
    export.options.rules = vec![rule];
    Session::with(vec![export])
}

/// The failure of every procedure that changes something.
fn changes(s: &Session, file: &[u8]) -> Vec<(&'static str, Status, Wcc)> {
    let root = &s.root;
    let fail = |name, fail: Fail<Wcc>| (name, fail.status, fail.body);
    vec![
        fail("setattr", s.setattr(file, mode(0o600), None).unwrap_err()),
        fail("write", s.write(file, 0, b"x", StableHow::UNSTABLE).unwrap_err()),
        fail("create", s.create(root, b"new", CreateHow::Guarded(mode(0o644))).unwrap_err()),
        fail("unchecked", s.create(root, b"notes", CreateHow::Unchecked(size(0))).unwrap_err()),
        fail("exclusive", s.create(root, b"new", CreateHow::Exclusive([1; 8])).unwrap_err()),
        fail("mkdir", s.mkdir(root, b"new", mode(0o755)).unwrap_err()),
        fail("symlink", s.symlink(root, b"new", b"x").unwrap_err()),
        fail("mknod", s.mknod(root, b"new", MknodData::Fifo(mode(0o644))).unwrap_err()),
        fail("remove", s.remove(root, b"notes").unwrap_err()),
        fail("rmdir", s.rmdir(root, b"folder").unwrap_err()),
        {
            let rename = s.rename((root, b"notes"), (root, b"new")).unwrap_err();
            ("rename", rename.status, rename.body.from_dir_wcc)
        },
        {
            let link = s.link(file, root, b"new").unwrap_err();
            ("link", link.status, link.body.link_dir_wcc)
        },
    ]
}

#[test]
fn a_read_only_export_refuses_every_change_with_rofs_and_wcc() {
    let rofs = |s: &Session, file: &[u8]| {
        for (procedure, status, wcc) in changes(s, file) {
            assert_eq!(status, Status::ROFS, "{procedure}");
            assert!(wcc.before.is_some() && wcc.after.is_some(), "{procedure}");
        }
        assert_eq!(s.access(file, 0x3f).unwrap().access, access::READ);
        assert_eq!(s.content(file), b"abc");
        assert!(s.readdirplus(&s.root, 0, 4096, 4096).is_ok());
    };
    let disk = Arc::new(Memory::ticking());
    let writable = Session::over(disk.clone());
    let file = writable.file("notes", b"abc");
    writable.folder("folder");

    let mut by_rule = export("share", 1, disk.clone());
    by_rule.options.rules = vec![Rule { writable: false, ..Rule::everybody() }];
    rofs(&Session::with(vec![by_rule]), &file);

    let options = VolumeOptions { read_only: true, ..VolumeOptions::default() };
    let volume = Arc::new(Volume::new(disk.clone(), options));
    rofs(&Session::with(vec![Export { volume, ..export("share", 1, disk.clone()) }]), &file);

    disk.set_read_only(true); // the file system itself, as after an error
    for (procedure, status, _) in changes(&writable, &file) {
        assert_eq!(status, Status::ROFS, "{procedure}");
    }
}

#[test]
fn the_superuser_of_a_client_is_nobody_unless_the_share_says_otherwise() {
    let made_by = |squash, uid| {
        let s = with_rule(Rule { squash, anonymous: (4711, 4712), ..Rule::everybody() }).user(uid);
        let made = s.attributes(&s.file("notes", b""));
        (made.uid, made.gid)
    };
    assert_eq!(made_by(Squash::Root, 0), (4711, 100));
    assert_eq!(made_by(Squash::Root, 1000), (1000, 100));
    assert_eq!(made_by(Squash::None, 0), (0, 100));
    assert_eq!(made_by(Squash::All, 1000), (4711, 4712));
    assert_eq!(made_by(Squash::All, 0), (4711, 4712));
}

#[test]
fn root_among_the_groups_is_squashed_too() {
    let s = with_rule(Rule { anonymous: (4711, 4712), ..Rule::everybody() });
    let mut client = s.client.clone();
    client.ids = Some((1000, 0, vec![0, 50]));
    let s = s.becoming(client);
    assert_eq!(s.attributes(&s.file("notes", b"")).gid, 4712);
}

#[test]
fn auth_none_is_nobody_whatever_the_rule() {
    for squash in [Squash::None, Squash::Root, Squash::All] {
        let s = with_rule(Rule { squash, anonymous: (4711, 4712), ..Rule::everybody() });
        let s = s.becoming(s.client.clone().nobody());
        let made = s.attributes(&s.file("notes", b""));
        assert_eq!((made.uid, made.gid), (4711, 4712));
    }
}

#[test]
fn a_group_of_the_credential_counts() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    s.setattr(&file, mode(0o640), None).unwrap(); // group 100
    let mut client = s.client.clone();
    client.ids = Some((2000, 2000, vec![7, 100]));
    assert_eq!(s.becoming(client.clone()).content(&file), b"abc");
    client.ids = Some((2000, 2000, vec![7]));
    assert_eq!(s.becoming(client).read(&file, 0, 1).unwrap_err().status, Status::ACCES);
}

#[test]
fn a_client_that_no_rule_allows_is_refused_even_with_a_handle() {
    let rule = Rule { clients: auth::HostSet::Net("192.0.2.0/24".parse().unwrap()), ..Rule::everybody() };
    let s = with_rule(rule);
    let file = s.file("notes", b"abc");
    let elsewhere = s.becoming(s.client.clone().at([198, 51, 100, 1]));
    assert_eq!(elsewhere.getattr(&file), Err(Status::ACCES));
    assert_eq!(elsewhere.read(&file, 0, 1).unwrap_err().status, Status::ACCES);
    assert_eq!(elsewhere.remove(&s.root, b"notes").unwrap_err().status, Status::ACCES);
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn a_secure_rule_wants_a_port_below_1024() {
    let s = with_rule(Rule { reserved_port: true, ..Rule::everybody() });
    let file = s.file("notes", b"abc");
    for (port, expected) in
        [(1023, None), (1, None), (1024, Some(Status::ACCES)), (65_535, Some(Status::ACCES))]
    {
        let session = s.at_port(port);
        assert_eq!(session.getattr(&file).err(), expected, "{port}");
    }
}
