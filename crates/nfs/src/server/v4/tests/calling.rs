//! Delegations of minor version 0, and the calls that recall them: RFC 7530 10.4, 15.2 and 16.33.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use conn::ToClient;
use parking_lot::Mutex;

use super::*;
use crate::server::testing::{Fake, Outgoing, encoded};
use crate::server::{CallEndpoint, Company, HandleSecret, Service};
use crate::wire::v4::callbacks::CallbackReply;
use crate::wire::v4::types::Status;

const READ: u32 = 1;
const WRITE: u32 = 2;
const DELAY: u32 = 10008;
const BAD_STATEID: u32 = 10025;
const CB_PATH_DOWN: u32 = 10048;
/// Where open_delegation4 stands in the results of OPEN: after the number, the status, the stateid, change_info4, the flags
/// and an empty bitmap.
const DELEGATION_AT: usize = 8 + 16 + 20 + 4 + 4;

/// How the clients of a network answer: `None` if they do not.
type Answers = Arc<Mutex<Option<Status>>>;

/// A client on a network on which every CB_RECALL is answered so.
fn callable(status: Status) -> (Client, Arc<Fake>, Answers) {
    let answers = Arc::new(Mutex::new(Some(status)));
    let given = answers.clone();
    let network = Fake::new(move |call: &Outgoing| {
        let status = (*given.lock())?;
        let reply = CallbackReply::Executed { in_session: false, status: Some(status) };
        Some(if call.procedure.2 == 0 { Vec::new() } else { encoded(&reply) })
    });
    let shares = vec![export("docs", 1, ExportOptions::default())];
    let company = Company { network: network.clone(), ..Company::default() };
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let client = Client::new(&Service::in_company(shares, HandleSecret::new([7; 16]), started, company));
    client.service.set_versions(3..=4);
    (client, network, answers)
}

/// Registers a client that names this place for calls.
async fn registered_at(client: &Client, name: &[u8], (net, address): (&[u8], &[u8])) -> u64 {
    let callback = [words(&[0x4000_0000]), opaque(net), opaque(address), words(&[7])].concat();
    let reply = later(client, &[[words(&[35]), vec![1; 8], opaque(name), callback].concat()]).await;
    let (id, confirm) = (reply[20..28].to_vec(), reply[28..36].to_vec());
    let reply = later(client, &[[words(&[36]), id.clone(), confirm].concat()]).await;
    assert_eq!(reply, words(&[0, 0, 1, 36, 0]));
    settled().await;
    u64::from_be_bytes(id.try_into().unwrap())
}

async fn settled() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

/// The reply to operations that may wait for another client.
async fn later(client: &Client, operations: &[Vec<u8>]) -> Vec<u8> {
    let head = words(&[0, 0, operations.len() as u32]);
    let answer = client.call_raw((PROGRAM, 4, 1), &[head, operations.concat()].concat()).await;
    answer.expect("a reply").results
}

fn status(reply: &[u8]) -> u32 {
    u32::from_be_bytes(reply[..4].try_into().unwrap())
}

/// OPEN of a name in `docs` that exists.
async fn opens(client: &Client, (id, sequence): (u64, u32), access: u32, name: &[u8]) -> Vec<u8> {
    let open = open(id, b"owner", sequence, (access, 0), &words(&[0]), name);
    later(client, &[words(&[24]), look_up(b"docs"), open]).await
}

/// The kind and the stateid of the delegation in the reply to [`opens`].
fn delegated(reply: &[u8]) -> (u32, Vec<u8>) {
    assert_eq!(status(reply), 0);
    let given = &reply[28 + DELEGATION_AT..];
    (status(given), given.get(4..20).unwrap_or_default().to_vec())
}

fn give_back(state: &[u8]) -> Vec<u8> {
    [words(&[8]), state.to_vec()].concat()
}

fn renew(id: u64) -> Vec<u8> {
    [words(&[30]), id.to_be_bytes().to_vec()].concat()
}

/// A client at 192.0.2.1 with a delegation of `plan`: its id, the stateid and the handle. It has used sequence numbers up to 3.
async fn holder(client: &Client, access: u32) -> (u64, Vec<u8>, Vec<u8>) {
    let id = registered_at(client, b"holder", (b"tcp", b"192.0.2.1.3.232")).await;
    let (_, handle) = opened(client, id, b"owner", (access, 0), b"plan");
    let (kind, state) = delegated(&opens(client, (id, 3), access, b"plan").await);
    assert_eq!(kind, access.min(2), "OPEN_DELEGATE_READ or OPEN_DELEGATE_WRITE");
    (id, state, handle)
}

