//! LUNs as tables for people.

use std::fmt::Write as _;

use admin::control::LunStatus;
use admin::settings::units::format_size;
use jiff::Timestamp;

use crate::terminal::out;

/// A row for each LUN.
pub(super) fn list(luns: &[LunStatus]) -> String {
    let headings = ["LUN", "size", "used", "target", "number", "who"].map(str::to_owned);
    out::table(std::iter::once(headings).chain(luns.iter().map(row)))
}

fn row(lun: &LunStatus) -> [String; 6] {
    let used = lun.used.map_or_else(|| "-".into(), format_size);
    let size = if lun.size == 0 { "-".into() } else { format_size(lun.size) }; // unreachable
    [lun.full_name(), size, used, lun.target.clone(), lun.number.to_string(), who(lun)]
}

/// The logged-in initiators, or why logins are impossible.
fn who(lun: &LunStatus) -> String {
    if let Some(problem) = &lun.problem {
        return format!("not served: {problem}");
    }
    if let Some(server) = &lun.active_at {
        return format!("served by {server} of the cluster");
    }
    if !lun.served {
        return "not served: no server runs".into();
    }
    let names: Vec<&str> = lun.sessions.iter().map(|session| &*session.initiator).collect();
    if names.is_empty() { "nobody".into() } else { names.join(", ") }
}

/// All data of one LUN.
pub(super) fn one(lun: &LunStatus) -> String {
    let mut text = format!("{}\n", lun.full_name());
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<11} {value}"); // writing to a String cannot fail
    };
    line("size", format!("{}, in blocks of {} bytes", format_size(lun.size), lun.block_size));
    line("used", lun.used.map_or_else(|| "the file cannot be looked at".into(), format_size));
    line("file", lun.file.display().to_string());
    line("target", lun.target.clone());
    line("number", lun.number.to_string());
    line("NAA", lun.naa.clone());
    line("made", made(lun.created));
    if let Some(of) = &lun.snapshot_of {
        line("snapshot of", of.clone());
    }
    if lun.read_only {
        line("access", "read only".into());
    }
    if !lun.initiators.is_empty() {
        line("initiators", lun.initiators.join(", "));
    }
    if !lun.readers.is_empty() {
        line("readers", lun.readers.join(", "));
    }
    if lun.from_settings {
        line("set in", "the settings file".into());
    }
    line("logged in", who(lun));
    for mount in &lun.connect {
        line(&mount.client, mount.line.clone());
    }
    if let Some(why) = lun.connect.iter().find_map(|mount| mount.why.clone()) {
        line("", format!("({why})"));
    }
    text
}

/// `2026-11-22 03:04 UTC`.
fn made(created: u64) -> String {
    let created = i64::try_from(created).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    created.unwrap_or_default().strftime("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_right() {
        assert_eq!(made(0), "1970-01-01 00:00 UTC");
        assert_eq!(made(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(made(1_795_316_640), "2026-11-22 03:04 UTC");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lun = LunStatus {
            share: "Studio".into(),
            name: "video".into(),
            target: "iqn.2026-11.test:studio.video".into(),
            size: 2 << 40,
            used: Some(3 << 30),
            served: true,
            ..LunStatus::default()
        };
        assert_eq!(
            list(&[lun]),
            "LUN           size   used   target                         number  who\n\
             Studio/video  2 TiB  3 GiB  iqn.2026-11.test:studio.video  0       nobody\n"
        );
    }
}
