//! Task Management Function Request and Response, RFC 7143 11.5 and 11.6.

use super::head::{Lun, Opcode};
use crate::wire::layout::pdu;

wire::number! {
    /// The task management function, RFC 7143 11.5.1 and RFC 7144 4.2.
    pub Function: u8 {
        ABORT_TASK = 1,
        ABORT_TASK_SET = 2,
        CLEAR_ACA = 3,
        CLEAR_TASK_SET = 4,
        LOGICAL_UNIT_RESET = 5,
        TARGET_WARM_RESET = 6,
        TARGET_COLD_RESET = 7,
        TASK_REASSIGN = 8,
        QUERY_TASK = 9,
        QUERY_TASK_SET = 10,
        I_T_NEXUS_RESET = 11,
        QUERY_ASYNC_EVENT = 12,
    }
}

wire::number! {
    /// The result, RFC 7143 11.6.1 and RFC 7144 4.2.
    pub FunctionResult: u8 {
        COMPLETE = 0,
        NO_SUCH_TASK = 1,
        NO_SUCH_LUN = 2,
        STILL_ALLEGIANT = 3,
        REASSIGN_NOT_SUPPORTED = 4,
        NOT_SUPPORTED = 5,
        NOT_AUTHORIZED = 6,
        SUCCEEDED = 7,
        REJECTED = 255,
    }
}

wire::bit_fields! { Function, FunctionResult }

pdu! {
    /// Task Management Function Request, RFC 7143 11.5.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct TaskRequest(Opcode::TASK_REQUEST.0, 0x80) {
        pub immediate: bool = 0x40 of 0,
        pub function: Function = 0x7f of 1,
    } {
        pub lun: Lun,
        pub task_tag: u32,
        pub referenced_tag: u32,
        pub cmd_sn: u32,
        pub exp_stat_sn: u32,
        pub ref_cmd_sn: u32,
        pub exp_data_sn: u32 [8],
    }
}

pdu! {
    /// Task Management Function Response, RFC 7143 11.6.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct TaskResponse(Opcode::TASK_RESPONSE.0, 0x80) {
        pub result: FunctionResult = 0xff of 2,
    } [8] {
        pub task_tag: u32 [28],
    }
}
