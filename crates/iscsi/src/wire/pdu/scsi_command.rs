//! SCSI Command, RFC 7143 11.3.

use std::ops::Range;

use super::head::{Lun, Opcode};
use crate::wire::layout::pdu;

wire::number! {
    /// Task attributes, RFC 7143 11.3.1.
    pub Attribute: u8 {
        UNTAGGED = 0,
        SIMPLE = 1,
        ORDERED = 2,
        HEAD_OF_QUEUE = 3,
        ACA = 4,
    }
}

wire::bit_fields! { Attribute }

pdu! {
    /// SCSI Command, RFC 7143 11.3.
    #[allow(missing_docs, reason = "named as in RFC 7143")]
    pub struct ScsiCommand(Opcode::SCSI_COMMAND.0, 0) {
        pub immediate: bool = 0x40 of 0,
        /// No unsolicited data follow.
        pub is_final: bool = 0x80 of 1,
        pub reads: bool = 0x40 of 1,
        pub writes: bool = 0x20 of 1,
        pub attribute: Attribute = 0x07 of 1,
    } {
        pub lun: Lun,
        pub task_tag: u32,
        /// EDTL: how many bytes the initiator expects to send or to receive.
        pub expected_length: u32,
        pub cmd_sn: u32,
        pub exp_stat_sn: u32,
        pub cdb: [u8; 16],
    }
}

impl ScsiCommand {
    /// Where the header has the descriptor block, or the first 16 bytes of it.
    pub const CDB: Range<usize> = 32..48;
}
