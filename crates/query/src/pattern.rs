//! Comparing a text with a pattern: wildcards, case, accents, words.

use std::borrow::Cow;

use crate::folding::{case_folded, folded, is_dense, is_in_word, without_marks, words};

/// A text with wildcards.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Pattern(Vec<Piece>);

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Piece {
    /// These characters.
    Text(String),
    /// Any characters, or none: `*`.
    Any,
    /// Any one character: `?`.
    One,
}

impl Pattern {
    /// This text, in which nothing is a wildcard.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self(if text.is_empty() { Vec::new() } else { vec![Piece::Text(text.to_owned())] })
    }

    /// This text anywhere.
    #[must_use]
    pub fn containing(text: &str) -> Self {
        Self(vec![Piece::Any, Piece::Text(text.to_owned()), Piece::Any])
    }

    /// This text at the beginning.
    #[must_use]
    pub fn beginning(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned()), Piece::Any])
    }

    /// A text in which `*` stands for any characters, `?` for any one, and a backslash takes the meaning of the next character.
    #[must_use]
    pub fn with_wildcards(text: &str) -> Self {
        let (mut pieces, mut literal) = (Vec::new(), String::new());
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            let wildcard = match c {
                '*' => Piece::Any,
                '?' => Piece::One,
                '\\' => {
                    literal.push(characters.next().unwrap_or('\\'));
                    continue;
                }
                other => {
                    literal.push(other);
                    continue;
                }
            };
            if !literal.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
            }
            if wildcard != Piece::Any || pieces.last() != Some(&Piece::Any) {
                pieces.push(wildcard);
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Self(pieces)
    }

    /// The pattern as [`Pattern::with_wildcards`] reads it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Any => text.push('*'),
                Piece::One => text.push('?'),
                Piece::Text(literal) => {
                    for c in literal.chars() {
                        if matches!(c, '*' | '?' | '\\') {
                            text.push('\\');
                        }
                        text.push(c);
                    }
                }
            }
        }
        text
    }

    /// The longest text that each match contains; empty if there is none.
    #[must_use]
    pub fn longest_text(&self) -> &str {
        let texts = self.0.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Any | Piece::One => None,
        });
        texts.max_by_key(|text| text.len()).unwrap_or("")
    }

    fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let changed = |piece: &Piece| match piece {
            Piece::Text(text) => Piece::Text(change(text)),
            other => other.clone(),
        };
        Self(self.0.iter().map(changed).collect())
    }

    /// Whether the whole text matches.
    fn is_like(&self, text: &str) -> bool {
        self.ends(text, |rest| rest.is_empty())
    }

    /// Whether a beginning of the text matches after which the rest is `accepted`. At most as many steps as the product of both
    /// lengths: only the last `*` is tried again.
    fn ends(&self, text: &str, accepted: impl Fn(&str) -> bool) -> bool {
        let (mut at, mut piece) = (text, 0);
        let mut again: Option<(usize, &str)> = None;
        loop {
            let next = match self.0.get(piece) {
                None if accepted(at) => return true,
                None => None,
                Some(Piece::Any) => {
                    again = Some((piece + 1, at));
                    piece += 1;
                    continue;
                }
                Some(Piece::One) => at.chars().next().map(|c| &at[c.len_utf8()..]),
                Some(Piece::Text(literal)) => at.strip_prefix(literal.as_str()),
            };
            if let Some(rest) = next {
                (at, piece) = (rest, piece + 1);
                continue;
            }
            let Some((after, from)) = again else { return false };
            let Some(c) = from.chars().next() else { return false };
            let from = &from[c.len_utf8()..];
            again = Some((after, from));
            (at, piece) = (from, after);
        }
    }
}

/// How a text is compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextTest {
    /// What it must be like.
    pub pattern: Pattern,
    /// Case does not count: `c` of Spotlight's language.
    pub ignores_case: bool,
    /// Accents do not count: `d`.
    pub ignores_marks: bool,
    /// The pattern may begin at any word of the text, and ends at the end of a word: `w`.
    pub by_words: bool,
}

/// A word that a text must have for a [`TextTest`] of the contents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WordTest {
    /// The word, folded.
    pub word: String,
    /// A longer word that begins so is enough.
    pub is_beginning: bool,
}

