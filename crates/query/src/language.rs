//! Our own language of searches, as people type it into a search box or after `fourfold find`.
//!
//! ```text
//! invoice 2024               both words, anywhere in the name, or as beginnings of words of comments, tags and contents
//! "annual report"            exactly this text in the name, or these words
//! *.tif                      the whole name, with wildcards
//! kind:pdf tag:Red           a value of an attribute; kind:pdf,image is either of them
//! size:>10M modified:2024-05 sizes and dates: > >= < <= and a..b
//! modified:7d                in the last seven days
//! -kind:folder               not
//! a OR (b c)                 either; both bind more tightly than OR
//! has:comment                there is a value
//! ```
//!
//! docs/search.md is the page for users.

mod dates;
mod values;

pub use dates::Clock;

use crate::pattern::{Pattern, TextTest};
use crate::query::{Comparison, MAX_COMPARISONS, MAX_DEPTH, Query};
use crate::{Attribute, Test};

/// The longest query, in bytes.
pub const MAX_LENGTH: usize = 4096;

/// Why a text is no query, and where: the number of bytes before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct LanguageError {
    /// The place in the text, in bytes.
    pub at: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum Problem {
    #[error("the query is longer than {MAX_LENGTH} bytes")]
    TooLong,
    #[error("the query has more than {MAX_COMPARISONS} conditions")]
    TooMany,
    #[error("the query has more than {MAX_DEPTH} parentheses inside each other")]
    TooDeep,
    #[error("the quotation mark has no second one")]
    OpenQuote,
    #[error("the parenthesis is not closed")]
    OpenParenthesis,
    #[error("the parenthesis closes nothing")]
    CloseParenthesis,
    #[error("a word is missing after `{0}`")]
    Missing(String),
    #[error("there is no attribute `{name}`{}; to look for this text, put it in quotation marks", hint(.near))]
    UnknownAttribute { name: String, near: Option<String> },
    #[error("there is no kind `{name}`; the kinds are {known}")]
    UnknownKind { name: String, known: String },
    #[error("`{0}` is no size; write it as 4096, 64k, 10M or 1.5GB")]
    Size(String),
    #[error("`{0}` is no number")]
    Number(String),
    #[error("`{0}` is no duration; write it as 90s, 3min or 1h")]
    Duration(String),
    #[error("`{0}` is no label; the labels are gray, green, purple, blue, yellow, red, orange")]
    Label(String),
    #[error(
        "`{0}` is no date; write it as today, yesterday, this-week, last-month, 7d, 2024, 2024-05 or 2024-05-31"
    )]
    Date(String),
    #[error(
        "`{0}` lasts until now; write it without < or >, and with - before the attribute for what is older"
    )]
    ComparedDuration(String),
    #[error("`{0}` is a text and has no order; leave out < and >")]
    Order(&'static str),
}

