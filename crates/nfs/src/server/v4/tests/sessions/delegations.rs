//! Delegations by RFC 8881 10.4, and the calls of the server that recall them.

use std::sync::Arc;

use bytes::Bytes;
use conn::{Reply, ToClient};
use parking_lot::Mutex;
use wire::{Reader, Writer};

use super::*;
use crate::wire::rpc::{CallHeader, RecordMark, ReplyHeader};
use crate::wire::v4::callbacks::{CB_NULL, CachedAttributes, CallbackReply};
use crate::wire::v4::types::Status;
use crate::wire::xdr::{Decode, Encode};

const READ: u32 = 1;
const WRITE: u32 = 2;
const BOTH: u32 = 3;
const WANT_READ: u32 = 0x100;
const WANT_NONE: u32 = 0x400;
const DELAY: u32 = 10008;
const REVOKED: u32 = 10087;
/// Where open_delegation4 stands in the results of OPEN: after the number, the status, the stateid, change_info4, the flags
/// and an empty bitmap.
const DELEGATION_AT: usize = 8 + 16 + 20 + 4 + 4;

/// The procedures that the server has called, with their arguments.
pub(super) type Calls = Arc<Mutex<Vec<(u32, Vec<u8>)>>>;

/// What a client answers to CB_GETATTR: NFS4ERR_BADHANDLE if nothing.
type ClientAttributes = Arc<Mutex<Option<CachedAttributes>>>;

/// A connection over which the server may call the client. CB_RECALL is answered with this status.
fn connected(client: &Client, recall: Status, cached: ClientAttributes) -> Calls {
    let calls = Calls::default();
    let (seen, service, origin) = (calls.clone(), Arc::downgrade(&client.service), client.origin);
    let answer = move |reply: Option<Reply>| {
        let Some(message) = reply.and_then(|reply| reply.into_bytes().ok()) else { return true };
        let mut r = Reader::new(&message[RecordMark::SIZE..]);
        let header = CallHeader::decode(&mut r).expect("a call");
        assert_eq!((header.program, header.version), (0x4000_0000, 1));
        let arguments = r.rest().to_vec();
        seen.lock().push((header.procedure, arguments.clone()));
        let mut w = Writer::new();
        ReplyHeader::success(header.xid).encode(&mut w);
        match (header.procedure, *cached.lock()) {
            (CB_NULL, _) => {}
            (_, Some(known)) if is_question(&arguments) => {
                CallbackReply::Attributes { in_session: true, known }.encode(&mut w);
            }
            (_, None) if is_question(&arguments) => {
                w.put(&[words(&[10001, 0, 2, 11, 0]), vec![0; 32], words(&[3, 10001])].concat());
            }
            _ => CallbackReply::Executed { in_session: true, status: Some(recall) }.encode(&mut w),
        }
        service.upgrade().expect("a server").nfs4.back.replied(origin, &Bytes::from(w.into_bytes()));
        true
    };
    client.service.nfs4.back.began(client.origin, ToClient::of(answer));
    calls
}

/// Whether the second operation of a call, after CB_SEQUENCE, is CB_GETATTR.
fn is_question(arguments: &[u8]) -> bool {
    arguments.get(56..60) == Some(&words(&[3]))
}

/// A session whose client answers the server.
pub(super) async fn callable(client: &Client, name: &[u8], recall: Status) -> (Session, Calls) {
    callable_with(client, name, recall, ClientAttributes::default()).await
}

async fn callable_with(
    client: &Client,
    name: &[u8],
    recall: Status,
    cached: ClientAttributes,
) -> (Session, Calls) {
    let calls = connected(client, recall, cached);
    let (id, sequence, _) = exchanged(client, name, 1, 0).expect("a client");
    let session = Session::created(client, id, &create_session_with(id, sequence, 1 << 20, 2));
    assert_eq!(session.call(&[words(&[58, 0])]).0, 0);
    while calls.lock().is_empty() {
        tokio::task::yield_now().await; // CB_NULL
    }
    tokio::task::yield_now().await;
    (session, calls)
}

