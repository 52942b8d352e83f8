//! Task Management Function Request and Response, RFC 7143 11.5 and 11.6.

use super::head::{Lun, Opcode};
use crate::wire::layout::pdu;

/// The task management function, RFC 7143 11.5.1 and RFC 7144 4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.5.1")]
impl Function {
    pub const ABORT_TASK: Self = Self(1);
    pub const ABORT_TASK_SET: Self = Self(2);
    pub const CLEAR_ACA: Self = Self(3);
    pub const CLEAR_TASK_SET: Self = Self(4);
    pub const LOGICAL_UNIT_RESET: Self = Self(5);
    pub const TARGET_WARM_RESET: Self = Self(6);
    pub const TARGET_COLD_RESET: Self = Self(7);
    pub const TASK_REASSIGN: Self = Self(8);
    pub const QUERY_TASK: Self = Self(9);
    pub const QUERY_TASK_SET: Self = Self(10);
    pub const I_T_NEXUS_RESET: Self = Self(11);
    pub const QUERY_ASYNC_EVENT: Self = Self(12);
}

/// The result, RFC 7143 11.6.1 and RFC 7144 4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionResult(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.6.1")]
impl FunctionResult {
    pub const COMPLETE: Self = Self(0);
    pub const NO_SUCH_TASK: Self = Self(1);
    pub const NO_SUCH_LUN: Self = Self(2);
    pub const STILL_ALLEGIANT: Self = Self(3);
    pub const REASSIGN_NOT_SUPPORTED: Self = Self(4);
    pub const NOT_SUPPORTED: Self = Self(5);
    pub const NOT_AUTHORIZED: Self = Self(6);
    pub const SUCCEEDED: Self = Self(7);
    pub const REJECTED: Self = Self(255);
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
