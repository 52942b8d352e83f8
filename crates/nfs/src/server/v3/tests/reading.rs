//! READ, RFC 1813 3.3.6.

use super::*;

#[test]
fn a_read_inside_the_file_gives_its_bytes_and_no_eof() {
    let s = Session::new();
    let file = s.file("notes", b"0123456789");
    let read = s.read(&file, 2, 5).unwrap();
    assert_eq!((&read.data[..], read.eof), (&b"23456"[..], false));
    let attributes = read.attributes.unwrap();
    assert_eq!((attributes.size, attributes.fileid), (10, s.attributes(&file).fileid));
}

#[test]
fn eof_is_when_offset_plus_count_is_the_size() {
    let s = Session::new();
    let file = s.file("notes", b"0123456789");
    for (offset, count, length, eof) in [
        (0, 9, 9, false),
        (0, 10, 10, true),
        (0, 11, 10, true),
        (9, 1, 1, true),
        (9, 100, 1, true),
        (10, 1, 0, true),
        (11, 1, 0, true),
        (u64::MAX, u32::MAX, 0, true),
    ] {
        let read = s.read(&file, offset, count).unwrap();
        assert_eq!((read.data.len(), read.eof), (length, eof), "{offset} {count}");
    }
}

#[test]
fn a_read_of_no_bytes_succeeds_and_is_eof_only_at_the_end() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    let empty = s.file("empty", b"");
    assert!(!s.read(&file, 0, 0).unwrap().eof);
    assert!(!s.read(&file, 2, 0).unwrap().eof);
    assert!(s.read(&file, 3, 0).unwrap().eof);
    assert!(s.read(&empty, 0, 0).unwrap().eof);
    assert!(s.read(&empty, 0, 100).unwrap().eof);
}

#[test]
fn more_than_rtmax_gives_rtmax_and_the_client_asks_on() {
    let s = Session::new();
    let file = s.file("big", &[]);
    s.setattr(&file, size((1 << 20) + 100), None).unwrap();
    let read = s.read(&file, 0, u32::MAX).unwrap();
    assert_eq!((read.data.len(), read.eof), (1 << 20, false));
    let rest = s.read(&file, 1 << 20, u32::MAX).unwrap();
    assert_eq!((rest.data.len(), rest.eof), (100, true));
}

#[test]
fn holes_read_as_zeros() {
    let s = Session::new();
    let file = s.file("sparse", b"");
    s.write(&file, 1 << 40, b"end", StableHow::UNSTABLE).unwrap();
    assert_eq!(s.read(&file, 1 << 39, 8).unwrap().data, [0; 8]);
    assert_eq!(s.read(&file, (1 << 40) - 2, 100).unwrap().data, b"\0\0end");
    assert!(s.attributes(&file).used < 1 << 20);
}

#[test]
fn reading_needs_the_right_to_but_the_owner_always_may() {
    let s = Session::new();
    let file = s.file("notes", b"abc");
    s.setattr(&file, mode(0o000), None).unwrap();
    // RFC 1813 4.4: the owner may have opened it before it changed the mode.
    assert_eq!(s.read(&file, 0, 10).unwrap().data, b"abc");
    let fail = s.user(2000).read(&file, 0, 10).unwrap_err();
    assert_eq!(fail.status, Status::ACCES);
    assert_eq!(fail.body.map(|attributes| attributes.size), Some(3));
    s.setattr(&file, mode(0o604), None).unwrap();
    assert!(s.user(2000).becoming(s.client.clone().user(2000)).read(&file, 0, 10).is_err());
}
