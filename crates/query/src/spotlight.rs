//! Spotlight's language of searches, as Macs send it: Apple's "File Metadata Query Expression Syntax", and what Finder writes beyond
//! it.
//!
//! ```text
//! kMDItemFSName == "*report*"cd && kMDItemContentTypeTree == "public.image"
//! (* == "invoice*"cdw || kMDItemTextContent == "invoice*"cd) && kMDItemFSContentChangeDate >= $time.today(-7)
//! InRange(kMDItemFSSize, 1000, 2000) && !(kMDItemUserTags == "Red")
//! ```
//! `*` stands for any characters. After a text, `c` ignores case, `d` ignores accents, `w` compares words; other letters have no
//! meaning here. An attribute that files of this server do not have has no value: nothing is equal to it, and everything differs.

mod attributes;
mod dates;
mod lexer;
#[cfg(test)]
mod tests;

use self::attributes::Meaning;
use self::lexer::{Lexer, Operator, Token};
use crate::language::Clock;
use crate::{
    Attribute, Comparison, MAX_COMPARISONS, MAX_DEPTH, Order, Pattern, Query, Test, TextTest, ValueKind,
};

/// The longest query, in bytes.
pub const MAX_LENGTH: usize = 32 << 10;

/// Why a text is no query of Spotlight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum SpotlightError {
    #[error("the query is longer than {MAX_LENGTH} bytes")]
    TooLong,
    #[error(
        "the query has more than {MAX_COMPARISONS} comparisons, or more than {MAX_DEPTH} parentheses inside each other"
    )]
    TooMany,
    #[error("the text has no second quotation mark")]
    OpenQuote,
    #[error("a comparison is not complete")]
    Incomplete,
    #[error("a date cannot be read")]
    Date,
    /// `true` and `false` alone are what Finder sends before anything is typed. macOS refuses them.
    #[error("the query asks for nothing")]
    Constant,
}

/// The query that a text says. `clock` tells what `$time.now` and its neighbours mean.
///
/// # Errors
/// It is no query, or exceeds the limits.
pub fn parse(text: &str, clock: &Clock) -> Result<Query, SpotlightError> {
    if text.len() > MAX_LENGTH {
        return Err(SpotlightError::TooLong);
    }
    let mut lexer = Lexer::new(text);
    let next = lexer.next()?;
    let mut parser = Parser { lexer, next, clock, comparisons: 0 };
    let query = parser.either(MAX_DEPTH)?;
    match parser.next {
        Token::End if query.is_within_limits() => Ok(query),
        Token::End => Err(SpotlightError::TooMany),
        _ => Err(SpotlightError::Incomplete),
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token,
    clock: &'a Clock,
    comparisons: usize,
}

/// The right side of a comparison.
#[derive(Debug, Clone, PartialEq)]
enum Operand {
    /// A text and the letters after it.
    Text(String, String),
    /// A number or a word without quotation marks.
    Word(String),
    /// A moment: seconds since 1970-01-01 00:00 UTC.
    Date(i64),
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, SpotlightError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn expect(&mut self, token: &Token) -> Result<(), SpotlightError> {
        if self.advance()? == *token { Ok(()) } else { Err(SpotlightError::Incomplete) }
    }

    fn accept(&mut self, token: &Token) -> Result<bool, SpotlightError> {
        let is_it = self.next == *token;
        if is_it {
            self.advance()?;
        }
        Ok(is_it)
    }

    fn either(&mut self, left: usize) -> Result<Query, SpotlightError> {
        let mut parts = vec![self.all(left)?];
        while self.accept(&Token::Or)? {
            parts.push(self.all(left)?);
        }
        Ok(joined(parts, Query::Or))
    }

    fn all(&mut self, left: usize) -> Result<Query, SpotlightError> {
        let mut parts = vec![self.one(left)?];
        while self.accept(&Token::And)? {
            parts.push(self.one(left)?);
        }
        Ok(joined(parts, Query::And))
    }

    fn one(&mut self, left: usize) -> Result<Query, SpotlightError> {
        let inside = left.checked_sub(1).ok_or(SpotlightError::TooMany)?;
        if self.accept(&Token::Not)? {
            return Ok(Query::Not(Box::new(self.one(inside)?)));
        }
        if self.accept(&Token::Open)? {
            let query = self.either(inside)?;
            self.expect(&Token::Close)?;
            return Ok(query);
        }
        self.comparisons += 1;
        if self.comparisons > MAX_COMPARISONS {
            return Err(SpotlightError::TooMany);
        }
        let Token::Word(name) = self.advance()? else { return Err(SpotlightError::Incomplete) };
        match &*name {
            "InRange" | "InRange:" => self.range(),
            "true" | "false" | "True" | "False" | "TRUE" | "FALSE" => Err(SpotlightError::Constant),
            _ => {
                let Token::Compare(operator) = self.advance()? else {
                    return Err(SpotlightError::Incomplete);
                };
                let operand = self.operand()?;
                Ok(compared(&Meaning::of(&name), operator, &operand))
            }
        }
    }

    /// `InRange(attribute, least, most)`: both ends belong to it.
    fn range(&mut self) -> Result<Query, SpotlightError> {
        self.expect(&Token::Open)?;
        let Token::Word(name) = self.advance()? else { return Err(SpotlightError::Incomplete) };
        self.expect(&Token::Comma)?;
        let least = self.operand()?;
        self.expect(&Token::Comma)?;
        let most = self.operand()?;
        self.expect(&Token::Close)?;
        let meaning = Meaning::of(&name);
        Ok(Query::And(vec![
            compared(&meaning, Operator::AtLeast, &least),
            compared(&meaning, Operator::AtMost, &most),
        ]))
    }

    fn operand(&mut self) -> Result<Operand, SpotlightError> {
        match self.advance()? {
            Token::Text(text, letters) => Ok(Operand::Text(text, letters)),
            Token::Word(word) => match word.strip_prefix("$time.") {
                Some(name) => self.date(name),
                None => Ok(Operand::Word(word)),
            },
            _ => Err(SpotlightError::Incomplete),
        }
    }

    /// A date after `$time.`, with or without an argument.
    fn date(&mut self, name: &str) -> Result<Operand, SpotlightError> {
        let mut argument = String::new();
        if self.accept(&Token::Open)? {
            match self.advance()? {
                Token::Word(word) => argument = word,
                Token::Text(text, _) => argument = text,
                Token::Close => return dates::named(name, "", self.clock).map(Operand::Date),
                _ => return Err(SpotlightError::Date),
            }
            self.expect(&Token::Close)?;
        }
        dates::named(name, &argument, self.clock).map(Operand::Date)
    }
}

fn joined(mut parts: Vec<Query>, join: fn(Vec<Query>) -> Query) -> Query {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            join(parts)
        }
        None => join(parts),
    }
}

