//! EXTENDED COPY with a list identifier of one byte, SPC-4 6.5.

use wire::{Malformed, Reader};

/// Bytes of the header of a parameter list.
pub const HEADER: usize = 16;
/// Bytes of a copy source or destination (CSCD) descriptor.
pub const TARGET: usize = 32;
/// The longest designator.
const DESIGNATOR_MOST: usize = 20;

/// The bytes of the command's parameters.
pub fn parameter_list_length(r: &mut Reader<'_>) -> Result<u32, Malformed> {
    r.skip(10)?;
    r.u32_be()
}

/// The header of the parameter list, SPC-4 6.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyHeader {
    /// LIST IDENTIFIER.
    pub list_identifier: u8,
    /// LIST ID USAGE: the purpose of the list identifier.
    pub usage: ListIdUsage,
    /// Bytes of the CSCD descriptors.
    pub targets_length: u16,
    /// Bytes of the segment descriptors.
    pub segments_length: u32,
    /// Bytes of inline data.
    pub inline_length: u32,
}

wire::number! {
    /// The purpose of a list identifier, SPC-4 table 129.
    pub ListIdUsage: u8 {
        HOLD = 0,
        RESERVED = 1,
        DISCARD = 2,
        NONE = 3,
    }
}

impl CopyHeader {
    /// Of the first bytes of a parameter list.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (list_identifier, flags) = (r.u8()?, r.u8()?);
        let targets_length = r.u16_be()?;
        r.skip(4)?;
        let (segments_length, inline_length) = (r.u32_be()?, r.u32_be()?);
        let usage = ListIdUsage(flags >> 3 & 3);
        Ok(Self { list_identifier, usage, targets_length, segments_length, inline_length })
    }
}

/// A copy source or destination (CSCD), SPC-4 6.4.5. The designator belongs to an identification
/// descriptor, type E4h, and has no meaning in others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target<'a> {
    /// DESCRIPTOR TYPE CODE.
    pub kind: u8,
    /// PERIPHERAL DEVICE TYPE; 0 is a disk.
    pub peripheral: u8,
    /// CODE SET, SPC-4 7.8.6.1.
    pub code_set: u8,
    /// ASSOCIATION.
    pub association: u8,
    /// DESIGNATOR TYPE.
    pub designator_type: u8,
    /// The identifier; empty if its length is wrong.
    pub designator: &'a [u8],
    /// PAD: incomplete blocks are filled with zeros.
    pub pad: bool,
    /// DISK BLOCK LENGTH; 0: the disk's own block length.
    pub block_length: u32,
}

impl<'a> Target<'a> {
    /// The identification descriptor, the only supported one.
    pub const IDENTIFICATION: u8 = 0xe4;

    /// The NAA identifier that names the disk, SPC-4 7.8.6.6.
    pub fn naa(&self) -> Option<u64> {
        let is_naa = (self.code_set, self.association, self.designator_type) == (1, 0, 3);
        self.designator.try_into().ok().filter(|_| is_naa).map(u64::from_be_bytes)
    }

    /// One of them.
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (kind, flags) = (r.u8()?, r.u8()?);
        r.skip(2)?; // the initiator port to use: all disks are the server's
        let (code_set, association) = (r.u8()?, r.u8()?);
        r.skip(1)?;
        let length = usize::from(r.u8()?);
        let designator = r.take(DESIGNATOR_MOST)?.get(..length).unwrap_or_default();
        let pad = r.u8()? & 0x04 != 0;
        let [a, b, c] = r.array()?;
        Ok(Self {
            kind,
            peripheral: flags & 0x1f,
            code_set: code_set & 0xf,
            association: association >> 4 & 3,
            designator_type: association & 0xf,
            designator,
            pad,
            block_length: u32::from_be_bytes([0, a, b, c]),
        })
    }
}

/// A segment: source, destination and bytes, SPC-4 6.4.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// DESCRIPTOR TYPE CODE.
    pub kind: u8,
    /// CAT: bytes that do not fill a block continue in the next segment.
    pub concatenate: bool,
    /// The index of the source among the descriptors.
    pub source: u16,
    /// The index of the destination among the descriptors.
    pub destination: u16,
    /// The bytes to copy.
    pub extent: Extent,
}

