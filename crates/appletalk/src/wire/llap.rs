//! Frames of LocalTalk: the LocalTalk Link Access Protocol, "Inside AppleTalk" chapter 1. A frame here has neither flags nor
//! frame check sequence: those are the link's.

use wire::{Malformed, Reader, Writer};

wire::number! {
    /// What a frame carries, chapter 1, "LLAP packet".
    pub LlapKind: u8 ["LLAP type {:#04x}"] {
        DDP_SHORT = 0x01,
        DDP_LONG = 0x02,
        /// Is this node number in use?
        ENQUIRY = 0x81,
        /// It is.
        ACKNOWLEDGE = 0x82,
        REQUEST_TO_SEND = 0x84,
        CLEAR_TO_SEND = 0x85,
    }
}

/// A frame from node to node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlapFrame<'a> {
    /// The node that gets it, or 255 for all.
    pub destination: u8,
    /// The node that sent it.
    pub source: u8,
    /// What it carries.
    pub kind: LlapKind,
    /// At most [`LlapFrame::MAX_DATA`] bytes. Control frames have none.
    pub data: &'a [u8],
}

impl<'a> LlapFrame<'a> {
    /// The most bytes of data, appendix C, "LLAP parameters".
    pub const MAX_DATA: usize = 600;

    /// From a frame without its frame check sequence.
    ///
    /// # Errors
    /// It is shorter than a header, or longer than any frame.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let (destination, source, kind) = (r.u8()?, r.u8()?, LlapKind(r.u8()?));
        match r.rest() {
            data if data.len() > Self::MAX_DATA => {
                Err(Malformed("LLAP frame of more than 600 bytes of data"))
            }
            data => Ok(Self { destination, source, kind, data }),
        }
    }

    /// The frame without its frame check sequence.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::onto(Vec::with_capacity(3 + self.data.len()));
        w.put(&[self.destination, self.source, self.kind.0]);
        w.put(self.data);
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_that_of_figure_1_2() {
        let bytes = [255, 12, 1, 0, 5, 2, 253, 2];
        let frame =
            LlapFrame { destination: 255, source: 12, kind: LlapKind::DDP_SHORT, data: &[0, 5, 2, 253, 2] };
        assert_eq!(LlapFrame::decode(&bytes), Ok(frame));
        assert_eq!(frame.encode(), bytes);
    }

    #[test]
    fn a_control_frame_has_a_header_only() {
        let enquiry = LlapFrame { destination: 12, source: 12, kind: LlapKind::ENQUIRY, data: &[] };
        assert_eq!(enquiry.encode(), [12, 12, 0x81]);
        assert!(LlapFrame::decode(&[12, 12]).is_err());
    }

    #[test]
    fn more_than_600_bytes_of_data_are_refused() {
        assert!(LlapFrame::decode(&[0; 603]).is_ok());
        assert!(LlapFrame::decode(&[0; 604]).is_err());
    }
}
