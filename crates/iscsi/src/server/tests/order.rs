//! The order of commands, and their waits for each other.

use crate::server::testing::{Server, Way};
use crate::wire::pdu::{Attribute, Lun, NO_TAG, NopOut, Opcode, Reject, RejectReason};
use crate::wire::scsi::Status;

const ADA: &str = "iqn.2026-11.test:ada";
const READY: [u8; 6] = [0; 6];

#[tokio::test]
async fn commands_out_of_the_window_are_ignored() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    for wrong in [ada.cmd_sn.wrapping_sub(1), ada.last.max_cmd_sn.wrapping_add(1)] {
        let mut header = ada.header(&READY, &Way::Nothing);
        header.cmd_sn = wrong;
        ada.cmd_sn -= 1;
        ada.send_command(&header, &[]).await;
    }
    assert!(ada.hears_nothing().await);
    assert_eq!(ada.command(&READY, Way::Nothing).await.status, Status::GOOD);
}

#[tokio::test]
async fn a_command_that_comes_too_early_waits_for_those_before_it() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let first = ada.header(&READY, &Way::Nothing);
    let second = ada.header(&READY, &Way::Nothing);
    ada.send_command(&second, &[]).await;
    assert!(ada.hears_nothing().await);
    ada.send_command(&first, &[]).await;
    let mut tags = Vec::new();
    for _ in 0..2 {
        let received = ada.receive().await;
        assert_eq!(received.head.opcode, Opcode::SCSI_RESPONSE);
        tags.push(u32::from_be_bytes(received.header[16..20].try_into().unwrap()));
    }
    tags.sort_unstable();
    assert_eq!(tags, [first.task_tag, second.task_tag]);
}

#[tokio::test]
async fn the_window_is_as_wide_as_what_is_not_under_way() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    assert_eq!(ada.last.max_cmd_sn.wrapping_sub(ada.last.exp_cmd_sn), 127);
    let held = ada.header(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 2, 0], &Way::Out(&[0; 1024]));
    ada.send_command(&held, &[]).await;
    ada.r2t().await;
    assert_eq!(ada.last.max_cmd_sn.wrapping_sub(ada.last.exp_cmd_sn), 126);
}

#[tokio::test]
async fn an_ordered_command_waits_for_those_before_it_and_those_after_it_for_it() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let held = ada.header(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &Way::Out(&[7; 512]));
    ada.send_command(&held, &[]).await;
    let r2t = ada.r2t().await;
    let mut ordered = ada.header(&READY, &Way::Nothing);
    ordered.attribute = Attribute::ORDERED;
    ada.send_command(&ordered, &[]).await;
    let after = ada.header(&READY, &Way::Nothing);
    ada.send_command(&after, &[]).await;
    assert!(ada.hears_nothing().await);
    let mut first = ada.header(&READY, &Way::Nothing);
    first.attribute = Attribute::HEAD_OF_QUEUE;
    ada.send_command(&first, &[]).await;
    assert_eq!(ada.end_of(first.task_tag).await.status, Status::GOOD);
    let out = crate::wire::pdu::DataOut {
        is_final: true,
        lun: held.lun,
        task_tag: held.task_tag,
        transfer_tag: r2t.transfer_tag,
        exp_stat_sn: 0,
        data_sn: 0,
        offset: 0,
    };
    ada.send_data(&out, &[7; 512]).await;
    for tag in [held.task_tag, ordered.task_tag, after.task_tag] {
        assert_eq!(ada.end_of(tag).await.status, Status::GOOD);
    }
}

#[tokio::test]
async fn a_tag_that_is_in_use_is_rejected() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let held = ada.header(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &Way::Out(&[7; 512]));
    ada.send_command(&held, &[]).await;
    ada.r2t().await;
    let mut same = ada.header(&READY, &Way::Nothing);
    same.task_tag = held.task_tag;
    ada.send_command(&same, &[]).await;
    let rejected = ada.receive().await;
    assert_eq!(Reject::decode(&mut rejected.reader()).unwrap().reason, RejectReason::TASK_IN_PROGRESS);
}

#[tokio::test]
async fn commands_are_in_the_order_of_their_arrival_and_not_of_their_answers() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let mut ordered = ada.header(&READY, &Way::Nothing);
    ordered.attribute = Attribute::ORDERED;
    let answer = ada.begin(&ordered);
    let after = ada.header(&READY, &Way::Nothing);
    ada.send_command(&after, &[]).await;
    assert!(ada.hears_nothing().await);
    tokio::spawn(answer);
    for tag in [ordered.task_tag, after.task_tag] {
        assert_eq!(ada.end_of(tag).await.status, Status::GOOD);
    }
}

#[tokio::test]
async fn what_waits_for_its_turn_is_not_any_amount_of_data() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    ada.number();
    for _ in 0..=32 {
        let (task_tag, cmd_sn) = (ada.tag(), ada.number());
        let lun = Lun::of(0);
        let mut w = wire::Writer::new();
        NopOut { immediate: false, lun, task_tag, transfer_tag: NO_TAG, cmd_sn, exp_stat_sn: 0 }
            .encode(1 << 20, &mut w);
        ada.send(w, &vec![0; 1 << 20]).await;
    }
    assert!(ada.is_ended().await);
}
