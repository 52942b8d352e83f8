use wire::{Malformed, Reader, Writer};

use super::head::{Lun, Opcode, begin, open};
use super::numbers::Numbers;

/// Ready To Transfer, RFC 7143 11.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct R2t {
    pub lun: Lun,
    pub task_tag: u32,
    pub transfer_tag: u32,
    pub r2t_sn: u32,
    pub offset: u32,
    pub length: u32,
}

impl R2t {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<(Self, Numbers), Malformed> {
        open(r)?;
        let (lun, task_tag, transfer_tag) = (Lun(r.array()?), r.u32_be()?, r.u32_be()?);
        let numbers = Numbers::decode(r)?;
        let (r2t_sn, offset, length) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        Ok((Self { lun, task_tag, transfer_tag, r2t_sn, offset, length }, numbers))
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, w: &mut Writer) {
        begin(w, Opcode::R2T, [0x80, 0, 0], 0);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.transfer_tag);
        w.zeros(12); // numbers
        w.u32_be(self.r2t_sn);
        w.u32_be(self.offset);
        w.u32_be(self.length);
    }
}
