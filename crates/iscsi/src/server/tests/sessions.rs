//! Sessions: their beginning, reinstatement, further connections, and end.

use std::sync::Arc;

use vfs::backend::memory::Memory;

use crate::server::login_phase;
use crate::server::session::DecodedRequest;
use crate::server::testing::{Initiator, Server, Way};
use crate::wire::pdu::{
    AsyncEvent, AsyncMessage, Head, LogoutReason, LogoutRequest, LogoutResponse, LogoutResult, Lun, NO_TAG,
    NopOut, Opcode, RejectReason, RequestFields,
};
use crate::wire::scsi::Status;

const ADA: &str = "iqn.2026-11.test:ada";
const READY: [u8; 6] = [0; 6];

async fn log_out(who: &mut Initiator, reason: LogoutReason, cid: u16) -> LogoutResult {
    let (task_tag, cmd_sn) = (who.tag(), who.cmd_sn);
    let mut w = wire::Writer::new();
    LogoutRequest { immediate: true, reason, task_tag, cid, cmd_sn, exp_stat_sn: 0 }.encode(0, &mut w);
    who.send(w, &[]).await;
    let received = who.receive().await;
    assert_eq!(received.head.opcode, Opcode::LOGOUT_RESPONSE);
    LogoutResponse::decode(&mut received.reader()).unwrap().result
}

#[tokio::test]
async fn a_logout_ends_the_session() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    assert_eq!(server.service.sessions().len(), 1);
    assert_eq!(log_out(&mut ada, LogoutReason::CLOSE_SESSION, 0).await, LogoutResult::CLOSED);
    assert!(ada.is_ended().await);
    assert!(server.service.sessions().is_empty());
}

#[tokio::test]
async fn the_log_has_a_line_for_each_login_failure_and_end() {
    let (guard, lines) = auth::LoginGuard::keeping_lines();
    let server = Server::on_with(Arc::new(Memory::ticking()), guard).await;
    let mut ada = server.log_in(ADA).await;
    assert_eq!(log_out(&mut ada, LogoutReason::CLOSE_SESSION, 0).await, LogoutResult::CLOSED);
    let mut lost = server.connect();
    lost.name = ADA.into();
    assert_eq!(lost.log_in("", 99, 1).await, (2, 10)); // no such session
    let said: Vec<String> = lines.take().iter().map(|line| without_peer(line)).collect();
    let expected = [
        "accepted user=\"\" method=\"guest\" to=\"iqn.2026-11.test:disk from iqn.2026-11.test:ada\"",
        "ended user=\"\" method=\"guest\" seconds=0",
        "failed user=\"\" method=\"none\" reason=\"login status 020a\"",
    ];
    assert_eq!(said, expected);
}

/// A line without its part about the peer, which must exist.
fn without_peer(line: &str) -> String {
    let (event, rest) = line.split_once(" protocol=\"iscsi\" address=192.0.2.1 port=").unwrap();
    let (_, rest) = rest.split_once(" user=").unwrap();
    format!("{event} user={rest}")
}

#[tokio::test]
async fn a_second_login_of_one_port_reinstates_the_session() {
    let server = Server::new().await;
    let mut before = server.log_in(ADA).await;
    let mut after = server.log_in(ADA).await;
    assert!(before.is_ended().await);
    before.hang_up();
    assert_eq!(server.service.sessions().len(), 1);
    assert_eq!(after.command(&READY, Way::Nothing).await.status, Status::GOOD);
    let mut other = server.connect();
    (other.name, other.isid) = (ADA.into(), [0x40, 0, 0, 0, 0, 2]);
    assert_eq!(other.log_in("", 0, 1).await, (0, 0));
    assert_eq!(server.service.sessions().len(), 2);
}

