//! Data-In, RFC 7143 11.7: data of a READ, and its status in the last one.

use wire::{Malformed, Reader, Writer};

use super::head::{Lun, NO_TAG, Opcode, begin, open};
use super::scsi_response::Residual;
use crate::wire::scsi::Status;

/// Data-In, RFC 7143 11.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct DataIn {
    /// This is the last PDU of a sequence.
    pub is_final: bool,
    /// The status, if this PDU ends the command; no response follows.
    pub status: Option<(Status, Residual)>,
    pub lun: Lun,
    pub task_tag: u32,
    pub data_sn: u32,
    pub offset: u32,
}

impl DataIn {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (_, [flags, _, status]) = open(r)?;
        let (lun, task_tag) = (Lun(r.array()?), r.u32_be()?);
        r.skip(4)?; // transfer tag: asks for an acknowledgment, at error recovery level 1 and above
        r.skip(12)?; // numbers
        let (data_sn, offset, count) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        let status = (flags & 1 != 0).then(|| (Status(status), Residual::from_fields(flags, count)));
        Ok(Self { is_final: flags & 0x80 != 0, status, lun, task_tag, data_sn, offset })
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        let fields = self.status.map(|(status, residual)| (status.0, residual.fields()));
        let (status, (flags, count)) = fields.unwrap_or_default();
        let with_status = if self.status.is_some() { 0x01 } else { 0 };
        let is_final = if self.is_final { 0x80 } else { 0 };
        begin(w, Opcode::DATA_IN, [is_final | with_status | flags, 0, status], data_length);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(NO_TAG);
        w.zeros(12); // numbers
        w.u32_be(self.data_sn);
        w.u32_be(self.offset);
        w.u32_be(count);
    }
}
