//! REPORT LUNS, SPC-4 6.33.

use wire::{Malformed, Reader, Writer};

use crate::wire::pdu::Lun;

/// The most units that are read of a list.
const MOST: usize = 65_536;

wire::packed! {
    /// REPORT LUNS, SPC-4 6.33.
    pub struct ReportLuns([0xa0, 0, 0, 0, 0, 0]) {
        /// SELECT REPORT: the kinds of units, SPC-4 table 284.
        pub select: u8 = 0xff of 2,
    } {
        /// The allocation length.
        pub allocation_length: u32 [2],
    }
}

/// The answer of REPORT LUNS, SPC-4 table 285.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunList(pub Vec<Lun>);

impl LunList {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.u32_be(8 * self.0.len() as u32); // numbers have 14 bits
        w.u32_be(0);
        self.0.iter().for_each(|lun| w.put(&lun.0));
    }

    /// Reads the bytes, which may be fewer than the length of the list.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = r.u32_be()? as usize / 8;
        r.skip(4)?;
        let mut luns = Vec::new();
        for _ in 0..count.min(MOST).min(r.remaining() / 8) {
            luns.push(Lun(r.array()?));
        }
        Ok(Self(luns))
    }
}
