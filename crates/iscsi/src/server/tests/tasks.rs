//! Task management.

use crate::server::testing::{Initiator, Server, Way};
use crate::wire::pdu::{DataOut, Function, FunctionResult, Lun, NO_TAG, Opcode, TaskRequest, TaskResponse};
use crate::wire::scsi::{Asc, Status};

const ADA: &str = "iqn.2026-11.test:ada";
const BOB: &str = "iqn.2026-11.test:bob";
const READY: [u8; 6] = [0; 6];

async fn manage(who: &mut Initiator, function: Function, lun: u16, referenced_tag: u32) -> FunctionResult {
    let request = TaskRequest {
        immediate: true,
        function,
        lun: Lun::of(lun),
        task_tag: who.tag(),
        referenced_tag,
        cmd_sn: who.cmd_sn,
        exp_stat_sn: 0,
        ref_cmd_sn: 0,
        exp_data_sn: 0,
    };
    let mut w = wire::Writer::new();
    request.encode(0, &mut w);
    who.send(w, &[]).await;
    let received = who.receive().await;
    assert_eq!(received.head.opcode, Opcode::TASK_RESPONSE);
    TaskResponse::decode(&mut received.reader()).unwrap().result
}

/// A write that waits for its data.
async fn held(who: &mut Initiator) -> DataOut {
    let header = who.header(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &Way::Out(&[7; 512]));
    who.send_command(&header, &[]).await;
    let r2t = who.r2t().await;
    DataOut {
        is_final: true,
        lun: header.lun,
        task_tag: header.task_tag,
        transfer_tag: r2t.transfer_tag,
        exp_stat_sn: 0,
        data_sn: 0,
        offset: 0,
    }
}

#[tokio::test]
async fn a_command_that_is_called_off_is_not_answered_and_writes_nothing() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let out = held(&mut ada).await;
    assert_eq!(manage(&mut ada, Function::ABORT_TASK, 0, out.task_tag).await, FunctionResult::COMPLETE);
    ada.send_data(&out, &[7; 512]).await;
    assert!(ada.hears_nothing().await);
    let read = ada.command(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0], Way::In(512)).await;
    assert_eq!(read.data, [0; 512]);
    let again = manage(&mut ada, Function::ABORT_TASK, 0, out.task_tag).await;
    assert_eq!(again, FunctionResult::NO_SUCH_TASK);
    assert_eq!(ada.last.max_cmd_sn.wrapping_sub(ada.last.exp_cmd_sn), 127);
}

#[tokio::test]
async fn a_task_set_is_its_sessions_own_and_a_reset_is_everybodys() {
    let server = Server::new().await;
    let (mut ada, mut bob) = (server.log_in(ADA).await, server.log_in(BOB).await);
    let (of_ada, of_bob) = (held(&mut ada).await, held(&mut bob).await);
    assert_eq!(manage(&mut ada, Function::CLEAR_TASK_SET, 0, NO_TAG).await, FunctionResult::COMPLETE);
    ada.send_data(&of_ada, &[7; 512]).await;
    assert!(ada.hears_nothing().await);
    assert_eq!(manage(&mut ada, Function::LOGICAL_UNIT_RESET, 0, NO_TAG).await, FunctionResult::COMPLETE);
    bob.send_data(&of_bob, &[7; 512]).await;
    assert!(bob.hears_nothing().await);
    for who in [&mut ada, &mut bob] {
        let told = who.command(&READY, Way::Nothing).await.sense.unwrap();
        assert_eq!(told.asc, Asc::BUS_DEVICE_RESET);
        assert_eq!(who.command(&READY, Way::Nothing).await.status, Status::GOOD);
    }
}

#[tokio::test]
async fn what_is_not_there_or_not_done_is_said() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    for (function, lun, result) in [
        (Function::ABORT_TASK_SET, 9, FunctionResult::NO_SUCH_LUN),
        (Function::CLEAR_ACA, 0, FunctionResult::NOT_SUPPORTED),
        (Function::TASK_REASSIGN, 0, FunctionResult::REASSIGN_NOT_SUPPORTED),
        (Function::QUERY_TASK_SET, 0, FunctionResult::NOT_SUPPORTED),
        (Function(0x55), 0, FunctionResult::NOT_SUPPORTED),
    ] {
        assert_eq!(manage(&mut ada, function, lun, NO_TAG).await, result, "{function:?}");
    }
}

#[tokio::test]
async fn task_reporting_needs_protocol_level_2() {
    let server = Server::new().await;
    let mut ada = server.log_in_with(ADA, "iSCSIProtocolLevel=2\0").await;
    assert_eq!(manage(&mut ada, Function::QUERY_TASK_SET, 0, NO_TAG).await, FunctionResult::COMPLETE);
    let out = held(&mut ada).await;
    let asked = manage(&mut ada, Function::QUERY_TASK, 0, out.task_tag).await;
    assert_eq!(asked, FunctionResult::SUCCEEDED);
    assert_eq!(manage(&mut ada, Function::QUERY_TASK_SET, 0, NO_TAG).await, FunctionResult::SUCCEEDED);
    assert_eq!(manage(&mut ada, Function::I_T_NEXUS_RESET, 0, NO_TAG).await, FunctionResult::COMPLETE);
    assert_eq!(ada.command(&READY, Way::Nothing).await.sense.unwrap().asc, Asc::NEXUS_LOSS);
}

#[tokio::test]
async fn a_late_end_of_an_aborted_task_does_not_end_a_new_one_of_its_tag() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let out = held(&mut ada).await;
    let connection = ada.connection().clone();
    let before = connection.task(out.task_tag).unwrap();
    assert_eq!(manage(&mut ada, Function::ABORT_TASK, 0, out.task_tag).await, FunctionResult::COMPLETE);
    let mut header = ada.header(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0], &Way::Out(&[7; 512]));
    header.task_tag = out.task_tag;
    ada.send_command(&header, &[]).await;
    ada.r2t().await;
    assert!(!connection.leave(&before));
    ada.send_data(&out, &[7; 512]).await;
    assert_eq!(ada.end_of(out.task_tag).await.status, Status::GOOD);
    assert_eq!(ada.last.max_cmd_sn.wrapping_sub(ada.last.exp_cmd_sn), 127);
}

#[tokio::test]
async fn a_read_that_waits_for_its_client_does_not_hold_up_a_reset_by_another() {
    let server = Server::new().await;
    let (mut ada, mut bob) = (server.log_in(ADA).await, server.log_in(BOB).await);
    let connection = ada.connection().clone();
    let _all = connection.reading.acquire_many(crate::server::limits::MAX_READING_KIB).await.unwrap();
    let long = ada.header(&[0x28, 0, 0, 0, 0, 0, 0, 1, 0, 0], &Way::In(512)); // reads more than that
    ada.send_command(&long, &[]).await;
    assert!(ada.hears_nothing().await);
    assert_eq!(manage(&mut bob, Function::LOGICAL_UNIT_RESET, 0, NO_TAG).await, FunctionResult::COMPLETE);
}

#[tokio::test]
async fn a_task_set_is_cleared_of_commands_that_came_before_their_turn() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let first = ada.header(&READY, &Way::Nothing);
    let early = ada.header(&READY, &Way::Nothing);
    ada.send_command(&early, &[]).await;
    assert_eq!(manage(&mut ada, Function::ABORT_TASK_SET, 0, NO_TAG).await, FunctionResult::COMPLETE);
    ada.send_command(&first, &[]).await;
    assert_eq!(ada.end_of(first.task_tag).await.status, Status::GOOD);
    assert!(ada.hears_nothing().await);
}
