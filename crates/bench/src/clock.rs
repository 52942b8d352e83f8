//! Whether the time of day jumped, or the machine slept, while something was measured. The measurement
//! itself uses a clock that does neither.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The least difference that is a jump. Time synchronization changes the clock by less.
const JUMP: f64 = 0.5;

/// All clocks at one moment, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    /// It is never set, and stands still while the machine sleeps.
    monotonic: f64,
    /// The same, but it goes on while the machine sleeps.
    boot: f64,
    /// The time of day.
    day: f64,
}

/// What happened between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Change {
    /// Seconds by which the time of day jumped.
    pub(crate) jump: Option<f64>,
    /// Seconds in which the machine slept.
    pub(crate) slept: Option<f64>,
}

impl Clocks {
    pub(crate) fn now() -> Self {
        let seconds = |clock| {
            let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
            tv_sec as f64 + tv_nsec as f64 / 1e9
        };
        Self {
            monotonic: seconds(ClockId::Monotonic),
            boot: seconds(ClockId::Boottime),
            day: seconds(ClockId::Realtime),
        }
    }

    /// What happened since.
    pub(crate) fn change(&self, now: &Self) -> Change {
        let (awake, passed) = (now.monotonic - self.monotonic, now.boot - self.boot);
        let slept = passed - awake;
        let jump = now.day - self.day - passed;
        Change {
            jump: Some(jump).filter(|jump| jump.abs() >= JUMP),
            slept: Some(slept).filter(|slept| *slept >= JUMP),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_the_time_of_day_and_sleep_are_told_apart() {
        let begun = Clocks { monotonic: 100.0, boot: 200.0, day: 1e9 };
        let after = |awake: f64, slept: f64, jump: f64| {
            let passed = awake + slept;
            let now = Clocks {
                monotonic: begun.monotonic + awake,
                boot: begun.boot + passed,
                day: begun.day + passed + jump,
            };
            begun.change(&now)
        };
        assert_eq!(after(5.0, 0.0, 0.01), Change::default());
        assert_eq!(after(5.0, 0.0, -3600.0), Change { jump: Some(-3600.0), slept: None });
        assert_eq!(after(5.0, 60.0, 0.0), Change { jump: None, slept: Some(60.0) });
        let now = Clocks::now();
        assert_eq!(now.change(&Clocks::now()), Change::default());
    }
}
