//! The endpoint mapper of a domain controller: at which TCP port an interface is, C706 O and L.

use wire::tower::{SyntaxId, Tower};
use wire::{Malformed, Reader, Writer};

use super::ndr::{REFERENT, align, skip_to};
use super::rpc::{Interface, NDR};

/// The port of the endpoint mapper.
pub const PORT: u16 = 135;
/// ept_map.
pub const MAP: u16 = 3;
/// e1af8308-5d1f-11c9-91a4-08002b14a0fa 3.0.
pub const MAPPER: Interface = Interface {
    uuid: [0x08, 0x83, 0xaf, 0xe1, 0x1f, 0x5d, 0xc9, 0x11, 0x91, 0xa4, 0x08, 0x00, 0x2b, 0x14, 0xa0, 0xfa],
    version: 3,
};
/// The most towers that are asked for, and read.
const MOST_TOWERS: u32 = 4;

/// Asks for the port of an interface over TCP.
#[must_use]
pub fn request(interface: &Interface) -> Vec<u8> {
    let mut w = Writer::new();
    w.u32_le(0); // of any object
    w.u32_le(REFERENT);
    let tower = tower(interface);
    w.u32_le(tower.len() as u32);
    w.u32_le(tower.len() as u32);
    w.put(&tower);
    align(&mut w, 4);
    w.zeros(20); // the handle of a new enquiry
    w.u32_le(MOST_TOWERS);
    w.into_bytes()
}

/// The tower of calls of an interface with NDR.
fn tower(interface: &Interface) -> Vec<u8> {
    let [interface, transfer] =
        [interface, &NDR].map(|of| SyntaxId { uuid: of.uuid, major: of.version, minor: 0 });
    Tower { interface, transfer, port: 0 }.encode()
}

/// The port, from the answer.
///
/// # Errors
/// The answer is damaged, or names no port.
pub fn port(stub: &[u8]) -> Result<u16, Malformed> {
    let mut r = Reader::new(stub);
    r.skip(20 + 4)?; // the handle, how many towers
    r.skip(4 + 4)?; // the largest count, the offset
    let count = r.u32_le()?;
    if count > MOST_TOWERS {
        return Err(Malformed("more endpoints than were asked for"));
    }
    let mut present = 0;
    for _ in 0..count {
        present += u32::from(r.u32_le()? != 0);
    }
    for _ in 0..present {
        skip_to(&mut r, 4)?;
        let tower = Tower::decode(Tower::take(&mut r)?)?;
        if let Some(Tower { port: port @ 1.., .. }) = tower {
            return Ok(port);
        }
    }
    Err(Malformed("no endpoint over TCP"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::netlogon::NETLOGON;

    #[test]
    fn the_port_is_that_of_the_floor_of_tcp() {
        let asked = tower(&NETLOGON);
        assert_eq!(asked.len(), 75);
        let mut found = asked.clone();
        found[64..66].copy_from_slice(&49_153_u16.to_be_bytes());
        let mut w = Writer::new();
        w.zeros(20);
        [1, 4, 0, 1, REFERENT, 75, 75].iter().for_each(|number| w.u32_le(*number));
        w.put(&found);
        w.zeros(1);
        w.u32_le(0);
        let answer = w.into_bytes();
        assert_eq!(port(&answer), Ok(49_153));
        for end in 0..answer.len() - 5 {
            assert!(port(&answer[..end]).is_err(), "cut at {end}");
        }
        assert!(port(&[0; 40]).is_err(), "no endpoint");
        assert_eq!(request(&NETLOGON).len(), 8 + 8 + 76 + 20 + 4);
    }
}
