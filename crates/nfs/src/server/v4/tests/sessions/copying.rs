//! Copies that go on after their replies, and what a copy takes along: RFC 7862 4, 15.2, 15.8, 15.9 and 16.1.

use super::delegations::{Calls, callable, two};
use super::ranges::MinorTwoClient;
use super::*;
use crate::wire::v4::types::Status;

/// Longer than what is copied before the reply.
const LONG: usize = 200 << 10;
const BAD_STATEID: u32 = 10025;

/// Operations of minor version 2.
async fn later(session: &Session, operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
    session.used.set(session.used.get() + 1);
    let sequence = session.sequence([session.used.get(), 0, 0, 0]);
    let head = words(&[0, 2, operations.len() as u32 + 1]);
    let message = [head, sequence, operations.concat()].concat();
    let answer = session.client.call_raw((PROGRAM, 4, 1), &message).await.expect("a reply");
    (status(&answer.results), answer.results[56..].to_vec())
}

type File = (StateBytes, Vec<u8>);

fn put(file: &File) -> Vec<u8> {
    [words(&[22]), opaque(&file.1)].concat()
}

/// WRITE at the start.
fn write(file: &File, data: &[u8]) -> Vec<u8> {
    [words(&[38]), file.0.to_vec(), words(&[0, 0, 0]), opaque(data)].concat()
}

/// COPY of so many bytes from the start of one file to that of another, and whether the reply comes at the end.
async fn copy(session: &Session, (from, to): (&File, &File), count: u64, at_once: bool) -> (u32, Vec<u8>) {
    let ranges = [vec![0; 16], count.to_be_bytes().to_vec(), words(&[1, u32::from(at_once), 0])].concat();
    let operation = [words(&[60]), from.0.to_vec(), to.0.to_vec(), ranges].concat();
    let (status, reply) = later(session, &[put(from), words(&[32]), put(to), operation]).await;
    (status, reply[32..].to_vec())
}

/// OFFLOAD_CANCEL (66) or OFFLOAD_STATUS (67).
async fn offload(session: &Session, number: u32, of: &File, state: &[u8]) -> (u32, Vec<u8>) {
    let (status, reply) = later(session, &[put(of), [words(&[number]), state.to_vec()].concat()]).await;
    (status, reply[16..].to_vec())
}

/// Two files of a client that answers its calls so: a long one and an empty one.
async fn pair(answer: Status) -> (Session, Calls, File, File) {
    let client = client_1();
    client.service.set_minor_versions(&[1, 2]);
    let (one, _) = two(&client);
    let (session, calls) = callable(&one, b"me", answer).await;
    let (source, target) = (session.opened(b"o", (3, 0), b"f"), session.opened(b"o", (3, 0), b"g"));
    assert_eq!(session.at(&source.1, &[write(&source, &[7; LONG])]).0, 0);
    (session, calls, source, target)
}

