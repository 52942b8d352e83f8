use wire::{Malformed, Reader, Writer};

use super::head::{Lun, Opcode, begin, open};

/// SNACK Request, RFC 7143 11.16: requests lost PDUs, at error recovery level 1 and above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct Snack {
    pub kind: u8,
    pub lun: Lun,
    pub task_tag: u32,
    pub transfer_tag: u32,
    pub exp_stat_sn: u32,
    pub begin: u32,
    pub run_length: u32,
}

impl Snack {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (_, [flags, ..]) = open(r)?;
        let (lun, task_tag, transfer_tag) = (Lun(r.array()?), r.u32_be()?, r.u32_be()?);
        r.skip(4)?;
        let exp_stat_sn = r.u32_be()?;
        r.skip(8)?;
        let (begin, run_length) = (r.u32_be()?, r.u32_be()?);
        Ok(Self { kind: flags & 0xf, lun, task_tag, transfer_tag, exp_stat_sn, begin, run_length })
    }

    /// Writes the header.
    pub fn encode(&self, w: &mut Writer) {
        begin(w, Opcode::SNACK, [0x80 | self.kind, 0, 0], 0);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.transfer_tag);
        w.u32_be(0);
        w.u32_be(self.exp_stat_sn);
        w.zeros(8);
        w.u32_be(self.begin);
        w.u32_be(self.run_length);
    }
}
