//! The length of sentences in the manual: readers who are not native speakers lose a long one.

use super::Violation;
use super::pages::{MarkdownPage, passages};

/// The most words of a sentence.
const MOST_WORDS: usize = 35;

pub fn check(pages: &[MarkdownPage]) -> Vec<Violation> {
    pages.iter().flat_map(long_sentences).collect()
}

fn long_sentences(page: &MarkdownPage) -> Vec<Violation> {
    let mut findings = Vec::new();
    for passage in passages(&page.text) {
        for sentence in sentences(&plain(&passage.text)) {
            if sentence.words > MOST_WORDS {
                let what = format!(
                    "a sentence of {} words, at most {MOST_WORDS}: \"{} …\"",
                    sentence.words, sentence.beginning
                );
                findings.push(Violation { file: page.file.clone(), line: passage.line, what });
            }
        }
    }
    findings
}

struct Sentence {
    words: usize,
    /// Its first words.
    beginning: String,
}

/// The sentences of a text without marks of Markdown.
fn sentences(text: &str) -> Vec<Sentence> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let ends = |at: usize| {
        let is_end =
            tokens[at].strip_suffix([')', '"', '”']).unwrap_or(tokens[at]).ends_with(['.', '?', '!']);
        tokens.get(at + 1).is_none_or(|next| is_end && begins_sentence(next))
    };
    let mut sentences = Vec::new();
    let mut from = 0;
    for at in 0..tokens.len() {
        if ends(at) {
            let of_it = &tokens[from..=at];
            let words = of_it.iter().filter(|token| token.chars().any(char::is_alphanumeric)).count();
            sentences.push(Sentence { words, beginning: of_it[..of_it.len().min(6)].join(" ") });
            from = at + 1;
        }
    }
    sentences
}

fn begins_sentence(token: &str) -> bool {
    let mut chars = token.chars();
    match chars.next() {
        Some('"' | '“' | '(' | '*') => chars.next().is_some_and(|c| c.is_alphanumeric() || c == '"'),
        Some(first) => first.is_uppercase() || first.is_ascii_digit(),
        None => false,
    }
}

/// The text without marks: of links the words that are shown, of code one word.
fn plain(text: &str) -> String {
    let text = text.replace("**", "");
    let (mut plain, mut rest) = (String::new(), text.as_str());
    while let Some(at) = rest.find(['`', '[', ']', '!']) {
        plain.push_str(&rest[..at]);
        let marked = &rest[at..];
        rest = if let Some(code) = marked.strip_prefix('`') {
            plain.push_str("CODE");
            code.split_once('`').map_or("", |(_, after)| after)
        } else if marked.starts_with("![") {
            marked.split_once(')').map_or("", |(_, after)| after)
        } else if let Some(target) = marked.strip_prefix("](") {
            target.split_once(')').map_or("", |(_, after)| after)
        } else {
            if let Some(mark) = marked.chars().next().filter(|mark| *mark == '!') {
                plain.push(mark);
            }
            &marked[1..]
        };
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<usize> {
        sentences(&plain(text)).iter().map(|sentence| sentence.words).collect()
    }

    #[test]
    fn sentences_end_before_a_capital_or_a_digit() {
        assert_eq!(words("One two. Three 4.2 four! 5 six? (Seven.) \"on\" is"), [2, 3, 2, 1, 2]);
        assert_eq!(words("Of NFS, e.g. version 4."), [5]);
    }

    #[test]
    fn code_is_a_word_and_a_link_is_its_text() {
        assert_eq!(words("Run `fourfold user add ada`, see [the long page](a.md#b) and **that**."), [8]);
        assert_eq!(words("![a picture of it](a.png)"), [] as [usize; 0]);
    }

    #[test]
    fn a_sentence_of_36_words_is_a_finding_and_one_of_35_is_not() {
        let page =
            |words: usize| MarkdownPage { file: "docs/a.md".into(), text: "word ".repeat(words) + "\n" };
        assert_eq!(long_sentences(&page(35)), []);
        let found = long_sentences(&page(36));
        assert_eq!(found[0].what, "a sentence of 36 words, at most 35: \"word word word word word word …\"");
    }
}
