//! The known word that is nearest to a mistyped one, or to what it means.

use super::setting::{Setting, Table};
use super::table::SETTINGS;

/// Words that people write, and the settings that they mean: of each table the first.
const MEANINGS: [(&[&str], &[&str]); 24] = [
    (
        &[
            "snapshots",
            "snapshot",
            "versions",
            "history",
            "shadow-copy",
            "shadow-copies",
            "retention",
            "schedule",
        ],
        &["snapshot-schedule"],
    ),
    (&["backup", "backups", "replication", "replica", "mirror"], &["replicate-from"]),
    (&["limit", "max-size", "maximum-size", "space", "size"], &["quota"]),
    (&["access", "permissions", "rights", "roles", "members"], &["editors"]),
    (&["write", "writers", "rw"], &["editors"]),
    (&["ro", "write-protected"], &["read-only"]),
    (&["description", "text", "label"], &["comment"]),
    (&["encrypt", "encrypted", "crypt"], &["encryption", "smb-encryption"]),
    (&["sign", "signing", "signed"], &["smb-signing"]),
    (&["min-protocol", "server-min-protocol", "smb-version", "dialect"], &["smb-min-dialect"]),
    (&["hostname", "server-name", "netbios-name", "server-string", "name"], &["bonjour-name"]),
    (&["mdns", "avahi", "zeroconf", "discovery", "announce"], &["bonjour"]),
    (&["console", "web", "http", "https", "api", "rest"], &["admin-port"]),
    (&["certificate", "cert", "tls", "ssl"], &["admin-certificate", "acme-names"]),
    (
        &[
            "second-factor",
            "require-second-factor",
            "two-factor",
            "two-factor-authentication",
            "2fa",
            "mfa",
            "totp",
            "otp",
        ],
        &["admin-second-factor"],
    ),
    (&["acme", "letsencrypt", "lets-encrypt", "certbot"], &["acme-names"]),
    (&["memory", "ram", "cache"], &["cache-memory"]),
    (&["log", "logging", "verbosity", "debug"], &["log-level"]),
    (&["mail", "email", "smtp", "notify", "notifications"], &["alert-mail", "alert-webhook"]),
    (&["ad", "active-directory", "realm", "kerberos"], &["domain"]),
    (&["trash", "recycle", "recycle-bin", "wastebasket"], &["bin"]),
    (&["home", "homes", "home-folders"], &["make-homes"]),
    (&["tm", "mac-backup", "apple-backup"], &["time-machine"]),
    (&["umask", "mask", "mode", "file-mode"], &["create-mask"]),
];
/// Settings of a table that are listed.
const MOST_LISTED: usize = 8;
/// Letters of a word that is looked for in descriptions.
const SHORTEST: usize = 4;
/// Settings that are named.
const MOST_NAMED: usize = 3;

/// What to write in place of a setting that a table does not have: by its meaning, else by words that it shares with others.
pub(super) fn by_meaning(table: Table, key: &str) -> String {
    let word = key.to_lowercase().replace(['_', ' '], "-");
    let known = || SETTINGS.iter().filter(move |setting| setting.table == table);
    let meant =
        || MEANINGS.iter().filter(|(words, _)| words.contains(&word.as_str())).flat_map(|(_, keys)| *keys);
    if let Some(setting) = meant().find_map(|meant| known().find(|setting| setting.key == *meant)) {
        return format!(
            "write `{} = {}`: {}",
            setting.key,
            setting.example,
            setting.brief.trim_end_matches('.')
        );
    }
    // A word of another table, such as `snapshots` in `[server]`.
    if matches!(table, Table::Server | Table::Share)
        && let Some(setting) = meant().find_map(|meant| SETTINGS.iter().find(|setting| setting.key == *meant))
    {
        return format!("write `{} = {}` in `{}`", setting.key, setting.example, setting.table.header());
    }
    let all: Vec<&str> = known().map(|setting| setting.key).collect();
    if all.len() <= MOST_LISTED {
        return format!("the settings are: {}", all.join(", "));
    }
    let mut near: Vec<(usize, &Setting)> =
        known().map(|setting| (likeness(&word, setting), setting)).collect();
    near.retain(|(likeness, _)| *likeness > 0);
    near.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness)); // stable: the order of the table stays
    let near: Vec<String> =
        near.iter().take(MOST_NAMED).map(|(_, setting)| format!("`{}`", setting.key)).collect();
    match near.split_last() {
        None => format!("docs/settings.md has the {} settings of `{}`", all.len(), table.header()),
        Some((one, [])) => format!("did you mean {one}?"),
        Some((last, others)) => format!("did you mean {} or {last}?", others.join(", ")),
    }
}