#[tokio::test]
async fn a_session_may_have_several_connections_and_one_order() {
    let server = Server::new().await;
    let mut first = server.log_in_with(ADA, "MaxConnections=2\0").await;
    let mut second = server.connect();
    (second.name, second.cmd_sn) = (ADA.into(), first.cmd_sn);
    assert_eq!(second.log_in("", first.tsih(), 2).await, (0, 0));
    second.cmd_sn += 1;
    let later = second.header(&READY, &Way::Nothing);
    second.send_command(&later, &[]).await;
    assert!(second.hears_nothing().await);
    assert_eq!(first.command(&READY, Way::Nothing).await.status, Status::GOOD);
    assert_eq!(second.end_of(later.task_tag).await.status, Status::GOOD);

    let mut third = server.connect();
    third.name = ADA.into();
    assert_eq!(third.log_in("", first.tsih(), 3).await, (2, 6));
    let mut stranger = server.connect();
    stranger.name = "iqn.2026-11.test:bob".into();
    assert_eq!(stranger.log_in("", first.tsih(), 2).await, (2, 10));

    assert_eq!(log_out(&mut first, LogoutReason::CLOSE_CONNECTION, 2).await, LogoutResult::CLOSED);
    assert!(second.is_ended().await);
    second.hang_up();
    assert_eq!(server.service.sessions()[0].peers.len(), 1);
    let gone = log_out(&mut first, LogoutReason::CLOSE_CONNECTION, 2).await;
    assert_eq!(gone, LogoutResult::CID_NOT_FOUND);
    let recovery = log_out(&mut first, LogoutReason::REMOVE_FOR_RECOVERY, 1).await;
    assert_eq!(recovery, LogoutResult::RECOVERY_NOT_SUPPORTED);
}

#[tokio::test]
async fn a_connection_that_is_lost_takes_its_session_along() {
    let server = Server::new().await;
    let mut first = server.log_in_with(ADA, "MaxConnections=2\0").await;
    let mut second = server.connect();
    (second.name, second.cmd_sn) = (ADA.into(), first.cmd_sn);
    assert_eq!(second.log_in("", first.tsih(), 2).await, (0, 0));
    second.hang_up();
    let told = first.receive().await;
    let message = AsyncMessage::decode(&mut told.reader()).unwrap();
    assert_eq!(message.event, AsyncEvent::SESSION_DROPPED);
    assert!(first.is_ended().await && server.service.sessions().is_empty());
}

#[tokio::test]
async fn pings_are_answered_with_what_they_bring() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let (task_tag, cmd_sn) = (ada.tag(), ada.number());
    let nop =
        NopOut { immediate: false, lun: Lun::of(0), task_tag, transfer_tag: NO_TAG, cmd_sn, exp_stat_sn: 0 };
    let mut w = wire::Writer::new();
    nop.encode(5, &mut w);
    ada.send(w, b"hello").await;
    let received = ada.receive().await;
    assert_eq!((received.head.opcode, &received.data[..]), (Opcode::NOP_IN, &b"hello"[..]));
    assert_eq!(ada.last.exp_cmd_sn, ada.cmd_sn);
}

#[tokio::test(start_paused = true)]
async fn a_silent_initiator_is_pinged_and_then_dropped() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    tokio::time::advance(std::time::Duration::from_secs(40)).await;
    server.service.tend();
    let ping = ada.receive().await;
    assert_eq!(ping.head.opcode, Opcode::NOP_IN);
    assert_eq!(ping.header[16..20], [0xff; 4]);
    tokio::time::advance(std::time::Duration::from_secs(31)).await;
    server.service.tend();
    assert!(ada.is_ended().await);
}

#[tokio::test]
async fn a_server_that_goes_down_asks_for_logouts() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    server.service.stop();
    let asked = ada.receive().await;
    assert_eq!(asked.head.opcode, Opcode::ASYNC_MESSAGE);
    let message = AsyncMessage::decode(&mut asked.reader()).unwrap();
    assert_eq!((message.event, message.parameters[2]), (AsyncEvent::LOGOUT_REQUESTED, 3));
}

#[tokio::test]
async fn anything_else_before_a_login_ends_the_connection() {
    let server = Server::new().await;
    let mut somebody = server.connect();
    let header = somebody.header(&READY, &Way::Nothing);
    somebody.send_command(&header, &[]).await;
    assert!(somebody.is_ended().await);
    let somebody = server.connect();
    let mut long = [0; 48];
    long[5..8].copy_from_slice(&[0, 0x20, 1]); // one more than 8192
    assert!(somebody.is_refused(&long));
}

