//! What servers of one tree send each other.

use cluster::wire::sums::{MAX_STARTS, MAX_SUMS, SumsMessage};
use cluster::wire::{MAX_FILES, MAX_ITEMS, Message, PeerFrame};
use cluster::{MAX_CALL, MAX_NOTE};

/// A frame: what is understood is written as it was, and nothing in it is longer than its limit.
pub fn frame(data: &[u8]) {
    let Ok(frame) = PeerFrame::decode(data) else { return };
    assert_eq!(&frame.encode()[4..], data);
    let PeerFrame::Data { message, .. } = frame else { return };
    match message {
        Message::Hand { state, .. } => {
            assert!(state.opens.len() <= MAX_ITEMS && state.ranges.len() <= MAX_ITEMS);
            assert!(state.queue.len() <= MAX_ITEMS && state.leases.len() <= MAX_ITEMS);
        }
        Message::Keep(record) => {
            assert!(record.replica.ranges.len() <= MAX_ITEMS && record.note.len() <= MAX_NOTE);
        }
        Message::Call(_, bytes) | Message::Answer(_, Some(bytes)) => assert!(bytes.len() <= MAX_CALL),
        Message::Sums(message) => match message {
            SumsMessage::Totals(totals) => assert!(totals.len() <= MAX_FILES),
            SumsMessage::Changed { files, .. } => assert!(files.len() <= MAX_FILES),
            SumsMessage::Sums(sums) => {
                assert!(sums.len() <= MAX_SUMS && sums.iter().all(|sum| sum.starts.len() <= MAX_STARTS));
            }
            _ => {}
        },
        _ => {}
    }
}
