use wire::{Malformed, Reader, Writer};

use super::head::{Lun, Opcode, begin, open};

/// Task attributes, RFC 7143 11.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute(pub u8);

#[allow(missing_docs, reason = "named as in RFC 7143 11.3.1")]
impl Attribute {
    pub const UNTAGGED: Self = Self(0);
    pub const SIMPLE: Self = Self(1);
    pub const ORDERED: Self = Self(2);
    pub const HEAD_OF_QUEUE: Self = Self(3);
    pub const ACA: Self = Self(4);
}

/// SCSI Command, RFC 7143 11.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct ScsiCommand {
    pub immediate: bool,
    /// No unsolicited data follow.
    pub is_final: bool,
    pub reads: bool,
    pub writes: bool,
    pub attribute: Attribute,
    pub lun: Lun,
    pub task_tag: u32,
    /// EDTL: how many bytes the initiator expects to send or to receive.
    pub expected_length: u32,
    pub cmd_sn: u32,
    pub exp_stat_sn: u32,
    pub cdb: [u8; 16],
}

impl ScsiCommand {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (immediate, [flags, ..]) = open(r)?;
        let (lun, task_tag, expected_length) = (Lun(r.array()?), r.u32_be()?, r.u32_be()?);
        let (cmd_sn, exp_stat_sn, cdb) = (r.u32_be()?, r.u32_be()?, r.array()?);
        Ok(Self {
            immediate,
            is_final: flags & 0x80 != 0,
            reads: flags & 0x40 != 0,
            writes: flags & 0x20 != 0,
            attribute: Attribute(flags & 7),
            lun,
            task_tag,
            expected_length,
            cmd_sn,
            exp_stat_sn,
            cdb,
        })
    }

    /// Writes the header.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        let bit = |set, bit| if set { bit } else { 0 };
        let flags = bit(self.is_final, 0x80) | bit(self.reads, 0x40) | bit(self.writes, 0x20);
        let opcode = Opcode(Opcode::SCSI_COMMAND.0 | bit(self.immediate, 0x40));
        begin(w, opcode, [flags | self.attribute.0 & 7, 0, 0], data_length);
        w.put(&self.lun.0);
        w.u32_be(self.task_tag);
        w.u32_be(self.expected_length);
        w.u32_be(self.cmd_sn);
        w.u32_be(self.exp_stat_sn);
        w.put(&self.cdb);
    }
}
