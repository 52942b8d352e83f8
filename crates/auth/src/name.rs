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

#[cfg(test)]
mod tests {
    use super::is_account_name;

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
