//! PDUs of iSCSI. The selectors are those of `src/iscsi_pdu.rs`.

use iscsi::wire::pdu::{
    AsyncEvent, AsyncMessage, Attribute, DataIn, DataOut, Function, FunctionResult, LogoutReason,
    LogoutRequest, LogoutResponse, LogoutResult, Lun, NO_TAG, NopIn, NopOut, R2t, Reject, RejectReason,
    Residual, ScsiCommand, ScsiResponse, Snack, TaskRequest, TaskResponse,
};
use iscsi::wire::scsi::Status;
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    [requests(), responses()].into_iter().flatten().collect()
}

fn seed(name: &'static str, selector: u8, encode: impl FnOnce(&mut Writer)) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target: "iscsi_pdu", name, bytes: w.into_bytes() }
}

fn requests() -> Vec<Seed> {
    let (lun, immediate, cmd_sn, exp_stat_sn) = (Lun::of(3), true, 5, 6);
    let nop = NopOut { immediate, lun, task_tag: 1, transfer_tag: NO_TAG, cmd_sn, exp_stat_sn };
    let command = ScsiCommand {
        immediate,
        is_final: true,
        reads: true,
        writes: false,
        attribute: Attribute::SIMPLE,
        lun,
        task_tag: 1,
        expected_length: 512,
        cmd_sn,
        exp_stat_sn,
        cdb: [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    };
    let task = TaskRequest {
        immediate,
        function: Function::ABORT_TASK,
        lun,
        task_tag: 1,
        referenced_tag: 2,
        cmd_sn,
        exp_stat_sn,
        ref_cmd_sn: 4,
        exp_data_sn: 0,
    };
    let (is_final, transfer_tag) = (true, 9);
    let data = DataOut { is_final, lun, task_tag: 1, transfer_tag, exp_stat_sn, data_sn: 2, offset: 512 };
    let logout = LogoutRequest {
        immediate,
        reason: LogoutReason::CLOSE_SESSION,
        task_tag: 1,
        cid: 1,
        cmd_sn,
        exp_stat_sn,
    };
    let snack = Snack { kind: 1, lun, task_tag: 1, transfer_tag, exp_stat_sn, begin: 3, run_length: 4 };
    vec![
        seed("head", 0, |w| command.encode(512, w)),
        seed("nop_out", 1, |w| nop.encode(4, w)),
        seed("scsi_command", 2, |w| command.encode(0, w)),
        seed("task_request", 3, |w| task.encode(0, w)),
        seed("data_out", 4, |w| data.encode(512, w)),
        seed("logout_request", 5, |w| logout.encode(0, w)),
        seed("snack", 6, |w| snack.encode(0, w)),
        seed("long_cdb", 15, |w| {
            w.put(&[0, 17, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])
        }),
        seed("bidirectional", 15, |w| w.put(&[0, 5, 2, 0, 0, 0, 2, 0])),
    ]
}

fn responses() -> Vec<Seed> {
    let (lun, task_tag, transfer_tag) = (Lun::of(300), 1, 2);
    let response = ScsiResponse {
        response: 0,
        status: Status::CHECK_CONDITION,
        task_tag,
        exp_data_sn: 1,
        residual: Residual::Underflow(512),
    };
    let status = Some((Status::GOOD, Residual::Overflow(7)));
    let data = DataIn { is_final: true, status, lun, task_tag, data_sn: 3, offset: 4096 };
    let logout = LogoutResponse { result: LogoutResult::CLOSED, task_tag, time2wait_s: 2, time2retain_s: 20 };
    let r2t = R2t { lun, task_tag, transfer_tag, r2t_sn: 0, offset: 0, length: 65_536 };
    let message =
        AsyncMessage { lun, event: AsyncEvent::LOGOUT_REQUESTED, vendor_code: 0, parameters: [0, 0, 3] };
    let reject = Reject { reason: RejectReason::PROTOCOL_ERROR, data_sn: 0 };
    vec![
        seed("nop_in", 7, |w| NopIn { lun, task_tag, transfer_tag }.encode(0, w)),
        seed("scsi_response", 8, |w| response.encode(20, w)),
        seed("task_response", 9, |w| {
            TaskResponse { result: FunctionResult::COMPLETE, task_tag }.encode(0, w)
        }),
        seed("data_in", 10, |w| data.encode(512, w)),
        seed("logout_response", 11, |w| logout.encode(0, w)),
        seed("r2t", 12, |w| r2t.encode(0, w)),
        seed("async_message", 13, |w| message.encode(0, w)),
        seed("reject", 14, |w| reject.encode(48, w)),
    ]
}
