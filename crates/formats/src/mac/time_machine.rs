//! What Time Machine writes into a bundle about its backups: property lists in XML.

/// The list of the backups that were completed.
pub const HISTORY: &[u8] = b"com.apple.TimeMachine.SnapshotHistory.plist";
/// The list with the Mac, and with the result of its last check of the bundle.
pub const MACHINE: &[u8] = b"com.apple.TimeMachine.MachineID.plist";

/// The result of a check that has found the bundle damaged.
const DAMAGED: &str = "2";
/// The longest text that is taken from a list, in bytes.
const MAX_TEXT: usize = 128;

/// When the newest backup was completed, as the list says it: `2026-11-22T20:11:05Z`. The list may be the end of one.
pub fn completed(history: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(history);
    let dates = values(&text, "com.apple.backupd.SnapshotCompletionDate", "date");
    dates.max().map(str::to_owned) // times of this form have the order of their texts
}

/// Whether the Mac has checked the bundle and found it damaged. It then begins a new one.
pub fn is_damaged(machine: &[u8]) -> bool {
    values(&String::from_utf8_lossy(machine), "VerificationState", "integer").next() == Some(DAMAGED)
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
}
