//! The words of Spotlight's language.

use super::SpotlightError;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Differs,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// A word of the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    Comma,
    And,
    Or,
    Not,
    Compare(Operator),
    /// A name, a number, or `$time.` and a name.
    Word(String),
    /// A text as a pattern, and the letters after it.
    Text(String, String),
    End,
}

pub(super) struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn next(&mut self) -> Result<Token, SpotlightError> {
        // Macs end some texts with a NUL.
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\0');
        const SIGNS: &[(&str, Token)] = &[
            ("&&", Token::And),
            ("||", Token::Or),
            ("==", Token::Compare(Operator::Equal)),
            ("!=", Token::Compare(Operator::Differs)),
            ("<=", Token::Compare(Operator::AtMost)),
            (">=", Token::Compare(Operator::AtLeast)),
            ("=", Token::Compare(Operator::Equal)),
            ("<", Token::Compare(Operator::Less)),
            (">", Token::Compare(Operator::More)),
            ("!", Token::Not),
            ("(", Token::Open),
            (")", Token::Close),
            (",", Token::Comma),
        ];
        if self.rest.is_empty() {
            return Ok(Token::End);
        }
        for (sign, token) in SIGNS {
            if let Some(rest) = self.rest.strip_prefix(sign) {
                self.rest = rest;
                return Ok(token.clone());
            }
        }
        match self.rest.strip_prefix(['"', '\'']) {
            Some(rest) => self.text(rest),
            None => self.word(),
        }
    }

    /// A text after its quotation mark. Only `*` is a wildcard of Spotlight; `?` is none.
    fn text(&mut self, rest: &'a str) -> Result<Token, SpotlightError> {
        let quote = if self.rest.starts_with('"') { '"' } else { '\'' };
        let mut pattern = String::new();
        let mut characters = rest.char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => {
                    let (_, escaped) = characters.next().ok_or(SpotlightError::OpenQuote)?;
                    pattern.push('\\');
                    pattern.push(escaped);
                }
                '?' => pattern.push_str("\\?"),
                c if c == quote => {
                    self.rest = &rest[at + 1..];
                    let letters = self.cut(|c| c.is_ascii_alphabetic());
                    return Ok(Token::Text(pattern, letters.to_owned()));
                }
                c => pattern.push(c),
            }
        }
        Err(SpotlightError::OpenQuote)
    }

    fn word(&mut self) -> Result<Token, SpotlightError> {
        let word = self
            .cut(|c| c.is_alphanumeric() || matches!(c, '_' | '*' | ':' | '-' | '+' | '.' | '$' | '%' | '/'));
        if word.is_empty() { Err(SpotlightError::Incomplete) } else { Ok(Token::Word(word.to_owned())) }
    }

    fn cut(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (cut, rest) = self.rest.split_at(end);
        self.rest = rest;
        cut
    }
}
