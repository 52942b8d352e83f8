//! When a loop polls before it sleeps: learned from the gaps between its events, without a clock and without sockets.
//!
//! A loop that sleeps has to be woken, which takes 5 to 50 µs and keeps two processors busy. If the next event comes sooner
//! than that, it is cheaper to look for it again and again. What is best depends on the client: [`PollLearner`] keeps how
//! the last gaps were distributed, and chooses the limit that costs least.
//!
//! ```text
//! Sleeping ──(sleeps that may be worth it)──► Probing ──(polling is cheaper)──► Polling
//!    ▲                                           │                                 │
//!    └───────────(sleeping is cheaper)───────────┴─────────────────────────────────┘
//! ```
//!
//! A loop that sleeps sees gaps that include its own waking, so it cannot learn from them alone: now and then it probes.
//! Polling in vain has a budget: [`VAIN_PART`] of the loop's time. While a message has arrived in part, gaps say little, and
//! [`PieceTrial`] decides.

mod pieces;

use std::time::Duration;

use pieces::PieceTrial;

/// The longest poll if the setting leaves it to the loop.
const LONGEST: Duration = Duration::from_micros(60);
/// The limits among which a loop chooses, as parts of the longest.
const PARTS: [f64; 3] = [0.25, 0.5, 1.0];
/// The part of the loop's time that it may poll in vain.
const VAIN_PART: f64 = 0.05;
/// The most that it may save of that budget, in µs: an idle loop does not save for ever.
const SAVED_US: f64 = 1000.0;
/// The weight of the last gap in the distribution.
const WEIGHT: f64 = 1.0 / 32.0;
/// The bounds of how long a sleeping thread takes to wake, in µs; the upper one counts before more is known.
const WAKING_US: (f64, f64) = (4.0, 50.0);
/// What a microsecond of waking is worth in microseconds of the processor. In a virtual machine where waking took 40 µs, 21 of
/// these were time of the processor; the rest is the client's delay.
const WAKING_WORTH: f64 = 0.75;
/// Polling begins when it costs less than this part of sleeping. It ends when it costs more than sleeping.
const CLEARLY: f64 = 0.9;
/// Waits of one probe, and how many of these have to pass without a hit until it ends early.
const PROBE: u32 = 16;
const PROBE_IN_VAIN: u32 = 8;
/// The weight of the last gap while a probe goes on: the first ones are those of a client that was slept for.
const PROBE_WEIGHT: f64 = 1.0 / 6.0;
/// A poll of so many times the longest one is the time of other threads: they need the processor.
const OTHERS: f64 = 2.0;
/// Sleeps before a probe: at first, and after probes in a row that found nothing.
const PROBE_AFTER: u32 = 32;
const PROBE_AFTER_MOST: u32 = 4096;
/// Polls after which polling counts as a success: the next probe comes early again.
const SUCCESS: u32 = 256;
/// Polls after which the loop sleeps for a while, to learn what a sleep costs now.
const RELEARN: u32 = 16_384;
/// Sleeps of which the median is known.
const SLEEPS: usize = 16;
/// A loop whose sleeps are longer than this beyond the longest poll, in µs, does not probe.
const HOPELESS_US: f64 = 200.0;
/// Sleeps that have become shorter than this part of what they were at the last probe are a reason for a new one.
const SHORTER: f64 = 0.75;
/// Longer sleeps count as one of so many µs.
const LONG_SLEEP_US: f64 = 1000.0;

/// Whether loops poll before they sleep: the setting `poll`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Polling {
    /// For as long as it is cheaper than to sleep, up to 60 µs.
    #[default]
    Auto,
    /// Never.
    Off,
    /// For at most so long, if the mean gap between events is shorter.
    UpTo(Duration),
}

/// What a loop has measured of a wait for events.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EndedWait {
    /// The time from the end of the wait before to the beginning of this one.
    pub(super) busy: Duration,
    /// How long it polled.
    pub(super) polled: Duration,
    /// How long it slept. `None`: an event came before it slept.
    pub(super) slept: Option<Duration>,
    /// The bytes that were received since the wait before.
    pub(super) received: u64,
    /// A message had arrived in part.
    pub(super) is_inside: bool,
}

/// What the waits of a loop were, since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitCounts {
    /// Waits in which the loop slept.
    pub slept: u64,
    /// Waits that ended while it polled.
    pub polled: u64,
    /// Waits in which it polled in vain. These are among those in which it slept.
    pub vain: u64,
    /// How long it polled in vain.
    pub vain_time: Duration,
    /// The longest poll that it would do now; zero: it sleeps at once.
    pub limit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Sleeps until the next probe.
    Sleeping { until_probe: u32 },
    /// Polls for the longest time, to learn.
    Probing { left: u32 },
    /// Polls. So many waits already.
    Polling { waits: u32 },
}

