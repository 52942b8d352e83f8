//! Data of commands: immediate, unsolicited, solicited; residuals; digests.

use crate::server::testing::{Initiator, Server, Way};
use crate::wire::pdu::{DataOut, Function, Lun, NO_TAG, Opcode, Reject, RejectReason, Residual, TaskRequest};
use crate::wire::scsi::{Asc, Key, Status};

const ADA: &str = "iqn.2026-11.test:ada";

/// WRITE (10) or READ (10) of blocks from the first one on.
fn cdb(opcode: u8, lba: u8, blocks: u8) -> [u8; 10] {
    [opcode, 0, 0, 0, 0, lba, 0, 0, blocks, 0]
}

async fn read(ada: &mut Initiator, blocks: u8) -> Vec<u8> {
    let ended = ada.command(&cdb(0x28, 0, blocks), Way::In(u32::from(blocks) * 512)).await;
    assert_eq!((ended.status, ended.residual), (Status::GOOD, Residual::None));
    ended.data
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7) as u8).collect()
}

#[tokio::test]
async fn what_is_written_in_every_way_is_read_again() {
    let server = Server::new().await;
    let keys = "InitialR2T=No\0FirstBurstLength=2048\0MaxBurstLength=4096\0";
    let mut ada = server.log_in_with(ADA, keys).await;
    let data = pattern(20 * 512);
    let mut header = ada.header(&cdb(0x2a, 0, 20), &Way::Out(&data));
    header.is_final = false;
    ada.send_command(&header, &data[..512]).await;
    let mut out = DataOut {
        is_final: true,
        lun: Lun::of(0),
        task_tag: header.task_tag,
        transfer_tag: NO_TAG,
        exp_stat_sn: 0,
        data_sn: 0,
        offset: 512,
    };
    ada.send_data(&out, &data[512..2048]).await;
    for (at, end) in [(2048, 6144), (6144, 10_240)] {
        let r2t = ada.r2t().await;
        assert_eq!((r2t.offset, r2t.length), (at, end - at));
        let half = at + 2048;
        (out.transfer_tag, out.data_sn, out.offset, out.is_final) = (r2t.transfer_tag, 0, at, false);
        ada.send_data(&out, &data[at as usize..half as usize]).await;
        (out.data_sn, out.offset, out.is_final) = (1, half, true);
        ada.send_data(&out, &data[half as usize..end as usize]).await;
    }
    assert_eq!(ada.end_of(header.task_tag).await.status, Status::GOOD);
    assert_eq!(read(&mut ada, 20).await, data);
}

#[tokio::test]
async fn digests_are_sent_and_looked_at() {
    let server = Server::new().await;
    let mut ada = server.log_in_with(ADA, "HeaderDigest=CRC32C\0DataDigest=CRC32C\0").await;
    let data = pattern(2 * 512);
    assert_eq!(ada.command(&cdb(0x2a, 0, 2), Way::Out(&data)).await.status, Status::GOOD);
    assert_eq!(read(&mut ada, 2).await, data); // the harness checks the numbers
    let odd = ada.command(&[0x12, 0, 0, 0, 5, 0], Way::In(5)).await;
    assert_eq!(odd.data.len(), 5);
}

#[tokio::test]
async fn a_wrong_header_digest_ends_the_connection() {
    let server = Server::new().await;
    let mut ada = server.log_in_with(ADA, "HeaderDigest=CRC32C\0").await;
    let header = ada.header(&[0; 6], &Way::Nothing);
    let mut w = wire::Writer::new();
    header.encode(0, &mut w);
    w.put(&[1, 2, 3, 4]);
    ada.send_bytes(w.as_bytes()).await;
    assert!(ada.is_ended().await);
}

#[tokio::test]
async fn more_or_fewer_bytes_than_expected_are_said() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let short = ada.command(&cdb(0x28, 0, 2), Way::In(512)).await;
    assert_eq!((short.data.len(), short.residual), (512, Residual::Overflow(512)));
    let long = ada.command(&cdb(0x28, 0, 2), Way::In(2048)).await;
    assert_eq!((long.data.len(), long.residual), (1024, Residual::Underflow(1024)));
    let none = ada.command(&cdb(0x28, 0, 2), Way::Nothing).await;
    assert_eq!((none.data.len(), none.residual), (0, Residual::Overflow(1024)));
    let written = ada.command(&cdb(0x2a, 0, 2), Way::Out(&[1; 512])).await;
    assert_eq!((written.status, written.residual), (Status::GOOD, Residual::Overflow(512)));
    let refused = ada.command(&[0xff, 0, 0, 0, 0, 0], Way::In(512)).await;
    assert_eq!((refused.status, refused.residual), (Status::CHECK_CONDITION, Residual::Underflow(512)));
}

