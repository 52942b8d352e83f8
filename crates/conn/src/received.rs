//! Bytes that have arrived, cut into messages. A long message is received into a buffer of its own length and
//! leaves in it.

use bytes::{Buf, Bytes, BytesMut};

use crate::buffers::received as pool;

/// Bytes to read at once when nothing is known of what comes.
const READ_AHEAD: usize = 64 * 1024;
/// Data are copied into the page cache fastest from an address that is a multiple of this.
const ALIGNED: usize = 64;
/// Messages up to this length leave the buffer as copies: as long as it is being answered a message would keep all of it.
const COPIED: usize = 4 * 1024;

/// What has been received from a client and not been taken as a message.
#[derive(Default)]
pub(crate) struct ReceiveBuffer {
    bytes: Vec<u8>,
    /// Where the next message begins.
    at: usize,
    /// The length of the last message, if it was not copied. The next one is probably as long.
    usual: usize,
}

impl ReceiveBuffer {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Takes the first bytes as a message. A long one that is all that was received is not copied.
    pub(crate) fn take(&mut self, length: usize) -> BytesMut {
        let end = self.at + length;
        if length <= COPIED || length < self.bytes.len() / 2 {
            let message = BytesMut::from(&self.bytes[self.at..end]);
            (self.at, self.usual) = (end, 0);
            if self.at == self.bytes.len() {
                self.bytes.clear();
                self.at = 0;
            }
            return message;
        }
        self.usual = length;
        let mut next = Vec::new();
        if end < self.bytes.len() {
            next = pool::take((self.bytes.len() - end).max(READ_AHEAD));
            next.extend_from_slice(&self.bytes[end..]);
            self.bytes.truncate(end);
        }
        let mut message = Bytes::from(std::mem::replace(&mut self.bytes, next));
        message.advance(std::mem::take(&mut self.at));
        BytesMut::from(message)
    }

    /// Everything that is here, for TLS to begin with.
    pub(crate) fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.bytes().to_vec();
        self.bytes.clear();
        self.at = 0;
        self.rest();
        rest
    }

    /// A buffer with room for more, of which so many bytes are missing for the next message at least. A long message gets
    /// one of its length, which holds nothing else in the end. Before anything is known of the next message, the buffer has
    /// the length of the last one.
    pub(crate) fn with_room(&mut self, missing: usize) -> &mut Vec<u8> {
        let rest = self.bytes.len() - self.at;
        let expected = if rest == 0 { self.usual } else { 0 };
        let whole = (rest + missing).max(expected);
        if whole > self.bytes.capacity() {
            // The allocator aligns long buffers. So the end of the message, where its data are, is aligned, too.
            let before = whole.next_multiple_of(ALIGNED) - whole;
            let mut longer = pool::take((before + whole).max(READ_AHEAD));
            longer.resize(before, 0);
            longer.extend_from_slice(self.bytes());
            pool::give_back(std::mem::replace(&mut self.bytes, longer));
            self.at = before;
        } else if missing > self.bytes.capacity() - self.bytes.len() {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        &mut self.bytes
    }

    /// Gives the buffer back if nothing is in it, or little in a long one: nothing is charged for it yet. True if nothing is.
    pub(crate) fn rest(&mut self) -> bool {
        let left = self.bytes.len() - self.at;
        if left == 0 {
            self.at = 0;
            pool::give_back(std::mem::take(&mut self.bytes));
        } else if left <= COPIED && self.bytes.capacity() > 2 * READ_AHEAD {
            let few = self.bytes().to_vec();
            self.at = 0;
            pool::give_back(std::mem::replace(&mut self.bytes, few));
        }
        left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(bytes: &[u8]) -> ReceiveBuffer {
        let mut received = ReceiveBuffer::default();
        received.with_room(bytes.len()).extend_from_slice(bytes);
        received
    }

    #[test]
    fn messages_leave_in_order_whatever_their_lengths() {
        let all: Vec<u8> = (0..40_000_u32).map(|at| (at % 251) as u8).collect();
        for lengths in [&[1, 3, 39_996][..], &[39_000, 1000], &[10, 30_000, 9990], &[40_000], &[5000; 8]] {
            let mut received = received(&all);
            let mut at = 0;
            for length in lengths {
                assert_eq!(received.take(*length), all[at..at + length], "{lengths:?}");
                at += length;
                assert_eq!(received.bytes(), &all[at..], "{lengths:?}");
            }
            assert!(received.rest());
        }
    }

    #[test]
    fn a_long_message_is_received_where_it_stays() {
        let mut received = received(&[7; 100]);
        let room = received.with_room(1 << 20);
        assert_eq!(room.capacity() - room.len(), 1 << 20, "none of the next message comes with it");
        room.extend_from_slice(&[8; 1 << 20]);
        let (start, end) = (room.as_ptr() as usize, room.as_ptr_range().end as usize);
        assert_eq!((end - start) % ALIGNED, 0);
        let message = received.take(100 + (1 << 20));
        assert!(message.as_ptr_range().end as usize == end && message[..100] == [7; 100]);
        let room = received.with_room(1);
        assert_eq!(room.capacity() - room.len(), 100 + (1 << 20), "the next message is probably as long");
    }

    #[test]
    fn half_a_message_stays_when_room_is_made() {
        let mut received = received(&[1, 2, 3, 4]);
        assert_eq!(received.take(3)[..], [1, 2, 3]);
        let room = received.with_room(READ_AHEAD);
        room.extend_from_slice(&[5]);
        assert_eq!(received.bytes(), [4, 5]);
        assert!(!received.rest());
    }
}
