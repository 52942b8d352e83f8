//! The header of the AppleTalk Transaction Protocol, "Inside AppleTalk" chapter 9, "ATP packet format".

use wire::{Malformed, Reader, Writer};

/// A packet's header and data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtpPacket<'a> {
    /// Function and flags: [`AtpPacket::REQUEST`] and the others.
    pub control: u8,
    /// Of a request: the bitmap of the wanted packets. Of a response: its sequence number.
    pub bitmap: u8,
    /// The number of the transaction.
    pub transaction: u16,
    /// Four bytes for the user of ATP.
    pub user: [u8; 4],
    /// At most [`AtpPacket::MAX_DATA`] bytes.
    pub data: &'a [u8],
}

impl<'a> AtpPacket<'a> {
    /// The bits of the function.
    pub const FUNCTION: u8 = 0xc0;
    /// TReq.
    pub const REQUEST: u8 = 0x40;
    /// TResp.
    pub const RESPONSE: u8 = 0x80;
    /// TRel.
    pub const RELEASE: u8 = 0xc0;
    /// XO: execute exactly once.
    pub const EXACTLY_ONCE: u8 = 0x20;
    /// EOM: the last packet of a response.
    pub const END_OF_MESSAGE: u8 = 0x10;
    /// STS: send the transaction's status.
    pub const SEND_STATUS: u8 = 0x08;
    /// The bits of the release timer's length, in an exactly-once request.
    pub const RELEASE_TIMER: u8 = 0x07;
    /// The most bytes of data.
    pub const MAX_DATA: usize = 578;

    /// From a datagram's data.
    ///
    /// # Errors
    /// It is shorter than the header.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        let (control, bitmap) = (r.u8()?, r.u8()?);
        Ok(Self { control, bitmap, transaction: r.u16_be()?, user: r.array()?, data: r.rest() })
    }

    /// A datagram's data.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::onto(Vec::with_capacity(8 + self.data.len()));
        w.put(&[self.control, self.bitmap]);
        w.u16_be(self.transaction);
        w.put(&self.user);
        w.put(self.data);
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_eight_bytes_and_data() {
        let bytes = [0x40, 0x01, 0x12, 0x34, 8, 0, 0, 1, 0xaa];
        let packet = AtpPacket {
            control: AtpPacket::REQUEST,
            bitmap: 1,
            transaction: 0x1234,
            user: [8, 0, 0, 1],
            data: &[0xaa],
        };
        assert_eq!(AtpPacket::decode(&bytes), Ok(packet));
        assert_eq!(packet.encode(), bytes);
        assert!(AtpPacket::decode(&bytes[..7]).is_err());
    }
}
