//! FORMAT UNIT, SBC-3 5.3.

use wire::{Malformed, Reader, Writer};

wire::packed! {
    /// FORMAT UNIT, SBC-3 5.3.1.
    pub struct FormatUnit([0x04, 0, 0, 0, 0, 0]) {
        /// FMTPINFO: the protection information to format with.
        pub protection: u8 = 0xc0 of 1,
        /// LONGLIST: the parameters begin with the long header.
        pub long: bool = 0x20 of 1,
        /// FMTDATA: the command has parameters.
        pub has_parameters: bool = 0x10 of 1,
    } {}
}

/// Header of the parameters, SBC-3 5.3.2.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatHeader {
    /// PROTECTION FIELD USAGE.
    pub usage: u8,
    /// IP: an initialization pattern follows.
    pub pattern: bool,
    /// DEFECT LIST LENGTH.
    pub defects: u32,
}

impl FormatHeader {
    /// Bytes of the short or the long header.
    #[must_use]
    pub fn length(long: bool) -> usize {
        if long { 8 } else { 4 }
    }

    /// From the bytes.
    pub fn decode(long: bool, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (usage, flags) = (r.u8()? & 7, r.u8()?);
        let defects = if long {
            r.skip(2)?;
            r.u32_be()?
        } else {
            u32::from(r.u16_be()?)
        };
        Ok(Self { usage, pattern: flags & 0x08 != 0, defects })
    }

    /// The bytes.
    pub fn encode(&self, long: bool, w: &mut Writer) {
        w.put(&[self.usage & 7, u8::from(self.pattern) << 3]);
        if long {
            w.put(&[0, 0]);
            w.u32_be(self.defects);
        } else {
            w.u16_be(self.defects as u16);
        }
    }
}
