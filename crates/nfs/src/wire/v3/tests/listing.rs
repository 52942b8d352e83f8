//! READDIR and READDIRPLUS: layout and limits.

use super::*;

const VERIFIER: Verifier = [1, 2, 3, 4, 5, 6, 7, 8];

fn entry(name: &[u8]) -> readdir::Entry<'_> {
    readdir::Entry { fileid: 1 << 32 | 2, name: Name::new(name), cookie: 3 << 32 | 4 }
}

fn entry_plus(name: &[u8]) -> readdirplus::Entry<'_> {
    let handle = Some(FileHandle::new(&[9; 8]));
    readdirplus::Entry { fileid: 2, name: Name::new(name), cookie: 4, attributes: Some(attributes()), handle }
}

#[test]
fn readdir_is_laid_out_as_in_the_rfc() {
    let bytes = [
        words(&[0]),       // NFS3_OK
        words(&[0]),       // dir_attributes: none
        VERIFIER.to_vec(), // cookieverf
        words(&[1, 1, 2]), // an entry follows: fileid
        opaque(b"notes"),  // name
        words(&[3, 4]),    // cookie
        words(&[0]),       // no more entries
        words(&[1]),       // eof
    ]
    .concat();
    let mut w = Writer::new();
    let mut entries = readdir::begin(&mut w, &None, &VERIFIER, 4096);
    assert!(entries.is_empty());
    assert!(entries.push(&entry(b"notes")));
    assert!(!entries.is_empty());
    entries.finish(true);
    assert_eq!(w.as_bytes(), bytes);
    let listing = value_of::<readdir::Res<'_>>(&bytes).unwrap().unwrap();
    assert_eq!(listing.entries, [entry(b"notes")]);
    assert!(listing.eof && listing.dir_attributes.is_none() && listing.verifier == VERIFIER);
}

#[test]
fn readdirplus_is_laid_out_as_in_the_rfc() {
    let bytes = [
        words(&[0, 1]), // NFS3_OK, dir_attributes
        attributes_by_hand(),
        VERIFIER.to_vec(),
        words(&[1, 0, 2]), // an entry follows: fileid
        opaque(b"notes"),
        words(&[0, 4, 1]), // cookie, name_attributes
        attributes_by_hand(),
        words(&[1, 8]), // name_handle
        vec![9; 8],
        words(&[0, 0]), // no more entries, not the end of the directory
    ]
    .concat();
    let mut w = Writer::new();
    let mut entries = readdirplus::begin(&mut w, &Some(attributes()), &VERIFIER, 4096, 4096);
    assert!(entries.push(&entry_plus(b"notes")));
    entries.finish(false);
    assert_eq!(w.as_bytes(), bytes);
    let listing = value_of::<readdirplus::Res<'_>>(&bytes).unwrap().unwrap();
    assert_eq!(listing.entries, [entry_plus(b"notes")]);
}

#[test]
fn count_is_the_size_of_the_whole_readdir3resok() {
    // RFC 1813 3.3.16: post_op_attr 4, cookieverf 8, each entry 4 + 8 + (4 + 4) + 8 = 28, the end 4, eof 4.
    let two = 4 + 8 + 2 * 28 + 4 + 4;
    for (count, fit) in [(two + 28, 3), (two, 2), (two - 1, 1), (two - 28, 1), (two - 29, 0), (0, 0)] {
        let mut w = Writer::onto(vec![0xee; 100]); // bytes before the reply do not count
        let mut entries = readdir::begin(&mut w, &None, &VERIFIER, count);
        let pushed = (0..3).take_while(|_| entries.push(&entry(b"abcd"))).count();
        assert_eq!(pushed, fit, "count {count}");
        assert_eq!(entries.is_empty(), fit == 0);
        entries.finish(false);
        assert!(pushed == 0 || w.len() <= 100 + 4 + count as usize);
    }
}

#[test]
fn maxcount_counts_attributes_and_handles_and_dircount_does_not() {
    // RFC 1813 3.3.17. An entry: 4 + 8 + (4 + 4) + 8 = 28, attributes 4 + 84, handle 4 + (4 + 8).
    let (dir, whole) = (28, 28 + 88 + 16);
    let around = 4 + 8 + 4 + 4;
    let pushed = |dircount: u32, maxcount: u32| {
        let mut w = Writer::new();
        let mut entries = readdirplus::begin(&mut w, &None, &VERIFIER, dircount, maxcount);
        let pushed = (0..4).take_while(|_| entries.push(&entry_plus(b"abcd"))).count();
        entries.finish(false);
        pushed
    };
    assert_eq!(pushed(10_000, around + 3 * whole), 3);
    assert_eq!(pushed(10_000, around + 3 * whole - 1), 2);
    assert_eq!(pushed(2 * dir, 10_000), 2);
    assert_eq!(pushed(2 * dir - 1, 10_000), 1);
    assert_eq!(pushed(0, 10_000), 1); // the first always, or the client could never continue
    assert_eq!(pushed(10_000, around + whole - 1), 0);
    assert_eq!(pushed(u32::MAX, u32::MAX), 4);
}

#[test]
fn discarded_list_leaves_nothing() {
    let mut w = Writer::onto(vec![1, 2, 3]);
    let mut entries = readdir::begin(&mut w, &None, &VERIFIER, 20);
    assert!(!entries.push(&entry(b"abcd")));
    entries.discard();
    assert_eq!(w.as_bytes(), [1, 2, 3]);
}
