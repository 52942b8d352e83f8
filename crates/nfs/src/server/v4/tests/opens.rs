//! OPEN and its like, by RFC 7530 9.1, 9.9 and 16.16: sequence numbers, stateids, deny modes.

use vfs::state::{ClientId, Modes, OpenRequest, Party, Stream};

use super::*;
use crate::server::testing::export_of_few_opens;
use crate::server::v4::place::HandleTarget;

const READ: u32 = 1;
const WRITE: u32 = 2;
const BOTH: u32 = 3;

fn close(state: &StateBytes, sequence: u32) -> Vec<u8> {
    [words(&[4, sequence]), state.to_vec()].concat()
}

fn read(state: &[u8]) -> Vec<u8> {
    [words(&[25]), state.to_vec(), words(&[0, 0, 1])].concat()
}

/// OPEN4_NOCREATE.
fn existing() -> Vec<u8> {
    words(&[0])
}

/// The number of the file `f` of the share `docs`, by the tree itself.
fn file(client: &Client) -> vfs::FileId {
    let volume = client.service.export_named(b"docs").unwrap().volume.clone();
    let root = volume.root().unwrap();
    let caller = vfs::Caller::new(0, 0, &[]);
    volume.lookup(&caller, &root.object, b"f").unwrap().object.id()
}

#[test]
fn a_repeated_request_gets_the_same_reply_and_is_not_executed_again() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let guarded = words(&[1, 1, 0, 0]);
    let calls = [open(id, b"o", 7, (BOTH, 0), &guarded, b"f"), words(&[10])];
    let first = in_docs(&client, &calls);
    assert_eq!(first.0, 0);
    // GUARDED4 would fail a second time. An owner that has confirmed nothing may begin anew, though.
    let state: StateBytes = first.1[8..24].try_into().unwrap();
    let handle_at = first.1.windows(8).rposition(|bytes| bytes == words(&[10, 0])).unwrap() + 12;
    let handle = first.1[handle_at..].to_vec();
    let confirm = [words(&[20]), state.to_vec(), words(&[8])].concat();
    let confirmed = at(&client, &handle, std::slice::from_ref(&confirm));
    assert_eq!(confirmed.0, 0);
    assert_eq!(at(&client, &handle, &[confirm]), confirmed);
    let state: StateBytes = confirmed.1[8..24].try_into().unwrap();
    let closed = at(&client, &handle, &[close(&state, 9)]);
    assert_eq!(closed.0, 0);
    assert_eq!(at(&client, &handle, &[close(&state, 9)]), closed);
    // Neither the next nor the last number, or the last number of another operation: BAD_SEQID.
    assert_eq!(at(&client, &handle, &[close(&state, 12)]).0, 10026);
    assert_eq!(in_docs(&client, &[open(id, b"o", 9, (READ, 0), &existing(), b"f")]).0, 10026);
    // The next number: the stateid is gone.
    assert_eq!(at(&client, &handle, &[close(&state, 10)]).0, 10025);
    // Its reply sets the current handle again.
    let again = in_docs(&client, &[open(id, b"o", 10, (READ, 0), &existing(), b"f"), words(&[10])]);
    assert_eq!(again.0, 0);
    assert_eq!(in_docs(&client, &[open(id, b"o", 10, (READ, 0), &existing(), b"f"), words(&[10])]), again);
}