fn hint(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The query that a text says. An empty text asks for all files.
pub fn parse(text: &str, clock: &Clock) -> Result<Query, LanguageError> {
    if text.len() > MAX_LENGTH {
        return Err(LanguageError { at: MAX_LENGTH, problem: Problem::TooLong });
    }
    let mut parser = Parser { text, at: 0, depth: 0, conditions: 0, clock };
    let query = parser.alternatives()?;
    match parser.rest().is_empty() {
        true => Ok(query),
        false => Err(parser.error(Problem::CloseParenthesis)),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    conditions: usize,
    clock: &'a Clock,
}

/// A part of the text that is one value, without its quotation marks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    text: String,
    is_quoted: bool,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, problem: Problem) -> LanguageError {
        LanguageError { at: self.at, problem }
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes a word of the language, which stands alone.
    fn takes(&mut self, words: &[&str]) -> Option<&'a str> {
        self.skip_space();
        let rest = self.rest();
        let word =
            &rest[..rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')')).unwrap_or(rest.len())];
        words.contains(&word).then(|| {
            self.at += word.len();
            word
        })
    }

    /// `a OR b`.
    fn alternatives(&mut self) -> Result<Query, LanguageError> {
        let mut parts = vec![self.conjunction()?];
        while let Some(word) = self.takes(&["OR", "|"]) {
            let place = self.at - word.len();
            let missing = LanguageError { at: place, problem: Problem::Missing(word.into()) };
            match self.conjunction()? {
                Query::And(none) if none.is_empty() => return Err(missing),
                part => parts.push(part),
            }
        }
        Ok(match parts.len() {
            1 => parts.pop().map_or(Query::All, |only| match only {
                Query::And(none) if none.is_empty() => Query::All,
                only => only,
            }),
            _ => Query::Or(parts),
        })
    }

    /// `a b`.
    fn conjunction(&mut self) -> Result<Query, LanguageError> {
        let mut parts = Vec::new();
        loop {
            if let Some(word) = self.takes(&["AND", "&"])
                && parts.is_empty()
            {
                self.at -= word.len();
                return Err(self.error(Problem::Missing(word.into())));
            }
            let before = self.at;
            let is_end =
                self.takes(&["OR", "|"]).is_some() || self.rest().is_empty() || self.rest().starts_with(')');
            if is_end {
                self.at = before;
                self.skip_space();
                break;
            }
            parts.push(self.negation()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Query::And(parts) })
    }

    /// `-a`, `NOT a`, `(a)`, or a condition.
    fn negation(&mut self) -> Result<Query, LanguageError> {
        let place = self.at;
        let minus = self
            .rest()
            .strip_prefix('-')
            .is_some_and(|after| !after.is_empty() && !after.starts_with(char::is_whitespace));
        if minus || self.takes(&["NOT"]).is_some() {
            self.at += usize::from(minus);
            self.skip_space();
            if self.rest().is_empty() || self.rest().starts_with(')') {
                return Err(LanguageError { at: place, problem: Problem::Missing("NOT".into()) });
            }
            return self.deeper(|parser| Ok(Query::Not(Box::new(parser.negation()?))));
        }
        if self.rest().starts_with('(') {
            return self.group();
        }
        self.condition()
    }

    fn group(&mut self) -> Result<Query, LanguageError> {
        let place = self.at;
        self.at += 1;
        let inside = self.deeper(Self::alternatives)?;
        match self.rest().starts_with(')') {
            true => {
                self.at += 1;
                Ok(inside)
            }
            false => Err(LanguageError { at: place, problem: Problem::OpenParenthesis }),
        }
    }

    /// Each step takes two levels of [`MAX_DEPTH`]: a group has alternatives and their parts.
    fn deeper(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<Query, LanguageError>,
    ) -> Result<Query, LanguageError> {
        self.depth += 2;
        if self.depth > MAX_DEPTH - 4 {
            return Err(self.error(Problem::TooDeep));
        }
        let parsed = parse(self);
        self.depth -= 2;
        parsed
    }

    /// `word`, `"words"`, `attribute:value,value`.
    fn condition(&mut self) -> Result<Query, LanguageError> {
        let place = self.at;
        let name_end = self.rest().find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest().len());
        let (name, after) = self.rest().split_at(name_end);
        if name.is_empty() || !after.starts_with(':') {
            let term = self.term(&[])?;
            return self.counted(1).map(|()| anywhere(&term));
        }
        self.at += name.len() + 1;
        let is = name.eq_ignore_ascii_case("is");
        if name.eq_ignore_ascii_case("has") {
            return self.presence();
        }
        let attribute = if is { Some(Attribute::Kind) } else { Attribute::of_name(name) };
        let Some(attribute) = attribute else {
            let problem = Problem::UnknownAttribute { name: name.into(), near: near(name) };
            return Err(LanguageError { at: place, problem });
        };
        self.values(attribute, name)
    }

    fn presence(&mut self) -> Result<Query, LanguageError> {
        let term = self.term(&[])?;
        let Some(attribute) = Attribute::of_name(&term.text) else {
            let problem = Problem::UnknownAttribute { near: near(&term.text), name: term.text };
            return Err(LanguageError { at: term.at, problem });
        };
        self.counted(1)?;
        Ok(Query::Is(Comparison { attribute, test: Test::Present }))
    }

    fn values(&mut self, attribute: Attribute, name: &str) -> Result<Query, LanguageError> {
        let mut parts = Vec::new();
        loop {
            let term = self.term(&[','])?;
            if term.text.is_empty() && !term.is_quoted {
                return Err(LanguageError { at: term.at, problem: Problem::Missing(format!("{name}:")) });
            }
            let part = values::comparison(attribute, &term, self.clock)
                .map_err(|problem| LanguageError { at: term.at, problem })?;
            let mut conditions = 0;
            part.each_comparison(&mut |_| conditions += 1);
            self.counted(conditions)?;
            parts.push(part);
            if !self.rest().starts_with(',') {
                break;
            }
            self.at += 1;
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Query::Or(parts) })
    }

    /// A quoted text, or what comes before a space, a parenthesis, a quotation mark, or one of these.
    fn term(&mut self, also: &[char]) -> Result<Term, LanguageError> {
        let at = self.at;
        // An operator may stand before a quotation mark: `name:="a b"`.
        let operator = self.rest().find(|c: char| !matches!(c, '<' | '>' | '=')).unwrap_or(0);
        let (before, rest) = self.rest().split_at(operator);
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').ok_or_else(|| self.error(Problem::OpenQuote))?;
            self.at += operator + end + 2;
            return Ok(Term { text: format!("{before}{}", &quoted[..end]), is_quoted: true, at });
        }
        let is_end = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"') || also.contains(&c);
        let end = self.rest().find(is_end).unwrap_or(self.rest().len());
        let text = self.rest()[..end].to_owned();
        self.at += end;
        Ok(Term { text, is_quoted: false, at })
    }

    fn counted(&mut self, more: usize) -> Result<(), LanguageError> {
        self.conditions += more;
        if self.conditions > MAX_COMPARISONS / 4 { Err(self.error(Problem::TooMany)) } else { Ok(()) }
    }
}

