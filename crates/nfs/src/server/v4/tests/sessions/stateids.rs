//! Opens, locks and stateids in a session, by RFC 8881 8.2, 9 and 18.

use super::*;
use crate::server::testing::export_of_few_opens;
use crate::server::v4::states::{LockState, State, StateSequence};
use crate::wire::v4::types::Status;

fn bytes(words: [u64; 2]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// LOCK by an open. The sequence numbers and the clientid do not matter.
fn lock(kind: u32, range: [u64; 2], open: &[u8], owner: &[u8]) -> Vec<u8> {
    let locker = [words(&[1, 77]), open.to_vec(), words(&[77, 0, 99]), opaque(owner)].concat();
    [words(&[12, kind, 0]), bytes(range), locker].concat()
}

fn unlock(range: [u64; 2], state: &[u8]) -> Vec<u8> {
    [words(&[14, 1, 77]), state.to_vec(), bytes(range)].concat()
}

fn free(state: &[u8]) -> Vec<u8> {
    [words(&[45]), state.to_vec()].concat()
}

/// TEST_STATEID of some stateids: the status of each.
fn tested(session: &Session, states: &[&[u8]]) -> Vec<u32> {
    let (status, reply) = session.call(&[[words(&[55, states.len() as u32]), states.concat()].concat()]);
    assert_eq!((status, &reply[..12]), (0, &words(&[55, 0, states.len() as u32])[..]));
    reply[12..].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

/// A stateid with the sequence number 0: whatever it is now.
fn any(state: &[u8]) -> Vec<u8> {
    [&[0; 4], &state[4..]].concat()
}

#[test]
fn the_current_stateid_follows_the_operations() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let open = open_1(b"o", (3, 0), &unchecked(), b"f");
    let write = [words(&[38]), current(), words(&[0, 0, 2]), opaque(b"hello")].concat();
    let (status, reply) = session.in_docs(&[open.clone(), write, close_1(&current())]);
    assert_eq!(status, 0);
    // CLOSE returns the stateid that is never valid, RFC 8881 18.2.4.
    assert_eq!(reply[reply.len() - 24..], words(&[4, 0, u32::MAX, 0, 0, 0]));
    // LOCK gives the next one; the saved handle has its own.
    let locked = lock(2, [0, 5], &current(), b"l");
    let calls = [open.clone(), locked, words(&[32]), words(&[24]), words(&[31]), unlock([0, 5], &current())];
    assert_eq!(session.in_docs(&calls).0, 0);
    // There is none after an operation that changes the handle only, nor in the next request: BAD_STATEID.
    let away =
        [open, words(&[24]), look_up(b"docs"), [words(&[15]), opaque(b"f")].concat(), close_1(&current())];
    assert_eq!(session.in_docs(&away).0, 10025);
    assert_eq!(session.in_docs(&[[words(&[15]), opaque(b"f")].concat(), close_1(&current())]).0, 10025);
}

#[test]
fn stateids_have_no_order_of_requests_and_belong_to_one_client() {
    let client = client_1();
    let (session, other) = (Session::of(&client, b"me", 1), Session::of(&client, b"you", 1));
    let (first, handle) = session.opened(b"o", (1, 0), b"f");
    let (second, _) = session.opened(b"o", (3, 0), b"f");
    assert_eq!((&first[4..], &first[..4], &second[..4]), (&second[4..], &words(&[1])[..], &words(&[2])[..]));
    assert_eq!(session.at(&handle, &[read_1(&first)]).0, 10024); // OLD_STATEID
    assert_eq!(session.at(&handle, &[read_1(&second)]).0, 0);
    assert_eq!(session.at(&handle, &[read_1(&any(&first))]).0, 0);
    assert_eq!(other.at(&handle, &[read_1(&second)]).0, 10025);
    // Of another run of the server: BAD_STATEID, because the session says so already. The invalid one, too.
    let mut stale = second;
    stale[4] ^= 1;
    assert_eq!(session.at(&handle, &[read_1(&stale)]).0, 10025);
    assert_eq!(session.at(&handle, &[read_1(&words(&[u32::MAX, 0, 0, 0]))]).0, 10025);
    assert_eq!(session.at(&handle, &[read_1(&[0; 16])]).0, 0); // the anonymous one
    // OPEN_DOWNGRADE and CLOSE with any sequence number; wishes for delegations do not matter.
    let downgrade = [words(&[21]), any(&first), words(&[77, 0x401, 0])].concat();
    let (status, reply) = session.at(&handle, &[downgrade]);
    assert_eq!((status, &reply[8..12]), (0, &words(&[3])[..]));
    assert_eq!(session.at(&handle, &[close_1(&any(&first))]).0, 0);
    assert_eq!(session.at(&handle, &[close_1(&any(&first))]).0, 10025);
}

#[test]
fn stateids_are_tested_and_freed() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let (state, handle) = session.opened(b"o", (3, 0), b"f");
    let (status, reply) = session.at(&handle, &[lock(2, [0, 5], &state, b"l")]);
    assert_eq!(status, 0);
    let locks = reply[8..24].to_vec();
    let mut newer = locks.clone();
    newer[3] = 9;
    let old = [&words(&[0x7f])[..], &state[4..]].concat();
    assert_eq!(
        tested(&session, &[&state, &locks, &newer, &old, &[0; 16], &[7; 16]]),
        [0, 0, 10025, 10025, 10025, 10025]
    );
    // Files that are open and ranges that are locked: LOCKS_HELD.
    assert_eq!(session.call(&[free(&state)]), (10037, words(&[45, 10037])));
    assert_eq!(session.call(&[free(&locks)]).0, 10037);
    let (status, reply) = session.at(&handle, &[unlock([0, 5], &locks)]);
    assert_eq!(status, 0);
    assert_eq!(session.call(&[free(&locks)]).0, 10024); // OLD_STATEID
    assert_eq!(session.call(&[free(&reply[8..24])]), (0, words(&[45, 0])));
    assert_eq!(session.call(&[free(&reply[8..24])]).0, 10025);
    assert_eq!(session.at(&handle, &[lock(2, [0, 5], &state, b"l")]).0, 0);
}

