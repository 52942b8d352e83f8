//! Datagrams: the Datagram Delivery Protocol, "Inside AppleTalk" chapter 4.

use wire::{Malformed, Reader, Writer};

use crate::address::{Address, Endpoint};

wire::number! {
    /// What a datagram carries: the DDP type, appendix C, figure C-3.
    pub DatagramKind: u8 ["DDP type {}"] {
        RTMP_DATA = 1,
        NBP = 2,
        ATP = 3,
        AEP = 4,
        RTMP_REQUEST = 5,
        ZIP = 6,
        ADSP = 7,
    }
}

/// A datagram from socket to socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The socket that gets it.
    pub destination: Endpoint,
    /// The socket that sent it.
    pub source: Endpoint,
    /// How many routers it has passed, 0 to 15. A short header has no such count.
    pub hops: u8,
    /// What it carries.
    pub kind: DatagramKind,
    /// At most [`Datagram::MAX_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
}

const SHORT_HEADER: usize = 5;
const LONG_HEADER: usize = 13;
/// The length is in the lower ten bits of the first two bytes.
const LENGTH_BITS: u16 = 0x03ff;
const HOPS_SHIFT: u32 = 10;
/// The checksum covers all that follows it.
const AFTER_CHECKSUM: usize = 4;
const TOO_LONG: Malformed = Malformed("datagram of more than 586 bytes of data");

impl Datagram {
    /// The most bytes of data, "DDP packet format".
    pub const MAX_PAYLOAD: usize = 586;
    /// The most routers that a datagram passes, "Hop counts".
    pub const MAX_HOPS: u8 = 15;

    /// From an extended header and its data, figure 4-4. `bytes` is the whole content of the frame.
    ///
    /// # Errors
    /// The length in the header is not that of `bytes`, there is too much data, or the checksum is wrong.
    pub fn decode_long(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let head = r.u16_be()?;
        let checksum = r.u16_be()?;
        let (to_network, from_network) = (r.u16_be()?, r.u16_be()?);
        let (to_node, from_node) = (r.u8()?, r.u8()?);
        let (to_socket, from_socket) = (r.u8()?, r.u8()?);
        let kind = DatagramKind(r.u8()?);
        let payload = payload(head, bytes, r)?;
        if checksum != 0 && checksum != self::checksum(&bytes[AFTER_CHECKSUM..]) {
            return Err(Malformed("wrong checksum of a datagram"));
        }
        Ok(Self {
            destination: Endpoint::new(Address::new(to_network, to_node), to_socket),
            source: Endpoint::new(Address::new(from_network, from_node), from_socket),
            hops: ((head >> HOPS_SHIFT) as u8) & Self::MAX_HOPS,
            kind,
            payload,
        })
    }

    /// From a short header and its data, figure 4-3. The nodes are those of the frame; the networks are 0.
    ///
    /// # Errors
    /// The length in the header is not that of `bytes`, or there is too much data.
    pub fn decode_short(bytes: &[u8], to_node: u8, from_node: u8) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let head = r.u16_be()?;
        let (to_socket, from_socket) = (r.u8()?, r.u8()?);
        let kind = DatagramKind(r.u8()?);
        let payload = payload(head, bytes, r)?;
        Ok(Self {
            destination: Endpoint::new(Address::new(0, to_node), to_socket),
            source: Endpoint::new(Address::new(0, from_node), from_socket),
            hops: 0,
            kind,
            payload,
        })
    }

    /// With an extended header and its checksum, figure 4-4.
    ///
    /// # Errors
    /// There is too much data.
    pub fn encode_long(&self) -> Result<Vec<u8>, Malformed> {
        let length = self.length(LONG_HEADER)?;
        let mut w = Writer::onto(Vec::with_capacity(length.into()));
        w.u16_be(u16::from(self.hops & Self::MAX_HOPS) << HOPS_SHIFT | length);
        w.u16_be(0);
        w.u16_be(self.destination.address.network);
        w.u16_be(self.source.address.network);
        w.u8(self.destination.address.node);
        w.u8(self.source.address.node);
        w.u8(self.destination.socket);
        w.u8(self.source.socket);
        w.u8(self.kind.0);
        w.put(&self.payload);
        let checksum = checksum(&w.as_bytes()[AFTER_CHECKSUM..]);
        w.patch_u16_be(2, checksum);
        Ok(w.into_bytes())
    }

    /// With a short header, figure 4-3: for nodes of one network of LocalTalk. The frame has the nodes.
    ///
    /// # Errors
    /// There is too much data.
    pub fn encode_short(&self) -> Result<Vec<u8>, Malformed> {
        let length = self.length(SHORT_HEADER)?;
        let mut w = Writer::onto(Vec::with_capacity(length.into()));
        w.u16_be(length);
        w.u8(self.destination.socket);
        w.u8(self.source.socket);
        w.u8(self.kind.0);
        w.put(&self.payload);
        Ok(w.into_bytes())
    }

    /// How many bytes it has with an extended header.
    #[must_use]
    pub fn long_length(&self) -> usize {
        LONG_HEADER + self.payload.len()
    }

    fn length(&self, header: usize) -> Result<u16, Malformed> {
        if self.payload.len() > Self::MAX_PAYLOAD {
            return Err(TOO_LONG);
        }
        Ok((header + self.payload.len()) as u16)
    }
}

