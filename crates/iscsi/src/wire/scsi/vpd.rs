//! Vital product data, SPC-4 7.8 and SBC-3 6.6: mostly one file for each page.

mod block_limits;
mod characteristics;
mod designator;
mod extended;
mod ports;
mod provisioning;

pub use block_limits::BlockLimits;
pub use characteristics::Characteristics;
pub use designator::{Designator, DesignatorAssociation, DesignatorName, Designators};
pub use extended::ExtendedInquiry;
pub use ports::{ScsiPort, ScsiPorts};
pub use provisioning::Provisioning;

use super::Peripheral;
use wire::{Malformed, Reader, Writer};

wire::number! {
    /// Page codes, SPC-4 table 591 and SBC-3 table 214.
    pub PageCode: u8 {
        SUPPORTED = 0x00,
        SERIAL_NUMBER = 0x80,
        IDENTIFICATION = 0x83,
        EXTENDED = 0x86,
        MODE_PAGE_POLICY = 0x87,
        PORTS = 0x88,
        THIRD_PARTY_COPY = 0x8f,
        BLOCK_LIMITS = 0xb0,
        CHARACTERISTICS = 0xb1,
        PROVISIONING = 0xb2,
    }
}

/// A page and its body, SPC-4 7.8.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VpdPage<'a> {
    /// The peripheral qualifier and type.
    pub peripheral: Peripheral,
    /// The page's code.
    pub code: PageCode,
    /// The bytes after the first four; shorter than 64 KiB.
    pub body: &'a [u8],
}

impl<'a> VpdPage<'a> {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&[self.peripheral.0, self.code.0]);
        w.u16_be(u16::try_from(self.body.len()).unwrap_or(u16::MAX));
        w.put(self.body.get(..usize::from(u16::MAX)).unwrap_or(self.body));
    }

    /// From its bytes.
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (peripheral, code, length) = (Peripheral(r.u8()?), PageCode(r.u8()?), r.u16_be()?);
        Ok(Self { peripheral, code, body: r.take(usize::from(length))? })
    }
}

/// All mode pages are shared by all initiators: the only descriptor of the mode page policy page,
/// SPC-4 7.8.8.
pub const SHARED_MODE_PAGES: [u8; 4] = [0x3f, 0xff, 0x00, 0x00];
