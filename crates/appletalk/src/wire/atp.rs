//! Packets of the AppleTalk Transaction Protocol: Inside AppleTalk (second edition), chapter 9, figure 9-7.

use wire::{Malformed, Reader, Writer};

/// The bytes before the data of a packet.
pub const HEADER_BYTES: usize = 8;
/// The most bytes of data in a packet: the 586 of a datagram without the header.
pub const MAX_DATA: usize = 578;
/// The most packets of a response.
pub const MAX_PACKETS: usize = 8;
/// The most bytes of a response: 4,624.
pub const MAX_RESPONSE: usize = MAX_DATA * MAX_PACKETS;

/// Four bytes of the header that belong to the client of ATP.
pub type UserBytes = [u8; 4];

wire::number! {
    /// How long a responder keeps an exactly-once transaction that is not released. Values above 4 are reserved.
    pub ReleaseTimer: u8 ["release timer {}"] {
        SECONDS_30 = 0,
        MINUTE_1 = 1,
        MINUTES_2 = 2,
        MINUTES_4 = 3,
        MINUTES_8 = 4,
    }
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// TReq.
    Request(Request<'a>),
    /// TResp.
    Response(Response<'a>),
    /// TRel: the requester has the whole response. Bitmap and user bytes have no meaning.
    Release {
        /// The transaction.
        tid: u16,
    },
}

/// TReq: asks for a response, or for what is missing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The release timer, if the request must not be executed twice (XO).
    pub exactly_once: Option<ReleaseTimer>,
    /// The packets of the response that the requester waits for. The least significant bit is packet 0.
    pub bitmap: u8,
    /// The transaction.
    pub tid: u16,
    /// Bytes of ATP's client.
    pub user: UserBytes,
    /// At most [`MAX_DATA`] bytes.
    pub data: &'a [u8],
}

/// TResp: a packet of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// EOM: this is the last packet of the response.
    pub ends: bool,
    /// STS: the responder wants a TReq with the current bitmap at once.
    pub asks_status: bool,
    /// The packet's place in the response: 0 to 7.
    pub sequence: u8,
    /// The transaction.
    pub tid: u16,
    /// Bytes of ATP's client.
    pub user: UserBytes,
    /// At most [`MAX_DATA`] bytes.
    pub data: &'a [u8],
}

/// The two most significant bits of the control information.
const FUNCTION: u8 = 0xC0;
const REQUEST: u8 = 0x40;
const RESPONSE: u8 = 0x80;
const RELEASE: u8 = 0xC0;
/// The other bits.
const EXACTLY_ONCE: u8 = 0x20;
const END_OF_MESSAGE: u8 = 0x10;
const SEND_STATUS: u8 = 0x08;
const RELEASE_TIMER: u8 = 0x07;

impl<'a> Packet<'a> {
    /// # Errors
    /// Shorter than a header, an unknown function, or more than [`MAX_DATA`] bytes of data.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let (control, place, tid, user) = (r.u8()?, r.u8()?, r.u16_be()?, r.array::<4>()?);
        let data = r.rest();
        if data.len() > MAX_DATA {
            return Err(Malformed("more data than an ATP packet has"));
        }
        let has = |bit| control & bit != 0;
        match control & FUNCTION {
            REQUEST => {
                let exactly_once = has(EXACTLY_ONCE).then_some(ReleaseTimer(control & RELEASE_TIMER));
                Ok(Self::Request(Request { exactly_once, bitmap: place, tid, user, data }))
            }
            RESPONSE => {
                let (ends, asks_status) = (has(END_OF_MESSAGE), has(SEND_STATUS));
                Ok(Self::Response(Response { ends, asks_status, sequence: place, tid, user, data }))
            }
            RELEASE => Ok(Self::Release { tid }),
            _ => Err(Malformed("an unknown function of ATP")),
        }
    }

    /// The bytes of a datagram's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let (control, place, tid, user, data): (u8, u8, u16, UserBytes, &[u8]) = match *self {
            Self::Request(Request { exactly_once, bitmap, tid, user, data }) => {
                let mode = exactly_once.map_or(0, |timer| EXACTLY_ONCE | timer.0 & RELEASE_TIMER);
                (REQUEST | mode, bitmap, tid, user, data)
            }
            Self::Response(Response { ends, asks_status, sequence, tid, user, data }) => {
                let control = RESPONSE | bit(ends, END_OF_MESSAGE) | bit(asks_status, SEND_STATUS);
                (control, sequence, tid, user, data)
            }
            Self::Release { tid } => (RELEASE, 0, tid, [0; 4], &[]),
        };
        let mut w = Writer::onto(Vec::with_capacity(HEADER_BYTES + data.len()));
        w.u8(control);
        w.u8(place);
        w.u16_be(tid);
        w.put(&user);
        w.put(data);
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(packet: Packet<'_>, bytes: &[u8]) {
        assert_eq!(packet.encode(), bytes);
        assert_eq!(Packet::decode(bytes), Ok(packet));
    }

    #[test]
    fn a_request_has_the_layout_of_figure_9_7() {
        let request = Request {
            exactly_once: Some(ReleaseTimer::MINUTES_8),
            bitmap: 0b0011_1111,
            tid: 0x1234,
            user: [1, 2, 3, 4],
            data: b"ab",
        };
        holds(Packet::Request(request), &[0x64, 0x3f, 0x12, 0x34, 1, 2, 3, 4, b'a', b'b']);
        let request = Request { exactly_once: None, bitmap: 1, data: &[], ..request };
        holds(Packet::Request(request), &[0x40, 1, 0x12, 0x34, 1, 2, 3, 4]);
    }

    #[test]
    fn a_response_has_end_and_status_bits() {
        let response =
            Response { ends: true, asks_status: false, sequence: 2, tid: 9, user: [0; 4], data: b"x" };
        holds(Packet::Response(response), &[0x90, 2, 0, 9, 0, 0, 0, 0, b'x']);
        let response = Response { ends: false, asks_status: true, ..response };
        holds(Packet::Response(response), &[0x88, 2, 0, 9, 0, 0, 0, 0, b'x']);
    }

    #[test]
    fn a_release_has_a_transaction_only() {
        holds(Packet::Release { tid: 0xfffe }, &[0xc0, 0, 0xff, 0xfe, 0, 0, 0, 0]);
        let with_more = [0xe4, 7, 0, 1, 9, 9, 9, 9];
        assert_eq!(Packet::decode(&with_more), Ok(Packet::Release { tid: 1 }));
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        assert!(Packet::decode(&[0x40, 1, 0, 1, 0, 0, 0]).is_err());
        assert!(Packet::decode(&[0x00, 1, 0, 1, 0, 0, 0, 0]).is_err());
        let mut long = vec![0x40; HEADER_BYTES + MAX_DATA];
        assert!(Packet::decode(&long).is_ok());
        long.push(0);
        assert!(Packet::decode(&long).is_err());
    }
}