/// The rest of `r`, if `head` has the length of `bytes`: "DDP packet format".
fn payload(head: u16, bytes: &[u8], mut r: Reader<'_>) -> Result<Vec<u8>, Malformed> {
    if usize::from(head & LENGTH_BITS) != bytes.len() {
        return Err(Malformed("datagram whose length is not that of its frame"));
    }
    match r.rest() {
        data if data.len() > Datagram::MAX_PAYLOAD => Err(TOO_LONG),
        data => Ok(data.to_vec()),
    }
}

/// "DDP checksum computation". Never 0, which means that there is none. ZIP hashes the names of zones with it, too.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    match bytes.iter().fold(0_u16, |sum, &byte| sum.wrapping_add(byte.into()).rotate_left(1)) {
        0 => 0xffff,
        sum => sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Node 65280.128, socket 253, asks all nodes' names information sockets.
    fn lookup() -> Datagram {
        Datagram {
            destination: Endpoint::new(Address::EVERYONE, 2),
            source: Endpoint::new(Address::new(65280, 128), 253),
            hops: 0,
            kind: DatagramKind::NBP,
            payload: vec![1, 2, 3, 4],
        }
    }

    #[test]
    fn the_long_header_is_that_of_figure_4_4() {
        // The checksum was computed by another program.
        let bytes = [0x00, 17, 0xb6, 0xbe, 0x00, 0x00, 0xff, 0x00, 255, 128, 2, 253, 2, 1, 2, 3, 4];
        assert_eq!(lookup().encode_long().unwrap(), bytes);
        assert_eq!(Datagram::decode_long(&bytes), Ok(lookup()));
        let unchecked = [&bytes[..2], &[0, 0], &bytes[4..]].concat();
        assert_eq!(Datagram::decode_long(&unchecked), Ok(lookup()), "0 is no checksum");
    }

    #[test]
    fn the_short_header_is_that_of_figure_4_3() {
        let bytes = [0x00, 9, 2, 253, 2, 1, 2, 3, 4];
        assert_eq!(lookup().encode_short().unwrap(), bytes);
        let mut expected = lookup();
        expected.source.address.network = 0;
        assert_eq!(Datagram::decode_short(&bytes, 255, 128), Ok(expected));
    }

    #[test]
    fn hops_and_the_ten_bits_of_the_length_share_a_word() {
        let long = Datagram { hops: 5, payload: vec![7; 586], ..lookup() };
        let bytes = long.encode_long().unwrap();
        assert_eq!(bytes[..2], [5 << 2 | 0x02, 0x57]); // 599 is 0x257
        assert_eq!(Datagram::decode_long(&bytes), Ok(long));
    }

    #[test]
    fn the_checksum_is_that_of_the_book() {
        assert_eq!(checksum(&[1]), 2);
        assert_eq!(checksum(&[1, 2]), 8);
        assert_eq!(checksum(&[0; 9]), 0xffff, "0 would mean that there is none");
        assert_eq!(checksum(&[0x80; 16]), [0x80; 16].iter().fold(0, |sum, byte| rotated(sum, *byte)));
    }

    /// The book's Pascal, with a wider number.
    fn rotated(sum: u16, byte: u8) -> u16 {
        let sum = (u32::from(sum) + u32::from(byte)) & 0xffff;
        ((sum << 1) & 0xffff | sum >> 15) as u16
    }

    #[test]
    fn a_changed_byte_is_found_by_the_checksum() {
        let bytes = lookup().encode_long().unwrap();
        for at in AFTER_CHECKSUM..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(Datagram::decode_long(&changed).is_err(), "{at}");
        }
    }

    #[test]
    fn a_length_that_is_not_the_frames_is_refused() {
        let bytes = lookup().encode_long().unwrap();
        assert!(Datagram::decode_long(&bytes[..16]).is_err());
        assert!(Datagram::decode_long(&[&bytes[..], &[0]].concat()).is_err());
        assert!(Datagram::decode_short(&[0, 6, 2, 253, 2], 1, 2).is_err());
    }

    #[test]
    fn more_than_586_bytes_of_data_are_refused() {
        let long = Datagram { payload: vec![0; 587], ..lookup() };
        assert!(long.encode_long().is_err() && long.encode_short().is_err());
        let mut bytes = vec![0; 600];
        bytes[..2].copy_from_slice(&[0x02, 0x58]);
        assert!(Datagram::decode_long(&bytes).is_err());
    }
}
