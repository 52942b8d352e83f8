use std::fmt;

use wire::{Malformed, Reader, Writer};

/// A security identifier, MS-DTYP 2.4.2.2.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sid {
    pub authority: u64,
    pub parts: Vec<u32>,
}

impl Sid {
    pub fn new(authority: u64, parts: &[u32]) -> Self {
        Self { authority, parts: parts.to_vec() }
    }

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (revision, count) = (r.u8()?, r.u8()?);
        if revision != 1 || count > 15 {
            return Err(Malformed("no SID"));
        }
        let authority = r.array::<6>()?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let parts = (0..count).map(|_| r.u32_le()).collect::<Result<_, _>>()?;
        Ok(Self { authority, parts })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(1);
        w.u8(self.parts.len() as u8);
        w.put(&self.authority.to_be_bytes()[2..]);
        self.parts.iter().for_each(|part| w.u32_le(*part));
    }
}

impl fmt::Display for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S-1-{}", self.authority)?;
        self.parts.iter().try_for_each(|part| write!(f, "-{part}"))
    }
}
