//! INQUIRY, SPC-4 6.6, and the standard data that it returns.

use wire::{Malformed, Reader, Writer};

/// The most version descriptors of the standard data.
const MOST_STANDARDS: usize = 8;

wire::packed! {
    /// INQUIRY, SPC-4 6.6.1.
    pub struct Inquiry([0x12, 0, 0]) {
        /// EVPD: a page of vital product data, not the standard data.
        pub vital: bool = 0x01 of 1,
        /// The bit beside it, CmdDT, which SPC-3 made obsolete.
        pub command_support: bool = 0x02 of 1,
        /// The page.
        pub page: u8 = 0xff of 2,
    } {
        /// The allocation length.
        pub allocation_length: u16 [1],
    }
}

wire::number! {
    /// Whether there is a device, and its type: the first byte of all that INQUIRY returns, SPC-4
    /// 6.6.2.
    pub Peripheral: u8 {
        /// A disk.
        DISK = 0x00,
        /// There is no device with this number, and there cannot be one.
        NONE = 0x7f,
    }
}

/// Standard INQUIRY data, SPC-4 6.6.2: 96 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandardData {
    /// The peripheral qualifier and type.
    pub peripheral: Peripheral,
    /// The supported version of SPC: 6 is SPC-4.
    pub version: u8,
    /// HISUP: its logical unit numbers have the format of SAM-5 4.7.
    pub hierarchical: bool,
    /// TPGS: 0 no asymmetric access, 1 implicit, 2 explicit, 3 both.
    pub target_port_groups: u8,
    /// 3PC: it supports third-party copies.
    pub third_party_copy: bool,
    /// MULTIP: it has several ports.
    pub several_ports: bool,
    /// CMDQUE: it accepts several commands at a time.
    pub queues: bool,
    /// T10 VENDOR IDENTIFICATION.
    pub vendor: [u8; 8],
    /// PRODUCT IDENTIFICATION.
    pub product: [u8; 16],
    /// PRODUCT REVISION LEVEL.
    pub revision: [u8; 4],
    /// VERSION DESCRIPTORs: the other supported standards. At most eight.
    pub standards: Vec<u16>,
}

impl StandardData {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&[self.peripheral.0, 0, self.version]); // not removable
        w.u8(u8::from(self.hierarchical) << 4 | 2); // response data format
        w.u8(91); // additional length
        w.u8((self.target_port_groups & 3) << 4 | u8::from(self.third_party_copy) << 3);
        w.u8(u8::from(self.several_ports) << 4);
        w.u8(u8::from(self.queues) << 1);
        w.put(&self.vendor);
        w.put(&self.product);
        w.put(&self.revision);
        w.zeros(22); // vendor specific, reserved
        for at in 0..MOST_STANDARDS {
            w.u16_be(self.standards.get(at).copied().unwrap_or(0));
        }
        w.zeros(22); // reserved
    }

    /// From its bytes, for clients: 36 or more.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (peripheral, _, version, format) = (Peripheral(r.u8()?), r.u8()?, r.u8()?, r.u8()?);
        r.skip(1)?; // additional length
        let (groups, ports, queues) = (r.u8()?, r.u8()?, r.u8()?);
        let (vendor, product, revision) = (r.array()?, r.array()?, r.array()?);
        let mut standards = Vec::new();
        if r.remaining() >= 22 + 2 * MOST_STANDARDS {
            r.skip(22)?;
            for _ in 0..MOST_STANDARDS {
                standards.push(r.u16_be()?);
            }
        }
        standards.retain(|standard| *standard != 0);
        Ok(Self {
            peripheral,
            version,
            hierarchical: format & 0x10 != 0,
            target_port_groups: groups >> 4 & 3,
            third_party_copy: groups & 0x08 != 0,
            several_ports: ports & 0x10 != 0,
            queues: queues & 0x02 != 0,
            vendor,
            product,
            revision,
            standards,
        })
    }
}

/// Text in a field of fixed length: ASCII, padded with spaces, SPC-4 4.4.1. Text that does not fit
/// is cut.
#[must_use]
pub fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    let printable = text.bytes().filter(|byte| (0x20..=0x7e).contains(byte));
    field.iter_mut().zip(printable).for_each(|(to, from)| *to = from);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_the_command_are_where_spc_4_table_171_has_them() {
        let cdb = [0x12, 0x01, 0x83, 0x01, 0x02, 0x00];
        let inquiry = Inquiry { vital: true, command_support: false, page: 0x83, allocation_length: 0x102 };
        assert_eq!(Inquiry::decode(&mut Reader::new(&cdb)), Ok(inquiry));
        let mut w = Writer::new();
        inquiry.encode(&mut w);
        assert_eq!(w.as_bytes(), cdb);
    }

    #[test]
    fn text_is_ascii_and_filled_up() {
        assert_eq!(&padded::<8>("caf\u{e9} 1"), b"caf 1   ");
        assert_eq!(&padded::<4>("0.1.0"), b"0.1.");
    }
}
