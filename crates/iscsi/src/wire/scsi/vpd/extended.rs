use wire::{Malformed, Reader, Writer};

/// Body of the extended INQUIRY data page, SPC-4 7.8.7: 60 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extended {
    /// HEADSUP, ORDSUP, SIMPSUP in bits 2 to 0: the supported task attributes.
    pub attributes: u8,
    /// V_SUP: there is a volatile cache.
    pub volatile_cache: bool,
    /// LUICLR: when one unit has reported a change of the list of units, the other units do not
    /// report it again.
    pub clears_lun_changes: bool,
}

impl Extended {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.u8(0); // no protection information
        w.u8(self.attributes & 7);
        w.u8(u8::from(self.volatile_cache));
        w.u8(u8::from(self.clears_lun_changes));
        w.zeros(56);
    }

    /// From its bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let (attributes, cache, clear) = (r.u8()? & 7, r.u8()?, r.u8()?);
        r.skip(56)?;
        Ok(Self { attributes, volatile_cache: cache & 1 != 0, clears_lun_changes: clear & 1 != 0 })
    }
}
