//! Waits inside a message: its beginning has arrived, and the rest comes later.
//!
//! A client with Nagle's algorithm (RFC 896) holds a short segment back until what it sent before is acknowledged. The other end
//! delays acknowledgements (RFC 1122 4.2.3.2) by a timer: 40 ms of Linux, 200 ms of Windows and older systems. A message that is
//! written in two pieces then waits for the timer each time. The waits have the length of the timer, and hardly any other length,
//! and what comes after them is short; so they differ from those of a client that is slow or is not given a processor.
//!
//! ```text
//! watching ─ waits of a timer's length, few others ─► acknowledging ─ they go on all the same ─► refuted
//! ```
//!
//! The proof is the cure: where the end that waits acknowledges at once, the waits end, or they were none of the timer.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

/// The timers in milliseconds, each with the waits that are its, and those beside it.
const TIMERS: [Timer; 2] = [
    Timer { ms: 40, its: (38, 52), beside: (12, 120) },
    Timer { ms: 200, its: (190, 235), beside: (120, 400) },
];
/// What Nagle's algorithm holds back is shorter than a segment: jumbo frames carry this.
const LONGEST_HELD: usize = 8960;
/// Waits of a timer's length that are enough to name it.
const ENOUGH: u32 = 5;
/// Of the waits near a timer's length, so many must have that length for each that has not.
const PURITY: u32 = 4;

struct Timer {
    ms: u32,
    its: (u64, u64),
    beside: (u64, u64),
}

/// What is done about the waits.
const WATCHING: u8 = 0;
const ACKNOWLEDGING: u8 = 1;
const REFUTED: u8 = 2;
const COUNTING: u8 = 3;

/// Counts the waits of one connection.
#[derive(Debug, Default)]
pub struct PieceWaits {
    held: [AtomicU32; 2],
    beside: [AtomicU32; 2],
    /// Waits of a timer's length since this end acknowledges at once.
    after: AtomicU32,
    state: AtomicU8,
}

/// The counts at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PieceWaitCounts {
    /// Waits of the length of each timer, 40 and 200 ms, before a short piece.
    pub held: [u32; 2],
    /// Other waits of similar length.
    pub beside: [u32; 2],
    /// Waits of a timer's length since this end acknowledges at once.
    pub after: u32,
    /// This end acknowledges what comes from this client at once.
    pub acknowledges: bool,
    /// The waits went on all the same: no timer is their reason.
    pub refuted: bool,
}

impl PieceWaits {
    /// Counts, and never asks for acknowledgements: for measurements.
    #[must_use]
    pub fn counting() -> Self {
        Self { state: AtomicU8::new(COUNTING), ..Self::default() }
    }

