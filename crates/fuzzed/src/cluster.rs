//! What servers of one tree send each other.

use cluster::wire::{Frame, MAX_ITEMS, Message};

/// A frame: what is understood is written as it was, and nothing in it is longer than its limit.
pub fn frame(data: &[u8]) {
    let Ok(frame) = Frame::decode(data) else { return };
    assert_eq!(&frame.encode()[4..], data);
    if let Frame::Data { message: Message::Hand { state, .. }, .. } = frame {
        assert!(state.opens.len() <= MAX_ITEMS && state.ranges.len() <= MAX_ITEMS);
        assert!(state.queue.len() <= MAX_ITEMS && state.leases.len() <= MAX_ITEMS);
    }
}
