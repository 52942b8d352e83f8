//! Sessions without a socket: bytes in and out, by RFC 7530 and RFC 7531.

mod acls;
mod calling;
mod files;
mod hostile;
mod leases;
mod locks;
mod macs;
mod named;
mod opens;
mod referrals;
mod sessions;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::server::ExportOptions;
use crate::server::testing::{Client, export, service_with};
use crate::wire::rpc::Outcome;
use crate::wire::v3::PROGRAM;

/// The value of a future that never waits; in a runtime it may wait for a thread, for ten seconds at most.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    for _ in 0..10_000 {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => return value,
            Poll::Pending if tokio::runtime::Handle::try_current().is_err() => break,
            Poll::Pending => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
    panic!("a procedure over memory waits");
}

/// Shares `docs` and `group/team`, with version 4 on.
fn client() -> Client {
    let shares = vec![
        export("docs", 1, ExportOptions::default()),
        export("group/team", 2, ExportOptions::default()),
        export("closed", 3, ExportOptions { rules: Vec::new(), ..ExportOptions::default() }),
    ];
    let client = Client::new(&service_with(shares));
    client.service.set_versions(3..=4);
    client
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// The reply to a COMPOUND of minor version 0 with an empty tag.
fn compound(client: &Client, operations: u32, bytes: &[u8]) -> Vec<u8> {
    let arguments = [words(&[0, 0, operations]), bytes.to_vec()].concat();
    let answer = now(client.call_raw((PROGRAM, 4, 1), &arguments)).expect("a reply");
    assert_eq!(answer.outcome, Outcome::Success);
    answer.results
}

/// An opaque or a string: its length, its bytes, and padding.
fn opaque(bytes: &[u8]) -> Vec<u8> {
    [words(&[bytes.len() as u32]), bytes.to_vec(), vec![0; bytes.len().wrapping_neg() & 3]].concat()
}

/// The results of operations after PUTROOTFH and LOOKUP of `docs`: the status of the last one, and the bytes that follow
/// the results of these two.
fn in_docs(client: &Client, operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
    let count = operations.len() as u32 + 2;
    let reply = compound(client, count, &[words(&[24]), look_up(b"docs"), operations.concat()].concat());
    let status = u32::from_be_bytes(reply[..4].try_into().unwrap());
    assert_eq!(reply[12..28], words(&[24, 0, 15, 0]));
    (status, reply[28..].to_vec())
}

/// The same with the handle of a file. Its PUTFH is checked.
fn at(client: &Client, handle: &[u8], operations: &[Vec<u8>]) -> (u32, Vec<u8>) {
    let put = [words(&[22]), opaque(handle)].concat();
    let reply = compound(client, operations.len() as u32 + 1, &[put, operations.concat()].concat());
    let status = u32::from_be_bytes(reply[..4].try_into().unwrap());
    assert_eq!(reply[12..20], words(&[22, 0]));
    (status, reply[20..].to_vec())
}

/// A stateid as it is on the wire.
type StateBytes = [u8; 16];

/// A client that has registered: its clientid4.
fn registered(client: &Client, name: &[u8], verifier: u8) -> u64 {
    let callback = [words(&[0x4000_0000]), opaque(b"tcp"), opaque(b"127.0.0.1.0.1"), words(&[7])].concat();
    let set = [words(&[35]), vec![verifier; 8], opaque(name), callback].concat();
    let reply = compound(client, 1, &set);
    assert_eq!(reply[..20], words(&[0, 0, 1, 35, 0]));
    let (id, confirm) = (&reply[20..28], &reply[28..36]);
    let reply = compound(client, 1, &[&words(&[36])[..], id, confirm].concat());
    assert_eq!(reply, words(&[0, 0, 1, 36, 0]));
    u64::from_be_bytes(id.try_into().unwrap())
}

/// OPEN of a name. `how` is the form of openflag4.
fn open(
    id: u64,
    owner: &[u8],
    sequence: u32,
    (access, deny): (u32, u32),
    how: &[u8],
    name: &[u8],
) -> Vec<u8> {
    let owner = [id.to_be_bytes().to_vec(), opaque(owner)].concat();
    [words(&[18, sequence, access, deny]), owner, how.to_vec(), words(&[0]), opaque(name)].concat()
}

/// UNCHECKED4 without attributes.
fn unchecked() -> Vec<u8> {
    words(&[1, 0, 0, 0])
}

/// A file that is open and confirmed: its stateid and its handle. Uses the sequence numbers 1 and 2.
fn opened(client: &Client, id: u64, owner: &[u8], modes: (u32, u32), name: &[u8]) -> (StateBytes, Vec<u8>) {
    let get_handle = words(&[10]);
    let (status, reply) = in_docs(client, &[open(id, owner, 1, modes, &unchecked(), name), get_handle]);
    assert_eq!((status, &reply[..8]), (0, &words(&[18, 0])[..]));
    let state: StateBytes = reply[8..24].try_into().unwrap();
    // change_info4 (20 bytes), then OPEN4_RESULT_CONFIRM and OPEN4_RESULT_LOCKTYPE_POSIX.
    assert_eq!(reply[44..48], words(&[6]));
    // GETFH is last. A handle may contain the bytes of its head, so the length counts, too.
    let ends = |at: &usize| {
        reply[*at..].starts_with(&[words(&[10, 0]), words(&[(reply.len() - at - 12) as u32])].concat())
    };
    let handle_at = (0..reply.len() - 12).find(ends).unwrap() + 12;
    let handle = reply[handle_at..].to_vec();
    let confirm = [words(&[20]), state.to_vec(), words(&[2])].concat();
    let (status, reply) = at(client, &handle, &[confirm]);
    assert_eq!((status, &reply[..8]), (0, &words(&[20, 0])[..]));
    (reply[8..24].try_into().unwrap(), handle)
}

/// LOOKUP of a name of four bytes.
fn look_up(name: &[u8; 4]) -> Vec<u8> {
    [words(&[15, 4]), name.to_vec()].concat()
}

#[test]
fn version_4_is_answered_only_when_it_is_turned_on() {
    let client = client();
    assert_eq!(now(client.call_raw((PROGRAM, 4, 0), &[])).unwrap().outcome, Outcome::Success);
    assert_eq!(now(client.call_raw((PROGRAM, 4, 2), &[])).unwrap().outcome, Outcome::ProcUnavail);
    // Not over UDP, RFC 7530 3.1.
    let answer = now(client.clone().datagram().call_raw((PROGRAM, 4, 0), &[])).unwrap();
    assert_eq!(answer.outcome, Outcome::ProgMismatch { low: 3, high: 3 });
    client.service.set_versions(4..=4);
    let answer = now(client.call_raw((PROGRAM, 3, 0), &[])).unwrap();
    assert_eq!(answer.outcome, Outcome::ProgMismatch { low: 4, high: 4 });
    client.service.set_versions(3..=3);
    let answer = now(client.call_raw((PROGRAM, 4, 0), &[])).unwrap();
    assert_eq!(answer.outcome, Outcome::ProgMismatch { low: 3, high: 3 });
}

#[test]
fn a_compound_ends_at_its_first_failure() {
    let client = client();
    // GETFH without a current handle: NFS4ERR_NOFILEHANDLE.
    assert_eq!(compound(&client, 2, &words(&[10, 24])), words(&[10020, 0, 1, 10, 10020]));
    // PUTROOTFH, RESTOREFH without a saved handle, PUTROOTFH.
    assert_eq!(compound(&client, 3, &words(&[24, 31, 24])), words(&[10030, 0, 2, 24, 0, 31, 10030]));
    // An operation that does not exist, one that is cut short, and OPENATTR without a current handle.
    assert_eq!(compound(&client, 1, &words(&[2])), words(&[10044, 0, 1, 10044, 10044]));
    assert_eq!(compound(&client, 1, &words(&[15, 9])), words(&[10036, 0, 1, 15, 10036]));
    assert_eq!(compound(&client, 1, &words(&[19, 0])), words(&[10020, 0, 1, 19, 10020]));
    assert_eq!(compound(&client, 1, &[]), words(&[10036, 0, 1, 10044, 10036]));
    assert_eq!(compound(&client, 0, &[]), words(&[0, 0, 0]));
}

#[test]
fn other_minor_versions_and_long_compounds_are_refused_whole() {
    let client = client();
    let answer = now(client.call_raw((PROGRAM, 4, 1), &words(&[0, 1, 1, 24]))).unwrap();
    assert_eq!(answer.results, words(&[10021, 0, 0]));
    assert_eq!(compound(&client, 10_000, &words(&[24; 10_000])), words(&[10018, 0, 0]));
}

#[test]
fn the_pseudo_root_leads_to_the_shares_and_back() {
    let client = client();
    let group = [words(&[15, 5]), b"group\0\0\0".to_vec()].concat();
    // PUTROOTFH, LOOKUP group, LOOKUP team, LOOKUPP, GETFH: the folder on the way.
    let calls = [words(&[24]), group, look_up(b"team"), words(&[16, 10])].concat();
    let mut expected = words(&[0, 0, 5, 24, 0, 15, 0, 15, 0, 16, 0, 10, 0, 6]);
    expected.extend(b"\0group\0\0");
    assert_eq!(compound(&client, 5, &calls), expected);
    // Above the root there is no folder; a share that the client may not enter is not there.
    assert_eq!(compound(&client, 2, &words(&[24, 16])), words(&[2, 0, 2, 24, 0, 16, 2]));
    let closed = [words(&[24, 15, 6]), b"closed\0\0".to_vec()].concat();
    assert_eq!(compound(&client, 2, &closed), words(&[2, 0, 2, 24, 0, 15, 2]));
    // A handle of a folder that leads to no share: NFS4ERR_STALE.
    let stale = [words(&[22, 2]), b"\0x\0\0".to_vec()].concat();
    assert_eq!(compound(&client, 1, &stale), words(&[70, 0, 1, 22, 70]));
}

#[test]
fn the_handle_of_a_share_is_the_one_of_version_3() {
    let client = client();
    let mounted = now(client.mount("/docs")).expect("a handle");
    let reply = compound(&client, 3, &[words(&[24]), look_up(b"docs"), words(&[10])].concat());
    let head = words(&[0, 0, 3, 24, 0, 15, 0, 10, 0, mounted.len() as u32]);
    assert_eq!(reply[..head.len()], head);
    assert_eq!(reply[head.len()..][..mounted.len()], mounted);
}

#[test]
fn names_that_no_file_can_have_are_refused() {
    let client = client();
    for (form, status) in [
        (words(&[15, 0]), 22),
        ([words(&[15, 1]), b".\0\0\0".to_vec()].concat(), 10041),
        ([words(&[15, 2]), b"..\0\0".to_vec()].concat(), 10041),
        ([words(&[15, 3]), b"a/b\0".to_vec()].concat(), 10040),
        ([words(&[15, 256]), vec![b'a'; 256]].concat(), 63),
        (look_up(b"none"), 2),
    ] {
        let in_share = [words(&[24]), look_up(b"docs"), form].concat();
        assert_eq!(compound(&client, 3, &in_share), words(&[status, 0, 3, 24, 0, 15, 0, 15, status]));
    }
}

#[test]
fn attributes_of_the_root_are_compared() {
    let client = client();
    // PUTROOTFH, GETATTR: type (1), lease_time (10) and mode (33).
    let values = [2, 0x402, 2, 12, 2, 45, 0o555];
    let reply = compound(&client, 2, &words(&[24, 9, 2, 0x402, 2]));
    assert_eq!(reply, [words(&[0, 0, 2, 24, 0, 9, 0]), words(&values)].concat());
    // VERIFY and NVERIFY with the same, then with another mode.
    let other = [2, 0x402, 2, 12, 2, 45, 0o755];
    for (number, values, status) in [(37, values, 0), (17, values, 10009), (37, other, 10027), (17, other, 0)]
    {
        let calls = [words(&[24, number]), words(&values)].concat();
        assert_eq!(compound(&client, 2, &calls), words(&[status, 0, 2, 24, 0, number, status]));
    }
    // An attribute that can only be set (48), and one that cannot be compared (11).
    assert_eq!(compound(&client, 2, &words(&[24, 9, 2, 0, 0x1_0000])), words(&[22, 0, 2, 24, 0, 9, 22]));
    let error = words(&[24, 37, 1, 0x800, 4, 0]);
    assert_eq!(compound(&client, 2, &error), words(&[22, 0, 2, 24, 0, 37, 22]));
}

#[test]
fn rights_links_and_flavours_of_the_root() {
    let client = client();
    // ACCESS: of the rights that folders have (all but EXECUTE), the root has READ and LOOKUP.
    assert_eq!(compound(&client, 2, &words(&[24, 3, 0x3f])), words(&[0, 0, 2, 24, 0, 3, 0, 0x1f, 3]));
    assert_eq!(compound(&client, 2, &words(&[24, 3, 0x40])), words(&[22, 0, 2, 24, 0, 3, 22]));
    assert_eq!(compound(&client, 2, &words(&[24, 27])), words(&[22, 0, 2, 24, 0, 27, 22]));
    // SECINFO of a share: AUTH_SYS, AUTH_NONE.
    let asked = [words(&[24, 33, 4]), b"docs".to_vec()].concat();
    assert_eq!(compound(&client, 2, &asked), words(&[0, 0, 2, 24, 0, 33, 0, 2, 1, 0]));
}
