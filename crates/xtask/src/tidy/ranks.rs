//! The ranks of locks: each crate declares its own in `src/ranks.rs`, and no two have one number or one name.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Result;

use super::Violation;
use super::rules::is_product;
use super::source::Source;

const FILE: &str = "/src/ranks.rs";

pub fn check(root: &Path, sources: &[Source]) -> Result<Vec<Violation>> {
    let mut findings: Vec<Violation> = sources.iter().filter_map(declared_elsewhere).collect();
    let mut files = Vec::new();
    for source in sources.iter().filter(|source| source.path.ends_with(FILE)) {
        files.push((source.path.as_str(), std::fs::read_to_string(root.join(&source.path))?));
    }
    findings.extend(ambiguous(&files));
    Ok(findings)
}

fn declared_elsewhere(source: &Source) -> Option<Violation> {
    let is_macro = |pair: &[super::source::CodeToken]| pair[0].text == "ranks" && pair[1].text == "!";
    let at = source.tokens.windows(2).position(is_macro)?;
    let is_allowed = source.path.ends_with(FILE) || !is_product(source);
    let what = || "a crate declares the ranks of its locks in `src/ranks.rs`".to_owned();
    (!is_allowed).then(|| Violation { file: source.path.clone(), line: source.tokens[at].line, what: what() })
}

/// Ranks that have the number or the name of an earlier one, and lines that are no declaration.
fn ambiguous(files: &[(&str, String)]) -> Vec<Violation> {
    let (mut numbers, mut names) = (HashMap::new(), HashMap::new());
    let mut findings = Vec::new();
    for (file, text) in files {
        let mut place: Option<(&str, usize)> = None;
        for (at, line) in text.lines().enumerate() {
            let mut finding =
                |what| findings.push(Violation { file: (*file).to_owned(), line: at + 1, what });
            match RankLine::read(line) {
                RankLine::Other => {}
                RankLine::Band(band, first) => place = Some((band, first)),
                RankLine::Rank(name) if place.is_some() => {
                    let (band, number) = place.take().unwrap_or_default();
                    place = Some((band, number + 1));
                    if let Some(other) = numbers.insert((band, number), name) {
                        finding(format!("{name} has the number of {other}: {number} of Band::{band}"));
                    }
                    if let Some(other) = names.insert(name, file) {
                        finding(format!("{name} is declared in {other}, too"));
                    }
                }
                RankLine::Rank(_) | RankLine::Unknown => {
                    finding("no declaration of a band or rank".to_owned())
                }
            }
        }
    }
    findings
}

/// A line of `ranks.rs`.
enum RankLine<'a> {
    /// A comment, or the beginning or end of the macro.
    Other,
    /// `Band::Store, from 64;`
    Band(&'a str, usize),
    /// `FolderNames,` or `FolderName: UnrecordedHolder,`
    Rank(&'a str),
    Unknown,
}

impl<'a> RankLine<'a> {
    fn read(line: &'a str) -> Self {
        let line = line.trim();
        if matches!(line, "" | "lock::ranks! {" | "}") || line.starts_with("//") {
            return Self::Other;
        }
        let band = line.strip_prefix("Band::").and_then(|rest| rest.strip_suffix(';')?.split_once(", from "));
        if let Some((band, first)) = band {
            return first.parse().map_or(Self::Unknown, |first| Self::Band(band, first));
        }
        let name = line.strip_suffix(',').map(|rank| rank.split_once(':').map_or(rank, |(name, _)| name));
        name.filter(|name| name.chars().all(char::is_alphanumeric)).map_or(Self::Unknown, Self::Rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = "//! Ranks.\n\nlock::ranks! {\n    Band::Store, from 3;\n\n    /// One.\n    First,\n    /// Two.\n    Second: UnrecordedHolder,\n}\n";

    fn whats(other: &str) -> Vec<String> {
        let files = [("a/src/ranks.rs", STORE.to_owned()), ("b/src/ranks.rs", other.to_owned())];
        ambiguous(&files)
            .into_iter()
            .map(|found| format!("{}:{}: {}", found.file, found.line, found.what))
            .collect()
    }

    #[test]
    fn ranks_of_several_crates_can_share_a_band() {
        assert_eq!(
            whats("lock::ranks! {\n    Band::Store, from 5;\n    /// Three.\n    Third,\n}\n"),
            [""; 0]
        );
        assert_eq!(
            whats("lock::ranks! {\n    Band::Notes, from 3;\n    /// Three.\n    Third,\n}\n"),
            [""; 0]
        );
    }

    #[test]
    fn two_ranks_of_one_number_or_name_are_a_finding() {
        let number = "lock::ranks! {\n    Band::Store, from 4;\n    /// Three.\n    Third,\n}\n";
        assert_eq!(whats(number), ["b/src/ranks.rs:4: Third has the number of Second: 4 of Band::Store"]);
        let name = "lock::ranks! {\n    Band::Notes, from 4;\n    /// One.\n    First,\n}\n";
        assert_eq!(whats(name), ["b/src/ranks.rs:4: First is declared in a/src/ranks.rs, too"]);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_a_finding() {
        let what = "b/src/ranks.rs:1: no declaration of a band or rank";
        for line in ["First, Second,", "Band::Store, from x;", "const A: u8 = 1;"] {
            assert_eq!(whats(line), [what], "{line}");
        }
    }

    #[test]
    fn ranks_are_declared_in_their_file_only() {
        let found = |path: &str| {
            declared_elsewhere(&Source::parse(path, "lock::ranks! {\n    Band::Store, from 0;\n}").unwrap())
        };
        assert_eq!(found("crates/vfs/src/ranks.rs"), None);
        assert_eq!(found("crates/vfs/src/index/tests/mod.rs"), None);
        assert!(found("crates/vfs/src/index/mod.rs").is_some());
    }
}
