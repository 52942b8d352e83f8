//! Whether the next message is looked for right after a reply, before the loop waits for events.
//!
//! A client on the server's processor runs while its reply is sent, and its next message is there when the send returns. To
//! receive it at once saves the wait for its event. A client on another processor takes longer than that, and each attempt would
//! be in vain: after one in vain, more and more replies pass without an attempt.

use super::{Connection, Reading};
use crate::protocol::Protocol;

/// The most replies without an attempt.
const LONGEST_PAUSE: u16 = 512;

/// The attempts of one connection.
#[derive(Default)]
pub(super) struct EagerReceive {
    /// Replies that pass without an attempt after one in vain.
    pause: u16,
    /// How many of them are left.
    left: u16,
}

impl EagerReceive {
    /// Whether to try after this reply.
    pub(super) fn is_due(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                false
            }
            None => true,
        }
    }

    /// The message was there.
    pub(super) fn found(&mut self) {
        self.pause /= 4;
        self.left = 0;
    }

    /// It was not.
    pub(super) fn missed(&mut self) {
        self.pause = (self.pause * 2).clamp(1, LONGEST_PAUSE);
        self.left = self.pause;
    }
}

impl<P: Protocol> Connection<P> {
    /// Whether the next attempt to receive is one before its event: nothing has arrived, all is answered, and no other connection
    /// waits for the thread.
    pub(super) fn begin_eager(&self, reading: &mut Reading) -> bool {
        let is_eager = self.socket.is_drained() && !self.socket.others_wait() && reading.eager.is_due();
        if is_eager {
            self.socket.try_again();
        }
        is_eager
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many replies are followed by an attempt, of which all or none find something.
    fn attempts(eager: &mut EagerReceive, replies: u32, is_there: bool) -> u32 {
        let mut count = 0;
        for _ in 0..replies {
            if eager.is_due() {
                count += 1;
                if is_there { eager.found() } else { eager.missed() }
            }
        }
        count
    }

    #[test]
    fn attempts_in_vain_become_rare_and_successful_ones_frequent() {
        let mut eager = EagerReceive::default();
        assert_eq!(attempts(&mut eager, 100, true), 100);
        assert!(attempts(&mut eager, 10_000, false) < 30);
        assert!(attempts(&mut eager, 2 * u32::from(LONGEST_PAUSE), true) >= u32::from(LONGEST_PAUSE));
        assert_eq!(attempts(&mut eager, 100, true), 100);
    }
}
