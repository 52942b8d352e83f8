//! FORMAT UNIT, SBC-3 5.3.

use wire::{Malformed, Reader, Writer};

/// FORMAT UNIT, SBC-3 5.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatUnit {
    /// FMTPINFO: the protection information to format with.
    pub protection: u8,
    /// LONGLIST: the parameters begin with the long header.
    pub long: bool,
    /// FMTDATA: the command has parameters.
    pub has_parameters: bool,
}

impl FormatUnit {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let flags = r.u8()?;
        Ok(Self { protection: flags >> 6, long: flags & 0x20 != 0, has_parameters: flags & 0x10 != 0 })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        let flags = self.protection << 6 | u8::from(self.long) << 5 | u8::from(self.has_parameters) << 4;
        w.put(&[0x04, flags, 0, 0, 0, 0]);
    }
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
