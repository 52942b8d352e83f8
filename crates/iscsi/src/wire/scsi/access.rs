//! The blocks of a command: the same bytes in every command of its length, SBC-3 5.

use wire::{Malformed, Reader};

/// The common part of READ, WRITE, VERIFY and similar commands, SPC-4 4.2.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The operation code. Its three highest bits determine the length of the command.
    pub opcode: u8,
    /// The second byte, whose meaning depends on the command; 0 in commands of 6 bytes.
    pub flags: u8,
    /// The first block.
    pub lba: u64,
    /// The number of blocks.
    pub count: u32,
    /// GROUP NUMBER and the rest of its byte; 0 in commands of 6 bytes.
    pub group: u8,
}

impl Access {
    /// Reads a command of 6, 10, 12 or 16 bytes; later bytes are ignored.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let opcode = r.u8()?;
        match opcode >> 5 {
            0 => Self::decode_6(opcode, r),
            1 | 2 => Self::decode_10(opcode, r),
            4 => Self::decode_16(opcode, r),
            5 => Self::decode_12(opcode, r),
            _ => Err(Malformed("a command of another length")),
        }
    }

    fn decode_6(opcode: u8, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let [high, middle, low] = r.array()?;
        let lba = u64::from(u32::from_be_bytes([0, high & 0x1f, middle, low]));
        let count = match r.u8()? {
            0 => 256, // SBC-2 5.5 and 5.24
            count => u32::from(count),
        };
        r.skip(1)?; // control
        Ok(Self { opcode, flags: 0, lba, count, group: 0 })
    }

    fn decode_10(opcode: u8, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (flags, lba) = (r.u8()?, u64::from(r.u32_be()?));
        let (group, count) = (r.u8()?, u32::from(r.u16_be()?));
        r.skip(1)?; // control
        Ok(Self { opcode, flags, lba, count, group })
    }

    fn decode_12(opcode: u8, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (flags, lba, count) = (r.u8()?, u64::from(r.u32_be()?), r.u32_be()?);
        let group = r.u8()?;
        r.skip(1)?; // control
        Ok(Self { opcode, flags, lba, count, group })
    }

    fn decode_16(opcode: u8, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (flags, lba, count) = (r.u8()?, r.u64_be()?, r.u32_be()?);
        let group = r.u8()?;
        r.skip(1)?; // control
        Ok(Self { opcode, flags, lba, count, group })
    }

    /// A bit of the second byte.
    pub(super) fn flag(&self, bit: u8) -> bool {
        self.flags & (1 << bit) != 0
    }

    /// RDPROTECT, WRPROTECT, VRPROTECT or ORPROTECT: its three highest bits.
    pub(super) fn protect(&self) -> u8 {
        self.flags >> 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(cdb: &[u8]) -> Access {
        Access::decode(&mut Reader::new(cdb)).unwrap()
    }

    #[test]
    fn no_blocks_in_a_command_of_6_bytes_are_256() {
        let read = decode(&[0x08, 0xff, 0x23, 0x45, 0, 0]);
        assert_eq!((read.lba, read.count, read.flags), (0x1f_2345, 256, 0));
        assert_eq!(decode(&[0x0a, 0, 0, 1, 7, 0]).count, 7);
    }

    #[test]
    fn each_length_has_its_own_places() {
        let ten = decode(&[0x28, 0x18, 1, 2, 3, 4, 5, 6, 7, 0]);
        assert_eq!((ten.flags, ten.lba, ten.group, ten.count), (0x18, 0x0102_0304, 5, 0x0607));
        let twelve = decode(&[0xa8, 0x18, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
        assert_eq!((twelve.lba, twelve.count, twelve.group), (0x0102_0304, 0x0506_0708, 9));
        let sixteen = decode(&[0x88, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0]);
        assert_eq!((sixteen.lba, sixteen.count), (0x0102_0304_0506_0708, 0x090a_0b0c));
        assert_eq!(sixteen.group, 13);
    }

    #[test]
    fn a_command_cut_short_or_of_another_length_is_malformed() {
        assert!(Access::decode(&mut Reader::new(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1])).is_err());
        assert!(Access::decode(&mut Reader::new(&[0x7f; 32])).is_err());
        assert!(Access::decode(&mut Reader::new(&[])).is_err());
    }
}
