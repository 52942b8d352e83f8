//! Whether a loop polls while a message has arrived in part: only where its bytes then arrive faster.
//!
//! On one machine a client copies the next piece while the server works on the last one, and a server that sleeps in between
//! makes both wait. Over a network the pieces come as fast as the network brings them, and polling only costs. The gaps look
//! alike. So a loop tries: it sleeps for some waits and polls for as many, three times.

/// How long a loop polls for the next piece, in µs.
pub(super) const LIMIT_US: f64 = 30.0;
/// Waits of each part of a trial.
const PART: u32 = 32;
/// The parts: asleep and polling, three times.
const PARTS: usize = 6;
/// How many times as fast bytes must arrive while it polls, each of the three times.
const FASTER: f64 = 1.15;
/// Waits before the first trial.
const FIRST: u32 = 64;
/// Waits until the next trial, after one that polling has won.
const WON: u32 = 8192;
/// The same after trials in a row that it has not.
const LOST: (u32, u32) = (1024, 32_768);

/// A decision, or the trial that leads to the next one.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Decided { polls: bool },
    Trying { part: usize },
}

/// Learns whether polling makes the bytes of long messages arrive faster.
#[derive(Debug)]
pub(super) struct PieceTrial {
    phase: Phase,
    /// Waits until the phase ends.
    left: u32,
    /// What has arrived in each part of the trial, and the time that it took.
    bytes: [f64; PARTS],
    time: [f64; PARTS],
    /// Waits until the next trial after one that is lost.
    lost: u32,
}

impl Default for PieceTrial {
    fn default() -> Self {
        Self {
            phase: Phase::Decided { polls: false },
            left: FIRST,
            bytes: [0.0; PARTS],
            time: [0.0; PARTS],
            lost: LOST.0,
        }
    }
}

impl PieceTrial {
    /// Whether the next wait inside a message polls.
    pub(super) fn polls(&self) -> bool {
        match self.phase {
            Phase::Decided { polls } => polls,
            Phase::Trying { part } => part % 2 == 1,
        }
    }

    /// A wait has ended: the time since the last one has, and the bytes that were received in it. `is_inside`: it was a wait
    /// for the next piece of a message.
    pub(super) fn note(&mut self, elapsed: f64, bytes: f64, is_inside: bool) {
        if let Phase::Trying { part } = self.phase {
            self.bytes[part] += bytes;
            self.time[part] += elapsed;
        }
        if !is_inside {
            return;
        }
        self.left -= 1;
        if self.left > 0 {
            return;
        }
        (self.phase, self.left) = match self.phase {
            Phase::Decided { .. } => {
                (self.bytes, self.time) = ([0.0; PARTS], [0.0; PARTS]);
                (Phase::Trying { part: 0 }, PART)
            }
            Phase::Trying { part } if part + 1 < PARTS => (Phase::Trying { part: part + 1 }, PART),
            Phase::Trying { .. } => self.decide(),
        };
    }

    fn decide(&mut self) -> (Phase, u32) {
        let rate = |part: usize| self.bytes[part] / self.time[part].max(1.0);
        let polls = (0..PARTS).step_by(2).all(|asleep| rate(asleep + 1) > rate(asleep) * FASTER);
        let left = if polls { WON } else { self.lost };
        self.lost = if polls { LOST.0 } else { (self.lost * 2).min(LOST.1) };
        (Phase::Decided { polls }, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits inside messages: a piece of so many bytes arrives in each, after a time that may depend on polling. Returns in
    /// how many of them the loop polled.
    fn waits(trial: &mut PieceTrial, count: usize, time: impl Fn(bool) -> f64) -> usize {
        let wait = |_: &usize| {
            let polls = trial.polls();
            trial.note(time(polls), 65_536.0, true);
            polls
        };
        (0..count).filter(wait).count()
    }

    #[test]
    fn where_bytes_arrive_faster_the_loop_polls() {
        let mut trial = PieceTrial::default();
        let local = |polls| if polls { 10.0 } else { 50.0 };
        waits(&mut trial, 300, local);
        assert!(waits(&mut trial, 100_000, local) > 97_000, "all but the trials");
    }

    #[test]
    fn where_the_network_is_the_limit_it_sleeps() {
        let mut trial = PieceTrial::default();
        assert!(waits(&mut trial, 100_000, |_| 52.0) < 1500, "only the trials");
    }

    #[test]
    fn a_trial_that_is_faster_once_decides_nothing() {
        let mut trial = PieceTrial::default();
        let mut count = 0;
        while !matches!(trial.phase, Phase::Trying { .. }) || count < 3 * PART {
            count += u32::from(matches!(trial.phase, Phase::Trying { .. }));
            let is_lucky = matches!(trial.phase, Phase::Trying { part: 1 });
            trial.note(if is_lucky { 10.0 } else { 50.0 }, 65_536.0, true);
        }
        waits(&mut trial, 3 * PART as usize, |_| 50.0);
        assert!(matches!(trial.phase, Phase::Decided { polls: false }), "{trial:?}");
    }

    #[test]
    fn waits_between_messages_are_time_but_end_no_part() {
        let mut trial = PieceTrial::default();
        (0..10_000).for_each(|_| trial.note(10.0, 0.0, false));
        assert_eq!(trial.left, FIRST);
        assert!(!trial.polls());
    }

    #[test]
    fn a_client_that_goes_elsewhere_is_slept_for_after_the_next_trial() {
        let mut trial = PieceTrial::default();
        waits(&mut trial, 300, |polls| if polls { 10.0 } else { 50.0 });
        assert!(trial.polls());
        waits(&mut trial, WON as usize + PARTS * PART as usize, |_| 52.0);
        assert!(waits(&mut trial, 1000, |_| 52.0) < 100);
    }
}
