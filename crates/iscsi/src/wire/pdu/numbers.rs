//! The sequence numbers in each PDU of a target, RFC 7143 4.2.2.

use wire::{Malformed, Reader};

/// Sequence numbers that every PDU of a target carries in the same place, RFC 7143 4.2.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SequenceNumbers {
    /// The number of this response; in a PDU without a status, the number of the next response.
    pub stat_sn: u32,
    /// The next command number that the target expects.
    pub exp_cmd_sn: u32,
    /// The last command number that the target accepts.
    pub max_cmd_sn: u32,
}

impl SequenceNumbers {
    /// Puts the numbers into a header. `with_status`: the PDU has a field for StatSN.
    pub fn stamp(self, header: &mut [u8], with_status: bool) {
        let fields =
            [(24, self.stat_sn, with_status), (28, self.exp_cmd_sn, true), (32, self.max_cmd_sn, true)];
        for (at, value, _) in fields.into_iter().filter(|(.., there)| *there) {
            if let Some(field) = header.get_mut(at..at + 4) {
                field.copy_from_slice(&value.to_be_bytes());
            }
        }
    }

    /// Reads the numbers, from byte 24 of a header on.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { stat_sn: r.u32_be()?, exp_cmd_sn: r.u32_be()?, max_cmd_sn: r.u32_be()? })
    }
}
