//! Where the time of a connection goes: the server answers, a message arrives, or the client has not asked yet.
//!
//! The clock is read for one message in [`SAMPLED`], and where something waits anyway: an answer that is not ready at once, a
//! message of which only the beginning has arrived. Sixteen messages that are answered at once cost three clock reads, some 5 ns for each
//! of the 5 µs that the smallest one takes: 0.1 %. A connection that does nothing costs nothing.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::pieces::{PieceWaitCounts, PieceWaits};

/// One message in so many is measured.
const SAMPLED: u32 = 16;
/// A client that asks again so long after a reply had nothing to ask.
const LONGEST_THOUGHT: Duration = Duration::from_secs(1);

/// Adds up the times of one connection.
#[derive(Debug, Default)]
pub struct ConnectionTiming {
    /// Waits inside messages.
    pub pieces: PieceWaits,
    /// Answers that are not ready.
    pending: AtomicU32,
    /// Since when there are some. Threads that begin and end one at the same time may lose a wait: it is a sum of many.
    pending_since: AtomicU64,
    /// Time in which some answer was not ready.
    waited: AtomicU64,
    /// Time of sampled answers that were ready at once.
    at_once: AtomicU64,
    /// Time of clients between a reply and the next message, of those that were sampled.
    thought: AtomicU64,
    /// When the reply was ready after which the client's time counts. 0: none.
    replied: AtomicU64,
    /// Time in which a message was there in part.
    arriving: AtomicU64,
}

/// The times of a connection since it began. The first and the third are estimates from samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionTimes {
    /// The server worked on an answer.
    pub answering: Duration,
    /// The beginning of a message was there, and the rest was to come.
    pub arriving: Duration,
    /// Everything was answered, and the next message of a client that asks one after the other was not there in full.
    pub thinking: Duration,
    /// Waits inside messages.
    pub pieces: PieceWaitCounts,
}

impl ConnectionTiming {
    /// The message of this number is complete. The time, if its answer is measured.
    pub(crate) fn begin(&self, number: u32) -> Option<Instant> {
        if !number.is_multiple_of(SAMPLED) {
            return None;
        }
        let now = Instant::now();
        let replied = self.replied.swap(0, Ordering::Relaxed);
        if replied > 0 {
            let thought = nanos(now).saturating_sub(replied);
            if u128::from(thought) < LONGEST_THOUGHT.as_nanos() {
                self.thought.fetch_add(thought, Ordering::Relaxed);
            }
        }
        Some(now)
    }

    /// Its answer was ready at once.
    pub(crate) fn end(&self, number: u32, begun: Option<Instant>) {
        if let Some(begun) = begun {
            self.at_once.fetch_add(length(begun.elapsed()), Ordering::Relaxed);
        }
        self.reply(number);
    }

    /// Its answer is not ready at once.
    pub(crate) fn begin_wait(&self) {
        if self.pending.fetch_add(1, Ordering::Relaxed) == 0 {
            self.pending_since.store(nanos(Instant::now()), Ordering::Relaxed);
        }
    }

    /// It is ready now.
    pub(crate) fn end_wait(&self, number: u32) {
        if self.pending.fetch_sub(1, Ordering::Relaxed) == 1 {
            let since = self.pending_since.load(Ordering::Relaxed);
            self.waited.fetch_add(nanos(Instant::now()).saturating_sub(since), Ordering::Relaxed);
            self.reply(number);
        }
    }

    /// The client's time begins, if it is measured after this message.
    fn reply(&self, number: u32) {
        if number % SAMPLED == SAMPLED - 1 {
            self.replied.store(nanos(Instant::now()), Ordering::Relaxed);
        }
    }

    /// More of a message came after such a wait.
    pub(crate) fn arrived(&self, wait: Duration, bytes: usize) {
        self.arriving.fetch_add(length(wait), Ordering::Relaxed);
        self.pieces.note(wait, bytes);
    }

    /// The times so far.
    pub fn times(&self) -> ConnectionTimes {
        let scaled = |of: &AtomicU64| {
            Duration::from_nanos(of.load(Ordering::Relaxed).saturating_mul(u64::from(SAMPLED)))
        };
        let mut waited = self.waited.load(Ordering::Relaxed);
        if self.pending.load(Ordering::Relaxed) > 0 {
            let since = self.pending_since.load(Ordering::Relaxed);
            waited += nanos(Instant::now()).saturating_sub(since);
        }
        ConnectionTimes {
            answering: Duration::from_nanos(waited) + scaled(&self.at_once),
            arriving: Duration::from_nanos(self.arriving.load(Ordering::Relaxed)),
            thinking: scaled(&self.thought),
            pieces: self.pieces.counts(),
        }
    }
}

fn length(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds since the first call, and more than 0.
fn nanos(time: Instant) -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    length(time.saturating_duration_since(*FIRST.get_or_init(Instant::now))) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_in_sixteen_reads_the_clock() {
        let timing = ConnectionTiming::default();
        let measured = (1..=64).filter(|number| timing.begin(*number).is_some()).count();
        assert_eq!(measured, 4);
        timing.end(16, timing.begin(16));
        assert!(timing.times().answering > Duration::ZERO);
    }

    #[test]
    fn answers_that_wait_together_are_one_wait() {
        let timing = ConnectionTiming::default();
        let begun = Instant::now();
        timing.begin_wait();
        timing.begin_wait();
        std::thread::sleep(Duration::from_millis(2)); // the time is the subject
        timing.end_wait(1);
        assert!(timing.times().answering >= Duration::from_millis(2), "one still waits");
        timing.end_wait(2);
        let whole = begun.elapsed();
        let waited = timing.times().answering;
        assert!(waited >= Duration::from_millis(2) && waited <= whole, "{waited:?} of {whole:?}");
        assert_eq!(timing.times().answering, waited, "none waits any more");
    }

    #[test]
    fn the_time_of_the_client_is_between_a_reply_and_its_next_message() {
        let timing = ConnectionTiming::default();
        timing.end(15, None);
        std::thread::sleep(Duration::from_millis(1)); // the time is the subject
        timing.begin(16);
        assert!(timing.times().thinking >= Duration::from_millis(16), "scaled by sixteen");
        let before = timing.times().thinking;
        timing.begin(32); // a message that came before the reply to the last one
        assert_eq!(timing.times().thinking, before);
    }

    #[test]
    fn waits_inside_a_message_are_added() {
        let timing = ConnectionTiming::default();
        timing.arrived(Duration::from_millis(40), 100);
        timing.arrived(Duration::from_millis(3), 64 << 10);
        let times = timing.times();
        assert_eq!((times.arriving, times.pieces.held), (Duration::from_millis(43), [1, 0]));
    }
}
