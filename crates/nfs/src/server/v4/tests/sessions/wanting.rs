//! Delegations without an OPEN, RFC 8881 18.39 and 18.49.

use super::delegations::{Calls, callable, give_back, two};
use super::*;
use crate::wire::v4::types::Status;

const DELAY: u32 = 10008;

/// WANT_DELEGATION by CLAIM_FH.
fn want(what: u32) -> Vec<u8> {
    words(&[56, what, 4])
}

/// GET_DIR_DELEGATION that wants no notifications.
fn want_directory() -> Vec<u8> {
    words(&[46, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
}

fn mkdir(name: &[u8]) -> Vec<u8> {
    [words(&[6, 2]), opaque(name), words(&[0, 0])].concat()
}

/// The stateid and the handle of the last CB_RECALL.
fn recalled(calls: &Calls) -> (Vec<u8>, Vec<u8>) {
    let (procedure, arguments) = calls.lock().last().cloned().expect("a call");
    assert_eq!(procedure, 1);
    (arguments[60..76].to_vec(), arguments[80..].to_vec())
}

async fn settled() {
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_delegation_is_given_for_a_file_that_is_not_open() {
    let (one, other) = two(&client_1());
    let (holder, calls) = callable(&one, b"holder", Status::OK).await;
    let rival = Session::of(&other, b"rival", 1);
    let (state, handle) = rival.opened(b"o", (3, 0), b"plan");
    let at = |what: u32| {
        let (holder, handle) = (&holder, handle.clone());
        async move { holder.later(&[[words(&[22]), opaque(&handle)].concat(), want(what)]).await }
    };
    // NONE_EXT: CONTENTION without a later push, CANCELLED, NOT_WANTED; an unknown want is INVAL.
    assert_eq!(at(0x200).await.1[8..], words(&[56, 0, 3, 1, 0]));
    assert_eq!(at(0x500).await.1[8..], words(&[56, 0, 3, 7]));
    assert_eq!(at(0x400).await.1[8..], words(&[56, 0, 3, 0]));
    assert_eq!(at(0x600).await.0, 22);
    assert_eq!(at(0).await.0, 22);
    assert_eq!(rival.at(&handle, &[close_1(&state)]).0, 0);
    let (status, reply) = at(0x100).await;
    assert_eq!((status, &reply[8..20]), (0, &words(&[56, 0, 1])[..]));
    let state = reply[20..36].to_vec();
    assert_eq!(reply[36..], words(&[0, 0, 0, 0, 0]), "not recalled, and nobody is allowed anything");
    assert_eq!(holder.at(&handle, &[read_1(&state)]).0, 0);
    assert_eq!(at(0x300).await.1[8..], words(&[56, 0, 3, 2, 0]), "it has one");
    assert_eq!(at(0x200).await.1[8..], words(&[56, 0, 3, 5]), "WND4_NOT_SUPP_UPGRADE");
    assert_eq!(holder.at(&handle, &[give_back(&state)]).0, 0);
    let (status, reply) = at(0x200).await;
    // space_limit4: NFS_LIMIT_SIZE without a limit.
    assert_eq!((status, &reply[16..20], &reply[40..52]), (0, &words(&[2])[..], &words(&[1, !0, !0])[..]));
    let state = reply[20..36].to_vec();
    assert_eq!(at(0x100).await.1[8..], words(&[56, 0, 3, 6]), "WND4_NOT_SUPP_DOWNGRADE");
    let open = open_1(b"o", (1, 0), &words(&[0]), b"plan");
    assert_eq!(rival.later(&[words(&[24]), look_up(b"docs"), open]).await.0, DELAY);
    assert_eq!(recalled(&calls), (state.clone(), opaque(&handle)));
    assert_eq!(holder.at(&handle, &[give_back(&state)]).0, 0);
    let (status, reply) = holder.later(&[words(&[24]), look_up(b"docs"), want(0x100)]).await;
    assert_eq!((status, &reply[16..]), (0, &words(&[56, 0, 3, 8])[..]), "WND4_IS_DIR");
}

#[tokio::test(start_paused = true)]
async fn a_delegation_of_a_folder_is_recalled_when_another_client_changes_it() {
    let (one, other) = two(&client_1());
    let (holder, calls) = callable(&one, b"holder", Status::OK).await;
    let rival = Session::of(&other, b"rival", 1);
    let docs = [words(&[24]), look_up(b"docs")];
    let get = |then: Vec<u8>| holder.later_in(&docs, vec![want_directory(), then]);
    let (status, reply) = get(words(&[10])).await;
    // GDD4_OK, the verifier of cookies, the stateid, and three empty bitmaps; then GETFH.
    assert_eq!((status, &reply[16..28]), (0, &words(&[46, 0, 0])[..]));
    let (state, handle) = (reply[36..52].to_vec(), reply[76..].to_vec());
    assert_eq!(reply[52..72], words(&[0, 0, 0, 10, 0]));
    assert_eq!(holder.in_docs(&[mkdir(b"own")]).0, 0);
    assert_eq!(get(words(&[10])).await.1[16..32], words(&[46, 0, 1, 0]), "it has one");
    settled().await;
    assert_eq!(calls.lock().len(), 1, "its own change recalls nothing");
    assert_eq!(rival.in_docs(&[mkdir(b"other")]).0, 0, "the change does not wait");
    settled().await;
    assert_eq!(recalled(&calls), (state.clone(), opaque(&handle)));
    assert_eq!(holder.at(&handle, &[give_back(&state)]).0, 0);
    assert_eq!(get(words(&[10])).await.1[16..32], words(&[46, 0, 1, 0]), "several clients use it");
    // Not of a file, and not of the folder above the shares.
    let (_, file) = rival.opened(b"o", (3, 0), b"plan");
    let put = [words(&[22]), opaque(&file)].concat();
    assert_eq!(holder.later(&[put, want_directory()]).await.0, 20);
    assert_eq!(holder.later(&[words(&[24]), want_directory()]).await.1[8..], words(&[46, 0, 1, 0]));
}

/// GET_DIR_DELEGATION that asks for these kinds of notices, with type (1) and fileid (20) of entries.
fn want_notices(kinds: u32) -> Vec<u8> {
    words(&[46, 0, 1, kinds, 0, 0, 0, 0, 0, 0, 1, 1 << 1 | 1 << 20, 0])
}

/// The second operation of the server's last call, after CB_SEQUENCE: its number and its arguments.
fn last_call(calls: &Calls) -> (u32, Vec<u8>) {
    let arguments = calls.lock().last().unwrap().1.clone();
    (u32::from_be_bytes(arguments[56..60].try_into().unwrap()), arguments[60..].to_vec())
}

/// RFC 8881 10.9 and 20.4: changes of the kinds that a client has asked for are told, and do not recall.
#[tokio::test(start_paused = true)]
async fn a_client_is_told_of_changes_in_a_folder() {
    let (one, other) = two(&client_1());
    let (holder, calls) = callable(&one, b"holder", Status::OK).await;
    let rival = Session::of(&other, b"rival", 1);
    let docs = [words(&[24]), look_up(b"docs")];
    let (status, reply) = holder.later_in(&docs, vec![want_notices(0b11110), words(&[10])]).await;
    assert_eq!((status, &reply[16..28]), (0, &words(&[46, 0, 0])[..]));
    let state = reply[36..52].to_vec();
    // Attributes of the folder itself (kind 1) are not told.
    assert_eq!(reply[52..72], words(&[1, 0b11100, 1, 1 << 1 | 1 << 20, 0]));
    let handle = reply[84..].to_vec();
    let notified = |kind: u32, value: Vec<u8>| {
        let change = [words(&[1, 1, kind]), opaque(&value)].concat();
        (6, [state.clone(), opaque(&handle), change].concat())
    };
    let fileid = |name: &[u8]| {
        let look = [words(&[15]), opaque(name)].concat();
        let reply = rival.in_docs(&[look, words(&[9, 1, 1 << 20])]).1;
        reply[reply.len() - 8..].to_vec()
    };
    let entry = |name: &[u8], fileid: &[u8]| {
        let values = [words(&[2]), fileid.to_vec()].concat();
        [opaque(name), words(&[1, 1 << 1 | 1 << 20]), opaque(&values)].concat()
    };
    assert_eq!(rival.in_docs(&[mkdir(b"other")]).0, 0);
    settled().await;
    let id = fileid(b"other");
    // notify_add4: no entry was replaced, no cookie, no neighbour, not the last one.
    let added = |name: &[u8]| [words(&[0]), entry(name, &id), words(&[0, 0, 0])].concat();
    // notify_remove4: the cookie is not told.
    let removed = |name: &[u8]| [entry(name, &id), vec![0; 8]].concat();
    assert_eq!(last_call(&calls), notified(0b1000, added(b"other")));
    let rename = [words(&[32, 29]), opaque(b"other"), opaque(b"newer")].concat();
    let (status, _) = rival.later_in(&docs, vec![rename[..4].to_vec(), rename[4..].to_vec()]).await;
    assert_eq!(status, 0);
    settled().await;
    assert_eq!(last_call(&calls), notified(0b10000, [removed(b"other"), added(b"newer")].concat()));
    assert_eq!(rival.in_docs(&[[words(&[28]), opaque(b"newer")].concat()]).0, 0);
    settled().await;
    assert_eq!(last_call(&calls), notified(0b100, removed(b"newer")));
    let told = calls.lock().len();
    assert_eq!(holder.in_docs(&[mkdir(b"own")]).0, 0);
    settled().await;
    assert_eq!(calls.lock().len(), told, "it knows its own changes");
    assert_eq!(holder.at(&handle, &[give_back(&state)]).0, 0);
    assert_eq!(rival.in_docs(&[mkdir(b"later")]).0, 0);
    settled().await;
    assert_eq!(calls.lock().len(), told, "the delegation is returned");
    // What was not asked for recalls: here the removal.
    let (status, reply) = holder.later_in(&docs, vec![want_notices(0b1000)]).await;
    assert_eq!((status, &reply[52..60]), (0, &words(&[1, 0b1000])[..]));
    let state = reply[36..52].to_vec();
    assert_eq!(rival.in_docs(&[[words(&[28]), opaque(b"later")].concat()]).0, 0);
    settled().await;
    assert_eq!(recalled(&calls), (state, opaque(&handle)));
}

/// A client that does not answer to a notice is asked to return its delegation.
#[tokio::test(start_paused = true)]
async fn a_notice_that_is_not_accepted_recalls() {
    let (one, other) = two(&client_1());
    let (holder, calls) = callable(&one, b"holder", Status::DELAY).await;
    let rival = Session::of(&other, b"rival", 1);
    let docs = [words(&[24]), look_up(b"docs")];
    let (status, reply) = holder.later_in(&docs, vec![want_notices(0b11100)]).await;
    assert_eq!((status, &reply[16..28]), (0, &words(&[46, 0, 0])[..]));
    assert_eq!(rival.in_docs(&[mkdir(b"other")]).0, 0, "the change does not wait");
    settled().await;
    let numbers: Vec<u32> = calls.lock()[1..]
        .iter()
        .map(|(_, call)| u32::from_be_bytes(call[56..60].try_into().unwrap()))
        .collect();
    assert_eq!(numbers[..2], [6, 4]);
}
