use wire::{Malformed, Reader, Writer};

/// Body of the logical block provisioning page, SBC-3 6.6.4, without a provisioning group: 4 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provisioning {
    /// A threshold set is two to this power of blocks.
    pub threshold_exponent: u8,
    /// LBPU: UNMAP gives blocks back.
    pub unmap: bool,
    /// LBPWS: so does WRITE SAME (16).
    pub write_same_16: bool,
    /// LBPWS10: and WRITE SAME (10).
    pub write_same_10: bool,
    /// LBPRZ: what was given back reads as zeros.
    pub reads_zeros: bool,
    /// PROVISIONING TYPE: 0 not said, 1 resource provisioned, 2 thin.
    pub kind: u8,
}

impl Provisioning {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.u8(self.threshold_exponent);
        w.u8(u8::from(self.unmap) << 7
            | u8::from(self.write_same_16) << 6
            | u8::from(self.write_same_10) << 5
            | u8::from(self.reads_zeros) << 2);
        w.put(&[self.kind & 7, 0]);
    }

    /// From its bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (threshold_exponent, flags, kind) = (r.u8()?, r.u8()?, r.u8()? & 7);
        r.skip(1)?;
        Ok(Self {
            threshold_exponent,
            unmap: flags & 0x80 != 0,
            write_same_16: flags & 0x40 != 0,
            write_same_10: flags & 0x20 != 0,
            reads_zeros: flags & 0x04 != 0,
            kind,
        })
    }
}
