//! What Time Machine writes into a bundle about its backups: property lists in XML.

/// The list of the backups that were completed.
pub const HISTORY: &[u8] = b"com.apple.TimeMachine.SnapshotHistory.plist";
/// The list with the Mac, and with the result of its last check of the bundle.
pub const MACHINE: &[u8] = b"com.apple.TimeMachine.MachineID.plist";

/// The list with the last run of a backup.
pub const RESULTS: &[u8] = b"com.apple.TimeMachine.Results.plist";

/// The most completed backups that are taken from a list.
const MOST_BACKUPS: usize = 10_000;
/// The longest text that is taken from a list, in bytes.
const MAX_TEXT: usize = 128;

/// When the newest backup was completed, as the list says it: `2026-11-22T20:11:05Z`. The list may be the end of one.
pub fn completed(history: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(history);
    let dates = values(&text, "com.apple.backupd.SnapshotCompletionDate", "date");
    dates.max().map(str::to_owned) // times of this form have the order of their texts
}

/// When each backup that the list still has was completed, the oldest first; of more than 10,000 the newest.
pub fn completions(history: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(history);
    let mut dates: Vec<String> =
        values(&text, "com.apple.backupd.SnapshotCompletionDate", "date").map(str::to_owned).collect();
    dates.sort();
    dates.dedup();
    dates.split_off(dates.len().saturating_sub(MOST_BACKUPS))
}

/// What the last check of the bundle by the Mac has found: `VerificationState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacCheck {
    /// It has not been checked.
    Unchecked,
    /// It was found whole.
    Whole,
    /// It was found damaged: the Mac wants to begin a new bundle, and makes no backups into this one.
    Damaged,
    /// A number that is not known.
    Other(u64),
}

/// The result of the last check by the Mac; `None`: the list does not say it.
pub fn mac_check(machine: &[u8]) -> Option<MacCheck> {
    let text = String::from_utf8_lossy(machine);
    Some(match values(&text, "VerificationState", "integer").next()?.parse().ok()? {
        0 => MacCheck::Unchecked,
        1 => MacCheck::Whole,
        2 => MacCheck::Damaged,
        other => MacCheck::Other(other),
    })
}

/// When the Mac has last checked the bundle, as it says it: `2026-11-22T20:11:05Z`.
pub fn mac_check_date(machine: &[u8]) -> Option<String> {
    values(&String::from_utf8_lossy(machine), "VerificationDate", "date").next().map(str::to_owned)
}

/// Whether the Mac has checked the bundle and found it damaged. It then begins a new one.
pub fn is_damaged(machine: &[u8]) -> bool {
    mac_check(machine) == Some(MacCheck::Damaged)
}

/// The hardware UUID by which the Mac knows its bundle again.
pub fn host_uuid(machine: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(machine);
    values(&text, "com.apple.backupd.HostUUID", "string").next().map(str::to_owned)
}

/// Bytes that the Mac wanted to copy in its last run; `None`: the list does not say it.
pub fn bytes_to_copy(results: &[u8]) -> Option<u64> {
    values(&String::from_utf8_lossy(results), "BytesToCopy", "integer").next()?.parse().ok()
}

/// The model of the Mac: `MacBookPro18,3`.
pub fn model(machine: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(machine);
    values(&text, "com.apple.backupd.ModelID", "string").next().map(str::to_owned)
}

/// The values behind a key, each in an element of this name.
fn values<'a>(text: &'a str, key: &str, element: &str) -> impl Iterator<Item = &'a str> {
    let (key, open, close) = (format!("<key>{key}</key>"), format!("<{element}>"), format!("</{element}>"));
    let after: Vec<&str> = text.split(&*key).skip(1).collect();
    after.into_iter().filter_map(move |after| {
        let value = after.trim_start().strip_prefix(&*open)?;
        let value = value.split_once(&*close)?.0.trim();
        (value.len() <= MAX_TEXT).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<plist version=\"1.0\">\n<dict>\n\t<key>Snapshots</key>\n\t<array>\n";

    fn backup(date: &str) -> String {
        format!(
            "<dict>\n\t<key>com.apple.backupd.SnapshotCompletionDate</key>\n\t<date>{date}</date>\n\
             \t<key>com.apple.backupd.SnapshotName</key>\n\t<string>x.backup</string></dict>\n"
        )
    }

    #[test]
    fn the_newest_backup_counts_wherever_it_is_and_where_the_list_begins() {
        let dates = ["2026-11-21T08:00:00Z", "2026-11-22T20:11:05Z", "2025-12-31T23:59:59Z"];
        let list: String = dates.map(backup).concat();
        for list in [format!("{TEXT}{list}"), list] {
            assert_eq!(completed(list.as_bytes()).as_deref(), Some("2026-11-22T20:11:05Z"));
        }
        for none in ["", TEXT, "<key>com.apple.backupd.SnapshotCompletionDate</key><date>2026", "\u{fffd}"] {
            assert_eq!(completed(none.as_bytes()), None);
        }
        assert_eq!(completed(backup(&"9".repeat(1000)).as_bytes()), None);
    }

    #[test]
    fn the_state_and_the_model_are_in_the_list_of_the_mac() {
        let list = |state| {
            format!(
                "<dict><key>VerificationState</key>\n<integer>{state}</integer>\
                 <key>com.apple.backupd.ModelID</key>\n<string>Mac14,2</string></dict>"
            )
        };
        assert!(is_damaged(list(2).as_bytes()) && !is_damaged(list(1).as_bytes()) && !is_damaged(b""));
        assert_eq!(model(list(1).as_bytes()).as_deref(), Some("Mac14,2"));
    }

    #[test]
    fn the_check_of_the_mac_is_one_of_three_numbers() {
        let list = |state: &str| format!("<key>VerificationState</key><integer>{state}</integer>");
        let found = ["0", "1", "2", "7"].map(|state| mac_check(list(state).as_bytes()).unwrap());
        assert_eq!(found, [MacCheck::Unchecked, MacCheck::Whole, MacCheck::Damaged, MacCheck::Other(7)]);
        assert_eq!(mac_check(list("x").as_bytes()), None);
    }

    #[test]
    fn completed_backups_are_told_once_and_in_order() {
        let dates = ["2026-11-22T20:11:05Z", "2026-11-21T08:00:00Z", "2026-11-22T20:11:05Z"];
        let found = completions(dates.map(backup).concat().as_bytes());
        assert_eq!(found, ["2026-11-21T08:00:00Z", "2026-11-22T20:11:05Z"]);
    }

    #[test]
    fn a_mac_is_known_by_its_hardware_and_says_how_much_it_copies() {
        let list =
            b"<key>com.apple.backupd.HostUUID</key>\n<string>01234567-1234-5678-9abc-12345678abcd</string>";
        assert_eq!(host_uuid(list).as_deref(), Some("01234567-1234-5678-9abc-12345678abcd"));
        assert_eq!(bytes_to_copy(b"<key>BytesToCopy</key><integer>4096</integer>"), Some(4096));
    }
}
