//! GETATTR, SETATTR, ACCESS, FSSTAT, FSINFO, PATHCONF: RFC 1813 3.3.1, 3.3.2, 3.3.4, 3.3.18 to 3.3.20.

use super::*;
use crate::wire::v3::types::{FileType, SetTime};

fn at(seconds: u32, nanoseconds: u32) -> NfsTime {
    NfsTime { seconds, nanoseconds }
}

#[test]
fn getattr_tells_what_an_object_is() {
    let s = Session::new();
    let file = s.attributes(&s.file("notes", b"abc"));
    assert_eq!((file.file_type, file.mode, file.nlink, file.size), (FileType::REG, 0o644, 1, 3));
    assert_eq!((file.uid, file.gid), (1000, 100));
    let folder = s.attributes(&s.folder("folder"));
    assert_eq!((folder.file_type, folder.mode, folder.nlink), (FileType::DIR, 0o755, 2));
    assert_eq!(file.fsid, folder.fsid);
    assert_ne!(file.fileid, folder.fileid);
}

#[test]
fn setattr_sets_mode_size_and_times_and_nothing_else() {
    let s = Session::new();
    let file = s.file("notes", b"0123456789");
    let before = s.attributes(&file);
    let wanted = Sattr3 {
        mode: Some(0o600),
        size: Some(4),
        atime: SetTime::ToClientTime(at(11, 22)),
        mtime: SetTime::ToClientTime(at(33, 44)),
        ..Sattr3::default()
    };
    let wcc = s.setattr(&file, wanted, None).unwrap().wcc;
    let now = s.attributes(&file);
    assert_wcc(&wcc, &before, &now);
    assert_eq!((now.mode, now.size), (0o600, 4));
    assert_eq!((now.atime, now.mtime), (at(11, 22), at(33, 44)));
    assert_eq!((now.uid, now.gid, now.nlink, now.fileid), (before.uid, before.gid, 1, before.fileid));
    assert_eq!(s.content(&file), b"0123");
}

#[test]
fn setattr_to_server_time_sets_now_not_the_clients_time() {
    let s = Session::new();
    let file = s.file("notes", b"");
    let old = Sattr3 { mtime: SetTime::ToClientTime(at(5, 0)), ..Sattr3::default() };
    s.setattr(&file, old, None).unwrap();
    let now = Sattr3 { mtime: SetTime::ToServerTime, ..Sattr3::default() };
    s.setattr(&file, now, None).unwrap();
    let attributes = s.attributes(&file);
    assert!(attributes.mtime > at(1_000_000_000, 0), "{attributes:?}");
}

#[test]
fn setattr_guarded_by_the_ctime_the_client_has_seen_is_done() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let seen = s.attributes(&file).ctime;
    assert!(s.setattr(&file, size(1), Some(seen)).is_ok());
    assert_eq!(s.content(&file), b"a");
}

#[test]
fn setattr_guarded_by_another_ctime_is_not_sync_and_changes_nothing() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let stale = s.attributes(&file).ctime;
    s.write(&file, 0, b"x", StableHow::FILE_SYNC).unwrap();
    let before = s.attributes(&file);
    let fail = s.setattr(&file, size(0), Some(stale)).unwrap_err();
    assert_eq!(fail.status, Status::NOT_SYNC);
    assert_wcc(&fail.body, &before, &before);
    assert_eq!(s.content(&file), b"xbc");
}

#[test]
fn setattr_of_somebody_elses_file_is_refused_with_its_wcc() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let before = s.attributes(&file);
    let fail = s.user(2000).setattr(&file, mode(0o777), None).unwrap_err();
    assert_eq!(fail.status, Status::PERM); // chmod(2): EPERM
    assert_wcc(&fail.body, &before, &before);
    let fail = s.user(2000).setattr(&file, size(0), None).unwrap_err();
    assert_eq!(fail.status, Status::ACCES); // truncate(2): EACCES
    let owner = Sattr3 { uid: Some(2000), ..Sattr3::default() };
    assert_eq!(s.setattr(&file, owner, None).unwrap_err().status, Status::PERM);
}

