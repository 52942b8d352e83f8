use wire::{Malformed, Reader, Writer};

use super::head::{Lun, Opcode, begin, open};
use super::numbers::Numbers;

/// NOP-Out, RFC 7143 11.18.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct NopOut {
    pub immediate: bool,
    pub lun: Lun,
    pub task_tag: u32,
    pub transfer_tag: u32,
    pub cmd_sn: u32,
    pub exp_stat_sn: u32,
}

impl NopOut {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (immediate, _) = open(r)?;
        let (lun, task_tag, transfer_tag) = (Lun(r.array()?), r.u32_be()?, r.u32_be()?);
        let (cmd_sn, exp_stat_sn) = (r.u32_be()?, r.u32_be()?);
        r.skip(16)?;
        Ok(Self { immediate, lun, task_tag, transfer_tag, cmd_sn, exp_stat_sn })
    }

    /// Writes the header.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        let immediate = if self.immediate { 0x40 } else { 0 };
        begin(w, Opcode(Opcode::NOP_OUT.0 | immediate), [0x80, 0, 0], data_length);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.transfer_tag);
        w.u32_be(self.cmd_sn);
        w.u32_be(self.exp_stat_sn);
        w.zeros(16);
    }
}

/// NOP-In, RFC 7143 11.19.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct NopIn {
    pub lun: Lun,
    pub task_tag: u32,
    pub transfer_tag: u32,
}

impl NopIn {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<(Self, Numbers), Malformed> {
        open(r)?;
        let nop = Self { lun: Lun(r.array()?), task_tag: r.u32_be()?, transfer_tag: r.u32_be()? };
        let numbers = Numbers::decode(r)?;
        r.skip(12)?;
        Ok((nop, numbers))
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        begin(w, Opcode::NOP_IN, [0x80, 0, 0], data_length);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.transfer_tag);
        w.zeros(24);
    }
}
