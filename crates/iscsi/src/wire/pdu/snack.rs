use super::head::{Lun, Opcode};
use crate::wire::layout::pdu;

pdu! {
    /// SNACK Request, RFC 7143 11.16: requests lost PDUs, at error recovery level 1 and above.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct Snack(Opcode::SNACK.0, 0x80) {
        pub kind: u8 = 0x0f of 1,
    } {
        pub lun: Lun,
        pub task_tag: u32,
        pub transfer_tag: u32 [4],
        pub exp_stat_sn: u32 [8],
        pub begin: u32,
        pub run_length: u32,
    }
}