/// Lets the tasks and their threads go on, for two seconds at most.
async fn until(is_done: impl Fn() -> bool) -> bool {
    for _ in 0..2_000 {
        tokio::task::yield_now().await;
        if is_done() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    false
}

#[tokio::test(start_paused = true)]
async fn a_long_copy_goes_on_after_its_reply_and_the_client_hears_of_its_end() {
    let (session, calls, source, target) = pair(Status::OK).await;
    let (status, reply) = copy(&session, (&source, &target), 0, false).await;
    // One stateid to wait for, no byte yet, UNSTABLE4, the verifier of WRITE; consecutive and not synchronous.
    assert_eq!((status, &reply[..4], &reply[20..32]), (0, &words(&[1])[..], &words(&[0, 0, 0])[..]));
    assert_eq!(reply[40..], words(&[1, 0]));
    let (state, verifier) = (reply[4..20].to_vec(), reply[32..40].to_vec());
    // It is not done: no byte is copied, and osr_complete is empty. Its stateid is good for nothing else.
    assert_eq!(offload(&session, 67, &target, &state).await, (0, words(&[0, 0, 0])));
    assert_eq!(offload(&session, 67, &source, &state).await.0, BAD_STATEID, "it does not write this file");
    assert_eq!(session.at(&target.1, &[read_1(&state)]).0, BAD_STATEID);
    assert_eq!(session.call(&[[words(&[55, 1]), state.clone()].concat()]).1, words(&[55, 0, 1, 0]));
    assert!(until(|| calls.lock().len() > 1).await, "it ends");
    for _ in 0..4 {
        tokio::task::yield_now().await; // the answer
    }
    let (procedure, arguments) = calls.lock().last().cloned().expect("a call");
    assert_eq!((procedure, calls.lock().len()), (1, 2));
    // After CB_SEQUENCE: CB_OFFLOAD of the target and the copy, NFS4_OK, and write_response4 with all bytes.
    let offload_call =
        [words(&[15]), opaque(&target.1), state.clone(), words(&[0, 0, 0, LONG as u32, 0]), verifier];
    assert_eq!(arguments[56..], offload_call.concat());
    assert_eq!(
        offload(&session, 67, &target, &state).await.0,
        BAD_STATEID,
        "the client has heard of its end"
    );
    let size = session.at(&target.1, &[words(&[9, 1, 1 << 4])]).1;
    assert_eq!(size[size.len() - 8..], (LONG as u64).to_be_bytes());
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_cancelled() {
    let (session, calls, source, target) = pair(Status::OK).await;
    let (_, reply) = copy(&session, (&source, &target), 0, false).await;
    let state = reply[4..20].to_vec();
    assert_eq!(offload(&session, 66, &source, &state).await.0, BAD_STATEID);
    assert_eq!(offload(&session, 66, &target, &state).await.0, 0);
    assert_eq!(offload(&session, 66, &target, &state).await.0, BAD_STATEID);
    let copies = &session.client.service.nfs4.copies;
    assert!(until(|| copies.available_permits() == super::super::super::copying::COPIES).await, "it ends");
    assert_eq!(calls.lock().len(), 1, "CB_NULL only");
    let size = session.at(&target.1, &[words(&[9, 1, 1 << 4])]).1;
    assert!(u64::from_be_bytes(size[size.len() - 8..].try_into().unwrap()) < LONG as u64);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_hear_of_the_end_asks_and_has_few_copies() {
    let (session, _, source, target) = pair(Status::DELAY).await;
    let mut states = Vec::new();
    for _ in 0..8 {
        let (status, reply) = copy(&session, (&source, &target), 0, false).await;
        assert_eq!((status, &reply[..4]), (0, &words(&[1])[..]));
        states.push(reply[4..20].to_vec());
    }
    let (status, reply) = copy(&session, (&source, &target), 0, false).await;
    assert_eq!(
        (status, &reply[..4], &reply[24..]),
        (0, &words(&[0])[..], &words(&[1, 1])[..]),
        "done at once"
    );
    let copies = &session.client.service.nfs4.copies;
    assert!(until(|| copies.available_permits() == super::super::super::copying::COPIES).await, "they end");
    tokio::time::sleep(std::time::Duration::from_secs(60)).await; // until the server gives up to tell the client
    // osr_complete: NFS4_OK.
    let whole = words(&[0, LONG as u32, 1, 0]);
    assert_eq!(offload(&session, 67, &target, &states[0]).await, (0, whole));
    assert_eq!(offload(&session, 66, &target, &states[0]).await.0, 0);
    let (_, reply) = copy(&session, (&source, &target), 0, false).await;
    assert_eq!(reply[..4], words(&[1]), "there is room for one");
}

#[test]
fn a_copy_of_a_whole_file_takes_the_rest_along() {
    let client = MinorTwoClient::new();
    let open = |name: &[u8]| client.0.opened(b"o", (3, 0), name);
    let (source, whole, part) = (open(b"f"), open(b"g"), open(b"h"));
    assert_eq!(client.at(&source.1, &[write(&source, b"abcd")]).0, 0);
    let set = [words(&[73, 0]), opaque(b"tag"), opaque(b"red")].concat();
    assert_eq!(client.at(&source.1, &[set]).0, 0);
    let get = [words(&[72]), opaque(b"tag")].concat();
    assert_eq!(now(copy(&client.0, (&source, &whole), 4, true)).0, 0);
    assert_eq!(client.at(&whole.1, std::slice::from_ref(&get)).1, [words(&[72, 0]), opaque(b"red")].concat());
    assert_eq!(now(copy(&client.0, (&source, &part), 3, true)).0, 0);
    assert_eq!(client.at(&part.1, std::slice::from_ref(&get)).0, 10095, "NOXATTR: only a part was copied");
    // Into a file that has data: its own attributes stay.
    assert_eq!(now(copy(&client.0, (&source, &part), 4, true)).0, 0);
    assert_eq!(client.at(&part.1, &[get]).0, 10095);
}