/// A comparison of what an attribute of Spotlight means here.
fn compared(meaning: &Meaning, operator: Operator, operand: &Operand) -> Query {
    if operator == Operator::Differs {
        return Query::Not(Box::new(compared(meaning, Operator::Equal, operand)));
    }
    let one = |attribute: &Attribute| match attribute.kind() {
        ValueKind::Text => text_test(*attribute, operator, operand),
        ValueKind::Number => number_test(operator, operand),
        ValueKind::Date => date_test(operator, operand),
    };
    let parts = match meaning {
        Meaning::Attributes(attributes) => {
            let tests = attributes.iter().filter_map(|attribute| Some((*attribute, one(attribute)?)));
            tests.map(|(attribute, test)| Query::Is(Comparison { attribute, test })).collect()
        }
        Meaning::Group if operator == Operator::Equal => attributes::kinds_of_group(operand_text(operand)),
        Meaning::Group | Meaning::Nothing => Vec::new(),
    };
    joined(parts, Query::Or)
}

fn operand_text(operand: &Operand) -> &str {
    match operand {
        Operand::Text(text, _) | Operand::Word(text) => text,
        Operand::Date(_) => "",
    }
}

/// Whether the operand is only the wildcard: any value.
fn is_any(operand: &Operand) -> bool {
    operand_text(operand) == "*"
}

fn text_test(attribute: Attribute, operator: Operator, operand: &Operand) -> Option<Test> {
    if operator != Operator::Equal {
        return None; // texts have no order here
    }
    if is_any(operand) && attribute != Attribute::Any && attribute != Attribute::Text {
        return Some(Test::Present);
    }
    let (text, letters) = match operand {
        Operand::Text(text, letters) => (text.clone(), letters.as_str()),
        Operand::Word(word) => (attributes::code(attribute, word).unwrap_or_else(|| word.clone()), ""),
        Operand::Date(_) => return None,
    };
    // Identifiers of types have no case, and words of contents are kept without.
    let is_folded = matches!(attribute, Attribute::ContentType | Attribute::Kind | Attribute::Text);
    let has = |letter| letters.contains(letter);
    Some(Test::Text(TextTest {
        pattern: Pattern::with_wildcards(&text),
        ignores_case: has('c') || is_folded,
        ignores_marks: has('d') || attribute == Attribute::Text,
        by_words: has('w'),
    }))
}

fn order(operator: Operator) -> Order {
    match operator {
        Operator::Less => Order::Less,
        Operator::AtMost => Order::AtMost,
        Operator::Equal | Operator::Differs => Order::Equal,
        Operator::AtLeast => Order::AtLeast,
        Operator::More => Order::More,
    }
}

fn number_test(operator: Operator, operand: &Operand) -> Option<Test> {
    if is_any(operand) {
        return (operator == Operator::Equal).then_some(Test::Present);
    }
    let number: f64 = operand_text(operand).trim().parse().ok()?;
    number.is_finite().then_some(Test::Number(order(operator), number))
}

fn date_test(operator: Operator, operand: &Operand) -> Option<Test> {
    let at = match operand {
        Operand::Date(at) => *at,
        _ if is_any(operand) => return (operator == Operator::Equal).then_some(Test::Present),
        // A date as a number is one of seconds since 2001.
        _ => dates::since_2001(operand_text(operand))?,
    };
    Some(Test::Date(order(operator), at))
}
