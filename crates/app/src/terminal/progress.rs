//! The progress of a long command, on the terminal.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use admin::control::Progress;
use admin::settings::units::format_size;

use crate::terminal::out;

/// How often the progress is shown.
const SHOW_EVERY: Duration = Duration::from_millis(250);

/// The progress, shown on standard error if that is a terminal.
#[derive(Default)]
pub(crate) struct ProgressDisplay {
    last: Cell<Option<Instant>>,
}

impl ProgressDisplay {
    /// Shows the progress, unless it was shown a moment ago.
    pub(crate) fn show(&self, now: Progress) {
        let due = self.last.get().is_none_or(|last| last.elapsed() >= SHOW_EVERY);
        let has_begun = now.done > 0 || now.total > 0;
        if !due || !has_begun || !std::io::stderr().is_terminal() {
            return;
        }
        let (done, total) = (format_size(now.done), format_size(now.total));
        match now.total {
            0 => out::error(format_args!("\r\x1b[K{done} compared or copied")),
            _ => {
                let percent = u128::from(now.done) * 100 / u128::from(now.total);
                out::error(format_args!("\r\x1b[K{percent} %: {done} of {total} copied"));
            }
        }
        self.last.set(Some(Instant::now()));
    }

    /// Removes the progress from the terminal.
    pub(crate) fn end(&self) {
        if self.last.take().is_some() {
            out::error("\r\x1b[K");
        }
    }
}
