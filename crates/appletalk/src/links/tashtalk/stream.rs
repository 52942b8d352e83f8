//! The bytes between a host and the firmware of TashTalk, as documentation/protocol.md of the firmware describes them.
//!
//! From the host: commands. From the chip: frames of the cable with their check sequences, without flags. The byte 0 is
//! followed by one that says what it means:
//!
//! ```text
//!           ┌──────── 00 FF: the byte 0 ────────┐
//!           ▼                                   │
//!  bytes ─► a frame ──── 00 FD: its end ────────┼──► given to the host, if its check sequence is right
//!           ▲                                   │
//!           └─ 00 FA aborted, 00 FC check sequence wrong, 00 FE framing error, others: the frame is dropped
//! ```

use crate::links::MAX_LLAP_FRAME;
use crate::wire::llap::LlapFrame;

/// The length of the check sequence, in bytes.
const CHECK: usize = 2;
/// The longest frame of a cable, in bytes.
const MAX_FRAME: usize = MAX_LLAP_FRAME + CHECK;
/// The length of destination, source and type, in bytes.
const HEADER: usize = 3;
/// The type from which frames have nothing else.
const CONTROL: u8 = 0x80;
/// The first byte of each pair.
const ESCAPE: u8 = 0x00;
const LITERAL: u8 = 0xFF;
const FRAME_DONE: u8 = 0xFD;

const NO_OPERATION: u8 = 0x00;
const TRANSMIT: u8 = 0x01;
const SET_NODES: u8 = 0x02;
/// After so many empty commands, the chip expects a command in any case.
const RESET: usize = 1024;

/// The commands after which the chip is in a known state, and answers for no node.
pub(super) fn reset() -> Vec<u8> {
    let mut commands = vec![NO_OPERATION; RESET];
    commands.extend(set_node(None));
    commands
}

/// The command that has the chip answer enquiries and requests to send for this node only.
pub(super) fn set_node(node: Option<u8>) -> Vec<u8> {
    let mut command = vec![0; 33];
    command[0] = SET_NODES;
    // 0 and 255 are no nodes: with the bit of 255, the chip would send no broadcast.
    if let Some(node) = node.filter(|node| (1..=254).contains(node)) {
        command[1 + usize::from(node / 8)] = 1 << (node % 8);
    }
    command
}

/// The command that sends a frame.
pub(super) fn transmit(frame: &[u8]) -> Vec<u8> {
    let mut command = Vec::with_capacity(1 + frame.len() + CHECK);
    command.push(TRANSMIT);
    command.extend(frame);
    command.extend(frame_check(frame));
    command
}

/// How many bytes the chip takes for a frame that begins so. `None`: it is shorter than its length field.
pub(super) fn length(frame: &[u8]) -> Option<usize> {
    match frame {
        [_, _, kind, ..] if *kind >= CONTROL => Some(HEADER),
        [_, _, _, high, low, ..] => Some(HEADER + usize::from(u16::from_be_bytes([high & 0b11, *low]))),
        _ => None,
    }
}

/// The check sequence of a frame as it is sent: CRC-CCITT with the lowest bit first, complemented. Inside AppleTalk,
/// appendix B.
fn frame_check(frame: &[u8]) -> [u8; 2] {
    let add = |crc: u16, byte: &u8| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x8408 } else { crc >> 1 })
    };
    (!frame.iter().fold(0xFFFF, add)).to_le_bytes()
}

/// What the chip has said about the frame whose bytes arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameState {
    Plain,
    /// The last byte was 0.
    Escaped,
}

/// Makes frames of the bytes from the chip.
#[derive(Debug)]
pub struct FrameReader {
    frame: Vec<u8>,
    state: FrameState,
    /// The frame is longer than one can be. Its bytes are dropped until its end.
    is_too_long: bool,
    malformed: u64,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self {
            frame: Vec::with_capacity(MAX_FRAME),
            state: FrameState::Plain,
            is_too_long: false,
            malformed: 0,
        }
    }
}

impl FrameReader {
    /// Takes bytes up to the end of the first good frame in them. Returns how many bytes were taken, and that frame
    /// without its check sequence.
    pub fn read(&mut self, bytes: &[u8]) -> (usize, Option<Vec<u8>>) {
        for (at, byte) in bytes.iter().enumerate() {
            match (self.state, *byte) {
                (FrameState::Plain, ESCAPE) => self.state = FrameState::Escaped,
                (FrameState::Plain, byte) => self.add(byte),
                (FrameState::Escaped, mark) => {
                    self.state = FrameState::Plain;
                    if mark == LITERAL {
                        self.add(0);
                    } else if let Some(frame) = self.end(mark) {
                        return (at + 1, Some(frame));
                    }
                }
            }
        }
        (bytes.len(), None)
    }

