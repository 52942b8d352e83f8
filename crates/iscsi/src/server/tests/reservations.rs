//! Reservations, across the end of sessions and with commands in flight.

use std::sync::Arc;
use std::time::Duration;

use vfs::backend::faulty::Faulty;
use vfs::backend::memory::Memory;

use crate::server::target::TargetLun;
use crate::server::testing::{Initiator, ScsiResult, Server, Way};
use crate::wire::pdu::DataOut;
use crate::wire::scsi::{Asc, Status};

const ADA: &str = "iqn.2026-11.test:ada";
const BOB: &str = "iqn.2026-11.test:bob";
const RESERVE_6: [u8; 6] = [0x16, 0, 0, 0, 0, 0];
const READY: [u8; 6] = [0; 6];
const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];

/// PERSISTENT RESERVE OUT: service action, type, two keys.
async fn out(who: &mut Initiator, action: u8, kind: u8, key: u8, action_key: u8) -> Status {
    let mut list = [0; 24];
    (list[7], list[15]) = (key, action_key);
    who.command(&[0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0], Way::Out(&list)).await.status
}

fn told(ended: &ScsiResult) -> Option<Asc> {
    ended.sense.map(|sense| sense.asc)
}

/// Both initiators are registered, and Ada has reserved the unit for registered initiators.
async fn cluster(server: &Server) -> (Initiator, Initiator) {
    let (mut ada, mut bob) = (server.log_in(ADA).await, server.log_in(BOB).await);
    assert_eq!(out(&mut ada, 6, 0, 0, 1).await, Status::GOOD);
    assert_eq!(out(&mut bob, 6, 0, 0, 2).await, Status::GOOD);
    assert_eq!(out(&mut ada, 1, 5, 1, 0).await, Status::GOOD);
    (ada, bob)
}

#[tokio::test]
async fn reserve_ends_with_its_session_and_a_registration_does_not() {
    let server = Server::new().await;
    let (mut ada, mut bob) = (server.log_in(ADA).await, server.log_in(BOB).await);
    assert_eq!(ada.command(&RESERVE_6, Way::Nothing).await.status, Status::GOOD);
    assert_eq!(bob.command(&READY, Way::Nothing).await.status, Status::RESERVATION_CONFLICT);
    let mut ada = server.log_in(ADA).await; // the same port: its earlier session has ended
    assert_eq!(bob.command(&RESERVE_6, Way::Nothing).await.status, Status::GOOD);
    let release = [0x17, 0, 0, 0, 0, 0];
    assert_eq!(bob.command(&release, Way::Nothing).await.status, Status::GOOD);

    assert_eq!(out(&mut ada, 6, 0, 0, 1).await, Status::GOOD);
    assert_eq!(out(&mut ada, 1, 3, 1, 0).await, Status::GOOD);
    let mut ada = server.log_in(ADA).await;
    assert_eq!(bob.command(&READ, Way::In(512)).await.status, Status::RESERVATION_CONFLICT);
    assert_eq!(ada.command(&READ, Way::In(512)).await.status, Status::GOOD);
    assert_eq!(out(&mut ada, 2, 3, 1, 0).await, Status::GOOD);
    assert_eq!(bob.command(&READ, Way::In(512)).await.status, Status::GOOD);
}

#[tokio::test]
async fn a_preempted_and_aborted_initiator_writes_no_more() {
    let server = Server::new().await;
    let (mut ada, mut bob) = cluster(&server).await;
    let header = ada.header(&WRITE, &Way::Out(&[7; 512]));
    ada.send_command(&header, &[]).await;
    let r2t = ada.r2t().await;
    assert_eq!(out(&mut bob, 5, 6, 2, 1).await, Status::GOOD);
    let data = DataOut {
        is_final: true,
        lun: header.lun,
        task_tag: header.task_tag,
        transfer_tag: r2t.transfer_tag,
        exp_stat_sn: 0,
        data_sn: 0,
        offset: 0,
    };
    ada.send_data(&data, &[7; 512]).await;
    assert!(ada.hears_nothing().await);
    let ended = ada.command(&READY, Way::Nothing).await;
    assert_eq!(told(&ended), Some(Asc::REGISTRATIONS_PREEMPTED));
    let ended = ada.command(&READY, Way::Nothing).await;
    assert_eq!(told(&ended), Some(Asc::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR));
    assert_eq!(ada.command(&WRITE, Way::Out(&[7; 512])).await.status, Status::RESERVATION_CONFLICT);
    assert_eq!(bob.command(&READ, Way::In(512)).await.data, [0; 512]);
}

/// SPC-4 5.17.4.6, and what clusters rely on.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn preempt_and_abort_is_not_over_before_what_is_being_written_is_written() {
    let faulty = Arc::new(Faulty::new(Memory::ticking()));
    let server = Server::on(faulty.clone()).await;
    let (mut ada, mut bob) = cluster(&server).await;
    let file = server.target.luns()[0].unit.open().unwrap().node().id();
    faulty.plan().stall(file);
    let header = ada.header(&WRITE, &Way::Out(&[7; 512]));
    ada.send_command(&header, &[7; 512]).await;
    while faulty.plan().waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let header = bob.header(&[0x5f, 5, 6, 0, 0, 0, 0, 0, 24, 0], &Way::Out(&[0; 24]));
    let mut list = [0; 24];
    (list[7], list[15]) = (2, 1);
    bob.send_command(&header, &list).await;
    assert!(bob.hears_nothing().await);
    faulty.plan().release(file);
    let ended = tokio::time::timeout(Duration::from_secs(20), bob.end_of(header.task_tag)).await.unwrap();
    assert_eq!(ended.status, Status::GOOD);
    assert!(ada.hears_nothing().await);
}

#[tokio::test]
async fn a_read_only_initiator_cannot_reserve() {
    let server = Server::new().await;
    let lun = TargetLun { readers: vec![BOB.into()], ..server.target.luns()[0].clone() };
    server.target.set(server.target.policy(), vec![lun]);
    let mut bob = server.log_in(BOB).await;
    for action in [0, 6] {
        assert_eq!(out(&mut bob, action, 0, 0, 2).await, Status::CHECK_CONDITION);
    }
    let ended = bob.command(&RESERVE_6, Way::Nothing).await;
    assert_eq!(told(&ended), Some(Asc::WRITE_PROTECTED));
    assert_eq!(bob.command(&[0x5e, 0, 0, 0, 0, 0, 0, 0, 8, 0], Way::In(8)).await.data, [0; 8]);
}
