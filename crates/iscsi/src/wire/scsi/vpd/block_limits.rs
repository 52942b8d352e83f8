//! The VPD page of block limits, SBC-3 6.6.3: how much one command may transfer or unmap.

use wire::{Malformed, Reader, Writer};

/// Body of the block limits page, SBC-3 6.6.3: 60 bytes. Lengths are in blocks; 0 stands for an
/// unspecified one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in SBC-3 table 216")]
pub struct BlockLimits {
    /// WSNZ: WRITE SAME of zero blocks is refused, and does not mean all blocks.
    pub write_same_nonzero: bool,
    pub compare_and_write: u8,
    pub optimal_granularity: u16,
    pub transfer: u32,
    pub optimal_transfer: u32,
    pub prefetch: u32,
    pub unmap: u32,
    pub unmap_descriptors: u32,
    pub unmap_granularity: u32,
    /// The alignment of granules, if it is specified.
    pub unmap_alignment: Option<u32>,
    pub write_same: u64,
}

impl BlockLimits {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&[u8::from(self.write_same_nonzero), self.compare_and_write]);
        w.u16_be(self.optimal_granularity);
        w.u32_be(self.transfer);
        w.u32_be(self.optimal_transfer);
        w.u32_be(self.prefetch);
        w.u32_be(self.unmap);
        w.u32_be(self.unmap_descriptors);
        w.u32_be(self.unmap_granularity);
        w.u32_be(self.unmap_alignment.map_or(0, |alignment| 0x8000_0000 | alignment));
        w.u64_be(self.write_same);
        w.zeros(20); // no atomic writes
    }

    /// From its bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (write_same_nonzero, compare_and_write) = (r.u8()? & 1 != 0, r.u8()?);
        let optimal_granularity = r.u16_be()?;
        let (transfer, optimal_transfer, prefetch) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        let (unmap, unmap_descriptors, unmap_granularity) = (r.u32_be()?, r.u32_be()?, r.u32_be()?);
        let (alignment, write_same) = (r.u32_be()?, r.u64_be()?);
        r.skip(20)?;
        Ok(Self {
            write_same_nonzero,
            compare_and_write,
            optimal_granularity,
            transfer,
            optimal_transfer,
            prefetch,
            unmap,
            unmap_descriptors,
            unmap_granularity,
            unmap_alignment: (alignment >> 31 == 1).then_some(alignment & 0x7fff_ffff),
            write_same,
        })
    }
}