/// Learns whether and for how long a loop should poll. All times are in µs.
#[derive(Debug)]
pub(super) struct PollLearner {
    setting: Polling,
    phase: Phase,
    /// For each limit: the part of the gaps that were longer than the limit before and not longer than this one.
    share: [f64; PARTS.len()],
    /// The time that these gaps take of a mean wait.
    spent: [f64; PARTS.len()],
    /// The last sleeps, with the waking, and where the next one goes.
    sleeps: [f64; SLEEPS],
    next_sleep: usize,
    /// Their median when the last probe began.
    sleep_at_probe: f64,
    /// How long a sleeping thread takes to wake. `None`: not known yet.
    waking: Option<f64>,
    /// Sleeps before the next probe, after one that finds nothing.
    probe_after: u32,
    /// What may be polled in vain.
    credit: f64,
    pieces: PieceTrial,
    counts: WaitCounts,
}

impl PollLearner {
    pub(super) fn new(setting: Polling) -> Self {
        Self {
            setting,
            phase: Phase::Sleeping { until_probe: PROBE_AFTER },
            share: [0.0; PARTS.len()],
            spent: [0.0; PARTS.len()],
            sleeps: [LONG_SLEEP_US; SLEEPS],
            next_sleep: 0,
            sleep_at_probe: LONG_SLEEP_US,
            waking: None,
            probe_after: PROBE_AFTER,
            credit: SAVED_US,
            pieces: PieceTrial::default(),
            counts: WaitCounts::default(),
        }
    }

    /// Begins anew with another setting. What was counted stays.
    pub(super) fn set(&mut self, setting: Polling) {
        if self.setting != setting {
            *self = Self { counts: self.counts, ..Self::new(setting) };
        }
    }

    pub(super) fn setting(&self) -> Polling {
        self.setting
    }

    pub(super) fn counts(&self) -> WaitCounts {
        WaitCounts { limit: self.limit(false), ..self.counts }
    }

    /// How long the next wait may poll before it sleeps. Zero: not at all. `is_inside`: a message has arrived in part.
    pub(super) fn limit(&self, is_inside: bool) -> Duration {
        let limit = match self.phase {
            _ if is_inside && !self.pieces.polls() => 0.0,
            _ if is_inside => self.longest().min(pieces::LIMIT_US),
            Phase::Sleeping { .. } => 0.0,
            Phase::Probing { .. } => self.longest(),
            Phase::Polling { .. } => self.cheapest().0,
        };
        if limit > self.credit { Duration::ZERO } else { Duration::from_nanos((limit * 1000.0) as u64) }
    }

    /// Learns from a wait that has ended.
    pub(super) fn note(&mut self, wait: EndedWait) {
        if self.longest() == 0.0 {
            self.counts.slept += u64::from(wait.slept.is_some());
            return;
        }
        let polled = micros(wait.polled);
        let slept = wait.slept.map(micros);
        let all = micros(wait.busy) + polled + slept.unwrap_or_default();
        self.credit = (self.credit + all * VAIN_PART).min(SAVED_US);
        match slept {
            None => self.counts.polled += 1,
            Some(_) => self.counts.slept += 1,
        }
        if slept.is_some() && polled > 0.0 {
            self.counts.vain += 1;
            self.counts.vain_time += wait.polled;
            self.credit -= polled;
        }
        self.pieces.note(all, wait.received as f64, wait.is_inside);
        if !wait.is_inside {
            self.learn(polled, slept);
        }
    }

    fn learn(&mut self, polled: f64, slept: Option<f64>) {
        match (self.phase, slept) {
            (Phase::Sleeping { until_probe }, _) => {
                self.sleeps[self.next_sleep] = slept.unwrap_or_default().min(LONG_SLEEP_US);
                self.next_sleep = (self.next_sleep + 1) % SLEEPS;
                self.phase = self.after_sleep(until_probe);
            }
            // Without credit it slept at once, and has learned nothing.
            (Phase::Probing { .. } | Phase::Polling { .. }, Some(_)) if polled == 0.0 => {}
            (Phase::Probing { left }, _) => {
                let done = PROBE - left + 1;
                self.note_gap(polled, slept, PROBE_WEIGHT.max(1.0 / f64::from(done)));
                let is_vain = done == PROBE_IN_VAIN && self.share.iter().sum::<f64>() == 0.0;
                self.phase = match left {
                    _ if is_vain || polled > self.longest() * OTHERS => self.sleeps_again(),
                    1 => self.after_probe(),
                    _ => Phase::Probing { left: left - 1 },
                };
            }
            (Phase::Polling { waits }, _) => {
                let is_of_others = polled > self.longest() * OTHERS;
                self.note_gap(polled, slept, if is_of_others { 4.0 * WEIGHT } else { WEIGHT });
                self.phase = self.after_poll(waits.saturating_add(1));
            }
        }
    }