    /// How many frames were dropped because they were damaged.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    fn add(&mut self, byte: u8) {
        if self.frame.len() == MAX_FRAME {
            self.is_too_long = true;
        } else {
            self.frame.push(byte);
        }
    }

    /// The frame that ends, if it is a good one.
    fn end(&mut self, mark: u8) -> Option<Vec<u8>> {
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let good = self.frame.split_last_chunk::<CHECK>().filter(|(frame, check)| {
            mark == FRAME_DONE
                && !is_too_long
                && frame_check(frame) == **check
                && LlapFrame::decode(frame).is_ok()
        });
        let good = good.map(|(frame, _)| frame.to_vec());
        self.malformed += u64::from(good.is_none());
        self.frame.clear();
        good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the chip sends it.
    fn escaped(frame: &[u8], mark: u8) -> Vec<u8> {
        let whole = [frame, &frame_check(frame)].concat();
        let mut bytes: Vec<u8> =
            whole.iter().flat_map(|byte| if *byte == 0 { vec![0, 0xFF] } else { vec![*byte] }).collect();
        bytes.extend([0, mark]);
        bytes
    }

    fn frames(bytes: &[u8], step: usize) -> (Vec<Vec<u8>>, u64) {
        let (mut reader, mut found) = (FrameReader::default(), Vec::new());
        for mut part in bytes.chunks(step) {
            while !part.is_empty() {
                let (taken, frame) = reader.read(part);
                found.extend(frame);
                part = &part[taken..];
            }
        }
        (found, reader.malformed())
    }

    const ENQUIRY: &[u8] = &[5, 5, 0x81];
    const DATA: &[u8] = &[0xFF, 9, 1, 0, 5, 2, 2, 4];

    #[test]
    fn the_check_sequence_is_that_of_x_25() {
        // The check value of CRC-16/IBM-SDLC, ITU-T X.25 2.2.7.4.
        assert_eq!(frame_check(b"123456789"), 0x906E_u16.to_le_bytes());
    }

    #[test]
    fn frames_come_out_whole_however_the_bytes_arrive() {
        let bytes = [escaped(ENQUIRY, FRAME_DONE), escaped(DATA, FRAME_DONE)].concat();
        for step in 1..bytes.len() {
            assert_eq!(frames(&bytes, step), (vec![ENQUIRY.to_vec(), DATA.to_vec()], 0), "{step}");
        }
    }

    #[test]
    fn a_damaged_frame_is_dropped_and_the_next_is_not() {
        let mut wrong = escaped(DATA, FRAME_DONE);
        wrong[1] ^= 1;
        let bad = [escaped(DATA, 0xFE), escaped(DATA, 0xFA), escaped(DATA, 0xFC), escaped(DATA, 0x77), wrong];
        let bytes = [bad.concat(), vec![1, 0, FRAME_DONE], escaped(ENQUIRY, FRAME_DONE)].concat();
        assert_eq!(frames(&bytes, 3), (vec![ENQUIRY.to_vec()], 6));
    }

    #[test]
    fn an_endless_frame_takes_no_memory() {
        let mut reader = FrameReader::default();
        for _ in 0..1000 {
            assert_eq!(reader.read(&[7; 100]), (100, None));
        }
        assert!(reader.frame.capacity() <= 2 * MAX_FRAME);
        assert_eq!(reader.read(&escaped(ENQUIRY, FRAME_DONE)).1, None);
        assert_eq!(reader.read(&escaped(ENQUIRY, FRAME_DONE)).1.as_deref(), Some(ENQUIRY));
    }

    #[test]
    fn the_length_is_in_the_ten_bits_after_the_header() {
        assert_eq!(length(ENQUIRY), Some(3));
        assert_eq!(length(DATA), Some(DATA.len()));
        assert_eq!(length(&[1, 2, 1, 0b1111_1110, 3]), Some(3 + 0x203));
        assert_eq!(length(&[1, 2, 1, 0]), None);
    }

    #[test]
    fn a_node_is_a_bit_and_255_is_none() {
        let mut expected = [0; 33];
        expected[0] = 2;
        assert_eq!(set_node(None), expected);
        assert_eq!(set_node(Some(255)), expected);
        expected[1 + 5] = 0b100;
        assert_eq!(set_node(Some(42)), expected);
    }

    #[test]
    fn a_frame_is_sent_without_escapes_and_with_its_check() {
        let command = transmit(DATA);
        assert_eq!(command[0], 1);
        assert_eq!(&command[1..9], DATA);
        assert_eq!(command[9..], frame_check(DATA));
    }
}
