use super::head::{Lun, Opcode};
use crate::wire::layout::pdu;

pdu! {
    /// Data-Out, RFC 7143 11.7.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct DataOut(Opcode::DATA_OUT.0, 0) {
        /// This is the last PDU of a sequence.
        pub is_final: bool = 0x80 of 1,
    } {
        pub lun: Lun,
        pub task_tag: u32,
        /// The tag of the R2T that it answers; [`super::NO_TAG`] for unsolicited data.
        pub transfer_tag: u32 [4],
        pub exp_stat_sn: u32 [4],
        pub data_sn: u32,
        pub offset: u32 [4],
    }
}
