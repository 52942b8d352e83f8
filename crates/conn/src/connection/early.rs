//! Writing the data of a message while the rest of it arrives.
//!
//! A client that keeps one message in flight waits while its message is written, and the server waits while it arrives. So
//! what has arrived is written when the loop has nothing else to do. A client with more messages in flight keeps the loop
//! busy, and whole messages are written with fewer calls.

use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::{Connection, EndOnPanic, Reading};
use crate::in_flight::InFlight;
use crate::protocol::{EarlyMessage, Protocol};

/// What has arrived is written when it is so long.
const PIECE: usize = 128 * 1024;
/// A client keeps one message in flight after so many messages in a row that came when all before were answered.
const ALONE: u8 = 4;

/// What is known of the message that arrives next, or is arriving.
#[derive(Default)]
pub(super) struct EarlyProgress {
    /// Nothing of it had arrived when the one before was answered.
    is_alone: bool,
    /// How many messages in a row before this one were alone.
    before: u8,
    /// How much of it had arrived when some of it was last written.
    seen: usize,
    state: EarlyState,
}

#[derive(Default)]
enum EarlyState {
    /// The protocol was not asked.
    #[default]
    Whole,
    /// Its data are written as they arrive.
    Written(Box<dyn EarlyMessage>),
    /// No more is written before all of it is there.
    Stopped(Option<Box<dyn EarlyMessage>>),
}

impl EarlyProgress {
    /// All messages are answered as far as that goes without waiting, and nothing of another one has arrived.
    pub(super) fn begin_alone(&mut self) {
        self.is_alone = true;
    }

    /// The message is complete. Gives what has written its beginning.
    pub(super) fn end(&mut self) -> Option<Box<dyn EarlyMessage>> {
        self.before = if self.is_alone { self.before.saturating_add(1) } else { 0 };
        (self.is_alone, self.seen) = (false, 0);
        match std::mem::take(&mut self.state) {
            EarlyState::Whole | EarlyState::Stopped(None) => None,
            EarlyState::Written(message) | EarlyState::Stopped(Some(message)) => Some(message),
        }
    }

    /// Whether some of it is to be written when the loop has nothing else to do.
    fn is_due(&self, arrived: usize) -> bool {
        self.is_alone
            && self.before >= ALONE
            && arrived >= self.seen + PIECE
            && !matches!(self.state, EarlyState::Stopped(_))
    }
}

impl<P: Protocol> Connection<P> {
    /// Notes, before the reply to a long message is sent, whether the client has sent more. Once it has the reply, it does so
    /// in any case, perhaps before the next look.
    pub(super) fn note_alone(&self, reading: &mut Reading, length: usize) {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let nothing = || matches!(recv(self.socket.stream(), &mut [0_u8; 1], flags), Err(Errno::AGAIN));
        if length >= PIECE && reading.received.bytes().is_empty() && nothing() {
            reading.early.begin_alone();
        }
    }

    /// Asks the loop to tell when it has nothing else to do, if the message that is arriving has work for that time.
    pub(super) fn await_idle(&self, reading: &Reading) {
        if reading.early.is_due(reading.received.bytes().len()) && self.socket.is_drained() {
            self.socket.await_idle();
        }
    }

    /// Writes what has arrived of a message: the loop has nothing else to do. A call that blocks delays this connection only:
    /// the loop and what other connections do with this file go on elsewhere, as with a whole message.
    pub(super) fn write_early(&self, reading: &mut Reading) {
        let arrived = reading.received.bytes();
        if !reading.early.is_due(arrived.len()) {
            return;
        }
        let number = self.next_number();
        let in_flight = InFlight::new(&self.current, &self.watchdog, number);
        self.current.begin(number);
        if !self.watched.swap(true, Ordering::AcqRel) {
            self.watchdog.watch(self.me.clone());
        }
        let guard = EndOnPanic(self, number);
        let message = match std::mem::take(&mut reading.early.state) {
            EarlyState::Whole => match self.protocol.message_length(arrived) {
                Ok(Some(length)) => self.protocol.begin_early(arrived, length, &in_flight),
                Ok(None) | Err(_) => None,
            },
            EarlyState::Written(message) => Some(message),
            EarlyState::Stopped(message) => message,
        };
        let (message, goes_on) = match message {
            Some(mut message) => {
                let goes_on = message.write(arrived);
                (Some(message), goes_on)
            }
            None => (None, false),
        };
        std::mem::forget(guard);
        let was_stuck = self.current.end(number).is_none();
        if was_stuck {
            self.take_back(number, false);
        }
        reading.early.seen = arrived.len();
        reading.early.state = match message {
            Some(message) if goes_on && !was_stuck => EarlyState::Written(message),
            stopped => EarlyState::Stopped(stopped),
        };
        self.socket.try_again(); // more has probably arrived meanwhile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_early_only_if_some_in_a_row_came_alone() {
        let mut progress = EarlyProgress::default();
        for before in 0..ALONE {
            progress.begin_alone();
            assert!(!progress.is_due(PIECE), "after {before}");
            assert!(progress.end().is_none());
        }
        assert!(!progress.is_due(PIECE), "it came while the one before was answered");
        progress.begin_alone();
        assert!(progress.is_due(PIECE) && !progress.is_due(PIECE - 1));
        progress.end();
        progress.end();
        progress.begin_alone();
        assert!(!progress.is_due(PIECE), "one of them was not alone");
    }
}