#[test]
fn locks_are_not_kept_after_their_file_is_closed() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let (state, handle) = session.opened(b"o", (3, 0), b"f");
    let (status, reply) = session.at(&handle, &[lock(1, [0, 5], &state, b"l")]);
    assert_eq!(status, 0);
    let number = |state: &[u8]| u32::from_be_bytes(state[12..16].try_into().unwrap());
    let holder = client.service.nfs4.known(session.client_id).unwrap();
    let State::Lock(locks) = holder.state(number(&reply[8..24])).unwrap() else { panic!("no lock") };
    let make = |numbers| LockState {
        numbers,
        sequence: StateSequence::first(),
        owner: locks.owner.clone(),
        open: locks.open.clone(),
        in_tree: locks.in_tree.clone(),
    };
    assert!(holder.keep_locks(Some(locks.clone()), &locks.open, make).is_ok());
    // A LOCK that has found the open or its locks while another request closes the file.
    assert_eq!(session.at(&handle, &[close_1(&state)]).0, 0);
    let kept = holder.keep_locks(Some(locks.clone()), &locks.open, make);
    assert_eq!(kept.err(), Some(Status::BAD_STATEID));
    assert_eq!(holder.keep_locks(None, &locks.open, make).err(), Some(Status::BAD_STATEID));
}

#[test]
fn an_open_by_handle_needs_no_name() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let (_, handle) = session.opened(b"o", (1, 0), b"f");
    // CLAIM_FH (4) with OPEN4_NOCREATE; a create is INVAL.
    let open = |how: &[u32], claim: &[u32]| {
        [words(&[18, 0, 3, 0, 0, 0]), opaque(b"p"), words(how), words(claim)].concat()
    };
    let (status, reply) = session.at(&handle, &[open(&[0], &[4]), read_1(&current())]);
    assert_eq!((status, &reply[..12]), (0, &words(&[18, 0, 1])[..]));
    assert_eq!(session.at(&handle, &[open(&[1, 0, 0, 0], &[4])]).0, 22);
    // No delegations: CLAIM_DELEG_CUR_FH (5) with a stateid, CLAIM_DELEG_PREV_FH (6).
    assert_eq!(session.at(&handle, &[open(&[0], &[5, 1, 2, 3, 4])]).0, 10025);
    assert_eq!(session.at(&handle, &[open(&[0], &[6])]).0, 10004);
    assert_eq!(session.call(&[words(&[24]), open(&[0], &[4])]).0, 21); // ISDIR
}

