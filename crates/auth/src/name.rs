//! Names of accounts.

/// Whether `name` is allowed as an account's name: 1 to 64 characters, without the separators of
/// other systems (`/`, `\`, `:`).
#[must_use]
pub fn is_account_name(name: &str) -> bool {
    let plain = |c: char| !c.is_control() && !"/\\:".contains(c);
    (1..=64).contains(&name.chars().count())
        && name.chars().all(plain)
        && name.trim() == name
        && !name.starts_with('-')
        && !matches!(name, "." | "..")
}

/// Whether two names are one account, as SMB compares them: in upper case, each character for itself.
#[must_use]
pub fn is_same_name(one: &str, other: &str) -> bool {
    one.chars().map(upper_case).eq(other.chars().map(upper_case))
}

/// The form of a name that all names of one account share, as [`is_same_name`] compares them: the key of maps.
#[must_use]
pub fn account_key(name: &str) -> String {
    name.chars().map(upper_case).collect()
}

/// The upper case of a character. One without an upper case of one character, such as "ß", stays as it is.
pub(crate) fn upper_case(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::{account_key, is_account_name, is_same_name};

    #[test]
    fn names_that_differ_in_case_only_are_one() {
        for (one, other) in [("ada", "ADA"), ("Ädä", "äDÄ"), ("straße", "STRAßE"), ("ς", "Σ")] {
            assert!(is_same_name(one, other), "{one} {other}");
            assert_eq!(account_key(one), account_key(other));
        }
        for (one, other) in [("ada", "adam"), ("straße", "STRASSE"), ("é", "e"), ("", "a")] {
            assert!(!is_same_name(one, other), "{one} {other}");
            assert_ne!(account_key(one), account_key(other));
        }
    }

    #[test]
    fn separators_and_control_characters_are_no_part_of_a_name() {
        for good in ["ada", "Ada Lovelace", "ada@example.org", "ädä", "a"] {
            assert!(is_account_name(good), "{good}");
        }
        for bad in ["", "a:b", "a/b", "a\\b", " ada", "ada ", "a\nb", "-ada", "..", &"a".repeat(65)] {
            assert!(!is_account_name(bad), "{bad}");
        }
    }
}
