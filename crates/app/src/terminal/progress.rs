//! The progress of a long command, on the terminal.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use admin::control::Progress;
use admin::settings::units::format_size;

use crate::terminal::{loudness, out};

/// How often the progress is shown.
const SHOW_EVERY: Duration = Duration::from_millis(250);
/// What takes less time shows no progress.
const SHOW_AFTER: Duration = Duration::from_secs(2);

/// The progress, shown on standard error if that is a terminal.
#[derive(Default)]
pub(crate) struct ProgressDisplay {
    begun: Cell<Option<Instant>>,
    last: Cell<Option<Instant>>,
}

impl ProgressDisplay {
    /// Shows the progress, unless it was shown a moment ago.
    pub(crate) fn show(&self, now: Progress) {
        let begun = self.begun.get().unwrap_or_else(Instant::now);
        self.begun.set(Some(begun));
        let elapsed = begun.elapsed();
        let due = elapsed >= SHOW_AFTER && self.last.get().is_none_or(|last| last.elapsed() >= SHOW_EVERY);
        let has_begun = now.done > 0 || now.total > 0;
        if !due || !has_begun || loudness::is_quiet() || !std::io::stderr().is_terminal() {
            return;
        }
        out::error(format_args!("\r\x1b[K{}", words(now, elapsed)));
        self.last.set(Some(Instant::now()));
    }

    /// Removes the progress from the terminal.
    pub(crate) fn end(&self) {
        self.begun.set(None);
        if self.last.take().is_some() {
            out::error("\r\x1b[K");
        }
    }
}

/// How far it is, how fast, and how long it will take.
fn words(now: Progress, elapsed: Duration) -> String {
    let millis = elapsed.as_millis().max(1);
    let rate = u128::from(now.done) * 1_000 / millis;
    let (done, each_second) = (format_size(now.done), format_size(u64::try_from(rate).unwrap_or(u64::MAX)));
    if now.total == 0 {
        return format!("{done} compared or copied, {each_second}/s");
    }
    let percent = u128::from(now.done) * 100 / u128::from(now.total);
    let missing = u128::from(now.total.saturating_sub(now.done));
    let left = match rate {
        0 => String::new(),
        rate => format!(", {} left", clock(missing.div_ceil(rate))),
    };
    format!("{percent} %: {done} of {} copied, {each_second}/s{left}", format_size(now.total))
}

/// `5 s`, `3:07` or `2:03:07`.
fn clock(seconds: u128) -> String {
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_a_rate_and_the_time_that_is_left() {
        let at = |done, total, seconds| words(Progress { done, total }, Duration::from_secs(seconds));
        assert_eq!(at(1 << 30, 4 << 30, 64), "25 %: 1 GiB of 4 GiB copied, 16 MiB/s, 3:12 left");
        assert_eq!(at(0, 4 << 30, 3), "0 %: 0 B of 4 GiB copied, 0 B/s");
        assert_eq!(at(32 << 20, 0, 2), "32 MiB compared or copied, 16 MiB/s");
    }

    #[test]
    fn the_time_that_is_left_is_read_like_a_clock() {
        assert_eq!([59, 187, 7_387].map(clock), ["59 s", "3:07", "2:03:07"]);
    }
}
