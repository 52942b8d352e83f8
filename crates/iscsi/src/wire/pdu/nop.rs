//! NOP-Out and NOP-In, RFC 7143 11.18 and 11.19: whether the other end is alive.

use super::head::{Lun, Opcode};
use crate::wire::layout::pdu;

pdu! {
    /// NOP-Out, RFC 7143 11.18.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct NopOut(Opcode::NOP_OUT.0, 0x80) {
        pub immediate: bool = 0x40 of 0,
    } {
        pub lun: Lun,
        pub task_tag: u32,
        pub transfer_tag: u32,
        pub cmd_sn: u32,
        pub exp_stat_sn: u32 [16],
    }
}

pdu! {
    /// NOP-In, RFC 7143 11.19.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct NopIn(Opcode::NOP_IN.0, 0x80) {} {
        pub lun: Lun,
        pub task_tag: u32,
        pub transfer_tag: u32 [24],
    }
}
