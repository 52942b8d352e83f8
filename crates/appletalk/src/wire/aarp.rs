//! Packets of the AppleTalk Address Resolution Protocol on Ethernet, "Inside AppleTalk" chapter 2, and figure 3-5.

use wire::{Malformed, Reader, Writer};

use crate::address::{Address, HardwareAddress};
use crate::wire::{put_address, read_address};

wire::number! {
    /// What a packet asks or says.
    pub AarpFunction: u16 ["AARP function {}"] {
        /// Which station has this address?
        REQUEST = 1,
        /// I have it.
        RESPONSE = 2,
        /// I want it: does another station have it?
        PROBE = 3,
    }
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AarpPacket {
    /// What it asks or says.
    pub function: AarpFunction,
    /// The station that sent it.
    pub source_hardware: HardwareAddress,
    /// Its address: in a probe, the tentative one.
    pub source: Address,
    /// The station that gets the response; zero in a request and in a probe.
    pub target_hardware: HardwareAddress,
    /// The address that is asked for; in a response, that of the asking node.
    pub target: Address,
}

/// Ethernet; AppleTalk; six bytes of a hardware address and four of a protocol address.
const ETHERNET_APPLETALK: [u8; 6] = [0x00, 0x01, 0x80, 0x9b, 6, 4];

impl AarpPacket {
    /// From the content of a frame. What follows is padding that some drivers leave there.
    ///
    /// # Errors
    /// It is too short, or is not for AppleTalk on Ethernet.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        if r.array()? != ETHERNET_APPLETALK {
            return Err(Malformed("AARP for another link or protocol"));
        }
        let function = AarpFunction(r.u16_be()?);
        let (source_hardware, source) = read_pair(&mut r)?;
        let (target_hardware, target) = read_pair(&mut r)?;
        Ok(Self { function, source_hardware, source, target_hardware, target })
    }

    /// The content of a frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.put(&ETHERNET_APPLETALK);
        w.u16_be(self.function.0);
        put_pair(&mut w, self.source_hardware, self.source);
        put_pair(&mut w, self.target_hardware, self.target);
        w.into_bytes()
    }
}

/// A protocol address has four bytes, of which the first is 0: chapter 3, "AppleTalk AARP packet formats".
fn read_pair(r: &mut Reader<'_>) -> Result<(HardwareAddress, Address), Malformed> {
    let hardware = HardwareAddress(r.array()?);
    r.skip(1)?;
    Ok((hardware, read_address(r)?))
}

fn put_pair(w: &mut Writer, hardware: HardwareAddress, address: Address) {
    w.put(&hardware.0);
    w.u8(0);
    put_address(w, address);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_that_of_figure_3_5() {
        let address = Address::new(0xff00, 0x2a);
        let probe = AarpPacket {
            function: AarpFunction::PROBE,
            source_hardware: HardwareAddress([0, 5, 2, 0xaa, 0xbb, 0xcc]),
            source: address,
            target_hardware: HardwareAddress([0; 6]),
            target: address,
        };
        let bytes = [
            0x00, 0x01, 0x80, 0x9b, 6, 4, 0x00, 0x03, 0, 5, 2, 0xaa, 0xbb, 0xcc, 0, 0xff, 0x00, 0x2a, 0, 0,
            0, 0, 0, 0, 0, 0xff, 0x00, 0x2a,
        ];
        assert_eq!(probe.encode(), bytes);
        assert_eq!(AarpPacket::decode(&bytes), Ok(probe));
        assert_eq!(AarpPacket::decode(&[&bytes[..], &[0; 18]].concat()), Ok(probe), "padding");
    }

    #[test]
    fn other_links_and_short_packets_are_refused() {
        let mut bytes = [0; 28];
        bytes[..6].copy_from_slice(&ETHERNET_APPLETALK);
        assert!(AarpPacket::decode(&bytes).is_ok());
        assert!(AarpPacket::decode(&bytes[..27]).is_err());
        bytes[1] = 2; // token ring
        assert!(AarpPacket::decode(&bytes).is_err());
    }
}
