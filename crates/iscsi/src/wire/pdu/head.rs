//! What all PDUs begin with, RFC 7143 11.2.1: the type, and the lengths of what follows.

use wire::{Malformed, Reader, Writer};

/// Bytes of the basic header.
pub const BHS: usize = 48;
/// The value that stands for no tag.
pub const NO_TAG: u32 = 0xffff_ffff;

wire::number! {
    /// The type of a PDU, RFC 7143 11.2.1.2.
    pub Opcode: u8 {
        NOP_OUT = 0x00,
        SCSI_COMMAND = 0x01,
        TASK_REQUEST = 0x02,
        LOGIN_REQUEST = 0x03,
        TEXT_REQUEST = 0x04,
        DATA_OUT = 0x05,
        LOGOUT_REQUEST = 0x06,
        SNACK = 0x10,
        NOP_IN = 0x20,
        SCSI_RESPONSE = 0x21,
        TASK_RESPONSE = 0x22,
        LOGIN_RESPONSE = 0x23,
        TEXT_RESPONSE = 0x24,
        DATA_IN = 0x25,
        LOGOUT_RESPONSE = 0x26,
        R2T = 0x31,
        ASYNC_MESSAGE = 0x32,
        REJECT = 0x3f,
    }
}

/// An encoded logical unit number, SAM-5 4.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lun(pub [u8; 8]);

impl Lun {
    /// Encodes a small number: peripheral device addressing below 256, flat space above (SAM-5
    /// 4.7.7).
    #[must_use]
    pub fn of(number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        Self([if number < 256 { high } else { 0x40 | high & 0x3f }, low, 0, 0, 0, 0, 0, 0])
    }

    /// The number, if the address has a single level.
    #[must_use]
    pub fn number(self) -> Option<u16> {
        let [first, second, rest @ ..] = self.0;
        let number = u16::from_be_bytes([first & 0x3f, second]);
        let is_plain = match first >> 6 {
            0 => first == 0, // bus 0
            1 => true,
            _ => false,
        };
        (is_plain && rest == [0; 6]).then_some(number)
    }
}

wire::fields! { Lun }

/// The beginning of all PDUs, RFC 7143 11.2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The receiver processes it at once, and it has no own place in the numbering.
    pub immediate: bool,
    /// The type.
    pub opcode: Opcode,
    /// Bytes of additional header segments.
    pub additional: usize,
    /// Bytes of data, without padding.
    pub data: usize,
}

impl Head {
    /// Bytes that are needed to determine the lengths.
    pub const NEEDS: usize = 8;

    /// Reads 8 bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let first = r.u8()?;
        r.skip(3)?;
        let additional = usize::from(r.u8()?) * 4;
        let [high, middle, low] = r.array()?;
        let data = u32::from_be_bytes([0, high, middle, low]) as usize;
        Ok(Self { immediate: first & 0x40 != 0, opcode: Opcode(first & 0x3f), additional, data })
    }

    /// Bytes of the whole PDU, with digests of these lengths after its headers and after its data.
    #[must_use]
    pub fn length(&self, header_digest: usize, data_digest: usize) -> usize {
        let data = if self.data > 0 { self.data + padding(self.data) + data_digest } else { 0 };
        BHS + self.additional + header_digest + data
    }
}

wire::layout! {
    /// The fields that requests have in the same places, RFC 7143 11.2.1. A request of which the specification says nothing
    /// else has no meaning in one of them: Data-Out, for example, in CmdSN.
    pub struct RequestFields [8] {
        /// The logical unit.
        pub lun: Lun,
        /// The initiator's tag.
        pub task_tag: u32 [4],
        /// The number of the command.
        pub cmd_sn: u32,
    }
}

/// The padding of data of this length.
#[must_use]
pub const fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// Writes the beginning of a PDU without additional header segments.
pub(super) fn begin(w: &mut Writer, opcode: Opcode, flags: [u8; 3], data: usize) {
    w.u8(opcode.0);
    w.put(&flags);
    w.u32_be(data as u32 & 0x00ff_ffff);
}

/// Reads the beginning of a PDU: the immediate bit of the first byte, and the next three bytes.
pub(super) fn open(r: &mut Reader<'_>) -> Result<(bool, [u8; 3]), Malformed> {
    let first = r.u8()?;
    let flags = r.array()?;
    r.skip(4)?;
    Ok((first & 0x40 != 0, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_padding_and_digests() {
        let bytes = [0x41, 0x80, 0, 0, 2, 0, 1, 1];
        let head = Head::decode(&mut Reader::new(&bytes)).unwrap();
        let expected = Head { immediate: true, opcode: Opcode::SCSI_COMMAND, additional: 8, data: 257 };
        assert_eq!(head, expected);
        assert_eq!(head.length(4, 4), 48 + 8 + 4 + 260 + 4);
        assert_eq!(Head { data: 0, ..head }.length(0, 4), 56);
    }

    #[test]
    fn requests_have_their_common_fields_in_the_same_places() {
        let mut bytes = [0; BHS];
        (bytes[9], bytes[16], bytes[27]) = (5, 1, 7);
        let fields = RequestFields::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(fields, RequestFields { lun: Lun::of(5), task_tag: 1 << 24, cmd_sn: 7 });
    }

    #[test]
    fn numbers_of_units_are_read_in_both_simple_formats() {
        assert_eq!(Lun([0, 5, 0, 0, 0, 0, 0, 0]).number(), Some(5));
        assert_eq!(Lun([0x41, 2, 0, 0, 0, 0, 0, 0]).number(), Some(0x102));
        assert_eq!(Lun([0, 5, 0, 1, 0, 0, 0, 0]).number(), None);
        assert_eq!(Lun([0xc1, 1, 0, 0, 0, 0, 0, 0]).number(), None);
        assert!((0..0x4000).all(|number| Lun::of(number).number() == Some(number)));
    }
}
