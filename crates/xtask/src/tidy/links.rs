//! Links of the manual lead somewhere: to a file of the repository, and to a heading of a page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Violation;
use super::pages::MarkdownPage;

pub fn check(root: &Path, pages: &[MarkdownPage]) -> Vec<Violation> {
    let anchors: Anchors = pages.iter().map(|page| (page.file.as_str(), anchors(&page.text))).collect();
    pages.iter().flat_map(|page| broken(page, &anchors, |file| root.join(file).exists())).collect()
}

/// The anchors of each page.
type Anchors<'a> = BTreeMap<&'a str, BTreeSet<String>>;

fn broken(page: &MarkdownPage, anchors: &Anchors<'_>, exists: impl Fn(&str) -> bool) -> Vec<Violation> {
    let mut findings = Vec::new();
    for (line, target) in targets(&page.text) {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let file = if path.is_empty() { page.file.clone() } else { resolved(&page.file, path) };
        let is_there =
            anchors.get(file.as_str()).is_none_or(|of_it| anchor.is_empty() || of_it.contains(anchor));
        if !exists(&file) || !is_there {
            let what = format!("the link to {target} leads nowhere");
            findings.push(Violation { file: page.file.clone(), line, what });
        }
    }
    findings
}

/// The targets of links within the repository, with the numbers of their lines.
fn targets(page: &str) -> Vec<(usize, &str)> {
    let mut targets = Vec::new();
    for (line, number) in prose(page) {
        // A link in code is an example.
        for text in line.split('`').step_by(2) {
            let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            let inner = links.map(|(target, _)| target).filter(|target| !target.contains("://"));
            targets.extend(inner.map(|target| (number, target)));
        }
    }
    targets
}

fn anchors(page: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (line, _) in prose(page) {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let first = anchor(heading);
            let further = (1..).map(|number| format!("{first}-{number}"));
            let free = std::iter::once(first.clone()).chain(further).find(|name| !anchors.contains(name));
            anchors.extend(free);
        }
    }
    anchors
}

/// As GitHub makes it of a heading.
fn anchor(heading: &str) -> String {
    let shown = heading.trim().to_lowercase();
    let kept = shown.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines outside of blocks of code, with their numbers.
fn prose(page: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut in_code = false;
    page.lines().zip(1..).filter(move |(line, _)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// A path from the root, of one that is relative to a page.
fn resolved(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(file: &str, text: &str) -> MarkdownPage {
        MarkdownPage { file: file.into(), text: text.into() }
    }

    fn found(text: &str) -> Vec<String> {
        let pages =
            [page("docs/guides/a.md", text), page("docs/b.md", "# The `b`\n## Two words\n## Two words\n")];
        let anchors: Anchors = pages.iter().map(|page| (page.file.as_str(), anchors(&page.text))).collect();
        let exists = |file: &str| ["docs/guides/a.md", "docs/b.md", "LICENSE"].contains(&file);
        broken(&pages[0], &anchors, exists).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn links_to_files_and_headings_pass() {
        let text = "# Top\n[b](../b.md), [b](../b.md#the-b), [c](../b.md#two-words-1), [d](#top), [e](../../LICENSE), [f](https://a/#b)\n\
                    `[g](h)`\n```text\n[i](j)\n```\n";
        assert_eq!(found(text), [] as [&str; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_findings() {
        assert_eq!(found("[b](b.md)"), ["the link to b.md leads nowhere"]);
        assert_eq!(found("[b](../b.md#three)"), ["the link to ../b.md#three leads nowhere"]);
        assert_eq!(found("[b](#top)"), ["the link to #top leads nowhere"]);
    }
}
