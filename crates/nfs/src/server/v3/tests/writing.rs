//! WRITE, RFC 1813 3.3.7.

use super::*;

const LEVELS: [StableHow; 3] = [StableHow::UNSTABLE, StableHow::DATA_SYNC, StableHow::FILE_SYNC];

#[test]
fn the_reply_says_how_much_at_least_how_stable_and_the_state_before_and_after() {
    let s = Session::new();
    let file = s.file("notes", b"0123456789");
    for level in LEVELS {
        let before = s.attributes(&file);
        let ok = s.write(&file, 3, b"abc", level).unwrap();
        assert_eq!(ok.count, 3);
        assert!(ok.committed.0 >= level.0, "{level:?}");
        assert_wcc(&ok.wcc, &before, &s.attributes(&file));
    }
    assert_eq!(s.content(&file), b"012abc6789");
}

#[test]
fn the_verifier_is_one_for_writes_and_commits_of_a_run_and_another_for_the_next() {
    use std::time::{Duration, SystemTime};

    use crate::server::{HandleSecret, Service};
    let s = Session::new();
    let file = s.file("notes", b"");
    let first = s.write(&file, 0, b"a", StableHow::UNSTABLE).unwrap().verifier;
    for level in LEVELS {
        assert_eq!(s.write(&file, 0, b"a", level).unwrap().verifier, first);
    }
    assert_eq!(s.commit(&file).unwrap().verifier, first);
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let next = export("share", 1, Arc::new(Memory::ticking()));
    let service = Service::new(vec![next], HandleSecret::new([7; 16]), started);
    let other = Session::mounted(Client::new(&service), "/share");
    assert_ne!(other.write(&other.file("notes", b""), 0, b"a", LEVELS[0]).unwrap().verifier, first);
}

#[test]
fn an_unknown_level_is_inval_and_writes_nothing() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let now = s.attributes(&file);
    for level in [StableHow(3), StableHow(u32::MAX)] {
        let fail = s.write(&file, 0, b"x", level).unwrap_err();
        assert_eq!(fail.status, Status::INVAL);
        assert_wcc(&fail.body, &now, &now);
    }
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn a_write_of_no_bytes_succeeds() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    for offset in [0, 3, 100] {
        assert_eq!(s.write(&file, offset, b"", StableHow::FILE_SYNC).unwrap().count, 0);
    }
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn a_count_beyond_the_data_is_inval() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let request = write::Request {
        file: Opaque(&file),
        offset: 0,
        count: 4,
        stable: StableHow::FILE_SYNC,
        data: Opaque(b"xyz"),
    };
    let fail = s.call(Procedure::WRITE, &request).value::<write::Res>().unwrap_err();
    assert_eq!(fail.status, Status::INVAL);
    assert_eq!(s.content(&file), b"abc");
}

#[test]
fn a_write_of_wtmax_is_whole() {
    let s = Session::new();
    let file = s.file("big", b"");
    let data: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
    assert_eq!(s.write(&file, 0, &data, StableHow::UNSTABLE).unwrap().count, 1 << 20);
    assert_eq!(s.content(&file), data);
}

#[test]
fn a_write_past_the_end_leaves_a_hole() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    s.write(&file, 6, b"xyz", StableHow::FILE_SYNC).unwrap();
    assert_eq!(s.content(&file), b"abc\0\0\0xyz");
}

#[test]
fn writing_needs_the_right_to_but_the_owner_always_may() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    s.setattr(&file, mode(0o444), None).unwrap();
    assert!(s.write(&file, 0, b"x", StableHow::FILE_SYNC).is_ok()); // RFC 1813 4.4
    let now = s.attributes(&file);
    let fail = s.user(2000).write(&file, 0, b"y", StableHow::FILE_SYNC).unwrap_err();
    assert_eq!(fail.status, Status::ACCES);
    assert_wcc(&fail.body, &now, &now);
    assert_eq!(s.content(&file), b"xbc");
}

#[test]
fn a_full_disk_is_nospc_with_wcc() {
    let memory = Memory::ticking();
    memory.set_capacity(Some(8192));
    let s = Session::over(Arc::new(memory));
    let file = s.file("notes", &[1; 8192]);
    for level in LEVELS {
        let now = s.attributes(&file);
        let fail = s.write(&file, 8192, b"more", level).unwrap_err();
        assert_eq!(fail.status, Status::NOSPC);
        assert_wcc(&fail.body, &now, &now);
    }
    assert_eq!(s.write(&file, 0, b"over", StableHow::FILE_SYNC).unwrap().count, 4);
}
