//! SEND DIAGNOSTIC, SPC-4 6.42.

use wire::{Malformed, Reader, Writer};

/// SEND DIAGNOSTIC, SPC-4 6.42.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendDiagnostic {
    /// SELF-TEST CODE: the test, and whether it runs in the background; 0 for no test.
    pub code: u8,
    /// SELFTEST: the default self-test.
    pub self_test: bool,
    /// Bytes of parameters.
    pub length: u16,
}

impl SendDiagnostic {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let flags = r.u8()?;
        r.skip(1)?;
        Ok(Self { code: flags >> 5, self_test: flags & 0x04 != 0, length: r.u16_be()? })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&[0x1d, self.code << 5 | u8::from(self.self_test) << 2, 0]);
        w.u16_be(self.length);
        w.u8(0);
    }
}