impl TextTest {
    /// The whole text is like the pattern; neither case nor accents count.
    #[must_use]
    pub fn whole(pattern: Pattern) -> Self {
        Self { pattern, ignores_case: true, ignores_marks: true, by_words: false }
    }

    /// The pattern begins at a word of the text; neither case nor accents count.
    #[must_use]
    pub fn at_word(pattern: Pattern) -> Self {
        Self { by_words: true, ..Self::whole(pattern) }
    }

    /// Whether a value is like the pattern.
    #[must_use]
    pub fn matches(&self, value: &str) -> bool {
        self.prepared().matches(value)
    }

    /// The same test for many values.
    #[must_use]
    pub fn prepared(&self) -> TextMatcher<'_> {
        TextMatcher { test: self, pattern: self.pattern.map(|text| self.form(text).into_owned()) }
    }

    fn form<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match (self.ignores_case, self.ignores_marks) {
            (true, true) => Cow::Owned(folded(text)),
            (true, false) => Cow::Owned(case_folded(text)),
            (false, true) => without_marks(text),
            (false, false) => Cow::Borrowed(text),
        }
    }

    /// Whether a longer text of contents matches: it has each of [`TextTest::words`], in any order. Without a word, each text
    /// matches.
    #[must_use]
    pub fn matches_words_of(&self, text: &str) -> bool {
        let mut wanted = self.words();
        words(text, |word| wanted.retain(|test| !test.accepts(word)));
        wanted.is_empty()
    }

    /// The words that contents must have: those of the pattern. A word before a `*` is the beginning of one.
    #[must_use]
    pub fn words(&self) -> Vec<WordTest> {
        (0..self.pattern.0.len()).flat_map(|at| self.words_of_piece(at)).collect()
    }

    /// The words that contents must have one after the other: those between two wildcards, if they are more than one. Pairs of
    /// characters of a writing without spaces say their order themselves.
    #[must_use]
    pub fn phrases(&self) -> Vec<Vec<WordTest>> {
        let is_phrase = |words: &Vec<WordTest>| {
            words.len() > 1 && words.iter().any(|test| !test.word.chars().all(is_dense))
        };
        (0..self.pattern.0.len()).map(|at| self.words_of_piece(at)).filter(is_phrase).collect()
    }

    fn words_of_piece(&self, at: usize) -> Vec<WordTest> {
        let Piece::Text(text) = &self.pattern.0[at] else { return Vec::new() };
        let is_open = matches!(self.pattern.0.get(at + 1), Some(Piece::Any | Piece::One));
        let mut found = Vec::new();
        words(text, |word| found.push(word.to_owned()));
        let ends_in_word = text.chars().next_back().is_some_and(is_in_word);
        let is_run = text.chars().next_back().is_some_and(is_dense);
        if is_run && text.chars().rev().nth(1).is_some_and(is_dense) {
            found.pop(); // the last character alone: the pair before has it
        }
        let last = found.len().wrapping_sub(1);
        let tests = found.into_iter().enumerate().map(|(number, word)| {
            let is_single = word.chars().count() == 1 && word.chars().all(is_dense);
            let is_beginning = is_single || number == last && is_open && ends_in_word;
            WordTest { word, is_beginning }
        });
        tests.collect()
    }
}

/// A [`TextTest`] whose pattern has the form in which texts are compared.
#[derive(Debug, Clone)]
pub struct TextMatcher<'a> {
    test: &'a TextTest,
    pattern: Pattern,
}

impl TextMatcher<'_> {
    /// Whether a value is like the pattern.
    #[must_use]
    pub fn matches(&self, value: &str) -> bool {
        self.matches_form(&self.test.form(value))
    }

    /// Whether a value is like the pattern that is [`folded`] already. For tests in which neither case nor accents count.
    #[must_use]
    pub fn matches_folded(&self, value: &str) -> bool {
        self.matches_form(value)
    }

    /// Whether [`TextMatcher::matches_folded`] may be asked.
    #[must_use]
    pub fn takes_folded(&self) -> bool {
        self.test.ignores_case && self.test.ignores_marks
    }

    /// The text that the folded form of each match contains; empty if there is none.
    #[must_use]
    pub fn needle(&self) -> String {
        folded(self.pattern.longest_text())
    }

    /// Whether each value whose folded form has the needle matches.
    #[must_use]
    pub fn is_needle_enough(&self) -> bool {
        self.takes_folded()
            && !self.test.by_words
            && matches!(&self.pattern.0[..], [Piece::Any, Piece::Text(_), Piece::Any])
    }

    fn matches_form(&self, value: &str) -> bool {
        match self.test.by_words {
            false => self.pattern.is_like(value),
            true => word_starts(value).any(|from| {
                let rest = &value[from..];
                self.pattern.ends(rest, |after| is_word_end(&rest[..rest.len() - after.len()], after))
            }),
        }
    }
}

