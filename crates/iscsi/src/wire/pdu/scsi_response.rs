//! SCSI Response, RFC 7143 11.4, with the residual count.

use wire::{Malformed, Reader, Writer};

use super::head::{Opcode, begin, open};
use crate::wire::scsi::Status;

/// How many bytes less or more than the initiator expected the command had, RFC 7143 11.4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residual {
    /// As many bytes as expected.
    #[default]
    None,
    /// Less: this many of the expected bytes were not transferred.
    Underflow(u32),
    /// More: this many bytes could not be transferred.
    Overflow(u32),
}

impl Residual {
    /// The residual of a command that has `has` bytes, while the initiator expects `expects`.
    #[must_use]
    pub fn of(expects: u64, has: u64) -> Self {
        let small = |count| u32::try_from(count).unwrap_or(u32::MAX);
        match has.cmp(&expects) {
            std::cmp::Ordering::Equal => Self::None,
            std::cmp::Ordering::Less => Self::Underflow(small(expects - has)),
            std::cmp::Ordering::Greater => Self::Overflow(small(has - expects)),
        }
    }

    /// The flags of a response and of Data-In, and the count.
    pub(super) fn fields(self) -> (u8, u32) {
        match self {
            Self::None => (0, 0),
            Self::Underflow(count) => (0x02, count),
            Self::Overflow(count) => (0x04, count),
        }
    }

    pub(super) fn from_fields(flags: u8, count: u32) -> Self {
        match flags & 0x06 {
            0x02 => Self::Underflow(count),
            0x04 => Self::Overflow(count),
            _ => Self::None,
        }
    }
}

/// SCSI Response, RFC 7143 11.4. Its data segment has the sense data, after their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in RFC 7143")]
pub struct ScsiResponse {
    /// 0: the command was completed at the target, and `status` is valid.
    pub response: u8,
    pub status: Status,
    pub task_tag: u32,
    /// How many Data-In and R2T PDUs were sent for the command.
    pub exp_data_sn: u32,
    pub residual: Residual,
}

impl ScsiResponse {
    /// Reads the header.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (_, [flags, response, status]) = open(r)?;
        r.skip(8)?;
        let task_tag = r.u32_be()?;
        r.skip(4)?; // SNACK tag
        r.skip(12)?; // numbers
        let exp_data_sn = r.u32_be()?;
        r.skip(4)?; // residual of bidirectional commands
        let residual = Residual::from_fields(flags, r.u32_be()?);
        Ok(Self { response, status: Status(status), task_tag, exp_data_sn, residual })
    }

    /// Writes the header, without numbers.
    pub fn encode(&self, data_length: usize, w: &mut Writer) {
        let (flags, count) = self.residual.fields();
        begin(w, Opcode::SCSI_RESPONSE, [0x80 | flags, self.response, self.status.0], data_length);
        w.zeros(8);
        w.u32_be(self.task_tag);
        w.zeros(16); // SNACK tag and numbers
        w.u32_be(self.exp_data_sn);
        w.u32_be(0);
        w.u32_be(count);
    }
}