    /// A piece of this length came after such a wait inside a message.
    pub fn note(&self, wait: Duration, length: usize) {
        let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let is_in = |(from, to): (u64, u64)| (from..=to).contains(&ms);
        let Some(at) = TIMERS.iter().position(|timer| is_in(timer.beside)) else { return };
        let is_held = is_in(TIMERS[at].its) && length <= LONGEST_HELD;
        match self.state.load(Ordering::Relaxed) {
            ACKNOWLEDGING if is_held => {
                if self.after.fetch_add(1, Ordering::Relaxed) + 1 >= ENOUGH {
                    self.state.store(REFUTED, Ordering::Relaxed);
                }
            }
            ACKNOWLEDGING => {}
            _ => {
                let count = if is_held { &self.held[at] } else { &self.beside[at] };
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        if self.state.load(Ordering::Relaxed) == WATCHING && self.counts().timer_ms().is_some() {
            self.state.store(ACKNOWLEDGING, Ordering::Relaxed);
        }
    }

    /// Whether what arrives is to be acknowledged at once: the rest of the message waits for that.
    pub fn acknowledges(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ACKNOWLEDGING
    }

    /// The counts now.
    pub fn counts(&self) -> PieceWaitCounts {
        let all = |of: &[AtomicU32; 2]| [0, 1].map(|at: usize| of[at].load(Ordering::Relaxed));
        let state = self.state.load(Ordering::Relaxed);
        PieceWaitCounts {
            held: all(&self.held),
            beside: all(&self.beside),
            after: self.after.load(Ordering::Relaxed),
            acknowledges: state == ACKNOWLEDGING,
            refuted: state == REFUTED,
        }
    }
}

impl PieceWaitCounts {
    /// The timer that the other end's pieces wait for, in milliseconds.
    #[must_use]
    pub fn timer_ms(&self) -> Option<u32> {
        let is_it = |at: &usize| {
            let (held, beside) = (self.held[*at], self.beside[*at]);
            held >= ENOUGH && beside.saturating_mul(PURITY) <= held
        };
        (0..TIMERS.len()).find(is_it).filter(|_| !self.refuted).map(|at| TIMERS[at].ms)
    }

    /// The waits of the length of a timer.
    #[must_use]
    pub fn held_for(&self, timer_ms: u32) -> u32 {
        TIMERS.iter().position(|timer| timer.ms == timer_ms).map_or(0, |at| self.held[at])
    }

    /// Those since an earlier time.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let less =
            |now: [u32; 2], before: [u32; 2]| [0, 1].map(|at: usize| now[at].saturating_sub(before[at]));
        Self {
            held: less(self.held, before.held),
            beside: less(self.beside, before.beside),
            after: self.after.saturating_sub(before.after),
            ..*self
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let add = |one: [u32; 2], other: [u32; 2]| [0, 1].map(|at: usize| one[at].saturating_add(other[at]));
        Self {
            held: add(self.held, other.held),
            beside: add(self.beside, other.beside),
            after: self.after.saturating_add(other.after),
            acknowledges: self.acknowledges || other.acknowledges,
            refuted: self.refuted || other.refuted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(waits: impl IntoIterator<Item = (u64, usize)>) -> PieceWaits {
        let pieces = PieceWaits::default();
        waits.into_iter().for_each(|(ms, length)| pieces.note(Duration::from_millis(ms), length));
        pieces
    }

    #[test]
    fn waits_of_the_length_of_the_timer_are_named() {
        let linux = noted([40, 41, 43, 40, 44].map(|ms| (ms, 120)));
        assert_eq!(linux.counts().timer_ms(), Some(40));
        assert!(linux.acknowledges());
        let windows = noted([200, 201, 199, 215, 205].map(|ms| (ms, 120)));
        assert_eq!(windows.counts().timer_ms(), Some(200));
        assert_eq!(noted([(40, 120); 4]).counts().timer_ms(), None, "four may be chance");
    }

    #[test]
    fn waits_of_all_lengths_are_a_busy_machine() {
        let all = (1..=150).map(|number| (number * 7 % 120, 120));
        let busy = noted(all);
        assert!(busy.counts().held[0] >= ENOUGH, "some have the length of the timer, too");
        assert_eq!(busy.counts().timer_ms(), None);
    }

    #[test]
    fn a_client_that_is_stopped_for_40_ms_sends_long_pieces_after_it() {
        // A control group with 60 ms of each 100 ms: the client goes on with whatever it was sending.
        assert_eq!(noted([(40, 64 << 10); 100]).counts().timer_ms(), None);
    }

    #[test]
    fn waits_that_go_on_when_this_end_acknowledges_at_once_are_not_of_the_timer() {
        let pieces = noted([(40, 120); 5]);
        assert!(pieces.acknowledges());
        (0..4).for_each(|_| pieces.note(Duration::from_millis(40), 120));
        assert!(pieces.counts().timer_ms().is_some(), "what was on its way");
        pieces.note(Duration::from_millis(40), 120);
        assert!(!pieces.acknowledges() && pieces.counts().refuted);
        assert_eq!(pieces.counts().timer_ms(), None);
        (0..50).for_each(|_| pieces.note(Duration::from_millis(40), 120));
        assert!(!pieces.acknowledges(), "it is not tried again");
    }

    #[test]
    fn a_measurement_counts_and_changes_nothing() {
        let pieces = PieceWaits::counting();
        (0..20).for_each(|_| pieces.note(Duration::from_millis(40), 120));
        assert!(!pieces.acknowledges());
        let before = pieces.counts();
        assert_eq!((before.timer_ms(), before.held_for(40)), (Some(40), 20));
        pieces.note(Duration::from_millis(200), 120);
        let later = pieces.counts().since(&before);
        assert_eq!((later.held, later.timer_ms()), ([0, 1], None));
        assert_eq!(later.plus(&before).held, [20, 1]);
    }

    #[test]
    fn a_connection_without_waits_has_none() {
        let fast = noted([(0, 1), (1, 9000), (5, 20), (500, 1), (60_000, 1)]);
        assert_eq!(fast.counts(), PieceWaitCounts::default());
    }
}
