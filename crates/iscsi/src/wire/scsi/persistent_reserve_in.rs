//! PERSISTENT RESERVE IN, SPC-4 6.15.

use wire::{Malformed, Reader, Writer};

use super::{ReservationType, TransportId};

/// The type mask with all types, SPC-4 table 209.
const ALL_TYPES: [u8; 2] = [0xea, 0x01];
/// RLR_C, CRH, SIP_C, ATP_C, PTPL_C: lost reservations can be replaced, RESERVE is compatible with
/// registrations, a registration can name other initiator ports and all target ports, and
/// reservations can be stored.
const CAPABLE_OF: u8 = 0x80 | 0x10 | 0x08 | 0x04 | 0x01;
/// TMV, and ALLOW COMMANDS of 100b: the commands that SPC-4 table 65 allows are allowed.
const ALLOWED: u8 = 0x80 | 0x40;

/// The command, SPC-4 6.15.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The service action.
    pub action: u8,
    /// The allocation length.
    pub allocation_length: u16,
}

impl Request {
    /// Of a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // operation code
        let action = r.u8()? & 0x1f;
        r.skip(5)?;
        Ok(Self { action, allocation_length: r.u16_be()? })
    }
}

/// READ KEYS, SPC-4 6.15.2.
pub fn encode_keys(generation: u32, keys: impl ExactSizeIterator<Item = u64>, w: &mut Writer) {
    w.u32_be(generation);
    w.u32_be((keys.len() * 8) as u32); // as many as can be registered
    keys.for_each(|key| w.u64_be(key));
}

/// READ RESERVATION, SPC-4 6.15.3: the key and type of the reservation, if there is one.
pub fn encode_reservation(generation: u32, held: Option<(u64, ReservationType)>, w: &mut Writer) {
    w.u32_be(generation);
    let Some((key, kind)) = held else {
        w.u32_be(0);
        return;
    };
    w.u32_be(16);
    w.u64_be(key);
    w.zeros(5);
    w.u8(kind.0); // the scope is the unit
    w.zeros(2);
}

/// REPORT CAPABILITIES, SPC-4 6.15.4: whether reservations are stored now; all else is constant.
pub fn encode_capabilities(are_kept: bool, w: &mut Writer) {
    w.u16_be(8);
    w.put(&[CAPABLE_OF, ALLOWED | u8::from(are_kept)]);
    w.put(&ALL_TYPES);
    w.zeros(2);
}

/// A registered initiator port, SPC-4 table 211.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registrant {
    /// Its key.
    pub key: u64,
    /// It is registered at all ports of the target.
    pub all_target_ports: bool,
    /// The reservation that it holds.
    pub holds: Option<ReservationType>,
    /// RELATIVE TARGET PORT IDENTIFIER.
    pub target_port: u16,
    /// The initiator port.
    pub initiator: TransportId,
}

/// READ FULL STATUS, SPC-4 6.15.5.
pub fn encode_full_status(generation: u32, registrants: impl Iterator<Item = Registrant>, w: &mut Writer) {
    w.u32_be(generation);
    let mut descriptors = Writer::new();
    registrants.for_each(|registrant| registrant.encode(&mut descriptors));
    w.u32_be(descriptors.len() as u32);
    w.put(descriptors.as_bytes());
}

impl Registrant {
    fn encode(&self, w: &mut Writer) {
        let mut initiator = Writer::new();
        self.initiator.encode(&mut initiator);
        w.u64_be(self.key);
        w.zeros(4);
        w.u8(u8::from(self.all_target_ports) << 1 | u8::from(self.holds.is_some()));
        w.u8(self.holds.map_or(0, |kind| kind.0));
        w.zeros(4);
        w.u16_be(self.target_port);
        w.u32_be(initiator.len() as u32);
        w.put(initiator.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut w = Writer::new();
        encode(&mut w);
        w.into_bytes()
    }

    #[test]
    fn the_fields_stand_where_spc_4_tables_201_to_207_put_them() {
        let request = Request::decode(&mut Reader::new(&[0x5e, 2, 0, 0, 0, 0, 0, 0x40, 0, 0])).unwrap();
        assert_eq!(request, Request { action: 2, allocation_length: 0x4000 });
        let keys = encoded(|w| encode_keys(3, [1, 2].into_iter(), w));
        assert_eq!(keys, [0, 0, 0, 3, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        let held = encoded(|w| encode_reservation(3, Some((7, ReservationType(5))), w));
        assert_eq!(held, [0, 0, 0, 3, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 5, 0, 0]);
        assert_eq!(encoded(|w| encode_reservation(3, None, w)), [0, 0, 0, 3, 0, 0, 0, 0]);
        assert_eq!(encoded(|w| encode_capabilities(true, w)), [0, 8, 0x9d, 0xc1, 0xea, 1, 0, 0]);
    }

    #[test]
    fn a_full_status_descriptor_is_that_of_spc_4_table_211() {
        let registrant = Registrant {
            key: 7,
            all_target_ports: true,
            holds: Some(ReservationType(6)),
            target_port: 1,
            initiator: TransportId { name: "iqn.2026-11.a:b".into(), isid: None },
        };
        let status = encoded(|w| encode_full_status(1, [registrant].into_iter(), w));
        let mut expected =
            vec![0, 0, 0, 1, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 3, 6, 0, 0, 0, 0, 0, 1];
        expected.extend([0, 0, 0, 24, 0x05, 0, 0, 20]);
        expected.extend(b"iqn.2026-11.a:b\0\0\0\0\0");
        assert_eq!(status, expected);
    }
}
