//! For how long the reader of a connection goes on: when it sends the replies so far, and when it lets the loop's other
//! connections go on.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Connection, Reading};
use crate::listen::Counters;
use crate::loops::yield_now;
use crate::protocol::Protocol;

/// Messages after which a connection lets others go on.
const TURN_MESSAGES: u32 = 64;
/// Bytes after which it does so.
const TURN_BYTES: u64 = 1 << 20;
/// How long a reply waits for those to the next messages, so that they leave together. A client that has sent many messages
/// at once works on the first replies while the server works on the next ones.
const REPLY_WAITS: Duration = Duration::from_micros(30);

/// What a connection has done since it last let others go on.
#[derive(Default)]
pub(super) struct ConnectionTurn {
    messages: u32,
    /// [`Connection::moved`] when the turn began.
    began: u64,
    /// Bytes that had come from the client then.
    received: u64,
    /// When the first reply that has not been sent was ready.
    unsent: Option<Instant>,
}

impl ConnectionTurn {
    /// Whether the replies that have not been sent have waited for long enough. Asked after each message.
    fn is_due(&mut self, now: Instant) -> bool {
        let unsent = *self.unsent.get_or_insert(now);
        now.duration_since(unsent) >= REPLY_WAITS
    }

    /// All replies have been sent, as far as the client takes them.
    pub(super) fn flushed(&mut self) {
        self.unsent = None;
    }
}

impl<P: Protocol> Connection<P> {
    /// Sends the replies to the messages so far, before those that have arrived are answered, if the first one has waited for
    /// long. While other connections wait for the loop, their clients are the ones that work meanwhile.
    pub(super) fn flush_if_due(&self, reading: &mut Reading) {
        if reading.received.bytes().is_empty() || self.outbox.waiting() == 0 {
            return;
        }
        if reading.turn.is_due(Instant::now()) && !self.socket.others_wait() {
            self.outbox.flush();
            reading.turn.flushed();
        }
    }

    /// Lets the loop's other connections go on after a number of messages or bytes.
    pub(super) async fn yield_if_due(&self, reading: &mut Reading) {
        reading.turn.messages += 1;
        let moved = self.moved();
        if reading.turn.messages < TURN_MESSAGES && moved.wrapping_sub(reading.turn.began) < TURN_BYTES {
            return;
        }
        self.outbox.flush();
        let received = self.counters.bytes_in.load(Ordering::Relaxed);
        let sent = received.wrapping_sub(reading.turn.received);
        self.make_room((reading.turn.began, moved), sent).await;
        yield_now().await;
        reading.turn = ConnectionTurn { began: moved, received, ..ConnectionTurn::default() };
    }

    /// Bytes that came from the client and went to it, without those of reserved streams.
    fn moved(&self) -> u64 {
        let Counters { bytes_in, bytes_out, .. } = &*self.counters;
        let moved = bytes_in.load(Ordering::Relaxed).wrapping_add(bytes_out.load(Ordering::Relaxed));
        moved.wrapping_sub(self.reserved.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_due_when_the_first_one_has_waited() {
        let (mut turn, start) = (ConnectionTurn::default(), Instant::now());
        let half = REPLY_WAITS / 2;
        assert!(!turn.is_due(start) && !turn.is_due(start + half));
        assert!(turn.is_due(start + 2 * half) && turn.is_due(start + 3 * half));
        turn.flushed();
        assert!(!turn.is_due(start + 3 * half) && !turn.is_due(start + 4 * half));
        assert!(turn.is_due(start + 5 * half));
    }
}
