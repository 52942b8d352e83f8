//! Logout Request and Logout Response, RFC 7143 11.14 and 11.15.

use super::head::Opcode;
use crate::wire::layout::pdu;

/// What the logout closes, RFC 7143 11.14.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoutReason(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.14.1")]
impl LogoutReason {
    pub const CLOSE_SESSION: Self = Self(0);
    pub const CLOSE_CONNECTION: Self = Self(1);
    pub const REMOVE_FOR_RECOVERY: Self = Self(2);
}

/// The result of a logout, RFC 7143 11.15.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoutResult(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.15.1")]
impl LogoutResult {
    pub const CLOSED: Self = Self(0);
    pub const CID_NOT_FOUND: Self = Self(1);
    pub const RECOVERY_NOT_SUPPORTED: Self = Self(2);
    pub const CLEANUP_FAILED: Self = Self(3);
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