#[test]
fn a_client_learns_why_it_has_no_delegation() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let tail = |access: u32, length: usize| {
        let (status, reply) = session.in_docs(&[open_1(b"o", (access, 0), &unchecked(), b"f")]);
        (status, reply[reply.len() - length..].to_vec())
    };
    // OPEN_DELEGATE_NONE if nothing is said; else NONE_EXT: NOT_WANTED, RESOURCE without a later signal, CANCELLED.
    assert_eq!(tail(1, 4), (0, words(&[0])));
    assert_eq!(tail(0x401, 8), (0, words(&[3, 0])));
    assert_eq!(tail(0x1_0101, 12), (0, words(&[3, 2, 0])));
    assert_eq!(tail(0x501, 8), (0, words(&[3, 7])));
    assert_eq!(tail(0x601, 8), (22, words(&[18, 22])));
    // WANT_DELEGATION by CLAIM_FH, GET_DIR_DELEGATION: GDD4_UNAVAIL. DELEGRETURN of what is none.
    let (_, handle) = session.opened(b"o", (1, 0), b"f");
    assert_eq!(session.at(&handle, &[words(&[56, 0x100, 4])]), (0, words(&[56, 0, 3, 2, 0])));
    assert_eq!(session.at(&handle, &[words(&[56, 0x100, 1, 1])]).0, 10033); // NO_GRACE
    let directory = words(&[46, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(session.in_docs(&[directory]), (0, words(&[46, 0, 1, 0])));
    assert_eq!(session.at(&handle, &[[words(&[8]), vec![7; 16]].concat()]).0, 10025);
}

#[test]
fn an_exclusive_open_sets_attributes_at_once() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    // EXCLUSIVE4_1 with mode (33) 0600: the reply names it and the times that store the verifier (47 and 53).
    let how = [words(&[1, 3]), b"verifier".to_vec(), words(&[2, 0, 2, 4, 0o600])].concat();
    let get_mode = words(&[9, 2, 0, 2]);
    for _ in 0..2 {
        let (status, reply) = session.in_docs(&[open_1(b"o", (3, 0), &how, b"x"), get_mode.clone()]);
        assert_eq!((status, &reply[48..60]), (0, &words(&[2, 0, 1 << 15 | 1 << 21 | 2])[..]));
        assert_eq!(reply[reply.len() - 4..], words(&[0o600]));
    }
    let other = [words(&[1, 3]), b"another!".to_vec(), words(&[0, 0])].concat();
    assert_eq!(session.in_docs(&[open_1(b"o", (3, 0), &other, b"x")]).0, 17);
    // suppattr_exclcreat (75): size, acl, archive, hidden, mode, owner, owner_group, system, time_backup,
    // time_create, dacl and mode_set_masked. The times of access and modification cannot be set so: INVAL.
    let (status, reply) = session.in_docs(&[words(&[9, 3, 0, 0, 1 << 11])]);
    assert_eq!(
        (status, &reply[8..]),
        (0, &words(&[3, 0, 0, 1 << 11, 16, 3, 0x0200_5010, 0x0406_4032, 0x400])[..])
    );
    let times = [words(&[1, 3]), b"verifier".to_vec(), words(&[2, 0, 1 << 16, 4, 0])].concat();
    assert_eq!(session.in_docs(&[open_1(b"o", (3, 0), &times, b"y")]).0, 22);
    assert_eq!(session.in_docs(&[[words(&[15]), opaque(b"y")].concat()]).0, 2);
}

