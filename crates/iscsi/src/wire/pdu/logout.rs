//! Logout Request and Logout Response, RFC 7143 11.14 and 11.15.

use super::head::Opcode;
use crate::wire::layout::pdu;

wire::number! {
    /// What the logout closes, RFC 7143 11.14.1.
    pub LogoutReason: u8 {
        CLOSE_SESSION = 0,
        CLOSE_CONNECTION = 1,
        REMOVE_FOR_RECOVERY = 2,
    }
}

wire::number! {
    /// The result of a logout, RFC 7143 11.15.1.
    pub LogoutResult: u8 {
        CLOSED = 0,
        CID_NOT_FOUND = 1,
        RECOVERY_NOT_SUPPORTED = 2,
        CLEANUP_FAILED = 3,
    }
}

wire::bit_fields! { LogoutReason, LogoutResult }

pdu! {
    /// Logout Request, RFC 7143 11.14.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct LogoutRequest(Opcode::LOGOUT_REQUEST.0, 0x80) {
        pub immediate: bool = 0x40 of 0,
        pub reason: LogoutReason = 0x7f of 1,
    } [8] {
        pub task_tag: u32,
        pub cid: u16 [2],
        pub cmd_sn: u32,
        pub exp_stat_sn: u32 [16],
    }
}

pdu! {
    /// Logout Response, RFC 7143 11.15.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct LogoutResponse(Opcode::LOGOUT_RESPONSE.0, 0x80) {
        pub result: LogoutResult = 0xff of 2,
    } [8] {
        pub task_tag: u32 [20],
        pub time2wait_s: u16,
        pub time2retain_s: u16 [4],
    }
}
