//! Reject, RFC 7143 11.17: the answer to a PDU that cannot be processed.

use wire::{Malformed, Reader, Writer};

use super::head::{NO_TAG, Opcode, begin, open};

/// Why a PDU is rejected, RFC 7143 11.17.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejectReason(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.17.1")]
impl RejectReason {
    pub const DATA_DIGEST_ERROR: Self = Self(0x02);
    pub const SNACK_REJECT: Self = Self(0x03);
    pub const PROTOCOL_ERROR: Self = Self(0x04);
    pub const COMMAND_NOT_SUPPORTED: Self = Self(0x05);
    pub const TOO_MANY_IMMEDIATE: Self = Self(0x06);
    pub const TASK_IN_PROGRESS: Self = Self(0x07);
    pub const INVALID_DATA_ACK: Self = Self(0x08);
    pub const INVALID_PDU_FIELD: Self = Self(0x09);
    pub const OUT_OF_RESOURCES: Self = Self(0x0a);
    pub const WAITING_FOR_LOGOUT: Self = Self(0x0c);
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
