//! START STOP UNIT, SBC-3 5.25.

use wire::{Malformed, Reader, Writer};

/// START STOP UNIT, SBC-3 5.25.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartStop {
    /// IMMED: the response need not wait for the end of the operation.
    pub immediate: bool,
    /// POWER CONDITION: 0 says that the other bits are valid.
    pub power_condition: u8,
    /// NO_FLUSH: the cache need not be flushed first.
    pub no_flush: bool,
    /// LOEJ: loads or ejects.
    pub load_eject: bool,
    /// START: starts; otherwise stops.
    pub start: bool,
}

impl StartStop {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let immediate = r.u8()? & 1 != 0;
        r.skip(2)?;
        let flags = r.u8()?;
        Ok(Self {
            immediate,
            power_condition: flags >> 4,
            no_flush: flags & 4 != 0,
            load_eject: flags & 2 != 0,
            start: flags & 1 != 0,
        })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        let flags = self.power_condition << 4
            | u8::from(self.no_flush) << 2
            | u8::from(self.load_eject) << 1
            | u8::from(self.start);
        w.put(&[0x1b, u8::from(self.immediate), 0, 0, flags, 0]);
    }
}