/// How much a word has in common with a setting: parts of its name count more than words of its description.
fn likeness(word: &str, setting: &Setting) -> usize {
    let parts = word.split('-').map(stem).filter(|part| part.len() >= SHORTEST);
    let of_part = |part: &str| {
        let in_key = setting.key.split('-').any(|other| stem(other) == part);
        let brief = setting.brief.to_lowercase();
        let in_brief = brief.split(|letter: char| !letter.is_alphanumeric()).any(|other| stem(other) == part);
        4 * usize::from(in_key) + usize::from(in_brief)
    };
    parts.map(of_part).sum()
}

/// The word without the ending of a plural.
fn stem(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.len() >= SHORTEST).unwrap_or(word)
}

/// The nearest of `known`, if it is near enough to be the intended one.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase().replace(['_', ' '], "-");
    let limit = ((word.chars().count() + 1) / 3).max(1);
    let scored = known.into_iter().map(|candidate| (distance(&word, candidate), candidate));
    scored.filter(|(d, _)| *d <= limit).min_by_key(|(d, _)| *d).map(|(_, candidate)| candidate)
}

/// The number of letters to insert, remove, replace or swap with their neighbour (optimal string
/// alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// The name of a setting in other servers, and what to write here.
pub(super) fn elsewhere(word: &str) -> Option<&'static str> {
    let hint = match word.to_lowercase().replace(['_', '-'], " ").as_str() {
        "writable" | "writeable" | "write ok" => "read-only = false",
        "guest ok" | "public" | "guest" => "guests = true",
        "write list" | "editor" => "editors = [\"name\"]",
        "read list" | "reader" => "readers = [\"name\"]",
        "valid users" | "user" => "users = [\"name\"]",
        "valid groups" | "group" => "groups = [\"name\"]",
        "directory" | "folder" | "dir" => "path = \"/a/folder\"",
        "protocols" | "protocol" => "afp = false",
        "veto files" => "hide = [\"*.tmp\"]",
        "backing store" | "backstore" | "image" => "file = \"images/disk.img\"",
        "initiator address" | "initiator name" | "acl" | "acls" => {
            "initiators = [\"iqn.1993-08.org.debian:*\"]"
        }
        "lun number" | "lun" => "number = 0",
        "incominguser" | "chap" => "users = [\"name\"]",
        "hosts allow" | "clients" | "allow" => "client = [{ match = \"192.168.1.0/24\" }]",
        "bind" | "address" | "interfaces" => "listen = [\"127.0.0.1\"]",
        "no root squash" => "squash = \"none\"",
        "all squash" => "squash = \"all\"",
        "anonuid" => "anon-uid = 65534",
        "anongid" => "anon-gid = 65534",
        "insecure" => "secure = false",
        _ => return None,
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_leads_to_the_setting_that_it_means() {
        for (table, word, expected) in [
            (Table::Share, "snapshots", "write `snapshot-schedule = "),
            (Table::Share, "Shadow_Copies", "write `snapshot-schedule = "),
            (Table::Share, "encrypted", "write `encryption = "),
            (Table::Server, "encrypted", "write `smb-encryption = "),
            (
                Table::Server,
                "snapshots",
                "write `snapshot-schedule = \"hourly:24 nightly:7 weekly:4\"` in `[[share]]`",
            ),
            (Table::Share, "schedule-of-replicas", "did you mean `"),
            (Table::Server, "xyzzy", "docs/settings.md has the "),
            (Table::User, "password", "the settings are: name, uid, gid, disabled, admin"),
        ] {
            let said = by_meaning(table, word);
            assert!(said.starts_with(expected), "{word}: {said}");
            assert!(said.len() <= 160, "two lines at most: {said}");
        }
    }

    #[test]
    fn each_meaning_is_a_setting() {
        for key in MEANINGS.iter().flat_map(|(_, keys)| *keys) {
            assert!(SETTINGS.iter().any(|setting| setting.key == *key), "{key}");
        }
    }

    #[test]
    fn swapped_letters_and_underscores_are_near() {
        assert_eq!(nearest("pahts", ["path", "name"]), Some("path"));
        assert_eq!(nearest("paht", ["path", "name"]), Some("path"));
        assert_eq!(nearest("read_only", ["path", "read-only"]), Some("read-only"));
        assert_eq!(nearest("guest", ["guests"]), Some("guests"));
        assert_eq!(nearest("zzz", ["path", "name"]), None);
    }
}