#[test]
fn objects_of_the_wrong_type_have_their_own_status() {
    let client = client_1();
    let session = Session::of(&client, b"me", 1);
    let link = [words(&[6, 5]), opaque(b"to"), opaque(b"link"), words(&[0, 0])].concat();
    let fifo = [words(&[6, 7]), opaque(b"fifo"), words(&[0, 0])].concat();
    assert_eq!(session.in_docs(&[link]).0, 0);
    assert_eq!(session.in_docs(&[fifo]).0, 0);
    let at = |name: &[u8], operation: Vec<u8>| {
        session.in_docs(&[[words(&[15]), opaque(name)].concat(), operation]).0
    };
    // READ: SYMLINK, WRONG_TYPE. READLINK of no link: WRONG_TYPE. LOOKUPP: SYMLINK, NOTDIR.
    assert_eq!((at(b"link", read_1(&[0; 16])), at(b"fifo", read_1(&[0; 16]))), (10029, 10083));
    assert_eq!(at(b"fifo", words(&[27])), 10083);
    assert_eq!((at(b"link", words(&[16])), at(b"fifo", words(&[16]))), (10029, 20));
    let open = |name: &[u8]| session.in_docs(&[open_1(b"o", (1, 0), &words(&[0]), name)]).0;
    assert_eq!((open(b"link"), open(b"fifo")), (10029, 10083));
    // In minor version 0 all these are INVAL, NOTDIR and SYMLINK.
    let id = registered(&client, b"old", 1);
    let at = |name: &[u8], operation: Vec<u8>| {
        in_docs(&client, &[[words(&[15]), opaque(name)].concat(), operation]).0
    };
    assert_eq!(
        (at(b"link", read_1(&[0; 16])), at(b"fifo", words(&[27])), at(b"link", words(&[16]))),
        (22, 22, 20)
    );
    assert_eq!(in_docs(&client, &[super::open(id, b"o", 1, (1, 0), &words(&[0]), b"fifo")]).0, 10029);
}

#[test]
fn security_is_asked_for_with_and_without_a_name() {
    let session = Session::of(&client_1(), b"me", 1);
    // SECINFO_NO_NAME of the current folder and of the one above; there is no current handle after it.
    assert_eq!(session.in_docs(&[words(&[52, 0])]), (0, words(&[52, 0, 2, 1, 0])));
    assert_eq!(session.in_docs(&[words(&[52, 1]), words(&[10])]).0, 10020);
    assert_eq!(session.call(&[words(&[24]), words(&[52, 1])]).0, 2); // NOENT
    let named = [words(&[33]), opaque(b"docs")].concat();
    assert_eq!(session.call(&[words(&[24]), named, words(&[10])]).0, 10020);
    // RESTOREFH without a saved handle: NOFILEHANDLE.
    assert_eq!(session.call(&[words(&[24]), words(&[31])]).0, 10020);
}

#[test]
fn an_open_beyond_the_budget_of_a_client_is_refused_for_good() {
    let client = Client::new(&service_with(vec![export_of_few_opens("docs", 40)]));
    client.service.set_versions(3..=4);
    client.service.set_minor_versions(&[0, 1]);
    let session = Session::fresh(&client, b"greedy", 1);
    assert_eq!(session.call(&[words(&[58, 0])]).0, 0); // RECLAIM_COMPLETE
    for number in 0..10 {
        session.opened(b"owner", (3, 0), format!("f{number}").as_bytes());
    }
    // NFS4ERR_SERVERFAULT: RFC 8881 15.2 has no NFS4ERR_RESOURCE for OPEN, and after NFS4ERR_DELAY the client would wait for
    // itself. knfsd says so, too, where there are too many files (ENFILE).
    assert_eq!(session.in_docs(&[open_1(b"owner", (1, 0), &unchecked(), b"more")]).0, 10006);
    let other = Session::fresh(&client.clone().at([10, 0, 0, 9]), b"other", 1);
    assert_eq!(other.call(&[words(&[58, 0])]).0, 0);
    other.opened(b"owner", (3, 0), b"more");
}
