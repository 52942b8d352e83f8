//! Words of commands, quoted for the program that splits them.

/// A word of a shell command, quoted if the shell would split it.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "@%+=:,./-_[]".contains(c);
    let glob = word.contains('[') && !word.starts_with('[');
    if !word.is_empty() && word.chars().all(plain) && !glob {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word of a command for PowerShell and cmd, quoted if they would split it. Only PowerShell has
/// quotes in which `$`, a backtick and typographic quotation marks are literal.
pub(crate) fn windows_quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || r"\/.-_:".contains(c);
    let expands = |c: char| "$`\u{201c}\u{201d}\u{201e}".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else if word.strip_suffix('$').unwrap_or(word).contains(expands) {
        let doubled =
            |c: char| if "'\u{2018}\u{2019}\u{201a}\u{201b}".contains(c) { vec![c, c] } else { vec![c] };
        format!("'{}'", word.chars().flat_map(doubled).collect::<String>())
    } else {
        format!("\"{word}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        assert_eq!(quote("Fotos_2026"), "Fotos_2026");
        assert_eq!(quote("a$b"), "'a$b'");
        assert_eq!(quote("a[1]"), "'a[1]'");
        assert_eq!(quote(""), "''");
    }
}