impl Session {
    /// Operations that may wait for another client.
    pub(super) async fn later(&self, operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
        self.used.set(self.used.get() + 1);
        let sequence = self.sequence([self.used.get(), 0, 0, 0]);
        let operations = [vec![sequence], operations.to_vec()].concat();
        let head = words(&[0, 1, operations.len() as u32]);
        let answer = self.client.call_raw((PROGRAM, 4, 1), &[head, operations.concat()].concat()).await;
        let results = answer.expect("a reply").results;
        (status(&results), results[56..].to_vec())
    }

    /// The same after others that lead to a place.
    pub(super) async fn later_in(&self, place: &[Vec<u8>], then: Vec<Vec<u8>>) -> (u32, Vec<u8>) {
        self.later(&[place.to_vec(), then].concat()).await
    }

    /// OPEN of a name in `docs` that exists.
    pub(super) async fn opens(&self, access: u32, name: &[u8]) -> (u32, Vec<u8>) {
        self.opens_as(access, &words(&[0]), name).await
    }

    /// OPEN of a name in `docs`, and GETFH.
    async fn opens_as(&self, access: u32, how: &[u8], name: &[u8]) -> (u32, Vec<u8>) {
        let open = open_1(b"owner", (access, 0), how, name);
        let (status, results) = self.later(&[words(&[24]), look_up(b"docs"), open, words(&[10])]).await;
        (status, results[16..].to_vec())
    }

    /// The delegation that an OPEN gives: its kind, its stateid, and the handle of the file.
    pub(super) async fn delegated(&self, access: u32, name: &[u8]) -> (u32, StateBytes, Vec<u8>) {
        let (status, reply) = self.opens_as(access, &unchecked(), name).await;
        assert_eq!(status, 0);
        let handle_at = reply.windows(8).rposition(|bytes| bytes == words(&[10, 0])).unwrap() + 12;
        let at = DELEGATION_AT;
        let kind = u32::from_be_bytes(reply[at..at + 4].try_into().unwrap());
        (kind, reply[at + 4..at + 20].try_into().unwrap_or_default(), reply[handle_at..].to_vec())
    }

    /// sr_status_flags of SEQUENCE.
    fn flags(&self) -> u32 {
        self.used.set(self.used.get() + 1);
        let reply = compound_1(&self.client, &[self.sequence([self.used.get(), 0, 0, 0])]);
        u32::from_be_bytes(reply[reply.len() - 4..].try_into().unwrap())
    }
}

pub(super) fn give_back(state: &[u8]) -> Vec<u8> {
    [words(&[8]), state.to_vec()].concat()
}

pub(super) fn two(client: &Client) -> (Client, Client) {
    (client.clone(), client.clone().at([192, 0, 2, 2]))
}

