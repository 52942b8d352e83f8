//! What a scrub says: its progress, and its findings.

use std::time::Duration;

use admin::control::{Progress, ScrubFinding, ScrubReport};
use indicatif::{ProgressBar, ProgressStyle};

/// How often the progress is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(250);

/// The progress, on standard error if that is a terminal.
pub(super) struct ScrubProgress(ProgressBar);

impl ScrubProgress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(style("{spinner} {msg}: {human_pos} looked at [{elapsed}]"));
        bar.enable_steady_tick(DRAW_EVERY);
        Self(bar)
    }

    pub(super) fn show(&self, what: &str, now: Progress) {
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

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// A report for people.
pub(super) fn text(report: &ScrubReport) -> String {
    let what = report.share.as_deref().unwrap_or("the state folder");
    let mut text = String::new();
    for finding in &report.findings {
        let ScrubFinding { path, what: flaw, meaning, remedy, outcome, why, moved_to, .. } = finding;
        let path = if path.is_empty() { "its folder" } else { path };
        text.push_str(&format!("{what}: {path}\n    what:    {flaw}\n    means:   {meaning}\n"));
        match (&outcome[..], why, moved_to) {
            ("mended", _, Some(to)) => text.push_str(&format!("    mended:  moved to {to}\n")),
            ("mended", ..) => text.push_str("    mended\n"),
            (_, Some(why), _) => text.push_str(&format!("    left:    {why}\n    remedy:  {remedy}\n")),
            _ => text.push_str(&format!("    remedy:  {remedy}\n")),
        }
    }
    let more = report.found.saturating_sub(report.findings.len() as u64);
    if more > 0 {
        text.push_str(&format!("and {more} more\n"));
    }
    let (looked, found, mended, left) = (report.looked, report.found, report.mended, report.left());
    text.push_str(&match (found, mended) {
        (0, _) => format!("{what}: {looked} looked at, sound\n"),
        (_, 0) => format!("{what}: {looked} looked at, {found} wrong; --repair mends {}\n", report.mendable),
        _ => format!("{what}: {looked} looked at, {found} wrong, {mended} mended, {left} left\n"),
    });
    if report.ended {
        text.push_str(&format!("{what}: it was ended before all was looked at\n"));
    }
    text
}
