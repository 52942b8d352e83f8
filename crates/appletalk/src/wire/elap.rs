//! Frames of EtherTalk phase 2: the EtherTalk Link Access Protocol, "Inside AppleTalk" chapter 3. IEEE 802.3 with a length,
//! 802.2 type 1, and SNAP.

use wire::{Malformed, Reader, Writer};

use crate::address::HardwareAddress;

/// What a frame carries: the protocol discriminator of SNAP, "802.2".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElapContent<'a> {
    /// A datagram with an extended header.
    Datagram(&'a [u8]),
    /// A packet of AARP.
    Aarp(&'a [u8]),
}

/// A frame from station to station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElapFrame<'a> {
    /// The station that gets it, or a group.
    pub destination: HardwareAddress,
    /// The station that sent it.
    pub source: HardwareAddress,
    /// What it carries, without padding.
    pub content: ElapContent<'a>,
}

/// Both service access points are SNAP's; type 1.
const LLC: [u8; 3] = [0xaa, 0xaa, 0x03];
const SNAP_DATAGRAM: [u8; 5] = [0x08, 0x00, 0x07, 0x80, 0x9b];
const SNAP_AARP: [u8; 5] = [0x00, 0x00, 0x00, 0x80, 0xf3];
const SNAP_HEADER: usize = LLC.len() + SNAP_AARP.len();
/// The most that the length of IEEE 802.3 can be; above are types of Ethernet II.
const MAX_LENGTH: usize = 1_500;

impl<'a> ElapFrame<'a> {
    /// The fewest bytes of a frame, without its frame check sequence; shorter ones are padded.
    pub const MIN_BYTES: usize = 60;

    /// From a frame without its frame check sequence.
    ///
    /// # Errors
    /// It is not AppleTalk phase 2, or is shorter than its length says.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let (destination, source) = (HardwareAddress(r.array()?), HardwareAddress(r.array()?));
        let length = usize::from(r.u16_be()?);
        if length > MAX_LENGTH {
            return Err(Malformed("frame of Ethernet II, which AppleTalk phase 2 does not use"));
        }
        let mut r = Reader::new(r.take(length)?);
        if r.array()? != LLC {
            return Err(Malformed("frame without SNAP"));
        }
        let content = match r.array()? {
            SNAP_DATAGRAM => ElapContent::Datagram(r.rest()),
            SNAP_AARP => ElapContent::Aarp(r.rest()),
            _ => return Err(Malformed("frame of another protocol than AppleTalk")),
        };
        Ok(Self { destination, source, content })
    }

    /// The frame without its frame check sequence, padded with zeros to 60 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (snap, data) = match self.content {
            ElapContent::Datagram(data) => (SNAP_DATAGRAM, data),
            ElapContent::Aarp(data) => (SNAP_AARP, data),
        };
        let length = SNAP_HEADER + data.len();
        let mut w = Writer::onto(Vec::with_capacity(Self::MIN_BYTES.max(14 + length)));
        w.put(&self.destination.0);
        w.put(&self.source.0);
        w.u16_be(length as u16);
        w.put(&LLC);
        w.put(&snap);
        w.put(data);
        w.zeros(Self::MIN_BYTES.saturating_sub(w.len()));
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: HardwareAddress = HardwareAddress([2, 0, 0, 0, 0, 1]);

    #[test]
    fn a_frame_is_that_of_figure_3_2() {
        let datagram = [0x00, 0x0d, 0, 0, 0, 0, 0xff, 0, 255, 128, 2, 253, 2];
        let frame = ElapFrame {
            destination: HardwareAddress::EVERYONE,
            source: STATION,
            content: ElapContent::Datagram(&datagram),
        };
        let bytes = frame.encode();
        let head = [
            0x09, 0x00, 0x07, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x00, 21, 0xaa, 0xaa, 0x03, 0x08, 0x00,
            0x07, 0x80, 0x9b,
        ];
        assert_eq!(bytes[..22], head);
        assert_eq!(bytes[22..35], datagram);
        assert_eq!(bytes[35..], [0; 25], "padding is not counted");
        assert_eq!(ElapFrame::decode(&bytes), Ok(frame));
    }

    #[test]
    fn other_protocols_and_phase_1_are_refused() {
        let frame = |content| ElapFrame { destination: STATION, source: STATION, content }.encode();
        let bytes = frame(ElapContent::Aarp(&[7; 28]));
        assert!(ElapFrame::decode(&bytes).is_ok());
        for (at, byte) in [(12, 0x80), (14, 0xe0), (16, 0x13), (17, 0x08), (21, 0x9b)] {
            let mut other = bytes.clone();
            other[at] = byte;
            assert!(ElapFrame::decode(&other).is_err(), "{at}");
        }
        assert!(ElapFrame::decode(&bytes[..49]).is_err(), "shorter than its length");
    }
}
