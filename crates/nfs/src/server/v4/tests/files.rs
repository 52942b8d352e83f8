//! READDIR, READ, WRITE, CREATE, REMOVE and their like, by the layouts of RFC 7531.

use super::*;

/// CREATE of a folder without attributes.
fn make_folder(name: &[u8]) -> Vec<u8> {
    [words(&[6, 2]), opaque(name), words(&[0, 0])].concat()
}

/// READDIR from a cookie, for the type (1) of each entry.
fn list(cookie: u64, max_count: u32) -> Vec<u8> {
    [words(&[26]), cookie.to_be_bytes().to_vec(), words(&[0, 0, 512, max_count, 1, 2])].concat()
}

fn lookup(name: &[u8]) -> Vec<u8> {
    [words(&[15]), opaque(name)].concat()
}

#[test]
fn a_listing_goes_on_at_each_cookie_until_its_end() {
    let client = client();
    for name in [&b"ab"[..], b"cde"] {
        let (status, made) = in_docs(&client, &[make_folder(name)]);
        // atomic, the change attribute before and after, no attributes set
        assert_eq!((status, &made[..12], &made[28..]), (0, &words(&[6, 0, 1])[..], &words(&[0])[..]));
        assert!(made[12..20] < made[20..28]);
    }
    let mut names = Vec::new();
    let mut cookie = 0;
    for _ in 0..2 {
        // READDIR4resok with one entry takes 8 + 4 + 8 + 8 + 8 + 4 + 4 + 8 bytes.
        let (status, reply) = in_docs(&client, &[list(cookie, 52)]);
        assert_eq!((status, &reply[..20]), (0, &words(&[26, 0, 0, 0, 1])[..]));
        cookie = u64::from_be_bytes(reply[20..28].try_into().unwrap());
        assert!(cookie > 2, "the cookies 0 to 2 are reserved");
        names.push(reply[28..36].to_vec());
        assert_eq!(reply[36..52], words(&[1, 2, 4, 2])); // the type is NF4DIR
        assert_eq!(reply[52..60], words(&[0, u32::from(names.len() == 2)]));
    }
    names.sort();
    assert_eq!(names, [opaque(b"ab"), opaque(b"cde")]);
    assert_eq!(in_docs(&client, &[list(cookie, 52)]), (0, words(&[26, 0, 0, 0, 0, 1])));
    // Too small for one entry: TOOSMALL. A reserved cookie: BAD_COOKIE. Not a folder of this server: NOFILEHANDLE.
    assert_eq!(in_docs(&client, &[list(0, 51)]), (10005, words(&[26, 10005])));
    assert_eq!(in_docs(&client, &[list(1, 512)]), (10003, words(&[26, 10003])));
    assert_eq!(compound(&client, 1, &list(0, 512)), words(&[10020, 0, 1, 26, 10020]));
}

#[test]
fn the_root_lists_the_shares_that_the_client_may_enter() {
    let client = client();
    let reply = compound(&client, 2, &[words(&[24]), list(0, 1024)].concat());
    assert_eq!(reply[..32], words(&[0, 0, 2, 24, 0, 26, 0, 0]));
    let has = |name: &[u8]| reply.windows(name.len()).any(|bytes| bytes == name);
    assert!(has(b"docs") && has(b"group") && !has(b"team") && !has(b"closed"));
    assert_eq!(reply[reply.len() - 8..], words(&[0, 1]));
}

#[test]
fn what_is_written_is_read_and_committed() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (3, 0), b"f");
    // WRITE FILE_SYNC4 of five bytes at 2, then READ of ten bytes from 1: a zero, a zero, and four of them.
    let write = [words(&[38]), state.to_vec(), words(&[0, 2, 2]), opaque(b"hello")].concat();
    let (status, reply) = at(&client, &handle, &[write]);
    assert_eq!((status, &reply[..16]), (0, &words(&[38, 0, 5, 2])[..]));
    let verifier = &reply[16..24];
    let read = |offset: u32, count: u32| [words(&[25]), state.to_vec(), words(&[0, offset, count])].concat();
    let data = [words(&[25, 0, 1]), opaque(b"\0hello")].concat();
    assert_eq!(at(&client, &handle, &[read(1, 10)]), (0, data.clone()));
    // The same before another operation, when the data are not the end of the reply.
    assert_eq!(at(&client, &handle, &[read(1, 10), words(&[10])]).1[..data.len()], data);
    assert_eq!(at(&client, &handle, &[read(9, 1)]), (0, words(&[25, 0, 1, 0])));
    assert_eq!(at(&client, &handle, &[read(0, 2)]), (0, [words(&[25, 0, 0]), opaque(b"\0\0")].concat()));
    let (status, reply) = at(&client, &handle, &[words(&[5, 0, 0, 0])]);
    assert_eq!((status, &reply[..8], &reply[8..]), (0, &words(&[5, 0])[..], verifier));
    // A folder has no data: ISDIR. A write beyond the largest offset: INVAL.
    assert_eq!(in_docs(&client, &[[words(&[25]), vec![0; 16], words(&[0, 0, 1])].concat()]).0, 21);
    let late = [words(&[38]), state.to_vec(), vec![0xff; 8], words(&[0]), opaque(b"x")].concat();
    assert_eq!(at(&client, &handle, &[late]), (22, words(&[38, 22])));
}