#[test]
fn stateids_of_another_time_or_file_are_refused() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (BOTH, 0), b"f");
    let (_, other) = opened(&client, id, b"p", (BOTH, 0), b"g");
    assert_eq!(at(&client, &handle, &[read(&state)]).0, 0);
    let with = |at: usize, value: u8| {
        let mut changed = state;
        changed[at] = value;
        read(&changed)
    };
    assert_eq!(state[..4], words(&[2])); // counted by OPEN and OPEN_CONFIRM
    assert_eq!(at(&client, &handle, &[with(3, 1)]).0, 10024); // OLD_STATEID
    assert_eq!(at(&client, &handle, &[with(3, 9)]).0, 10025); // BAD_STATEID
    assert_eq!(at(&client, &handle, &[with(4, !state[4])]).0, 10023); // of another run: STALE_STATEID
    assert_eq!(at(&client, &handle, &[with(15, 99)]).0, 10025); // no such state
    assert_eq!(at(&client, &handle, &[with(8, 99)]).0, 10025); // no such client
    assert_eq!(at(&client, &other, &[read(&state)]).0, 10025); // another file
    // A read-only open does not write: OPENMODE.
    let (state, handle) = opened(&client, id, b"q", (READ, 0), b"h");
    let write = [words(&[38]), state.to_vec(), words(&[0, 0, 0]), opaque(b"x")].concat();
    assert_eq!(at(&client, &handle, &[write]).0, 10038);
    // Special stateids name no open.
    assert_eq!(at(&client, &handle, &[close(&[0; 16], 1)]).0, 10025);
    assert_eq!(at(&client, &handle, &[close(&[0xff; 16], 1)]).0, 10025);
}

#[test]
fn deny_modes_bind_other_owners_and_those_without_an_open() {
    let client = client();
    let (one, two) = (registered(&client, b"one", 1), registered(&client, b"two", 1));
    let (state, handle) = opened(&client, one, b"o", (READ, WRITE), b"f");
    let share_denied = |reply: (u32, Vec<u8>)| assert_eq!(reply, (10015, words(&[18, 10015])));
    share_denied(in_docs(&client, &[open(two, b"p", 1, (WRITE, 0), &existing(), b"f")]));
    share_denied(in_docs(&client, &[open(two, b"p", 2, (WRITE, READ), &existing(), b"f")]));
    assert_eq!(in_docs(&client, &[open(two, b"p", 3, (READ, 0), &existing(), b"f")]).0, 0);
    // The anonymous stateid: LOCKED.
    let write = |state: &[u8]| [words(&[38]), state.to_vec(), words(&[0, 0, 0]), opaque(b"x")].concat();
    assert_eq!(at(&client, &handle, &[write(&[0; 16])]), (10012, words(&[38, 10012])));
    assert_eq!(at(&client, &handle, &[read(&[0xff; 16])]).0, 0);
    // A downgrade to what was never opened: INVAL. After CLOSE all may write.
    let downgrade = [words(&[21]), state.to_vec(), words(&[3, READ, 0])].concat();
    assert_eq!(at(&client, &handle, &[downgrade]).0, 22);
    assert_eq!(at(&client, &handle, &[close(&state, 4)]).0, 0);
    assert_eq!(at(&client, &handle, &[write(&[0; 16])]).0, 0);
}

#[test]
fn opens_of_other_protocols_and_of_this_one_bind_each_other() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (READ, WRITE), b"f");
    let tree = client.service.export_named(b"docs").unwrap().volume.state().clone();
    let other = |access, deny| OpenRequest::new(Party::client(ClientId::unused()), access, deny);
    let file = file(&client);
    let refused = tree.open(file, Stream::Data, other(Modes::WRITE, Modes::NONE));
    assert_eq!(refused.err(), Some(vfs::Error::ShareConflict));
    let guard = tree.open(file, Stream::Data, other(Modes::READ, Modes::WRITE)).unwrap();
    assert_eq!(at(&client, &handle, &[close(&state, 3)]).0, 0);
    // What an SMB client denies: SHARE_DENIED for OPEN, LOCKED for a write without an open.
    assert_eq!(in_docs(&client, &[open(id, b"o", 4, (WRITE, 0), &existing(), b"f")]).0, 10015);
    let write = [words(&[38]), vec![0; 16], words(&[0, 0, 0]), opaque(b"x")].concat();
    assert_eq!(at(&client, &handle, std::slice::from_ref(&write)).0, 10012);
    drop(guard);
    assert_eq!(at(&client, &handle, &[write]).0, 0);
    assert!(tree.quiet(file));
}

