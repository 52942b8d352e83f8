//! Delegations beside what clients of the other protocols hold and do, in the tree that all of them share. A client of SMB holds
//! leases, one of AFP denies others what it needs, one of NFSv3 has neither.

use std::sync::Arc;

use vfs::state::{Caching, ClientId, LeaseRequest, Modes, Party, Style};
use vfs::{Actor, Caller, OpenOptions, Volume};

use super::delegations::{Calls, callable, give_back, two};
use super::*;
use crate::wire::v4::types::Status;

const DELAY: u32 = 10008;
const READ: u32 = 1;
const WRITE: u32 = 2;
const BOTH: u32 = 3;

/// A client of version 4 that answers its calls, one of NFSv3 at another address, and the volume for the other protocols.
async fn scene() -> (Session, Calls, Client, Arc<Volume>) {
    let (one, other) = two(&client_1());
    let (session, calls) = callable(&one, b"holder", Status::OK).await;
    let volume = other.service.export_named(b"docs").expect("a share").volume.clone();
    (session, calls, other, volume)
}

/// A client of another protocol.
fn stranger() -> Actor {
    Actor::new(Caller::root(), Party::client(ClientId::unused()))
}

/// The file `plan` as a client of SMB or AFP opens it. It waits for delegations.
async fn open(volume: &Arc<Volume>, actor: &Actor, access: Modes, deny: Modes) -> vfs::Result<vfs::Open> {
    let root = volume.root()?;
    let found = volume.lookup(&actor.caller, &root.object, b"plan")?;
    volume.open(actor, &found, OpenOptions { deny, ..OpenOptions::data(access) }).await
}

fn rw() -> Modes {
    Modes::READ.union(Modes::WRITE)
}

async fn settled() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

/// READ (6) or WRITE (7) of NFSv3: its status.
async fn v3(client: &Client, handle: &[u8], procedure: u32) -> u32 {
    let tail = if procedure == 6 { words(&[0, 0, 4]) } else { words(&[0, 0, 4, 0, 4, 0x6162_6364]) };
    let reply = client.call_raw((PROGRAM, 3, procedure), &[opaque(handle), tail].concat()).await;
    status(&reply.expect("a reply").results)
}