/// The bytes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Whole blocks, type 02h.
    Blocks {
        /// DC: the count is in blocks of the destination.
        of_destination: bool,
        /// The number of blocks.
        count: u16,
        /// First block of the source.
        from: u64,
        /// First block of the destination.
        to: u64,
    },
    /// Any bytes, type 0Ah.
    Bytes {
        /// The number of bytes.
        length: u32,
        /// Block of the source.
        from: u64,
        /// Block of the destination.
        to: u64,
        /// Bytes into the block of the source.
        from_offset: u16,
        /// Bytes into the block of the destination.
        to_offset: u16,
    },
    /// A segment of another type.
    Unknown,
}

impl Segment {
    /// From one block device to another, SPC-4 6.4.6.4.
    pub const BLOCKS: u8 = 0x02;
    /// From one block device to another, with offsets, SPC-4 6.4.6.12.
    pub const BYTES: u8 = 0x0a;

    /// Reads one segment. The fields of other types are skipped.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, flags) = (r.u8()?, r.u8()?);
        let length = usize::from(r.u16_be()?);
        let mut body = Reader::new(r.take(length)?);
        let (source, destination) = (body.u16_be()?, body.u16_be()?);
        let extent = match kind {
            Self::BLOCKS => {
                body.skip(2)?;
                let (count, from, to) = (body.u16_be()?, body.u64_be()?, body.u64_be()?);
                Extent::Blocks { of_destination: flags & 0x02 != 0, count, from, to }
            }
            Self::BYTES => {
                let (length, from, to) = (body.u32_be()?, body.u64_be()?, body.u64_be()?);
                let (from_offset, to_offset) = (body.u16_be()?, body.u16_be()?);
                Extent::Bytes { length, from, to, from_offset, to_offset }
            }
            _ => {
                body.rest();
                Extent::Unknown
            }
        };
        body.finish()?;
        Ok(Self { kind, concatenate: flags & 0x01 != 0, source, destination, extent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_that_of_spc_4_6_5() {
        let cdb = [0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0];
        assert_eq!(parameter_list_length(&mut Reader::new(&cdb)), Ok(0x10203));
        let head = [7, 0x31, 0, 32, 9, 9, 9, 9, 0, 0, 0, 28, 0, 0, 0, 4];
        let expected = CopyHeader {
            list_identifier: 7,
            usage: ListIdUsage::DISCARD,
            targets_length: 32,
            segments_length: 28,
            inline_length: 4,
        };
        assert_eq!(CopyHeader::decode(&mut Reader::new(&head)), Ok(expected));
    }

    #[test]
    fn a_target_is_that_of_spc_4_tables_136_and_140() {
        let mut bytes = vec![0xe4, 0xe0, 1, 2, 0x01, 0x13, 0, 8, 0x30, 0, 0, 0, 0, 0, 0, 9];
        bytes.extend([0; 12]);
        bytes.extend([0x04, 0, 2, 0]);
        let target = Target::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!((target.kind, target.peripheral), (Target::IDENTIFICATION, 0));
        assert_eq!((target.code_set, target.association, target.designator_type), (1, 1, 3));
        assert_eq!((target.designator, target.pad, target.block_length), (&bytes[8..16], true, 512));
        bytes[7] = 21;
        assert_eq!(Target::decode(&mut Reader::new(&bytes)).unwrap().designator, b"");
    }

    #[test]
    fn segments_are_those_of_spc_4_tables_151_and_159() {
        let mut bytes = vec![0x02, 0x03, 0, 0x18, 0, 1, 0, 2, 0, 0, 1, 0];
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4]);
        let extent = Extent::Blocks { of_destination: true, count: 256, from: 3, to: 4 };
        let segment = Segment { kind: 2, concatenate: true, source: 1, destination: 2, extent };
        assert_eq!(Segment::decode(&mut Reader::new(&bytes)), Ok(segment));

        let mut bytes = vec![0x0a, 0x00, 0, 0x1c, 0, 1, 0, 2, 0, 1, 0, 0];
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 5, 0, 6]);
        let extent = Extent::Bytes { length: 1 << 16, from: 3, to: 4, from_offset: 5, to_offset: 6 };
        let segment = Segment { kind: 10, concatenate: false, source: 1, destination: 2, extent };
        assert_eq!(Segment::decode(&mut Reader::new(&bytes)), Ok(segment));

        let mut longer = bytes.clone();
        longer[3] = 0x20;
        longer.extend([0; 4]);
        assert!(Segment::decode(&mut Reader::new(&longer)).is_err());
        let unknown = Segment::decode(&mut Reader::new(&[0x03, 0, 0, 6, 0, 1, 0, 2, 0, 0])).unwrap();
        assert_eq!((unknown.kind, unknown.extent), (3, Extent::Unknown));
    }
}
