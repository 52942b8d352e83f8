//! Packets of the Routing Table Maintenance Protocol, "Inside AppleTalk" chapter 5.

use wire::{Malformed, Reader, Writer};

use crate::address::{Address, NetworkRange};

/// The version of phase 2, "Version number indicator".
const VERSION: u8 = 0x82;
/// The bit of a distance that says that a range follows.
const IS_EXTENDED: u8 = 0x80;
/// The length of a node number in bits. Other lengths belong to links that are not AppleTalk.
const NODE_BITS: u8 = 8;

/// A network and how far it is, "Routing tuples".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutingTuple {
    /// The network.
    pub range: NetworkRange,
    /// Whether it is an extended network, even if its range has one number.
    pub is_extended: bool,
    /// The number of routers on the way; [`RoutingTuple::UNREACHABLE`] if the way is lost.
    pub distance: u8,
}

impl RoutingTuple {
    /// The distance of a network that can no longer be reached, "Aging of routing table entries".
    pub const UNREACHABLE: u8 = 31;
    /// The most bytes of a tuple.
    pub const MAX_BYTES: usize = 6;
}

/// An RTMP Data or Response packet, figures 5-5 and 5-6: the address of a router and, in Data, the networks that it reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterPacket {
    /// The router's address on the network that the packet is on.
    pub sender: Address,
    /// That network's range. `None` if it is not extended: its number is the sender's.
    pub range: Option<NetworkRange>,
    /// The networks that the router reaches. On an extended network, its own is the first.
    pub tuples: Vec<RoutingTuple>,
}

impl RouterPacket {
    /// From a datagram's data. Tuples with reserved numbers are left out.
    ///
    /// # Errors
    /// It is not of phase 2, or ends inside a tuple.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        let network = r.u16_be()?;
        if r.u8()? != NODE_BITS {
            return Err(Malformed("RTMP with a node number that has not 8 bits"));
        }
        let sender = Address::new(network, r.u8()?);
        let mut packet = Self { sender, range: None, tuples: Vec::new() };
        if r.remaining() == 0 {
            return Ok(packet); // a Response on a network that is not extended has nothing else
        }
        let mut is_first = true;
        while r.remaining() > 0 {
            let (first, distance) = (r.u16_be()?, r.u8()?);
            if is_first && (first, distance) == (0, VERSION) {
                is_first = false;
                continue;
            }
            let is_extended = distance & IS_EXTENDED != 0;
            let (last, version) = if is_extended { (r.u16_be()?, r.u8()?) } else { (first, 0) };
            if is_first && (!is_extended || version != VERSION) {
                return Err(Malformed("RTMP of phase 1"));
            }
            let distance = distance & !IS_EXTENDED;
            if let Some(range) = NetworkRange::new(first, last) {
                packet.range = if is_first { Some(range) } else { packet.range };
                packet.tuples.push(RoutingTuple { range, is_extended, distance });
            } else if is_first {
                return Err(Malformed("RTMP of a network without a number"));
            }
            is_first = false;
        }
        Ok(packet)
    }

    /// A datagram's data: Data. On an extended network, the tuple of the network itself comes first.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = self.head();
        match self.range {
            Some(range) => put_tuple(&mut w, RoutingTuple { range, is_extended: true, distance: 0 }),
            None => w.put(&[0, 0, VERSION]),
        }
        let is_own = |tuple: &&RoutingTuple| self.range == Some(tuple.range);
        for tuple in self.tuples.iter().filter(|tuple| !is_own(tuple)) {
            put_tuple(&mut w, *tuple);
        }
        w.into_bytes()
    }

    /// A datagram's data: Response, figure 5-6, which has no tuples but that of an extended network itself.
    #[must_use]
    pub fn encode_response(&self) -> Vec<u8> {
        let mut w = self.head();
        if let Some(range) = self.range {
            put_tuple(&mut w, RoutingTuple { range, is_extended: true, distance: 0 });
        }
        w.into_bytes()
    }

    fn head(&self) -> Writer {
        let mut w = Writer::new();
        w.u16_be(self.sender.network);
        w.put(&[NODE_BITS, self.sender.node]);
        w
    }
}

fn put_tuple(w: &mut Writer, tuple: RoutingTuple) {
    w.u16_be(tuple.range.first());
    if tuple.is_extended {
        w.u8(tuple.distance | IS_EXTENDED);
        w.u16_be(tuple.range.last());
        w.u8(VERSION);
    } else {
        w.u8(tuple.distance);
    }
}

wire::number! {
    /// An RTMP Request packet has only its function, figure 5-6.
    pub RtmpRequest: u8 ["RTMP request {}"] {
        /// Which network is this?
        NETWORK = 1,
        /// What do you reach? With split horizon.
        ROUTES = 2,
        /// What do you reach? The whole table.
        ALL_ROUTES = 3,
    }
}

impl RtmpRequest {
    /// From a datagram's data.
    ///
    /// # Errors
    /// It is empty.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        Reader::new(payload).u8().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(first: u16, last: u16, is_extended: bool, distance: u8) -> RoutingTuple {
        RoutingTuple { range: NetworkRange::new(first, last).unwrap(), is_extended, distance }
    }

    #[test]
    fn data_on_localtalk_begins_with_the_version() {
        let tuples = vec![tuple(3, 5, true, 0), tuple(9, 9, false, 1)];
        let packet = RouterPacket { sender: Address::new(7, 128), range: None, tuples };
        let bytes = [0, 7, 8, 128, 0, 0, 0x82, 0, 3, 0x80, 0, 5, 0x82, 0, 9, 1];
        assert_eq!(packet.encode(), bytes);
        assert_eq!(RouterPacket::decode(&bytes), Ok(packet));
    }

    #[test]
    fn data_on_ethertalk_begins_with_the_networks_range() {
        let range = NetworkRange::new(3, 5);
        let tuples = vec![tuple(3, 5, true, 0), tuple(7, 7, false, 0), tuple(20, 20, true, 31)];
        let packet = RouterPacket { sender: Address::new(3, 128), range, tuples };
        let bytes = [0, 3, 8, 128, 0, 3, 0x80, 0, 5, 0x82, 0, 7, 0, 0, 20, 0x9f, 0, 20, 0x82];
        assert_eq!(packet.encode(), bytes);
        assert_eq!(RouterPacket::decode(&bytes), Ok(packet));
    }

    #[test]
    fn a_response_has_no_tuples_but_the_networks_own() {
        let local = RouterPacket { sender: Address::new(7, 128), range: None, tuples: Vec::new() };
        assert_eq!(local.encode_response(), [0, 7, 8, 128]);
        assert_eq!(RouterPacket::decode(&[0, 7, 8, 128]), Ok(local));
        let range = NetworkRange::new(3, 5);
        let ether = RouterPacket { sender: Address::new(3, 128), range, tuples: Vec::new() };
        assert_eq!(ether.encode_response(), [0, 3, 8, 128, 0, 3, 0x80, 0, 5, 0x82]);
    }

    #[test]
    fn phase_1_and_half_tuples_are_refused() {
        assert!(RouterPacket::decode(&[0, 7, 8, 128, 0, 9, 1]).is_err(), "no version");
        assert!(RouterPacket::decode(&[0, 7, 8, 128, 0, 0, 0x82, 0, 9]).is_err());
        assert!(RouterPacket::decode(&[0, 7, 16, 1, 128]).is_err(), "node number of 16 bits");
        assert!(RouterPacket::decode(&[0, 3, 8, 1, 0, 5, 0x80, 0, 3, 0x82]).is_err(), "backwards");
    }
}