#[test]
fn a_second_open_adds_to_the_first_and_a_downgrade_takes_it_back() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (READ, 0), b"f");
    let (status, reply) = in_docs(&client, &[open(id, b"o", 3, (WRITE, 0), &existing(), b"f")]);
    // The same stateid with the next sequence number, and nothing to confirm.
    assert_eq!((status, &reply[8..12], &reply[12..24]), (0, &words(&[3])[..], &state[4..]));
    assert_eq!(reply[44..48], words(&[4]));
    let downgrade = [words(&[21]), reply[8..24].to_vec(), words(&[4, READ, 0])].concat();
    let (status, reply) = at(&client, &handle, &[downgrade]);
    assert_eq!((status, &reply[8..12]), (0, &words(&[4])[..]));
    let write = [words(&[38]), reply[8..24].to_vec(), words(&[0, 0, 0]), opaque(b"x")].concat();
    assert_eq!(at(&client, &handle, &[write]).0, 10038);
}

#[test]
fn files_are_made_in_three_ways() {
    let client = client();
    let id = registered(&client, b"me", 1);
    opened(&client, id, b"o", (BOTH, 0), b"f");
    let guarded = words(&[1, 1, 0, 0]);
    assert_eq!(in_docs(&client, &[open(id, b"o", 3, (BOTH, 0), &guarded, b"f")]).0, 17); // EXIST
    // EXCLUSIVE4: the same verifier finds the file again; the reply names the times that store it (47 and 53).
    let exclusive = |verifier: &[u8]| [words(&[1, 2]), verifier.to_vec()].concat();
    let calls = |sequence, how: &[u8]| in_docs(&client, &[open(id, b"o", sequence, (BOTH, 0), how, b"x")]);
    for sequence in [4, 5] {
        let (status, reply) = calls(sequence, &exclusive(b"verifier"));
        assert_eq!((status, &reply[48..60]), (0, &words(&[2, 0, 1 << 15 | 1 << 21])[..]));
    }
    assert_eq!(calls(6, &exclusive(b"anotherv")).0, 17);
    // UNCHECKED4 with the size 0 empties an existing file.
    let emptied = words(&[1, 0, 1, 0x10, 8, 0, 0]);
    let (status, reply) = calls(7, &emptied);
    assert_eq!((status, &reply[48..56]), (0, &words(&[1, 0x10])[..]));
    // A folder: ISDIR. Nothing: NOENT. In the pseudo-root: ROFS.
    let folder = [words(&[6, 2]), opaque(b"d"), words(&[0, 0])].concat();
    assert_eq!(in_docs(&client, &[folder]).0, 0);
    assert_eq!(in_docs(&client, &[open(id, b"o", 8, (READ, 0), &existing(), b"d")]).0, 21);
    assert_eq!(in_docs(&client, &[open(id, b"o", 9, (READ, 0), &existing(), b"none")]).0, 2);
    let in_root = [words(&[24]), open(id, b"o", 10, (READ, 0), &unchecked(), b"new")].concat();
    assert_eq!(compound(&client, 2, &in_root)[..4], words(&[30]));
}

#[test]
fn an_open_file_is_found_after_its_last_name_is_gone() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (BOTH, 0), b"f");
    let write = [words(&[38]), state.to_vec(), words(&[0, 0, 0]), opaque(b"kept")].concat();
    assert_eq!(at(&client, &handle, &[write]).0, 0);
    assert_eq!(in_docs(&client, &[[words(&[28]), opaque(b"f")].concat()]).0, 0);
    let read = [words(&[25]), state.to_vec(), words(&[0, 0, 9])].concat();
    assert_eq!(at(&client, &handle, &[read]), (0, [words(&[25, 0, 1]), opaque(b"kept")].concat()));
    assert_eq!(at(&client, &handle, &[close(&state, 3)]).0, 0);
    let put = [words(&[22]), opaque(&handle)].concat();
    assert_eq!(compound(&client, 1, &put), words(&[70, 0, 1, 22, 70])); // STALE
}

