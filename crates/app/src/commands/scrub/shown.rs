//! What a scrub says: its findings.

use admin::control::{ScrubFinding, ScrubReport};

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
