//! The pages of the manual, as text: which there are, and what of them is prose and what are commands.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{files_below, relative};

/// A page of Markdown.
pub struct MarkdownPage {
    /// Its path from the root.
    pub file: String,
    pub text: String,
}

/// README.md and all pages below `docs`, in the order of their names.
pub fn all(root: &Path) -> Result<Vec<MarkdownPage>> {
    let mut files = files_below(&root.join("docs"), "md")?;
    files.push(root.join("README.md"));
    files.sort();
    files.into_iter().map(|path| read(root, path)).collect()
}

fn read(root: &Path, path: PathBuf) -> Result<MarkdownPage> {
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(MarkdownPage { file: relative(root, path), text })
}

/// A paragraph, an item of a list, or a part of a table's cell: text that no sentence crosses.
#[derive(Debug, PartialEq, Eq)]
pub struct Passage {
    /// The number of its first line, from 1.
    pub line: usize,
    pub text: String,
}

/// The prose of a page, without headings, blocks of code and comments.
pub fn passages(page: &str) -> Vec<Passage> {
    let (mut passages, mut current): (Vec<Passage>, Option<Passage>) = (Vec::new(), None);
    let (mut in_code, mut in_comment) = (false, false);
    for (line, number) in page.lines().map(str::trim).zip(1..) {
        if in_comment || (!in_code && line.starts_with("<!--")) {
            passages.extend(current.take());
            in_comment = !line.contains("-->");
        } else if line.starts_with("```") {
            passages.extend(current.take());
            in_code = !in_code;
        } else if in_code {
        } else if line.is_empty() || line.starts_with('#') {
            passages.extend(current.take());
        } else if line.starts_with('|') {
            passages.extend(current.take());
            let parts = line.split('|').flat_map(|cell| cell.split("; "));
            passages.extend(parts.map(|part| Passage { line: number, text: part.trim().to_owned() }));
        } else if let Some(item) = item(line) {
            passages.extend(current.replace(Passage { line: number, text: item.to_owned() }));
        } else {
            match &mut current {
                Some(passage) => passage.text = format!("{} {line}", passage.text),
                None => current = Some(Passage { line: number, text: line.to_owned() }),
            }
        }
    }
    passages.extend(current);
    passages
}

/// The text of a line that begins an item of a list.
fn item(line: &str) -> Option<&str> {
    let numbered = || line.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(". ");
    let bullet = || line.strip_prefix("* ").or_else(|| line.strip_prefix("- "));
    bullet().or_else(|| numbered().filter(|_| line.starts_with(|c: char| c.is_ascii_digit())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<(usize, String)> {
        passages(page).into_iter().map(|passage| (passage.line, passage.text)).collect()
    }

    #[test]
    fn paragraphs_and_items_span_lines() {
        let page = "# Title\n\nOne\ntwo.\n\n* three\n  four\n* five\n2. six\n";
        let expected = [(3, "One two."), (6, "three four"), (8, "five"), (9, "six")]
            .map(|(line, text)| (line, text.to_owned()));
        assert_eq!(found(page), expected);
    }

    #[test]
    fn code_and_comments_are_no_prose() {
        assert_eq!(
            found("```sh\nls\n```\n<!-- run -->\n<!-- hidden\nls\n-->\nText"),
            [(8, "Text".to_owned())]
        );
    }

    #[test]
    fn cells_and_their_parts_are_passages() {
        let texts: Vec<String> = found("| a | b; c |").into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["", "a", "b", "c", ""]);
    }
}