/// A word without an attribute: in the name, or as the beginning of a word of any other text.
fn anywhere(term: &Term) -> Query {
    let has_wildcards = !term.is_quoted && term.text.contains(['*', '?']);
    if has_wildcards {
        return Comparison::text(Attribute::Name, TextTest::whole(Pattern::with_wildcards(&term.text)));
    }
    let word = if term.is_quoted { Pattern::literal(&term.text) } else { Pattern::beginning(&term.text) };
    Query::Or(vec![
        Comparison::text(Attribute::Name, TextTest::whole(Pattern::containing(&term.text))),
        Comparison::text(Attribute::Any, TextTest::at_word(word)),
    ])
}

/// The name of an attribute that differs in one letter, or begins so.
fn near(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let begins = |known: &&str| name.len() >= 3 && (known.starts_with(&name) || name.starts_with(known));
    let differs = |known: &&str| is_one_letter_apart(&name, known);
    Attribute::names().find(differs).or_else(|| Attribute::names().find(begins)).map(Into::into)
}

/// Whether one letter was added, removed or changed, or two neighbours were swapped.
fn is_one_letter_apart(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let begin = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let end = a[begin..].iter().rev().zip(b[begin..].iter().rev()).take_while(|(x, y)| x == y).count();
    match (a.len() - begin - end, b.len() - begin - end) {
        (0, 1) | (1, 0 | 1) => true,
        (2, 2) => a[begin] == b[begin + 1] && a[begin + 1] == b[begin],
        _ => false,
    }
}

#[cfg(test)]
mod tests;
