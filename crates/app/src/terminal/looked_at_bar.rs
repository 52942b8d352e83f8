//! The progress of a command that looks at many files.

use std::time::Duration;

use admin::control::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// How often the progress is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(250);

/// The progress, on standard error if that is a terminal.
pub(crate) struct LookedAtBar(ProgressBar);

impl LookedAtBar {
    /// Nothing was looked at yet.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(style("{spinner} {msg}: {human_pos} looked at [{elapsed}]"));
        bar.enable_steady_tick(DRAW_EVERY);
        Self(bar)
    }

    /// Shows what is looked at now, and how much of it was.
    pub(crate) fn show(&self, what: &str, now: Progress) {
        if self.0.message() != what {
            self.0.set_message(what.to_owned());
        }
        if self.0.length() != Some(now.total) && now.total > 0 {
            self.0.set_length(now.total);
            self.0.set_style(style(
                "{spinner} {msg}: {human_pos} of {human_len} looked at [{elapsed}, {eta} left]",
            ));
        }
        self.0.set_position(now.done);
    }

    /// Removes it from the terminal.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
