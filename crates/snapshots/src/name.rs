//! The names of snapshots.

use crate::Refusal;

const LONGEST: usize = 200;

/// Whether a snapshot, or the tag of a hold, can have this name.
///
/// # Errors
/// The sentence says which rule the name breaks.
pub fn check(name: &str) -> Result<(), Refusal> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > LONGEST {
        "it has more than 200 bytes"
    } else if name.starts_with(['.', '-']) {
        "it begins with a dot or a hyphen"
    } else if name.contains(['/', '@']) {
        "it contains / or @"
    } else if name.contains(char::is_whitespace) {
        "it contains a space"
    } else if name.contains(char::is_control) {
        "it contains a control character"
    } else {
        return Ok(());
    };
    Err(Refusal::Name { name: name.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let long = "n".repeat(200);
        for good in ["hourly.0", "before-update", "2026-11-23_01:34", "größer", &long] {
            check(good).unwrap();
        }
        let longer = "n".repeat(201);
        for bad in ["", ".x", "-x", "a/b", "a@b", "a b", "a\u{a0}b", "a\nb", "a\u{7f}b", "..", &longer] {
            let sentence = check(bad).unwrap_err().to_string();
            assert!(sentence.ends_with("; choose another name"), "{sentence}");
        }
    }
}
