use wire::{Malformed, Reader, Writer};

use super::head::{Lun, Opcode, begin, open};

/// Data-Out, RFC 7143 11.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct DataOut {
    /// This is the last PDU of a sequence.
    pub is_final: bool,
    pub lun: Lun,
    pub task_tag: u32,
    /// The tag of the R2T that it answers; [`super::NO_TAG`] for unsolicited data.
    pub transfer_tag: u32,
    pub exp_stat_sn: u32,
    pub data_sn: u32,
    pub offset: u32,
}

impl DataOut {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (_, [flags, ..]) = open(r)?;
        let (lun, task_tag, transfer_tag) = (Lun(r.array()?), r.u32_be()?, r.u32_be()?);
        r.skip(4)?;
        let exp_stat_sn = r.u32_be()?;
        r.skip(4)?;
        let (data_sn, offset) = (r.u32_be()?, r.u32_be()?);
        r.skip(4)?;
        Ok(Self { is_final: flags & 0x80 != 0, lun, task_tag, transfer_tag, exp_stat_sn, data_sn, offset })
    }

    /// Writes the header.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        begin(w, Opcode::DATA_OUT, [if self.is_final { 0x80 } else { 0 }, 0, 0], data_length);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.transfer_tag);
        w.u32_be(0);
        w.u32_be(self.exp_stat_sn);
        w.u32_be(0);
        w.u32_be(self.data_sn);
        w.u32_be(self.offset);
        w.u32_be(0);
    }
}