#[test]
fn an_unconfirmed_open_is_not_used_and_gives_way_to_the_next_one() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let calls = [open(id, b"o", 1, (BOTH, BOTH), &unchecked(), b"f"), words(&[10])];
    let (_, reply) = in_docs(&client, &calls);
    let state = reply[8..24].to_vec();
    let handle_at = reply.windows(8).rposition(|bytes| bytes == words(&[10, 0])).unwrap() + 12;
    assert_eq!(at(&client, &reply[handle_at..], &[read(&state)]).0, 10025);
    // Any number begins the owner anew, and the open before is gone with its denials.
    let again = in_docs(&client, &[open(id, b"o", 77, (READ, 0), &existing(), b"f")]);
    assert_eq!(again.0, 0);
    assert_eq!(in_docs(&client, &[open(id, b"p", 1, (BOTH, 0), &existing(), b"f")]).0, 0);
}

#[test]
fn an_open_beyond_the_limit_of_a_client_keeps_nothing() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let mut sequence = 2;
    let mut open_next = |name: &[u8]| {
        sequence += 1;
        in_docs(&client, &[open(id, b"o", sequence, (READ, 0), &unchecked(), name)]).0
    };
    opened(&client, id, b"o", (READ, 0), b"first");
    for number in 1..128 {
        assert_eq!(open_next(format!("f{number}").as_bytes()), 0);
    }
    assert_eq!(open_next(b"beyond"), 10018); // RESOURCE
    // It is not kept for the client after its last name is gone.
    let handle =
        in_docs(&client, &[[words(&[15]), opaque(b"beyond")].concat(), words(&[10])]).1[20..].to_vec();
    assert_eq!(in_docs(&client, &[[words(&[28]), opaque(b"beyond")].concat()]).0, 0);
    let put = [words(&[22]), opaque(&handle)].concat();
    assert_eq!(compound(&client, 1, &put), words(&[70, 0, 1, 22, 70])); // STALE
}

#[test]
fn the_root_is_no_file() {
    assert!(HandleTarget::root().target().is_err());
}

/// RFC 7530 9.1.4.3: a WRITE without an open meets the denials of all opens, also those of the same client.
#[test]
fn a_client_without_a_stateid_meets_its_own_denials() {
    let client = client();
    let id = registered(&client, b"me", 1);
    let (state, handle) = opened(&client, id, b"o", (3, 2), b"f");
    let write = |state: &[u8]| [words(&[38]), state.to_vec(), words(&[0, 0, 0]), opaque(b"text")].concat();
    assert_eq!(at(&client, &handle, &[write(&[0; 16])]).0, 10012); // NFS4ERR_LOCKED
    let read = [words(&[25]), vec![0; 16], words(&[0, 0, 9])].concat();
    assert_eq!(at(&client, &handle, &[read]).0, 0);
    assert_eq!(at(&client, &handle, &[write(&state)]).0, 0);
}

/// A client of a share of which clients may have 40 files open: those without a login 20, and one of them 10.
fn client_of_few() -> Client {
    let client = Client::new(&service_with(vec![export_of_few_opens("docs", 40)]));
    client.service.set_versions(3..=4);
    client
}

#[test]
fn a_client_without_a_login_leaves_opens_to_others() {
    let client = client_of_few();
    let id = registered(&client, b"greedy", 1);
    let files: Vec<_> = (0..10)
        .map(|number| {
            opened(&client, id, format!("o{number}").as_bytes(), (BOTH, 0), format!("f{number}").as_bytes())
        })
        .collect();
    // NFS4ERR_RESOURCE, RFC 7530 13.1.1.
    let more = |client: &Client, id, owner: &[u8]| {
        in_docs(client, &[open(id, owner, 1, (READ, 0), &unchecked(), b"more")]).0
    };
    assert_eq!(more(&client, id, b"more"), 10018);
    let looked_up = in_docs(&client, &[[words(&[15]), opaque(b"more")].concat()]);
    assert_eq!(looked_up.0, 2, "NOENT: no file is left that could not be opened");
    let again = registered(&client, b"the same address", 2);
    assert_eq!(more(&client, again, b"o"), 10018, "another name of the same client");
    let other = client.clone().at([10, 0, 0, 9]);
    let other_id = registered(&other, b"other", 3);
    opened(&other, other_id, b"o", (BOTH, 0), b"other");
    let (state, handle) = &files[0];
    assert_eq!(at(&client, handle, &[close(state, 3)]).0, 0);
    assert_eq!(more(&client, again, b"p"), 0);
}