#[tokio::test(start_paused = true)]
async fn a_client_is_called_at_the_place_that_it_has_named() {
    let (client, network, _) = callable(Status::OK);
    let (_, state, handle) = holder(&client, READ).await;
    let to = CallEndpoint::Tcp("192.0.2.1:1000".parse().unwrap());
    let null = Outgoing { to: to.clone(), procedure: (0x4000_0000, 1, 0), arguments: Vec::new() };
    assert_eq!(network.calls(), std::slice::from_ref(&null));
    let rival = client.clone().at([192, 0, 2, 2]);
    let other = registered(&rival, b"rival", 1);
    assert_eq!(status(&opens(&rival, (other, 1), WRITE, b"plan").await), DELAY);
    // An empty tag, the minor version, the client's callback_ident, one operation: CB_RECALL, without `truncate`.
    let arguments = [words(&[0, 0, 7, 1, 4]), state.clone(), words(&[0]), opaque(&handle)].concat();
    assert_eq!(network.calls(), [null, Outgoing { to, procedure: (0x4000_0000, 1, 1), arguments }]);
    assert_eq!(at(&client, &handle, &[give_back(&state)]).0, 0);
    assert_eq!(at(&client, &handle, &[give_back(&state)]).0, BAD_STATEID);
    assert_eq!(status(&opens(&rival, (other, 2), WRITE, b"plan").await), 0);
}

#[tokio::test(start_paused = true)]
async fn an_open_that_must_be_confirmed_brings_no_delegation() {
    let (client, ..) = callable(Status::OK);
    let id = registered_at(&client, b"me", (b"tcp", b"192.0.2.1.3.232")).await;
    let create = open(id, b"owner", 1, (READ, 0), &unchecked(), b"plan");
    let reply = later(&client, &[words(&[24]), look_up(b"docs"), create]).await;
    assert_eq!(delegated(&reply).0, 0, "RFC 7530 16.18.5");
}

#[tokio::test(start_paused = true)]
async fn the_server_connects_to_no_other_place_than_the_client() {
    let places: [(&[u8], &[u8]); 8] = [
        (b"tcp", b"192.0.2.9.3.232"),
        (b"tcp", b"0.0.0.0.3.232"),
        (b"tcp", b"224.0.0.1.3.232"),
        (b"tcp", b"127.0.0.1.3.232"),
        (b"tcp", b"192.0.2.1.0.0"),
        (b"udp", b"192.0.2.1.3.232"),
        (b"tcp6", b"::.3.232"),
        (b"tcp", b"nowhere"),
    ];
    for place in places {
        let (client, network, _) = callable(Status::OK);
        let id = registered_at(&client, b"me", place).await;
        opened(&client, id, b"owner", (READ, 0), b"plan");
        assert_eq!(delegated(&opens(&client, (id, 3), READ, b"plan").await).0, 0);
        assert_eq!(network.calls(), []);
        assert_eq!(status(&later(&client, &[renew(id)]).await), 0, "it has no delegation");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_loses_its_delegation() {
    let (client, network, answers) = callable(Status::OK);
    let (id, state, handle) = holder(&client, READ).await;
    assert_eq!(status(&later(&client, &[renew(id)]).await), 0);
    *answers.lock() = None;
    let rival = client.clone().at([192, 0, 2, 2]);
    let (other, mut sequence) = (registered(&rival, b"rival", 1), 1);
    while status(&opens(&rival, (other, sequence), WRITE, b"plan").await) == DELAY {
        assert_eq!(status(&later(&client, &[renew(id)]).await), CB_PATH_DOWN);
        sequence += 1;
        assert!(sequence < 60, "the rival waits for ever");
    }
    assert!(network.calls().len() < 100, "a bounded number of calls");
    let read = [words(&[25]), state.clone(), words(&[0, 0, 9])].concat();
    assert_eq!(at(&client, &handle, &[read]).0, BAD_STATEID);
    settled().await;
    assert_eq!(at(&client, &handle, &[give_back(&state)]).0, BAD_STATEID);
    assert_eq!(status(&later(&client, &[renew(id)]).await), 0, "nothing is left that could be recalled");
    // It answers again, and gets delegations again.
    *answers.lock() = Some(Status::OK);
    later(&client, &[renew(id)]).await;
    settled().await;
    opened(&client, id, b"another", (READ, 0), b"new");
    let open = open(id, b"another", 3, (READ, 0), &words(&[0]), b"new");
    let reply = later(&client, &[words(&[24]), look_up(b"docs"), open]).await;
    assert_eq!(delegated(&reply).0, READ);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_known_by_its_connection() {
    let (client, network, _) = callable(Status::OK);
    client.service.nfs4.back.began(client.origin, ToClient::nobody());
    let (_, state, handle) = holder(&client, READ | WRITE).await;
    let size = [[words(&[22]), opaque(&handle)].concat(), words(&[9, 1, 1 << 4])];
    assert_eq!(status(&later(&client, &size).await), 0, "its own question recalls nothing");
    assert_eq!(network.calls().len(), 1);
    // Another client over the same connection: it may be either of them.
    registered_at(&client, b"second", (b"tcp", b"192.0.2.1.3.233")).await;
    assert_eq!(status(&later(&client, &size).await), DELAY);
    assert_eq!(at(&client, &handle, &[give_back(&state)]).0, 0);
    assert_eq!(status(&later(&client, &size).await), 0);
}
