//! Extended attributes, by RFC 8276 8.4.

use super::ranges::MinorTwoClient;
use super::*;

fn get(name: &[u8]) -> Vec<u8> {
    [words(&[72]), opaque(name)].concat()
}

fn set(option: u32, name: &[u8], value: &[u8]) -> Vec<u8> {
    [words(&[73, option]), opaque(name), opaque(value)].concat()
}

fn list(cookie: u32, most: u32) -> Vec<u8> {
    words(&[74, 0, cookie, most])
}

fn remove(name: &[u8]) -> Vec<u8> {
    [words(&[75]), opaque(name)].concat()
}

#[test]
fn attributes_are_set_read_listed_and_removed() {
    let client = MinorTwoClient::new();
    let (_, handle) = client.0.opened(b"o", (3, 0), b"f");
    assert_eq!(client.at(&handle, &[get(b"one")]), (10095, words(&[72, 10095]))); // NOXATTR
    let (status, reply) = client.at(&handle, &[set(0, b"one", b"first")]);
    // The change attribute before and after, not atomic.
    assert_eq!((status, &reply[..12], reply.len()), (0, &words(&[73, 0, 0])[..], 28));
    assert!(reply[12..20] < reply[20..28]);
    assert_eq!(client.at(&handle, &[get(b"one")]), (0, [words(&[72, 0]), opaque(b"first")].concat()));
    // SETXATTR4_CREATE: EXIST. SETXATTR4_REPLACE: NOXATTR. There is no other option: INVAL.
    assert_eq!(client.at(&handle, &[set(1, b"one", b"x")]).0, 17);
    assert_eq!(client.at(&handle, &[set(2, b"two", b"x")]).0, 10095);
    assert_eq!(client.at(&handle, &[set(3, b"two", b"x")]).0, 22);
    assert_eq!(client.at(&handle, &[set(1, b"two", b""), set(2, b"one", b"second")]).0, 0);
    assert_eq!(client.at(&handle, &[get(b"one")]).1[8..], opaque(b"second"));
    // One name takes 16 bytes for the head and eight for itself.
    let one = [words(&[74, 0, 0, 1, 1]), opaque(b"one"), words(&[0])].concat();
    assert_eq!(client.at(&handle, &[list(0, 24)]), (0, one));
    let two = [words(&[74, 0, 0, 2, 1]), opaque(b"two"), words(&[1])].concat();
    assert_eq!(client.at(&handle, &[list(1, 999)]), (0, two));
    assert_eq!(client.at(&handle, &[list(0, 23)]).0, 10005); // TOOSMALL
    assert_eq!(client.at(&handle, &[list(3, 999)]).0, 10003); // BAD_COOKIE
    assert_eq!(client.at(&handle, &[remove(b"one"), remove(b"two")]).0, 0);
    assert_eq!(client.at(&handle, &[remove(b"one")]).0, 10095);
    assert_eq!(client.at(&handle, &[list(0, 99)]), (0, words(&[74, 0, 0, 0, 0, 1])));
    // What is too long: XATTR2BIG, NAMETOOLONG. No name: INVAL. The root has none: NOTSUPP.
    assert_eq!(client.at(&handle, &[set(0, b"one", &[1; 0xffff])]).0, 10096);
    assert_eq!(client.at(&handle, &[set(0, &[b'a'; 255], b"x")]).0, 63);
    assert_eq!(client.at(&handle, &[set(0, b"", b"x")]).0, 22);
    assert_eq!(client.call(&[words(&[24]), get(b"one")]).0, 10004);
}

#[test]
fn they_are_the_ones_of_smb_and_need_the_rights_to_the_file() {
    let client = MinorTwoClient::new();
    let (_, handle) = client.0.opened(b"o", (3, 0), b"f");
    assert_eq!(client.at(&handle, &[set(0, b"Author", b"me")]).0, 0);
    let volume = client.0.client.service.export_named(b"docs").unwrap().volume.clone();
    let caller = vfs::Caller::new(0, 0, &[]);
    let found = volume.lookup(&caller, &volume.root().unwrap().object, b"f").unwrap();
    let xattr = vfs::Xattr { name: b"Author".to_vec(), value: b"me".to_vec() };
    assert_eq!(volume.xattrs(&found), Ok(vec![xattr]));
    // The file is for reading by others: ACCESS4_XAREAD and ACCESS4_XALIST, and no ACCESS4_XAWRITE.
    let other = MinorTwoClient(Session::of(&client.0.client.clone().user(2000), b"you", 1));
    assert_eq!(other.at(&handle, &[words(&[3, 0x1c1])]), (0, words(&[3, 0, 0x1c1, 0x141])));
    assert_eq!(client.at(&handle, &[words(&[3, 0x1c1])]), (0, words(&[3, 0, 0x1c1, 0x1c1])));
    assert_eq!(other.at(&handle, &[set(0, b"Author", b"you")]).0, 13);
    assert_eq!(other.at(&handle, &[get(b"Author")]).0, 0);
    // xattr_support (82), which minor version 1 has not, nor the rights.
    assert_eq!(
        client.at(&handle, &[words(&[9, 3, 0, 0, 1 << 18])]),
        (0, words(&[9, 0, 3, 0, 0, 1 << 18, 4, 1]))
    );
    assert_eq!(client.0.at(&handle, &[words(&[9, 3, 0, 0, 1 << 18])]), (0, words(&[9, 0, 0, 0])));
    assert_eq!(client.0.at(&handle, &[words(&[3, 0x40])]).0, 22);
}