#[test]
fn entries_are_linked_moved_and_removed() {
    let client = client();
    let id = registered(&client, b"me", 1);
    opened(&client, id, b"o", (1, 0), b"f");
    // SAVEFH of the file, RESTOREFH-less LINK in the folder: PUTROOTFH and LOOKUP lead there again.
    let to_docs = [words(&[24]), lookup(b"docs")];
    let link = [words(&[11]), opaque(b"g")].concat();
    let calls = [lookup(b"f"), words(&[32]), to_docs[0].clone(), to_docs[1].clone(), link];
    assert_eq!(in_docs(&client, &calls).0, 0);
    let rename = [words(&[29]), opaque(b"g"), opaque(b"h")].concat();
    let (status, reply) = in_docs(&client, &[words(&[32]), rename]);
    assert_eq!((status, &reply[..20]), (0, &words(&[32, 0, 29, 0, 1])[..]));
    assert_eq!(reply.len(), 16 + 2 * 20);
    assert_eq!(in_docs(&client, &[lookup(b"h")]).0, 0);
    let remove = |name: &[u8]| [words(&[28]), opaque(name)].concat();
    assert_eq!(in_docs(&client, &[remove(b"h"), remove(b"h")]).0, 2);
    // A share is no entry that can be removed: ROFS. A file is no folder: NOTDIR.
    assert_eq!(compound(&client, 2, &[words(&[24]), remove(b"docs")].concat())[..4], words(&[30]));
    assert_eq!(in_docs(&client, &[lookup(b"f"), remove(b"x")]).0, 20);
}

#[test]
fn attributes_are_set_and_the_reply_names_them() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (_, handle) = opened(&client, id, b"o", (3, 0), b"f");
    // SETATTR with the anonymous stateid: size (4) is 9, mode (33) is 0600. Then GETATTR of both.
    let set = [words(&[34]), vec![0; 16], words(&[2, 0x10, 2, 12, 0, 9, 0o600])].concat();
    let get = words(&[9, 2, 0x10, 2]);
    let expected = words(&[34, 0, 2, 0x10, 2, 9, 0, 2, 0x10, 2, 12, 0, 9, 0o600]);
    assert_eq!(at(&client, &handle, &[set, get]), (0, expected));
    // An attribute that cannot be set (1), and one that there is not (32): no attribute is set.
    let read_only = [words(&[34]), vec![0; 16], words(&[1, 2, 4, 1])].concat();
    assert_eq!(at(&client, &handle, &[read_only]), (22, words(&[34, 22, 0])));
    let unknown = [words(&[34]), vec![0; 16], words(&[2, 0, 1, 4, 0])].concat();
    assert_eq!(at(&client, &handle, &[unknown]), (10032, words(&[34, 10032, 0])));
}

#[test]
fn a_set_of_attributes_may_have_numbers_that_no_version_has() {
    let client = client();
    // Attribute 1000 is in the 32nd word.
    let wanted = [words(&[9, 32]), words(&[0; 31]), words(&[1 << 8])].concat();
    assert_eq!(compound(&client, 2, &[words(&[24]), wanted].concat()), words(&[0, 0, 2, 24, 0, 9, 0, 0, 0]));
    let set = [words(&[34]), vec![0; 16], words(&[32]), words(&[0; 31]), words(&[1 << 8, 0])].concat();
    assert_eq!(in_docs(&client, &[set]), (10032, words(&[34, 10032, 0])));
}

/// Linux's client of version 4 can list a longer name, and not use it (NFS4_MAXNAMLEN).
#[test]
fn a_long_name_is_listed_as_one_of_255_bytes_and_found_by_either() {
    let client = client();
    let name = "\u{6f22}".repeat(100);
    assert_eq!(in_docs(&client, &[make_folder(name.as_bytes())]).0, 0);
    assert_eq!(
        in_docs(&client, &[make_folder("\u{6f22}".repeat(256).as_bytes())]).0,
        63,
        "NFS4ERR_NAMETOOLONG"
    );
    let (status, reply) = in_docs(&client, &[list(0, 4096)]);
    let length = u32::from_be_bytes(reply[28..32].try_into().unwrap()) as usize;
    let listed = &reply[32..32 + length];
    assert!(status == 0 && length <= 255 && listed.starts_with(&name.as_bytes()[..200]));
    for name in [listed, name.as_bytes()] {
        assert_eq!(in_docs(&client, &[lookup(name)]).0, 0);
    }
}
