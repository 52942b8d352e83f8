//! Offsets and sizes at the ends of 31, 32, 63 and 64 bits.

use super::*;

const EDGES: [u64; 9] = [
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 63) - 2,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];
/// The largest file of the memory backend, and of every host.
const LARGEST: u64 = i64::MAX as u64;

#[test]
fn a_write_at_each_edge_is_read_back_or_fbig() {
    for offset in EDGES {
        let s = Session::new();
        let file = s.file("notes", b"");
        let result = s.write(&file, offset, b"z", StableHow::UNSTABLE);
        if offset < LARGEST {
            assert_eq!(result.unwrap().count, 1, "{offset}");
            assert_eq!(s.attributes(&file).size, offset + 1);
            let read = s.read(&file, offset, 100).unwrap();
            assert_eq!((&read.data[..], read.eof), (&b"z"[..], true));
            assert!(s.read(&file, offset - 1, 1).is_ok_and(|read| !read.eof && read.data == [0]));
        } else {
            let fail = result.unwrap_err();
            assert_eq!(fail.status, Status::FBIG, "{offset}");
            let now = s.attributes(&file);
            assert_wcc(&fail.body, &now, &now);
            assert_eq!(now.size, 0);
        }
    }
}

#[test]
fn a_write_that_crosses_the_largest_size_is_fbig_and_writes_nothing() {
    let s = Session::new();
    let file = s.file("notes", b"");
    for (offset, length) in [(LARGEST - 1, 2), (LARGEST - 100, 1 << 20), (u64::MAX - 1, 2), (u64::MAX, 2)] {
        let fail = s.write(&file, offset, &vec![1; length], StableHow::FILE_SYNC).unwrap_err();
        assert_eq!(fail.status, Status::FBIG, "{offset}");
    }
    assert_eq!(s.attributes(&file).size, 0);
}

#[test]
fn a_size_at_each_edge_is_kept_or_fbig() {
    for wanted in EDGES {
        let s = Session::new();
        let file = s.file("notes", b"abc");
        let result = s.setattr(&file, size(wanted), None);
        if wanted <= LARGEST {
            assert_eq!(result.unwrap().wcc.after.map(|now| now.size), Some(wanted));
            assert_eq!(s.read(&file, wanted - 1, 2).unwrap().data, [0]);
            assert_eq!(s.read(&file, 0, 4).unwrap().data, b"abc\0");
        } else {
            assert_eq!(result.unwrap_err().status, Status::FBIG, "{wanted}");
            assert_eq!(s.content(&file), b"abc");
        }
    }
}

#[test]
fn a_new_file_of_an_impossible_size_is_fbig_and_not_made() {
    let s = Session::new();
    for wanted in [1 << 63, u64::MAX] {
        let how = CreateHow::Guarded(size(wanted));
        assert_eq!(s.create(&s.root, b"notes", how).unwrap_err().status, Status::FBIG);
    }
    assert_eq!(s.lookup(&s.root, b"notes").unwrap_err().status, Status::NOENT);
}

#[test]
fn a_read_at_each_edge_is_the_end_of_a_short_file() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    for offset in EDGES {
        for count in [0, 1, (1 << 31) - 1, 1 << 31, u32::MAX] {
            let read = s.read(&file, offset, count).unwrap();
            assert!(read.eof && read.data.is_empty(), "{offset} {count}");
        }
    }
}

#[test]
fn a_commit_at_each_edge_succeeds() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    for offset in EDGES {
        for count in [0, 1, u32::MAX] {
            let request = commit::Request { file: Opaque(&file), offset, count };
            assert!(s.call(Procedure::COMMIT, &request).value::<commit::Res>().is_ok(), "{offset} {count}");
        }
    }
}

#[test]
fn times_at_the_edges_of_the_wire_are_kept() {
    use crate::wire::v3::types::SetTime;
    let s = Session::new();
    let file = s.file("notes", b"");
    for seconds in [0, (1 << 31) - 1, 1 << 31, u32::MAX] {
        let time = NfsTime { seconds, nanoseconds: 999_999_999 };
        let wanted = Sattr3 {
            atime: SetTime::ToClientTime(time),
            mtime: SetTime::ToClientTime(time),
            ..Sattr3::default()
        };
        s.setattr(&file, wanted, None).unwrap();
        let now = s.attributes(&file);
        assert_eq!((now.atime, now.mtime), (time, time));
    }
}
