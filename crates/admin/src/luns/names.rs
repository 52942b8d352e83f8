//! Names of LUNs, targets and initiators.

use crate::settings::LONGEST_ISCSI_NAME;

/// Longest part of a target's name that comes from the share and the LUN.
const LONGEST_SUFFIX: usize = 110;

/// `studio/video` as share and LUN.
#[must_use]
pub fn split(name: &str) -> Option<(&str, &str)> {
    let (share, lun) = name.split_once('/')?;
    (!share.is_empty() && crate::settings::is_lun_name(lun)).then_some((share, lun))
}

/// Whether one of the patterns is this initiator's. `*` matches any characters; names have no upper case.
#[must_use]
pub fn matches_any(patterns: &[String], initiator: &str) -> bool {
    let name = initiator.to_lowercase();
    patterns.iter().any(|pattern| matches(pattern.to_lowercase().as_bytes(), name.as_bytes()))
}

/// One pass with the last `*` to come back to: no pattern takes more than length times length.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match (pattern.get(p), star) {
            (Some(b'*'), _) => {
                star = Some((p, n));
                p += 1;
            }
            (Some(byte), _) if *byte == name[n] => (p, n) = (p + 1, n + 1),
            (_, Some((at, from))) => {
                star = Some((at, from + 1));
                (p, n) = (at + 1, from + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// What follows the prefix in a target's name: `share.word` in the characters that an iSCSI name may have, RFC 7143
/// 4.2.7.1, with a number behind it where `is_taken` says that it is another's.
pub(super) fn target_suffix(share: &str, word: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut suffix: String = format!("{share}.{word}").chars().map(fitting).collect();
    suffix.truncate(LONGEST_SUFFIX);
    let numbered = (2..).map(|number| format!("{suffix}-{number}"));
    let first = std::iter::once(suffix.clone()).chain(numbered).find(|name| !is_taken(name));
    first.unwrap_or(suffix) // the numbers do not end
}

fn fitting(c: char) -> char {
    match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-' | '.' | ':') => c,
        _ => '-',
    }
}

/// A target's name that would be longer than iSCSI allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lengthy;

/// The whole name of a target.
pub(super) fn target_name(prefix: &str, suffix: &str) -> Result<String, Lengthy> {
    let name = format!("{prefix}:{suffix}");
    if name.len() <= LONGEST_ISCSI_NAME { Ok(name) } else { Err(Lengthy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lun_is_named_behind_its_share() {
        assert_eq!(split("My Work/video"), Some(("My Work", "video")));
        for wrong in ["video", "/video", "a/", "a/b/c", "a/.b", "a/b c", "a/ö"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_star_matches_any_characters_and_none() {
        let patterns = |list: &[&str]| list.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
        let ada = "iqn.1993-08.org.debian:01:ada";
        for pattern in [
            "*",
            ada,
            "iqn.1993-08.org.debian:*",
            "*:ada",
            "iqn.*debian*a",
            "IQN.1993-08.ORG.DEBIAN:01:ADA",
            "**ada*",
        ] {
            assert!(matches_any(&patterns(&[pattern]), ada), "{pattern}");
        }
        for pattern in ["", "iqn.1993-08.org.debian", "ada", "*:adb", "iqn*x*", "?*"] {
            assert!(!matches_any(&patterns(&[pattern]), ada), "{pattern}");
        }
        assert!(matches_any(&patterns(&["eui.*", "*:ada"]), ada));
        let slow = patterns(&[&"*a".repeat(200)]);
        assert!(!matches_any(&slow, &("a".repeat(223) + "b")));
    }

    #[test]
    fn names_of_targets_have_only_characters_that_iscsi_names_have() {
        assert_eq!(target_suffix("My Work", "Video_1", |_| false), "my-work.video-1");
        assert_eq!(target_suffix("Größe", "a", |_| false), "gr--e.a");
        let taken = ["a.b".to_owned(), "a.b-2".to_owned()];
        assert_eq!(target_suffix("A", "b", |name| taken.contains(&name.to_owned())), "a.b-3");
        let long = target_suffix(&"ä".repeat(80), &"x".repeat(64), |_| false);
        assert!(target_name(&"p".repeat(100), &long).is_ok());
    }
}