#[test]
fn setattr_of_a_folders_size_is_refused() {
    let s = Session::new();
    let folder = s.folder("folder");
    let status = s.setattr(&folder, size(0), None).unwrap_err().status;
    assert!(matches!(status, Status::ISDIR | Status::INVAL), "{status:?}"); // truncate(2): EISDIR
}

#[test]
fn setattr_with_a_second_of_more_than_a_billion_nanoseconds_is_inval() {
    let s = Session::new();
    let file = s.file("notes", b"");
    let wrong = Sattr3 { atime: SetTime::ToClientTime(at(1, 1_000_000_000)), ..Sattr3::default() };
    assert_eq!(s.setattr(&file, wrong, None).unwrap_err().status, Status::INVAL);
}

#[test]
fn access_answers_only_what_was_asked_and_is_right_for_the_caller() {
    let s = Session::new();
    let file = s.file("notes", b"abc"); // 0644
    let all = 0x3f;
    let own = s.access(&file, all).unwrap();
    assert_eq!(own.access, access::READ | access::MODIFY | access::EXTEND);
    assert_eq!(own.attributes, Some(s.attributes(&file)));
    assert_eq!(s.access(&file, access::READ).unwrap().access, access::READ);
    assert_eq!(s.access(&file, access::EXECUTE).unwrap().access, 0);
    assert_eq!(s.user(2000).access(&file, all).unwrap().access, access::READ);
    let folder = s.folder("folder"); // 0755
    let everything = access::READ | access::LOOKUP | access::MODIFY | access::EXTEND | access::DELETE;
    assert_eq!(s.access(&folder, all).unwrap().access, everything);
    assert_eq!(s.user(2000).access(&folder, all).unwrap().access, access::READ | access::LOOKUP);
}

#[test]
fn fsinfo_is_truthful() {
    let s = Session::new();
    let info = s.fsinfo(&s.root).unwrap();
    assert_eq!(info.attributes, Some(s.attributes(&s.root)));
    assert_eq!((info.rtmax, info.wtmax), (1 << 20, 1 << 20));
    assert!(info.rtpref <= info.rtmax && info.wtpref <= info.wtmax && info.dtpref > 0);
    let links = fsinfo::FSF3_LINK | fsinfo::FSF3_SYMLINK;
    assert_eq!(info.properties, links | fsinfo::FSF3_HOMOGENEOUS | fsinfo::FSF3_CANSETTIME);
    let file = s.file("notes", b"");
    assert!(s.setattr(&file, size(info.max_file_size), None).is_ok());
    if info.max_file_size < i64::MAX as u64 {
        let beyond = s.setattr(&file, size(info.max_file_size + 1), None);
        assert_eq!(beyond.unwrap_err().status, Status::FBIG);
    }
}

#[test]
fn pathconf_is_truthful() {
    let s = Session::new();
    let conf = s.pathconf(&s.root).unwrap();
    assert_eq!(conf.attributes, Some(s.attributes(&s.root)));
    assert!(conf.no_trunc && conf.case_preserving && !conf.case_insensitive && conf.chown_restricted);
    let longest = vec![b'n'; conf.name_max as usize];
    s.create(&s.root, &longest, CreateHow::Guarded(mode(0o644))).unwrap();
    let longer = vec![b'n'; conf.name_max as usize + 1];
    let fail = s.create(&s.root, &longer, CreateHow::Guarded(mode(0o644))).unwrap_err();
    assert_eq!(fail.status, Status::NAMETOOLONG);
    s.file("Case", b"");
    assert_eq!(s.lookup(&s.root, b"case").unwrap_err().status, Status::NOENT);
}

#[test]
fn fsstat_counts_what_is_written() {
    let memory = Memory::ticking();
    memory.set_capacity(Some(1 << 20));
    let s = Session::over(Arc::new(memory));
    let before = s.fsstat(&s.root).unwrap();
    assert_eq!((before.total_bytes, before.free_bytes), (1 << 20, 1 << 20));
    assert_eq!(before.attributes, Some(s.attributes(&s.root)));
    s.file("notes", &[1; 8192]);
    let after = s.fsstat(&s.root).unwrap();
    assert_eq!(after.free_bytes, before.free_bytes - 8192);
    assert_eq!(after.free_files, before.free_files - 1);
    assert!(after.available_bytes <= after.free_bytes);
}