#[tokio::test]
async fn what_no_initiator_sends_is_rejected() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    for (opcode, reason) in [
        (0x10, RejectReason::SNACK_REJECT),
        (0x03, RejectReason::PROTOCOL_ERROR),
        (0x25, RejectReason::COMMAND_NOT_SUPPORTED),
        (0x1d, RejectReason::COMMAND_NOT_SUPPORTED),
    ] {
        let mut pdu = [0; 48];
        pdu[0] = opcode;
        ada.send_bytes(&pdu).await;
        let rejected = ada.receive().await;
        assert_eq!((rejected.head.opcode, rejected.header[2]), (Opcode::REJECT, reason.0));
    }
}

#[tokio::test]
async fn a_unit_that_is_no_longer_visible_is_not_found() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let mut luns = server.target.luns();
    luns[0].initiators = vec!["iqn.2026-11.test:bob".into()];
    server.target.set(server.target.policy(), luns);
    let gone = ada.command(&READY, Way::Nothing).await.sense.unwrap();
    assert_eq!(gone.asc, crate::wire::scsi::Asc::LOGICAL_UNIT_NOT_SUPPORTED);
    let mut again = server.connect();
    again.name = ADA.into();
    assert_eq!(again.log_in("", 0, 1).await, (2, 2));
}

#[tokio::test]
async fn writes_to_a_read_only_unit_are_refused() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let mut luns = server.target.luns();
    luns[0].readers = vec!["iqn.2026-11.test:*".into()];
    server.target.set(server.target.policy(), luns);
    let refused = ada.command(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], Way::Out(&[1; 512])).await;
    assert_eq!(refused.sense.unwrap().asc, crate::wire::scsi::Asc::WRITE_PROTECTED);
}

#[tokio::test]
async fn what_was_sent_behind_the_end_of_a_session_is_not_done() {
    let server = Server::new().await;
    let mut before = server.log_in(ADA).await;
    let mut logged_out = server.log_in("iqn.2026-11.test:bob").await;
    let mut after = server.log_in(ADA).await; // replaces the first
    assert_eq!(log_out(&mut logged_out, LogoutReason::CLOSE_SESSION, 0).await, LogoutResult::CLOSED);
    for gone in [&mut before, &mut logged_out] {
        let header = gone.header(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &Way::Out(&[7; 512]));
        gone.send_command(&header, &[7; 512]).await;
        assert!(gone.is_ended().await && gone.hears_nothing().await);
        assert!(gone.connection().joined.get().unwrap().session.seen().is_empty());
    }
    let read = after.command(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0], Way::In(512)).await;
    assert_eq!(read.data, [0; 512]);
}

#[tokio::test]
async fn a_connection_lost_in_the_login_leaves_no_session() {
    let server = Server::new().await;
    let mut ada = server.connect();
    ada.name = ADA.into();
    let (header, text) = ada.login_request("", 0, 1);
    let header = bytes::Bytes::from(header.into_bytes());
    let head = Head::decode(&mut wire::Reader::new(&header)).unwrap();
    let fields = RequestFields::decode(&mut wire::Reader::new(&header)).unwrap();
    ada.hang_up();
    // A request that was being processed meanwhile.
    let message = DecodedRequest {
        head,
        fields,
        header,
        additional: bytes::Bytes::new(),
        data: text.into(),
        _kept: Default::default(),
    };
    assert!(login_phase::take(ada.connection(), message).await.is_none());
    assert!(ada.connection().joined.get().is_some() && server.service.sessions().is_empty());
}

#[tokio::test]
async fn a_host_that_new_settings_do_not_admit_loses_its_session() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let rule =
        |grant| auth::HostRule { hosts: vec![auth::HostSet::Net("192.0.2.0/24".parse().unwrap())], grant };
    let offer = |grant| {
        let policy = auth::SharePolicy { hosts: vec![rule(grant)], ..auth::SharePolicy::for_guests() };
        server.target.set(policy, server.target.luns());
        server.reload();
    };
    offer(Some(auth::Grant::ReadOnly));
    let refused = ada.command(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], Way::Out(&[1; 512])).await;
    assert_eq!(refused.sense.unwrap().asc, crate::wire::scsi::Asc::WRITE_PROTECTED);
    offer(None);
    assert_eq!(server.service.sessions().len(), 0);
    let mut again = server.connect();
    again.name = ADA.into();
    assert_eq!(again.log_in("", 0, 1).await, (2, 2));
}
