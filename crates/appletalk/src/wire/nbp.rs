//! Packets of the Name Binding Protocol, "Inside AppleTalk" chapter 7, "NBP packet formats".

use wire::{Malformed, Reader, Writer};

use crate::address::Endpoint;
use crate::name::EntityName;
use crate::wire::{put_address, put_name, read_address, read_name};

wire::number! {
    /// What a packet asks or says.
    pub NbpFunction: u8 ["NBP function {}"] {
        /// BrRq: a router is asked to find names in a zone.
        BROADCAST_REQUEST = 1,
        /// LkUp: the nodes of a network are asked.
        LOOKUP = 2,
        /// LkUp-Reply.
        REPLY = 3,
        /// FwdReq: a router of the zone's network is asked.
        FORWARD_REQUEST = 4,
    }
}

/// A name and an address, figure 7-2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbpTuple {
    /// In a reply, where the service is. In a request, where replies are sent.
    pub endpoint: Endpoint,
    /// Tells names of the same socket apart.
    pub enumerator: u8,
    /// In a reply, the name. In a request, what is asked for.
    pub name: EntityName,
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbpPacket {
    /// What it asks or says.
    pub function: NbpFunction,
    /// Chosen by the asking node, and repeated in replies.
    pub id: u8,
    /// At most [`NbpPacket::MAX_TUPLES`]. A request has one.
    pub tuples: Vec<NbpTuple>,
}

impl NbpPacket {
    /// As many as four bits count.
    pub const MAX_TUPLES: usize = 15;
    /// The bytes before the tuples.
    pub const HEADER: usize = 2;

    /// From a datagram's data.
    ///
    /// # Errors
    /// It ends before its tuples do, has a name of more than 32 bytes, or bytes are left over.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        let (head, id) = (r.u8()?, r.u8()?);
        let count = head & 0x0f;
        let tuples = (0..count).map(|_| NbpTuple::decode(&mut r)).collect::<Result<_, _>>()?;
        r.finish()?;
        Ok(Self { function: NbpFunction(head >> 4), id, tuples })
    }

    /// A datagram's data: of the first 15 tuples.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let tuples = &self.tuples[..self.tuples.len().min(Self::MAX_TUPLES)];
        let mut w = Writer::new();
        w.u8(self.function.0 << 4 | tuples.len() as u8);
        w.u8(self.id);
        tuples.iter().for_each(|tuple| tuple.encode(&mut w));
        w.into_bytes()
    }
}

impl NbpTuple {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let address = read_address(r)?;
        let endpoint = Endpoint::new(address, r.u8()?);
        let enumerator = r.u8()?;
        let name = EntityName { object: read_name(r)?, kind: read_name(r)?, zone: read_name(r)? };
        Ok(Self { endpoint, enumerator, name })
    }

    fn encode(&self, w: &mut Writer) {
        put_address(w, self.endpoint.address);
        w.u8(self.endpoint.socket);
        w.u8(self.enumerator);
        put_name(w, &self.name.object);
        put_name(w, &self.name.kind);
        put_name(w, &self.name.zone);
    }

    /// How many bytes it has.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        let parts = [&self.name.object, &self.name.kind, &self.name.zone];
        8 + parts.iter().map(|part| part.as_bytes().len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;

    fn tuple(node: u8, enumerator: u8, object: &str, zone: &str) -> NbpTuple {
        NbpTuple {
            endpoint: Endpoint::new(Address::new(65280, node), 253),
            enumerator,
            name: EntityName::from_text(object, "AFPServer", zone).unwrap(),
        }
    }

    #[test]
    fn a_lookup_is_that_of_figures_7_1_and_7_2() {
        let packet =
            NbpPacket { function: NbpFunction::LOOKUP, id: 42, tuples: vec![tuple(128, 0, "=", "*")] };
        let bytes = b"\x21\x2a\xff\x00\x80\xfd\x00\x01=\x09AFPServer\x01*";
        assert_eq!(packet.encode(), bytes);
        assert_eq!(NbpPacket::decode(bytes), Ok(packet));
    }

    #[test]
    fn a_reply_has_several_tuples_with_enumerators() {
        let tuples = vec![tuple(128, 1, "Mac IIci", "Hall"), tuple(129, 3, "SE/30", "Hall")];
        let packet = NbpPacket { function: NbpFunction::REPLY, id: 7, tuples };
        let bytes = b"\x32\x07\xff\x00\x80\xfd\x01\x08Mac IIci\x09AFPServer\x04Hall\
                      \xff\x00\x81\xfd\x03\x05SE/30\x09AFPServer\x04Hall";
        assert_eq!(packet.encode(), bytes);
        assert_eq!(NbpPacket::decode(bytes), Ok(packet.clone()));
        assert_eq!(
            packet.tuples[0].byte_len() + packet.tuples[1].byte_len() + NbpPacket::HEADER,
            bytes.len()
        );
    }

    #[test]
    fn names_of_more_than_32_bytes_and_half_tuples_are_refused() {
        let long = [&b"\x21\x2a\xff\x00\x80\xfd\x00\x21"[..], &[b'x'; 33], b"\x01=\x01*"].concat();
        assert!(NbpPacket::decode(&long).is_err());
        assert!(NbpPacket::decode(b"\x21\x2a\xff\x00").is_err());
        assert!(NbpPacket::decode(b"\x20\x2a\x00").is_err(), "bytes left over");
    }
}