#[tokio::test(start_paused = true)]
async fn smb_waits_for_the_return_of_a_delegation() {
    let (session, calls, _, volume) = scene().await;
    let (kind, state, handle) = session.delegated(BOTH, b"plan").await;
    assert_eq!(kind, 2);
    let opening = tokio::spawn(async move { open(&volume, &stranger(), Modes::READ, Modes::NONE).await });
    settled().await;
    assert!(!opening.is_finished());
    assert_eq!(calls.lock().len(), 2, "CB_NULL and CB_RECALL");
    assert_eq!(session.at(&handle, &[give_back(&state)]).0, 0);
    assert!(opening.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_open_of_version_4_waits_for_a_lease_of_smb() {
    let (session, _, other, volume) = scene().await;
    let rival = Session::of(&other, b"maker", 1);
    let (made, handle) = rival.opened(b"o", (3, 0), b"plan");
    assert_eq!(rival.at(&handle, &[close_1(&made)]).0, 0);
    let actor = stranger();
    let smb = open(&volume, &actor, rw(), Modes::NONE).await.unwrap();
    let (notices, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let want = LeaseRequest { party: actor.party, want: Caching::ALL, style: Style::Bits, notices };
    let lease = smb.lease(&want).unwrap();
    assert_eq!(lease.caching(), Caching::ALL);
    assert_eq!(session.opens(READ, b"plan").await.0, DELAY);
    let notice = heard.recv().await.unwrap();
    assert_eq!((notice.from, notice.to), (Caching::ALL, Caching::READ.union(Caching::HANDLE)));
    lease.acknowledge(notice.to).unwrap();
    let (kind, ..) = session.delegated(READ, b"plan").await;
    assert_eq!(kind, 0, "SMB has it open for writing");
    drop((lease, smb));
    settled().await;
    assert_eq!(session.delegated(READ, b"plan").await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_delegation_to_read_stands_beside_leases_that_only_read() {
    let (session, calls, _, volume) = scene().await;
    assert_eq!(session.delegated(READ, b"plan").await.0, 1);
    let actor = stranger();
    let smb = open(&volume, &actor, Modes::READ, Modes::NONE).await.unwrap();
    let (notices, _heard) = tokio::sync::mpsc::unbounded_channel();
    let want = LeaseRequest { party: actor.party, want: Caching::ALL, style: Style::Bits, notices };
    let lease = smb.lease(&want).unwrap();
    assert_eq!(lease.caching(), Caching::READ.union(Caching::HANDLE), "nobody writes behind it");
    assert_eq!(calls.lock().len(), 1, "nothing is recalled");
}

#[tokio::test(start_paused = true)]
async fn afp_that_denies_writing_waits_for_a_writer_and_then_keeps_it_out() {
    let (session, calls, _, volume) = scene().await;
    let (kind, state, handle) = session.delegated(BOTH, b"plan").await;
    assert_eq!(kind, 2);
    // The client closes the file, and has it only in its cache.
    let opened = session.opens(BOTH, b"plan").await.1;
    assert_eq!(session.at(&handle, &[close_1(&opened[8..24])]).0, 0);
    let to_open = volume.clone();
    let opening = tokio::spawn(async move { open(&to_open, &stranger(), Modes::READ, Modes::WRITE).await });
    settled().await;
    assert!(!opening.is_finished());
    assert_eq!(calls.lock().len(), 2);
    assert_eq!(session.at(&handle, &[give_back(&state)]).0, 0);
    let afp = opening.await.unwrap().unwrap();
    assert_eq!(session.opens(WRITE, b"plan").await.0, 10015, "SHARE_DENIED");
    let (status, reply) = session.opens(READ, b"plan").await;
    assert_eq!((status, reply[52..56].to_vec()), (0, words(&[0])), "several clients use it");
    drop(afp);
    settled().await;
    assert_eq!(session.opens(WRITE, b"plan").await.0, 0);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_afp_writes_is_not_delegated() {
    let (session, _, _, volume) = scene().await;
    let (kind, state, handle) = session.delegated(READ, b"plan").await;
    assert_eq!((kind, session.at(&handle, &[give_back(&state)]).0), (1, 0));
    let afp = open(&volume, &stranger(), rw(), Modes::NONE).await.unwrap();
    assert_eq!(session.delegated(READ, b"plan").await.0, 0);
    drop(afp);
    settled().await;
    assert_eq!(session.delegated(READ, b"plan").await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn version_3_is_told_to_wait_and_reads_what_the_holder_has_written() {
    let (session, calls, other, _) = scene().await;
    let (kind, state, handle) = session.delegated(BOTH, b"plan").await;
    assert_eq!(kind, 2);
    assert_eq!(v3(&other, &handle, 6).await, 10008, "NFS3ERR_JUKEBOX");
    assert_eq!(calls.lock().len(), 2);
    // The holder writes back what it has in its cache, and returns the delegation.
    let write = [words(&[38]), state.to_vec(), words(&[0, 0, 2]), opaque(b"behind")].concat();
    assert_eq!(session.at(&handle, &[write, give_back(&state)]).0, 0);
    assert_eq!(v3(&other, &handle, 6).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_write_of_version_3_recalls_a_delegation_to_read() {
    let (session, calls, other, _) = scene().await;
    let (kind, state, handle) = session.delegated(READ, b"plan").await;
    assert_eq!(kind, 1);
    assert_eq!(v3(&other, &handle, 6).await, 0, "two readers do not collide");
    assert_eq!(v3(&other, &handle, 7).await, 10008, "NFS3ERR_JUKEBOX");
    assert_eq!(calls.lock().len(), 2);
    assert_eq!(session.at(&handle, &[give_back(&state)]).0, 0);
    assert_eq!(v3(&other, &handle, 7).await, 0);
}
