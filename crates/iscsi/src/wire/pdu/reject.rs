//! Reject, RFC 7143 11.17: the answer to a PDU that cannot be processed.

use wire::{Malformed, Reader, Writer};

use super::head::{NO_TAG, Opcode, begin, open};

wire::number! {
    /// Why a PDU is rejected, RFC 7143 11.17.1.
    pub RejectReason: u8 {
        DATA_DIGEST_ERROR = 0x02,
        SNACK_REJECT = 0x03,
        PROTOCOL_ERROR = 0x04,
        COMMAND_NOT_SUPPORTED = 0x05,
        TOO_MANY_IMMEDIATE = 0x06,
        TASK_IN_PROGRESS = 0x07,
        INVALID_DATA_ACK = 0x08,
        INVALID_PDU_FIELD = 0x09,
        OUT_OF_RESOURCES = 0x0a,
        WAITING_FOR_LOGOUT = 0x0c,
    }
}

/// Reject, RFC 7143 11.17. Its data are the header of the rejected PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct Reject {
    pub reason: RejectReason,
    pub data_sn: u32,
}

impl Reject {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (_, [_, reason, _]) = open(r)?;
        r.skip(16)?;
        r.skip(12)?; // numbers
        let data_sn = r.u32_be()?;
        r.skip(8)?;
        Ok(Self { reason: RejectReason(reason), data_sn })
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        begin(w, Opcode::REJECT, [0x80, self.reason.0, 0], data_length);
        w.zeros(8);
        w.u32_be(NO_TAG);
        w.zeros(16); // and numbers
        w.u32_be(self.data_sn);
        w.zeros(8);
    }
}
