//! The known word that is nearest to a mistyped one.

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
    fn swapped_letters_and_underscores_are_near() {
        assert_eq!(nearest("pahts", ["path", "name"]), Some("path"));
        assert_eq!(nearest("paht", ["path", "name"]), Some("path"));
        assert_eq!(nearest("read_only", ["path", "read-only"]), Some("read-only"));
        assert_eq!(nearest("guest", ["guests"]), Some("guests"));
        assert_eq!(nearest("zzz", ["path", "name"]), None);
    }
}
