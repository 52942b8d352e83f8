//! LOCK, LOCKT, LOCKU and RELEASE_LOCKOWNER, by RFC 7530 16.10 to 16.12 and 16.37.

use vfs::state::{ClientId, Flavour, Lock, LockKind, LockOwner, Range, Stream};

use super::*;

const READ: u32 = 1;
const WRITE: u32 = 2;

fn bytes(words: [u64; 2]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// LOCK by an open: the open's sequence number is `sequence`, the lock owner's is 1.
fn first(kind: u32, range: [u64; 2], state: &[u8], sequence: u32, id: u64, owner: &[u8]) -> Vec<u8> {
    let locker =
        [words(&[1, sequence]), state.to_vec(), words(&[1]), id.to_be_bytes().to_vec(), opaque(owner)];
    [words(&[12, kind, 0]), bytes(range), locker.concat()].concat()
}

fn more(kind: u32, range: [u64; 2], state: &[u8], sequence: u32) -> Vec<u8> {
    [words(&[12, kind, 0]), bytes(range), words(&[0]), state.to_vec(), words(&[sequence])].concat()
}

fn unlock(range: [u64; 2], state: &[u8], sequence: u32) -> Vec<u8> {
    [words(&[14, READ, sequence]), state.to_vec(), bytes(range)].concat()
}

fn test(kind: u32, range: [u64; 2], id: u64, owner: &[u8]) -> Vec<u8> {
    [words(&[13, kind]), bytes(range), id.to_be_bytes().to_vec(), opaque(owner)].concat()
}

/// LOCK4denied after the operation's number and status.
fn denied(number: u32, range: [u64; 2], kind: u32, id: u64, owner: &[u8]) -> (u32, Vec<u8>) {
    let owner = [id.to_be_bytes().to_vec(), opaque(owner)].concat();
    (10010, [words(&[number, 10010]), bytes(range), words(&[kind]), owner].concat())
}

#[test]
fn locks_of_two_clients_exclude_each_other_until_they_are_released() {
    let client = client();
    let (one, two) = (registered(&client, b"one", 1), registered(&client, b"two", 1));
    let (state, handle) = opened(&client, one, b"o", (3, 0), b"f");
    let (other, _) = opened(&client, two, b"o", (3, 0), b"f");
    let (status, reply) = at(&client, &handle, &[first(WRITE, [10, 5], &state, 3, one, b"l")]);
    assert_eq!((status, &reply[..12]), (0, &words(&[12, 0, 1])[..]));
    let locks = reply[8..24].to_vec();
    let is_denied = denied(12, [10, 5], WRITE, one, b"l");
    assert_eq!(at(&client, &handle, &[first(READ, [0, u64::MAX], &other, 3, two, b"l")]), is_denied);
    assert_eq!(
        at(&client, &handle, &[test(READ, [14, 1], two, b"l")]),
        denied(13, [10, 5], WRITE, one, b"l")
    );
    assert_eq!(at(&client, &handle, &[test(READ, [14, 1], one, b"l")]), (0, words(&[13, 0])));
    assert_eq!(at(&client, &handle, &[test(WRITE, [15, 1], two, b"l")]), (0, words(&[13, 0])));
    // A part of it becomes shared, and another part is released.
    let (status, reply) = at(&client, &handle, &[more(READ, [10, 2], &locks, 2)]);
    assert_eq!((status, &reply[8..12]), (0, &words(&[2])[..]));
    let (status, reply) = at(&client, &handle, &[unlock([12, 3], &reply[8..24], 3)]);
    assert_eq!((status, &reply[..12]), (0, &words(&[14, 0, 3])[..]));
    assert_eq!(at(&client, &handle, &[unlock([12, 3], &locks, 3)]).1, reply); // repeated
    assert_eq!(at(&client, &handle, &[test(READ, [0, 99], two, b"l")]).0, 0);
    assert_eq!(
        at(&client, &handle, &[test(WRITE, [0, 99], two, b"l")]),
        denied(13, [10, 2], READ, one, b"l")
    );
    // The owner holds something: LOCKS_HELD. CLOSE releases it.
    let release = [words(&[39]), one.to_be_bytes().to_vec(), opaque(b"l")].concat();
    assert_eq!(compound(&client, 1, &release), words(&[10037, 0, 1, 39, 10037]));
    let close = [words(&[4, 4]), state.to_vec()].concat();
    assert_eq!(at(&client, &handle, &[close]).0, 0);
    assert_eq!(at(&client, &handle, &[test(WRITE, [0, 99], two, b"l")]).0, 0);
    assert_eq!(compound(&client, 1, &release), words(&[0, 0, 1, 39, 0]));
}

#[test]
fn locks_of_other_protocols_are_in_the_same_table() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (3, 0), b"f");
    let volume = client.service.export_named(b"docs").unwrap().volume.clone();
    let root = volume.root().unwrap();
    let file = volume.lookup(&vfs::Caller::new(0, 0, &[]), &root.object, b"f").unwrap().object.id();
    let owner = LockOwner::named(ClientId::unused(), b"\0\0\0\x01another client");
    let range = Range::new(0, 8).unwrap();
    let lock = Lock { owner: owner.clone(), range, kind: LockKind::Exclusive, flavour: Flavour::Advisory };
    volume.state().lock(file, &Stream::Data, lock.clone()).unwrap();
    // Its owner has no name in this version.
    let refused = at(&client, &handle, &[first(READ, [4, 1], &state, 3, id, b"l")]);
    assert_eq!(refused, denied(12, [0, 8], WRITE, 0, b""));
    volume.state().unlock(file, &Stream::Data, &owner, range, Flavour::Advisory).unwrap();
    // The owner of the open has counted the refused request.
    assert_eq!(at(&client, &handle, &[first(READ, [4, 1], &state, 4, id, b"l")]).0, 0);
    assert!(volume.state().lock(file, &Stream::Data, lock).is_err());
}

#[test]
fn ranges_and_modes_that_cannot_be_are_refused() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (READ, 0), b"f");
    let ask =
        |kind, range, sequence| at(&client, &handle, &[first(kind, range, &state, sequence, id, b"l")]).0;
    assert_eq!(ask(READ, [0, 0], 3), 22); // no byte: INVAL
    assert_eq!(ask(READ, [9, u64::MAX - 7], 4), 22); // beyond the last offset
    assert_eq!(ask(WRITE, [0, 1], 5), 10038); // not open for writing: OPENMODE
    assert_eq!(ask(READ, [u64::MAX, u64::MAX], 6), 0); // to the end
    // An unknown client, and a folder.
    assert_eq!(at(&client, &handle, &[test(READ, [0, 1], 99, b"l")]), (10022, words(&[13, 10022])));
    assert_eq!(in_docs(&client, &[test(READ, [0, 1], id, b"l")]).0, 21);
}