#[tokio::test]
async fn unrequested_data_are_rejected() {
    let server = Server::new().await;
    let mut ada = server.log_in(ADA).await;
    let out = DataOut {
        is_final: true,
        lun: Lun::of(0),
        task_tag: 77,
        transfer_tag: 5,
        exp_stat_sn: 0,
        data_sn: 0,
        offset: 0,
    };
    ada.send_data(&out, &[0; 512]).await;
    let rejected = ada.receive().await;
    assert_eq!(rejected.head.opcode, Opcode::REJECT);
    assert_eq!(Reject::decode(&mut rejected.reader()).unwrap().reason, RejectReason::INVALID_PDU_FIELD);
    assert_eq!(rejected.data.len(), 48);
}

#[tokio::test]
async fn a_refused_command_swallows_what_follows_it_unasked() {
    let server = Server::new().await;
    let mut ada = server.log_in_with(ADA, "InitialR2T=No\0").await;
    let mut header = ada.header(&cdb(0x2a, 255, 2), &Way::Out(&[0; 1024]));
    header.cdb[2] = 0xff; // far beyond the end
    header.is_final = false;
    ada.send_command(&header, &[0; 512]).await;
    assert!(ada.hears_nothing().await);
    let out = DataOut {
        is_final: true,
        lun: Lun::of(0),
        task_tag: header.task_tag,
        transfer_tag: NO_TAG,
        exp_stat_sn: 0,
        data_sn: 0,
        offset: 512,
    };
    ada.send_data(&out, &[0; 512]).await;
    let sense = ada.end_of(header.task_tag).await.sense.unwrap();
    assert_eq!((sense.key, sense.asc), (Key::ILLEGAL_REQUEST, Asc::LBA_OUT_OF_RANGE));
}

/// A WRITE (10) of 1 MiB that waits for its data.
async fn long_write(ada: &mut Initiator) -> u32 {
    let mut header = ada.header(&[0x2a, 0, 0, 0, 0, 0, 0, 8, 0, 0], &Way::Nothing);
    (header.writes, header.expected_length) = (true, 1 << 20);
    ada.send_command(&header, &[]).await;
    header.task_tag
}

#[tokio::test]
async fn commands_beyond_what_may_be_asked_for_wait_and_are_asked_for_once_there_is_room() {
    let server = Server::new().await;
    let mut ada = server.log_in_with(ADA, "MaxBurstLength=1048576\0").await;
    let mut asked = Vec::new();
    for _ in 0..16 {
        long_write(&mut ada).await;
        asked.push(ada.r2t().await);
    }
    let (called_off, waiting) = (long_write(&mut ada).await, long_write(&mut ada).await);
    assert!(ada.hears_nothing().await);
    assert_eq!(ada.connection().abort(|task| task.tag == called_off).len(), 1);
    let first = asked[0];
    let mut out = DataOut {
        is_final: false,
        lun: Lun::of(0),
        task_tag: first.task_tag,
        transfer_tag: first.transfer_tag,
        exp_stat_sn: 0,
        data_sn: 0,
        offset: 0,
    };
    // Less than the next command needs.
    ada.send_data(&out, &[7; 65_536]).await;
    assert!(ada.hears_nothing().await);
    // Aborted commands do not count any more.
    assert_eq!(ada.connection().abort(|task| task.tag == asked[1].task_tag).len(), 1);
    assert_eq!(ada.r2t().await.task_tag, waiting);
    while out.offset < (1 << 20) - 65_536 {
        (out.offset, out.data_sn) = (out.offset + 65_536, out.data_sn + 1);
        out.is_final = out.data_sn == 15;
        ada.send_data(&out, &[7; 65_536]).await;
    }
    assert_eq!(ada.end_of(first.task_tag).await.status, Status::GOOD);
}

#[tokio::test]
async fn a_command_whose_digest_was_wrong_is_not_waited_for_once_its_initiator_gives_it_up() {
    let server = Server::new().await;
    let mut ada = server.log_in_with(ADA, "HeaderDigest=None\0DataDigest=CRC32C\0").await;
    let lost = ada.header(&cdb(0x2a, 0, 1), &Way::Out(&[1; 512]));
    let mut w = wire::Writer::new();
    lost.encode(512, &mut w);
    w.put(&[1; 516]);
    ada.send_bytes(w.as_bytes()).await;
    assert_eq!(ada.receive().await.head.opcode, Opcode::REJECT);
    let next = ada.header(&[0; 6], &Way::Nothing);
    ada.send_command(&next, &[]).await;
    assert!(ada.hears_nothing().await);
    let request = TaskRequest {
        immediate: true,
        function: Function::ABORT_TASK,
        lun: Lun::of(0),
        task_tag: ada.tag(),
        referenced_tag: lost.task_tag,
        cmd_sn: ada.cmd_sn,
        exp_stat_sn: 0,
        ref_cmd_sn: lost.cmd_sn,
        exp_data_sn: 0,
    };
    let mut w = wire::Writer::new();
    request.encode(0, &mut w);
    ada.send(w, &[]).await;
    let mut opcodes = [ada.receive().await.head.opcode, ada.receive().await.head.opcode];
    opcodes.sort_by_key(|opcode| opcode.0);
    assert_eq!(opcodes, [Opcode::SCSI_RESPONSE, Opcode::TASK_RESPONSE]);
    assert_eq!(ada.command(&[0; 6], Way::Nothing).await.status, Status::GOOD);
}
