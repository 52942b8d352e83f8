//! The backups of Macs as text.

use admin::control::{BackupSession, BackupStatus, BackupVerification, SessionEnd};
use admin::settings::units::format_size;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::shares::backups::explain::{growth_in_words, span};
use crate::terminal::out;

/// One line for each Mac.
pub(super) fn list(all: &[BackupStatus]) -> String {
    if all.is_empty() {
        return "No Mac has backed up yet.\n".into();
    }
    let headings = ["MAC", "SHARE", "SIZE", "IS IT SAFE?"].map(str::to_owned);
    let row = |one: &BackupStatus| {
        let size = one.size.map_or_else(|| "-".into(), format_size);
        [one.mac.clone(), one.share.clone(), size, one.line.clone()]
    };
    out::table(std::iter::once(headings).chain(all.iter().map(row)))
}

/// All that is known of one.
pub(super) fn one(one: &BackupStatus) -> String {
    let size = |bytes: Option<u64>| bytes.map(format_size);
    let verified = one.verification.as_ref().map(verified);
    let check = one.mac_check.as_ref().map(|found| match one.mac_checked {
        Some(at) => format!("{found}, checked {}", when(at)),
        None => found.clone(),
    });
    let rows = [
        ("Bundle", Some(format!("{}/{}", one.share, one.bundle))),
        ("Belongs to", Some(one.owner.clone())),
        ("Mac", one.model.clone()),
        ("Newest backup", one.completed.map(when)),
        (
            "Backups",
            (one.backups > 0).then(|| match one.oldest {
                Some(oldest) => format!("{} since {}", one.backups, when(oldest)),
                None => one.backups.to_string(),
            }),
        ),
        ("Next expected", one.expected.map(when)),
        ("Size", size(one.size)),
        ("Limit of the share", size(one.limit)),
        ("Limit of the Mac", size(one.own_limit)),
        ("Left", size(one.free)),
        ("Growth", one.growth_per_day.map(growth_in_words)),
        ("No room in", one.full_in_s.map(|seconds| span(i64::try_from(seconds).unwrap_or(i64::MAX)))),
        ("Encrypted", one.encrypted.map(|is| if is { "yes" } else { "no" }.to_owned())),
        ("Checked by the Mac", check),
        ("Verified", verified),
        ("Alert after", one.alert_days.map(|days| format!("{days} days"))),
        ("Restore points", (!one.points.is_empty()).then(|| one.points.len().to_string())),
        ("Kept", (!one.kept.is_empty()).then(|| one.kept.join(", "))),
        ("Also of this Mac", one.twin.clone()),
    ];
    let mut text = format!("{}\n", one.line);
    one.advice.iter().for_each(|advice| text.push_str(&format!("{advice}\n")));
    let rows = rows.into_iter().filter_map(|(name, value)| Some([format!("  {name}"), value?]));
    text.push_str(&format!("\n{}", out::table(rows)));
    if !one.sessions.is_empty() {
        text.push_str(&format!("\nSessions:\n{}", out::table(one.sessions.iter().map(session))));
    }
    if let Some(verification) = one.verification.as_ref().filter(|found| !found.problems.is_empty()) {
        text.push_str(&format!("\n{}", problems(verification)));
    }
    text
}

/// What a verification has found.
pub(super) fn verification(found: &BackupVerification) -> String {
    let inside = found.inside.as_ref().map(|inside| format!("Inside: {inside}\n")).unwrap_or_default();
    format!("{}\n{inside}{}", verified(found), problems(found))
}

fn problems(found: &BackupVerification) -> String {
    found.problems.iter().map(|problem| format!("  {}\n", problem.text)).collect()
}

fn verified(found: &BackupVerification) -> String {
    let read = format!(
        "{} read, {} bands are whole, {} had no checksum",
        format_size(found.done),
        found.whole,
        found.learned
    );
    match (found.ended, found.problems.len()) {
        (None, _) => format!("going on: {} of {}", format_size(found.done), format_size(found.total)),
        (Some(at), 0) => format!("whole, {}: {read}", when(at)),
        (Some(at), count) if found.is_damaged() => {
            format!("damaged ({count} problems), {}: {read}", when(at))
        }
        (Some(at), count) => format!("whole, with {count} notes, {}: {read}", when(at)),
    }
}

fn session(session: &BackupSession) -> [String; 4] {
    let end = match session.end {
        None => "goes on",
        Some(SessionEnd::Completed) => "completed",
        Some(SessionEnd::Cancelled) => "stopped on the Mac",
        Some(SessionEnd::Slept) => "the Mac slept",
        Some(SessionEnd::Lost) => "connection lost",
        Some(SessionEnd::DiskFull) => "disk full",
        Some(SessionEnd::Limit) => "limit reached",
        Some(SessionEnd::Permission) => "files of another user",
        Some(SessionEnd::ServerStopped) => "server stopped",
    };
    let took = session.ended.map_or_else(String::new, |ended| span(ended - session.began));
    [format!("  {}", when(session.began)), took, end.to_owned(), session.by.clone()]
}

fn when(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds).unwrap_or_default().to_zoned(TimeZone::system());
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
pub(super) mod tests {
    use admin::control::BackupState;

    use super::*;

    /// Good backups of this Mac.
    pub(crate) fn status(share: &str, mac: &str) -> BackupStatus {
        BackupStatus {
            share: share.into(),
            mac: mac.into(),
            bundle: format!("{mac}.sparsebundle"),
            owner: "ada".into(),
            model: None,
            host: None,
            state: BackupState::Good,
            line: "Safe: backed up 2 minutes ago.".into(),
            advice: None,
            completed: Some(1_800_000_000),
            oldest: None,
            backups: 0,
            expected: None,
            changed: 0,
            size: Some(3 << 30),
            encrypted: Some(false),
            limit: None,
            own_limit: None,
            free: None,
            growth_per_day: None,
            full_in_s: None,
            users: Vec::new(),
            received: 0,
            sessions: Vec::new(),
            mac_check: None,
            mac_checked: None,
            verification: None,
            points: Vec::new(),
            kept: Vec::new(),
            alert_days: None,
            twin: None,
        }
    }

    #[test]
    fn each_mac_has_one_line() {
        let text = list(&[status("tm", "Ada's Mac"), status("tm", "bob")]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "MAC        SHARE  SIZE   IS IT SAFE?");
        assert_eq!(lines[1], "Ada's Mac  tm     3 GiB  Safe: backed up 2 minutes ago.");
        assert_eq!(list(&[]), "No Mac has backed up yet.\n");
    }

    #[test]
    fn what_is_not_known_has_no_row() {
        let text = one(&BackupStatus { encrypted: None, ..status("tm", "ada") });
        assert!(
            text.starts_with("Safe: backed up 2 minutes ago.\n\n  Bundle         tm/ada.sparsebundle\n"),
            "{text}"
        );
        assert!(
            !text.contains("Encrypted") && !text.contains("Growth") && !text.contains("Sessions"),
            "{text}"
        );
    }
}
