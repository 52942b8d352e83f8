//! Names of LUNs, targets and initiators.

use crate::settings::LONGEST_TARGET_NAME;

/// The longest part of a target's name that comes from the share and the LUN.
const LONGEST_SUFFIX: usize = 110;

/// The share and the LUN of `studio/video`.
#[must_use]
pub fn split(name: &str) -> Option<(&str, &str)> {
    let (share, lun) = name.rsplit_once('/')?;
    (!share.is_empty() && crate::settings::is_lun_name(lun)).then_some((share, lun))
}

/// The part of a target's name after the prefix: `share.word` in the characters of iSCSI names, RFC
/// 7143 4.2.7.1, followed by a number if `is_taken` says that another target has the name.
pub(super) fn target_suffix(share: &str, word: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut suffix: String = format!("{share}.{word}").chars().map(fitting).collect();
    suffix.truncate(LONGEST_SUFFIX);
    let numbered = (2..).map(|number| format!("{suffix}-{number}"));
    let first = std::iter::once(suffix.clone()).chain(numbered).find(|name| !is_taken(name));
    first.unwrap_or(suffix) // unreachable: the numbers are endless
}

fn fitting(c: char) -> char {
    match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-' | '.' | ':') => c,
        _ => '-',
    }
}

/// The whole name of a target; `None` if it is longer than iSCSI allows.
pub(super) fn target_name(prefix: &str, suffix: &str) -> Option<String> {
    Some(format!("{prefix}:{suffix}")).filter(|name| name.len() <= LONGEST_TARGET_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lun_is_named_behind_its_share() {
        assert_eq!(split("My Work/video"), Some(("My Work", "video")));
        assert_eq!(split("studio/raw/video"), Some(("studio/raw", "video")));
        for wrong in ["video", "/video", "a/", "a/.b", "a/b c", "a/ö"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_of_targets_have_only_characters_that_iscsi_names_have() {
        assert_eq!(target_suffix("My Work", "Video_1", |_| false), "my-work.video-1");
        assert_eq!(target_suffix("Größe", "a", |_| false), "gr--e.a");
        let taken = ["a.b".to_owned(), "a.b-2".to_owned()];
        assert_eq!(target_suffix("A", "b", |name| taken.contains(&name.to_owned())), "a.b-3");
        let long = target_suffix(&"ä".repeat(80), &"x".repeat(64), |_| false);
        assert!(target_name(&"p".repeat(100), &long).is_some());
    }
}
