use super::head::{Lun, Opcode};
use crate::wire::layout::pdu;

pdu! {
    /// Ready To Transfer, RFC 7143 11.8.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct R2t(Opcode::R2T.0, 0x80) {} {
        pub lun: Lun,
        pub task_tag: u32,
        pub transfer_tag: u32 [12],
        pub r2t_sn: u32,
        pub offset: u32,
        pub length: u32,
    }
}