    fn after_sleep(&mut self, until_probe: u32) -> Phase {
        if until_probe > 0 && self.next_sleep > 0 {
            return Phase::Sleeping { until_probe: until_probe - 1 };
        }
        let sleep = self.usual_sleep();
        let is_hopeless = sleep > self.longest() + HOPELESS_US;
        if sleep < self.sleep_at_probe * SHORTER && !is_hopeless {
            self.probe_after = PROBE_AFTER;
        }
        match until_probe.min(self.probe_after) {
            left if left > 0 || is_hopeless => Phase::Sleeping { until_probe: left.saturating_sub(1) },
            _ => {
                self.sleep_at_probe = sleep;
                Phase::Probing { left: PROBE }
            }
        }
    }

    fn after_probe(&mut self) -> Phase {
        let found: f64 = self.share.iter().sum();
        if found >= 0.99 {
            let waking = self.sleep_at_probe - self.spent.iter().sum::<f64>();
            let before = self.waking.unwrap_or(waking);
            self.waking = Some(f64::midpoint(before, waking).clamp(WAKING_US.0, WAKING_US.1));
        }
        if self.cheapest().1 < self.cost_of_sleep() * CLEARLY {
            return Phase::Polling { waits: 0 };
        }
        self.sleeps_again()
    }

    fn after_poll(&mut self, waits: u32) -> Phase {
        if waits >= SUCCESS {
            self.probe_after = PROBE_AFTER;
        }
        match self.cheapest().1 <= self.cost_of_sleep() {
            true if waits < RELEARN => Phase::Polling { waits },
            true => Phase::Sleeping { until_probe: PROBE_AFTER },
            false => self.sleeps_again(),
        }
    }

    fn sleeps_again(&mut self) -> Phase {
        let until_probe = self.probe_after;
        self.probe_after = (self.probe_after * 2).min(PROBE_AFTER_MOST);
        Phase::Sleeping { until_probe }
    }

    /// Adds a gap to the distribution.
    fn note_gap(&mut self, polled: f64, slept: Option<f64>, weight: f64) {
        let gap = polled + slept.unwrap_or_default();
        let longest = self.longest();
        let at = PARTS.iter().position(|part| gap <= part * longest);
        for (index, (share, spent)) in self.share.iter_mut().zip(&mut self.spent).enumerate() {
            let (one, time) = if at == Some(index) { (1.0, gap) } else { (0.0, 0.0) };
            *share += (one - *share) * weight;
            *spent += (time - *spent) * weight;
        }
    }

    /// The limit with which a wait costs least, and that cost.
    fn cheapest(&self) -> (f64, f64) {
        let (mut share, mut spent, mut best) = (0.0, 0.0, (0.0, f64::INFINITY));
        for (index, part) in PARTS.iter().enumerate() {
            share += self.share[index];
            spent += self.spent[index];
            let limit = part * self.longest();
            let cost = spent + (1.0 - share) * (limit + self.cost_of_sleep());
            if cost < best.1 {
                best = (limit, cost);
            }
        }
        best
    }

    /// The median of the last sleeps: a few long ones say nothing of the client.
    fn usual_sleep(&self) -> f64 {
        let mut sleeps = self.sleeps;
        sleeps.sort_by(f64::total_cmp);
        sleeps[SLEEPS / 2]
    }

    /// What a sleep costs in µs of the processor.
    fn cost_of_sleep(&self) -> f64 {
        match self.setting {
            Polling::UpTo(_) => self.longest(),
            Polling::Auto | Polling::Off => self.waking.unwrap_or(WAKING_US.1) * WAKING_WORTH,
        }
    }

    fn longest(&self) -> f64 {
        match self.setting {
            Polling::Auto => micros(LONGEST),
            Polling::Off => 0.0,
            Polling::UpTo(limit) => micros(limit),
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

#[cfg(test)]
mod tests;