impl WordTest {
    /// Whether a folded word of a text is the one.
    #[must_use]
    pub fn accepts(&self, word: &str) -> bool {
        if self.is_beginning { word.starts_with(self.word.as_str()) } else { word == self.word }
    }
}

/// Where words begin: at a letter or digit after something else, and at each character of writing without spaces.
fn word_starts(text: &str) -> impl Iterator<Item = usize> {
    let mut before: Option<char> = None;
    text.char_indices().filter_map(move |(at, c)| {
        let previous = before.replace(c);
        let begins = is_in_word(c)
            && previous.is_none_or(|previous| !is_in_word(previous) || is_dense(c) || is_dense(previous));
        begins.then_some(at)
    })
}

fn is_word_end(matched: &str, after: &str) -> bool {
    let (Some(last), Some(next)) = (matched.chars().next_back(), after.chars().next()) else { return true };
    !is_in_word(next) || !is_in_word(last) || is_dense(last) || is_dense(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(pattern: &str, text: &str) -> bool {
        TextTest::whole(Pattern::with_wildcards(pattern)).matches(text)
    }

    fn by_word(pattern: &str, text: &str) -> bool {
        TextTest::at_word(Pattern::with_wildcards(pattern)).matches(text)
    }

    #[test]
    fn a_star_stands_for_any_characters_and_a_question_mark_for_one() {
        for (pattern, text, expected) in [
            ("*.txt", "Notes.TXT", true),
            ("*.txt", "notes.txt.bak", false),
            ("n?tes*", "Nötes", true),
            ("n?tes", "ntes", false),
            ("*a*b*c*", "xxaxxbxxcxx", true),
            ("*a*b*c*", "xxaxxcxxbxx", false),
            ("*aab", "aaab", true),
            ("", "", true),
            ("", "a", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
        ] {
            assert_eq!(whole(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn case_and_accents_count_only_if_they_shall() {
        let pattern = Pattern::literal("résumé");
        let test = |ignores_case, ignores_marks| TextTest {
            pattern: pattern.clone(),
            ignores_case,
            ignores_marks,
            by_words: false,
        };
        assert!(!test(false, false).matches("Résumé"));
        assert!(test(true, false).matches("Résumé") && !test(true, false).matches("resume"));
        assert!(test(false, true).matches("resume") && !test(false, true).matches("Resume"));
        assert!(test(true, true).matches("RESUME"));
    }

    #[test]
    fn a_test_by_words_begins_and_ends_with_a_word() {
        assert!(by_word("voice*", "the voices") && !by_word("voice*", "invoice"));
        assert!(by_word("voice", "my voice.txt") && !by_word("voice", "voices"));
        assert!(by_word("本", "日本語"), "each character of such writing is a word");
        assert!(by_word("annual report", "Annual Report 2024") && !by_word("report annual", "Annual Report"));
    }

    #[test]
    fn contents_have_the_words_in_any_order() {
        let test = TextTest::at_word(Pattern::with_wildcards("report ann*"));
        assert!(test.matches_words_of("The Annual Report"));
        assert!(!test.matches_words_of("The Annual Reports"));
        let pair = TextTest::at_word(Pattern::literal("日本"));
        assert!(pair.matches_words_of("これは日本語です") && !pair.matches_words_of("本日"));
        let one = TextTest::at_word(Pattern::literal("語"));
        assert!(one.matches_words_of("日本語") && one.matches_words_of("語学"));
    }

    #[test]
    fn a_pattern_is_read_as_it_is_written() {
        for text in ["a*b?c", "\\*\\?\\\\", "plain", "*", ""] {
            assert_eq!(Pattern::with_wildcards(text).to_text(), text);
        }
        assert_eq!(Pattern::with_wildcards("a**b").to_text(), "a*b");
        assert_eq!(Pattern::with_wildcards("a*bcd*").longest_text(), "bcd");
    }
}
