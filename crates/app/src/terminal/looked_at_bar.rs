//! The progress of a command that goes through many files.

use std::time::Duration;

use admin::control::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::loudness;

/// How often the progress is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(250);

/// The progress, on standard error if that is a terminal.
pub(crate) struct LookedAtBar(ProgressBar);

impl LookedAtBar {
    /// Nothing was done yet.
    pub(crate) fn new() -> Self {
        let bar = if loudness::is_quiet() { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        bar.set_style(style("{spinner} {msg}: {human_pos} [{elapsed}, {per_sec}]"));
        bar.enable_steady_tick(DRAW_EVERY);
        Self(bar)
    }

    /// Shows what is gone through now, and how much of it was.
    pub(crate) fn show(&self, what: &str, now: Progress) {
        if self.0.message() != what {
            self.0.set_message(what.to_owned());
        }
        if self.0.length() != Some(now.total) && now.total > 0 {
            self.0.set_length(now.total);
            self.0.set_style(style(
                "{spinner} {msg}: {human_pos} of {human_len} [{elapsed}, {per_sec}, {eta} left]",
            ));
        }
        self.0.set_position(now.done);
    }

    /// Removes it from the terminal.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for LookedAtBar {
    fn drop(&mut self) {
        self.end(); // an error comes next, and needs the line
    }
}

/// Does something that takes long and cannot say how far it is. `what` is said while it is done.
pub(crate) fn busy<T>(what: impl Into<String>, work: impl FnOnce() -> T) -> T {
    let bar = LookedAtBar::new();
    bar.0.set_style(style("{spinner} {msg} [{elapsed}]"));
    bar.0.set_message(what.into());
    let done = work();
    bar.end();
    done
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
