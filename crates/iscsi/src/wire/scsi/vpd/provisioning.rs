use wire::{Malformed, Reader, Writer};

/// Body of the logical block provisioning page, SBC-3 6.6.4, without a provisioning group: 4 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provisioning {
    /// A threshold set has two to this power of blocks.
    pub threshold_exponent: u8,
    /// LBPU: UNMAP unmaps blocks.
    pub unmap: bool,
    /// LBPWS: WRITE SAME (16) unmaps blocks.
    pub write_same_16: bool,
    /// LBPWS10: WRITE SAME (10) unmaps blocks.
    pub write_same_10: bool,
    /// LBPRZ: unmapped blocks read as zeros.
    pub reads_zeros: bool,
    /// PROVISIONING TYPE: 0 unspecified, 1 resource provisioned, 2 thin.
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