#[tokio::test(start_paused = true)]
async fn a_reader_returns_its_delegation_before_another_client_writes() {
    let (one, other) = two(&client_1());
    let (reader, calls) = callable(&one, b"reader", Status::OK).await;
    let writer = Session::of(&other, b"writer", 1);
    let (kind, state, handle) = reader.delegated(READ | WANT_READ, b"plan").await;
    assert_eq!(kind, 1);
    assert_eq!(reader.at(&handle, &[read_1(&state)]).0, 0);
    assert_eq!(reader.at(&handle, &[write_1(&state)]).0, 10038, "OPENMODE");
    assert_eq!(writer.opens(READ, b"plan").await.0, 0, "two readers do not collide");
    assert_eq!(writer.opens(WRITE, b"plan").await.0, DELAY);
    let (procedure, arguments) = calls.lock()[1].clone();
    assert_eq!(procedure, 1);
    // An empty tag, the minor version, no callback_ident, two operations: CB_SEQUENCE and CB_RECALL.
    assert_eq!(arguments[..20], words(&[0, 1, 0, 2, 11]));
    assert_eq!(arguments[20..36], reader.id);
    assert_eq!(arguments[36..60], words(&[1, 0, 3, 0, 0, 4]));
    assert_eq!(arguments[60..], [state.to_vec(), words(&[0]), opaque(&handle)].concat());
    assert_eq!(calls.lock().len(), 2, "it has accepted, and is not asked again");
    assert_eq!(reader.at(&handle, &[give_back(&state)]).0, 0);
    assert_eq!(reader.at(&handle, &[give_back(&state)]).0, 10025, "BAD_STATEID");
    assert_eq!(writer.opens(WRITE, b"plan").await.0, 0);
    let (kind, ..) = reader.delegated(READ | WANT_READ, b"plan").await;
    assert_eq!(kind, 3, "none, as another client writes");
    assert_eq!(reader.flags(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_writer_opens_what_it_has_in_its_cache_while_it_is_recalled() {
    let (one, other) = two(&client_1());
    let (writer, calls) = callable(&one, b"writer", Status::OK).await;
    let reader = Session::of(&other, b"reader", 1);
    let (kind, state, handle) = writer.delegated(BOTH, b"plan").await;
    assert_eq!(kind, 2);
    assert_eq!(writer.at(&handle, &[write_1(&state)]).0, 0);
    assert_eq!(writer.at(&handle, &[get_size()]).0, 0, "its own question recalls nothing");
    assert_eq!(calls.lock().len(), 1);
    let put = [words(&[22]), opaque(&handle)].concat();
    // It does not tell the size that it knows.
    assert_eq!(reader.later(&[put.clone(), get_size()]).await.0, DELAY);
    assert_eq!(calls.lock().len(), 3);
    // OPEN with CLAIM_DELEG_CUR_FH by another owner, and by a stateid that is none.
    let by = |state: &[u8]| {
        let owner = [77_u64.to_be_bytes().to_vec(), opaque(b"second")].concat();
        [words(&[18, 9, BOTH, 0]), owner, words(&[0, 5]), state.to_vec()].concat()
    };
    assert_eq!(writer.at(&handle, &[by(&state)]).0, 0);
    assert_eq!(writer.at(&handle, &[by(&[7; 16])]).0, 10025);
    assert_eq!(writer.at(&handle, &[give_back(&state)]).0, 0);
    let (status, reply) = reader.later(&[put, get_size()]).await;
    assert_eq!((status, &reply[reply.len() - 8..]), (0, &9_u64.to_be_bytes()[..]));
}

/// RFC 8881 10.4.3: who asks for size and times sees those in the cache of the holder, which keeps its delegation.
#[tokio::test(start_paused = true)]
async fn the_holder_of_a_delegation_is_asked_for_size_and_change() {
    let (one, other) = two(&client_1());
    let cached = ClientAttributes::default();
    let (writer, calls) = callable_with(&one, b"writer", Status::OK, cached.clone()).await;
    let reader = Session::of(&other, b"reader", 1);
    let (kind, state, handle) = writer.delegated(BOTH, b"plan").await;
    assert_eq!(kind, 2);
    // GETATTR of change and size.
    let put = [words(&[22]), opaque(&handle)].concat();
    let attributes = |reply: &[u8]| {
        let (change, size) = reply[reply.len() - 16..].split_at(8);
        [change, size].map(|bytes| u64::from_be_bytes(bytes.try_into().unwrap()))
    };
    let (status, reply) = writer.at(&handle, &[words(&[9, 1, 0x18])]);
    assert_eq!(status, 0);
    let [granted, size] = attributes(&reply);
    assert_eq!(size, 0);
    *cached.lock() = Some(CachedAttributes { change: granted, size: 0 });
    let (status, reply) = reader.later(&[put.clone(), words(&[9, 1, 0x18])]).await;
    assert_eq!((status, attributes(&reply)), (0, [granted, 0]), "nothing has changed");
    let (procedure, arguments) = calls.lock()[1].clone();
    assert_eq!((procedure, &arguments[56..60]), (1, &words(&[3])[..]));
    assert_eq!(arguments[60..], [opaque(&handle), words(&[1, 0x18])].concat());
    // The holder has written: each answer has another change attribute, RFC 8881 10.4.3.
    *cached.lock() = Some(CachedAttributes { change: granted + 1, size: 5000 });
    let mut before = granted;
    for _ in 0..2 {
        let (status, reply) = reader.later(&[put.clone(), words(&[9, 1, 0x18])]).await;
        let [change, size] = attributes(&reply);
        assert_eq!((status, size), (0, 5000));
        assert!(change > before);
        before = change;
    }
    // NVERIFY with another size succeeds, and VERIFY with the one in the cache.
    let verify = |number: u32, size: u32| words(&[number, 1, 0x10, 8, 0, size]);
    assert_eq!(reader.later(&[put.clone(), verify(17, 1), verify(37, 5000)]).await.0, 0);
    // What no cache changes is not asked for: the mode.
    let asked = calls.lock().len();
    assert_eq!(reader.later(&[put.clone(), words(&[9, 2, 0, 2])]).await.0, 0);
    assert_eq!(calls.lock().len(), asked);
    assert_eq!(writer.at(&handle, &[write_1(&state)]).0, 0, "it has its delegation");
    // One that cannot say is recalled.
    *cached.lock() = None;
    assert_eq!(reader.later(&[put.clone(), get_size()]).await.0, DELAY);
    assert_eq!(calls.lock().last().unwrap().1[56..60], words(&[4]));
    assert_eq!(writer.at(&handle, &[give_back(&state)]).0, 0);
    let (status, reply) = reader.later(&[put, get_size()]).await;
    assert_eq!((status, &reply[reply.len() - 8..]), (0, &9_u64.to_be_bytes()[..]));
}

/// A listing recalls a delegation only for what its holder may have changed in its cache.
#[tokio::test(start_paused = true)]
async fn a_listing_asks_for_what_it_shows_only() {
    let (one, other) = two(&client_1());
    let (writer, calls) = callable(&one, b"writer", Status::OK).await;
    let reader = Session::of(&other, b"reader", 1);
    assert_eq!(writer.delegated(BOTH, b"plan").await.0, 2);
    let list = |first: u32, second: u32| {
        vec![words(&[24]), look_up(b"docs"), words(&[26, 0, 0, 0, 0, 4096, 4096, 2, first, second])]
    };
    // mounted_on_fileid (55) is that of the entry, with rdattr_error (11) and without it; and the mode (33).
    for (first, second) in [(1 << 11, 1 << 23), (0, 1 << 23), (1 << 11, 1 << 1)] {
        let (status, reply) = reader.later(&list(first, second)).await;
        assert_eq!(status, 0);
        assert!(!reply.windows(4).any(|word| word == DELAY.to_be_bytes()));
    }
    assert_eq!(calls.lock().len(), 1, "CB_NULL");
    let (status, reply) = reader.later(&list(1 << 11 | 1 << 4, 0)).await;
    assert_eq!(status, 0);
    assert!(reply.windows(4).any(|word| word == DELAY.to_be_bytes()), "of its size");
    assert_eq!(reader.later(&list(1 << 4, 0)).await.0, DELAY);
    assert_eq!(calls.lock().last().unwrap().1[56..60], words(&[4]), "CB_RECALL");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_its_delegation_loses_it() {
    let (one, other) = two(&client_1());
    let (reader, calls) = callable(&one, b"reader", Status::DELAY).await;
    let writer = Session::of(&other, b"writer", 1);
    let (kind, state, handle) = reader.delegated(READ | WANT_READ, b"plan").await;
    assert_eq!(kind, 1);
    let (mut tries, begun) = (0, tokio::time::Instant::now());
    while writer.opens(WRITE, b"plan").await.0 == DELAY {
        assert_eq!(reader.flags(), 0);
        tries += 1;
        assert!(tries < 60, "the writer waits for ever");
    }
    assert!(calls.lock().len() > 5, "it is asked again");
    // RFC 7530 10.4.6: until it had to renew its own lease it may not know that it is called.
    assert!(begun.elapsed() >= one.service.nfs4.lease, "after {:?}", begun.elapsed());
    assert_eq!(reader.at(&handle, &[read_1(&state)]).0, REVOKED);
    tokio::task::yield_now().await; // the notice
    assert_eq!(reader.flags(), 0x40);
    let test = [words(&[55, 1]), state.to_vec()].concat();
    assert_eq!(reader.call(&[test]).1, words(&[55, 0, 1, REVOKED]));
    assert_eq!(reader.call(&[[words(&[45]), state.to_vec()].concat()]).0, 0);
    assert_eq!(reader.flags(), 0);
    assert_eq!(reader.at(&handle, &[read_1(&state)]).0, 10025);
}

#[tokio::test(start_paused = true)]
async fn a_request_goes_on_when_its_connection_ends_and_is_not_executed_again() {
    let (one, other) = two(&client_1());
    let (reader, _) = callable(&one, b"reader", Status::DELAY).await;
    let writer = Session::of(&other, b"writer", 1);
    let (kind, state, handle) = reader.delegated(READ | WANT_READ, b"plan").await;
    assert_eq!(kind, 1);
    // A folder is made. Then the request waits for the reader, a second at most, and its connection ends.
    writer.used.set(writer.used.get() + 1);
    let sequence = writer.sequence([writer.used.get(), 0, 0, 1]);
    let make = [words(&[6, 2]), opaque(b"made"), words(&[0, 0])].concat();
    let open = open_1(b"owner", (WRITE, 0), &words(&[0]), b"plan");
    let docs = [words(&[24]), look_up(b"docs")].concat();
    let request = [words(&[0, 1, 7]), sequence, docs.clone(), make, docs, open].concat();
    let send = |client: Client| {
        let request = request.clone();
        async move { client.call_raw((PROGRAM, 4, 1), &request).await.expect("a reply").results }
    };
    let first = tokio::spawn(send(other.clone()));
    tokio::task::yield_now().await;
    other.service.nfs4.back.ended(other.origin, 0);
    // Repeated over another connection while it is executed, and after that.
    let again = other.clone().on_port(901);
    assert_eq!(status(&send(again.clone()).await), DELAY);
    assert!(!first.is_finished());
    let first = first.await.unwrap();
    assert_eq!(status(&first), DELAY, "of OPEN");
    assert_eq!(send(again).await, first, "executed again it would find that the folder exists");
    assert_eq!(reader.at(&handle, &[give_back(&state)]).0, 0);
    assert_eq!(writer.in_docs(&[[words(&[15]), opaque(b"made")].concat()]).0, 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_cannot_be_called_gets_none() {
    let client = client_1();
    let session = Session::of(&client, b"silent", 1);
    assert_eq!(session.delegated(READ, b"a").await.0, 0);
    assert_eq!(session.delegated(READ | WANT_READ, b"a").await.0, 3);
    let (callable, calls) = callable(&client.clone().on_port(900), b"heard", Status::OK).await;
    assert_eq!(callable.delegated(READ | WANT_NONE, b"b").await.0, 3);
    let (kind, state, handle) = callable.delegated(READ, b"b").await;
    assert_eq!(kind, 1);
    assert_eq!(callable.delegated(READ, b"b").await.0, 0, "it has one");
    // The connection ends: the client is told that it has to make one.
    client.service.nfs4.back.ended(callable.client.origin, 0);
    assert_eq!(callable.flags(), 1);
    connected(&callable.client, Status::OK, ClientAttributes::default());
    assert_eq!(callable.flags(), 0);
    assert_eq!(callable.at(&handle, &[give_back(&state)]).0, 0);
    // Answers to no call, and a message that is none.
    let back = &client.service.nfs4.back;
    for message in [&b""[..], b"\0\0\0\x07\0\0\0\x01", &[0xff; 64]] {
        back.replied(callable.client.origin, &Bytes::copy_from_slice(message));
    }
    assert_eq!(calls.lock().len(), 1);
}

/// WRITE of nine bytes.
fn write_1(state: &[u8]) -> Vec<u8> {
    [words(&[38]), state.to_vec(), words(&[0, 0, 0]), opaque(b"nine byte")].concat()
}

/// GETATTR of the size.
fn get_size() -> Vec<u8> {
    words(&[9, 1, 1 << 4])
}
