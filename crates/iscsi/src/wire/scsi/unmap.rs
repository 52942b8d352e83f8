//! UNMAP, SBC-3 5.28, and its list of ranges.

use wire::{Malformed, Reader};

use super::Access;

/// Bytes before the ranges.
pub const UNMAP_HEADER: usize = 8;
/// Bytes of a range.
const RANGE: usize = 16;

/// The command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmap {
    /// The blocks stay anchored: they keep their space.
    pub anchor: bool,
    /// PARAMETER LIST LENGTH, in bytes.
    pub list_length: u16,
}

impl Unmap {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let access = Access::decode(r)?;
        let list_length = u16::try_from(access.count).map_err(|_| Malformed("an UNMAP of another length"))?;
        Ok(Self { anchor: access.flag(0), list_length })
    }
}

/// An UNMAP block descriptor, SBC-3 5.28.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnmapRange {
    /// The first block.
    pub lba: u64,
    /// The number of blocks.
    pub count: u32,
}

impl UnmapRange {
    /// Reads a whole parameter list, SBC-3 5.28.2. An incomplete range is ignored.
    pub fn decode_list(r: &mut Reader<'_>) -> Result<Vec<Self>, Malformed> {
        r.skip(2)?; // UNMAP DATA LENGTH: the actual length is known
        let length = usize::from(r.u16_be()?);
        r.skip(4)?; // reserved
        let mut ranges = Reader::new(r.take(length)?);
        let mut list = Vec::with_capacity(length / RANGE);
        while ranges.remaining() >= RANGE {
            list.push(Self { lba: ranges.u64_be()?, count: ranges.u32_be()? });
            ranges.skip(4)?; // reserved
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(header: [u8; 8], ranges: &[u8]) -> Result<Vec<UnmapRange>, Malformed> {
        UnmapRange::decode_list(&mut Reader::new(&[&header[..], ranges].concat()))
    }

    #[test]
    fn a_range_cut_short_is_ignored() {
        let range = [0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 0];
        let both = [&range[..], &range[..15]].concat();
        let found = list([0, 37, 0, 31, 0, 0, 0, 0], &both);
        assert_eq!(found, Ok(vec![UnmapRange { lba: 9, count: 2 }]));
        assert_eq!(list([0, 6, 0, 0, 0, 0, 0, 0], &range), Ok(vec![]));
    }

    #[test]
    fn a_list_that_says_it_is_longer_is_malformed() {
        assert!(list([0, 22, 0, 16, 0, 0, 0, 0], &[0; 15]).is_err());
        assert!(UnmapRange::decode_list(&mut Reader::new(&[0; 7])).is_err());
    }
}
