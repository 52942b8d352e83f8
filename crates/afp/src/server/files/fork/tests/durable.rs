//! FPFlushFork and FPSyncFork: the data are on the disk before the answer.

use vfs::backend::faulty::{Call, Faulty};
use vfs::backend::memory::Memory;

use super::*;

async fn server() -> (Server, Arc<Faulty>, User) {
    let disk = Arc::new(Faulty::losing_writes(Memory::ticking()));
    let server = Server::on(disk.clone());
    make(&server.volume("share"), "notes", b"").await;
    let user = User::of(&server, Version::V3_4);
    (server, disk, user)
}

#[tokio::test]
async fn what_was_flushed_survives_a_power_cut_and_what_was_not_need_not() {
    for number in [command::FLUSH_FORK, command::SYNC_FORK] {
        for resource in [false, true] {
            let (_server, disk, mut ada) = server().await;
            let open = OpenFork { resource, ..ada.request("notes", BOTH) };
            let fork = ada.open_as(open).await.unwrap();
            assert_eq!(ada.write_at(fork, 0, b"kept").await, Ok(4));
            ada.client.call(number, |w| OneFork { fork }.encode(w)).await.well();
            assert_eq!(ada.write_at(fork, 0, b"lost").await, Ok(4));
            disk.crash();
            let fork = ada.open_as(open).await.unwrap();
            assert_eq!(ada.read(fork, 0, 4).await.1, b"kept", "resource: {resource}");
        }
    }
}

#[tokio::test]
async fn a_flush_that_failed_says_so() {
    let (_server, disk, mut ada) = server().await;
    let fork = ada.open("notes", BOTH).await.unwrap();
    ada.write_at(fork, 0, b"abc").await.unwrap();
    disk.plan().fail(1, Some(Call::Sync), vfs::Error::Io);
    let answer = ada.client.call(command::FLUSH_FORK, |w| OneFork { fork }.encode(w)).await;
    assert_eq!(answer.code, ResultCode::MISC_ERROR);
}

#[tokio::test]
async fn what_was_opened_to_be_read_can_be_flushed_as_well() {
    let (_server, _disk, mut ada) = server().await;
    for access in [0, READ] {
        let fork = ada.open("notes", access).await.unwrap();
        ada.client.call(command::FLUSH_FORK, |w| OneFork { fork }.encode(w)).await.well();
        let fork = ada.open_resource("notes", access).await;
        ada.client.call(command::SYNC_FORK, |w| OneFork { fork }.encode(w)).await.well();
    }
}
