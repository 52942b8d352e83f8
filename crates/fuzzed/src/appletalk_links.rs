//! What arrives on links of AppleTalk: datagrams of LToUDP, and the serial line of TashTalk.

use appletalk::links::{FrameReader, LToUdpDatagram};

/// A datagram of LToUDP.
pub fn ltoudp(data: &[u8]) {
    if let Ok(datagram) = LToUdpDatagram::decode(data) {
        assert_eq!([&datagram.sender[..], &datagram.frame.encode()].concat(), data);
    }
}

/// Bytes of the serial line: frames do not depend on the pieces in which they arrive. The first byte is the length of the pieces.
pub fn tashtalk(data: &[u8]) {
    let Some((step, bytes)) = data.split_first() else { return };
    let whole = frames(&mut bytes.chunks(bytes.len().max(1)));
    assert_eq!(whole, frames(&mut bytes.chunks(usize::from(*step).max(1))));
    assert!(whole.0.iter().all(|frame| frame.len() <= 603));
}

/// The frames of these pieces, and how many were damaged.
fn frames(pieces: &mut dyn Iterator<Item = &[u8]>) -> (Vec<Vec<u8>>, u64) {
    let (mut reader, mut found) = (FrameReader::default(), Vec::new());
    for mut piece in pieces {
        while !piece.is_empty() {
            let (taken, frame) = reader.read(piece);
            found.extend(frame);
            piece = &piece[taken..];
        }
    }
    (found, reader.malformed())
}
