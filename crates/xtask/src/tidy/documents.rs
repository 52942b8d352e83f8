//! The length of ARCHITECTURE.md: a newcomer reads it in one sitting, and details have pages of their own.

use std::path::Path;

use anyhow::{Context, Result};

use super::Violation;

const PAGE: &str = "ARCHITECTURE.md";
/// The most words of the page, as `wc -w` counts them.
const MOST_WORDS: usize = 4_500;

pub fn check(root: &Path) -> Result<Vec<Violation>> {
    let text = std::fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    Ok(length(&text).into_iter().collect())
}

fn length(text: &str) -> Option<Violation> {
    let words = text.split_whitespace().count();
    (words > MOST_WORDS).then(|| Violation {
        file: PAGE.to_owned(),
        line: text.lines().count(),
        what: format!("{words} words, at most {MOST_WORDS}: move details to a page of docs/design"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_longest_length_passes() {
        assert_eq!(length(&"word \n".repeat(MOST_WORDS)), None);
    }

    #[test]
    fn a_longer_page_is_a_finding_at_its_end() {
        let found = length(&"word\n".repeat(MOST_WORDS + 1)).unwrap();
        assert_eq!((found.file.as_str(), found.line), ("ARCHITECTURE.md", MOST_WORDS + 1));
        assert_eq!(found.what, "4501 words, at most 4500: move details to a page of docs/design");
    }
}
