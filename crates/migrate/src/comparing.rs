//! What differs between two files besides their data.

use client::tree::{Extra, FLAGS, Stamp, flag_name};

/// Dates that differ by less are the same: servers keep 100 ns, 1 µs, 1 s or 2 s.
const COARSEST: i64 = 2;
/// The date in Finder info that servers keep apart: bytes 20 to 24, the date it came into its folder.
const FOLDER_DATE: std::ops::Range<usize> = 20..24;

/// Whether two dates can be one, rounded.
pub(crate) fn is_same_date(a: Stamp, b: Stamp) -> bool {
    (a.0 - b.0).abs() < COARSEST
}

/// The parts of `from` that `to` has otherwise, with what it has. Owner, group and mode are compared by [`crate::rights`].
pub(crate) fn differences(from: &Extra, to: &Extra) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut differs = |what: &str, how: String| all.push((what.to_owned(), how));
    for (name, value) in &from.streams {
        if let Some(how) =
            other(value, to.streams.iter().find(|(other, _)| other == name).map(|(_, v)| &v[..]))
        {
            differs(&format!("stream {name}"), how);
        }
    }
    for (name, value) in &from.attributes {
        let there = to.attributes.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        if let Some(how) = other(value, there.map(|(_, v)| &v[..])) {
            differs(&format!("attribute {name}"), how);
        }
    }
    if let Some(how) = other(&from.fork, Some(&to.fork)) {
        differs("resource fork", how);
    }
    let blank = || vec![0; 32];
    let info = |extra: &Extra| {
        let mut info = extra.finder_info.clone().unwrap_or_else(blank);
        if let Some(date) = info.get_mut(FOLDER_DATE) {
            date.fill(0);
        }
        info
    };
    if let Some(how) = other(&info(from), Some(&info(to))) {
        differs("Finder info", how);
    }
    if from.comment.is_some() && from.comment != to.comment {
        differs("comment", format!("it is {:?}", to.comment.as_deref().unwrap_or_default()));
    }
    let dates = [
        ("date of creation", from.created, to.created),
        ("date of the last change", from.modified, to.modified),
        ("date of the last backup", from.backup, to.backup),
    ];
    for (what, from, to) in dates {
        match (from, to) {
            (Some(from), Some(to)) if !is_same_date(from, to) => {
                differs(what, format!("it is {} s off", to.0 - from.0))
            }
            _ => {}
        }
    }
    for ((aspect, from), to) in FLAGS.iter().zip(from.flags).zip(to.flags) {
        if let (Some(true), Some(false)) = (from, to) {
            differs(flag_name(*aspect), "it is not set".to_owned());
        }
    }
    all
}

/// How bytes differ; nothing if they are the same.
fn other(from: &[u8], to: Option<&[u8]>) -> Option<String> {
    match to {
        None => Some("it is missing".to_owned()),
        Some(to) if to == from => None,
        Some([]) => Some("it is empty".to_owned()),
        Some(to) if to.len() != from.len() => {
            Some(format!("it has {} bytes instead of {}", to.len(), from.len()))
        }
        Some(_) => Some("its bytes differ".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_other_is_named_and_what_cannot_be_told_is_not() {
        let from = Extra {
            fork: vec![1, 2],
            finder_info: Some([7; 32].to_vec()),
            streams: vec![("tags".into(), vec![1])],
            created: Some((100, 5)),
            modified: Some((200, 9)),
            flags: [Some(true), Some(false), None, None, Some(true), None],
            mode: Some(0o640),
            ..Extra::default()
        };
        assert_eq!(differences(&from, &from), []);
        let mut info = [7; 32];
        info[20..24].fill(3);
        let to = Extra {
            fork: vec![1],
            finder_info: Some(info.to_vec()),
            modified: Some((201, 0)),
            created: Some((90, 0)),
            flags: [Some(false), Some(true), None, None, None, None],
            ..Extra::default()
        };
        let found: Vec<String> = differences(&from, &to).into_iter().map(|(what, _)| what).collect();
        assert_eq!(found, ["stream tags", "resource fork", "date of creation", "hidden"]);
    }
}
