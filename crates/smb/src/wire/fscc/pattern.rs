//! Wildcards of QUERY_DIRECTORY, MS-FSA 2.1.4.4.
//!
//! | in the pattern | matches |
//! |---|---|
//! | `*` | any characters, or none |
//! | `?` | one character |
//! | `<` (DOS_STAR) | any characters, or none, but no further than the last `.` of the name, which it may match |
//! | `>` (DOS_QM) | one character; or none before a `.` and at the end |
//! | `"` (DOS_DOT) | a `.`; or none at the end |
//!
//! Characters are UTF-16 units. All places in the pattern where the match may stand are followed at once, one bit each, so
//! that a name costs at most its length times the pattern's.

use vfs::names::{Folding, folded_units};
use wire::Malformed;

use super::EntryName;

/// What a name is asked to look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    sent: Vec<u16>,
    tokens: Vec<PatternToken>,
    folding: Folding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternToken {
    Unit(u16),
    Star,
    One,
    DosStar,
    DosOne,
    DosDot,
}

/// The places of a pattern where a match may stand. Place `n` is before token `n`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TokenPlaces([u64; TokenPlaces::WORDS]);

/// What comes next in the name.
#[derive(Clone, Copy)]
struct Next {
    unit: Option<u16>,
    is_last_dot: bool,
}

const DOT: u16 = b'.' as u16;

impl NamePattern {
    /// The longest pattern: names have 255 characters, and there may be a wildcard between any two.
    pub const MAX_LEN: usize = TokenPlaces::COUNT - 1;

    /// A pattern as a client sends it. An empty one is `*`.
    pub fn new(sent: &[u16], folding: Folding) -> Result<Self, Malformed> {
        let mut tokens = Vec::with_capacity(sent.len());
        for part in sent.chunk_by(|a, b| wildcard(*a).is_none() && wildcard(*b).is_none()) {
            match wildcard(part[0]) {
                Some(PatternToken::Star) if tokens.last() == Some(&PatternToken::Star) => {}
                Some(token) => tokens.push(token),
                None => tokens.extend(folded_units(part, folding).into_iter().map(PatternToken::Unit)),
            }
        }
        if tokens.is_empty() {
            tokens.push(PatternToken::Star);
        }
        match tokens.len() <= Self::MAX_LEN {
            true => Ok(Self { sent: sent.to_vec(), tokens, folding }),
            false => Err(Malformed("search pattern longer than any name")),
        }
    }

    /// Whether every name matches.
    pub fn is_all(&self) -> bool {
        self.tokens == [PatternToken::Star]
    }

    /// The one name that matches, as it was sent, when there is no wildcard.
    pub fn literal(&self) -> Option<&[u16]> {
        self.tokens.iter().all(|token| matches!(token, PatternToken::Unit(_))).then_some(&self.sent)
    }

    /// Whether a name matches.
    pub fn matches(&self, name: EntryName<'_>) -> bool {
        if self.is_all() {
            return true;
        }
        match name {
            EntryName::Utf8(name) if name.is_ascii() => self.matches_ascii(name.as_bytes()),
            EntryName::Utf8(name) => self.matches_units(&name.encode_utf16().collect::<Vec<_>>()),
            EntryName::Units(units) => self.matches_units(units),
        }
    }

    fn matches_ascii(&self, name: &[u8]) -> bool {
        let last_dot = name.iter().rposition(|byte| *byte == b'.');
        let fold = |byte: u8| if self.folding.case_sensitive { byte } else { byte.to_ascii_lowercase() };
        self.run(name.iter().map(|byte| fold(*byte).into()), last_dot)
    }

    fn matches_units(&self, name: &[u16]) -> bool {
        let name = folded_units(name, self.folding);
        self.run(name.iter().copied(), name.iter().rposition(|unit| *unit == DOT))
    }

    fn run(&self, name: impl Iterator<Item = u16>, last_dot: Option<usize>) -> bool {
        let mut places = TokenPlaces::first();
        for (at, unit) in name.enumerate() {
            places = self.step(places, Next { unit: Some(unit), is_last_dot: Some(at) == last_dot });
            if places.is_empty() {
                return false;
            }
        }
        let end = Next { unit: None, is_last_dot: false };
        self.without_consuming(places, end).contains(self.tokens.len())
    }

    /// Where the match may stand after `next`.
    fn step(&self, places: TokenPlaces, next: Next) -> TokenPlaces {
        let places = self.without_consuming(places, next);
        let mut after = TokenPlaces::none();
        for (at, token) in self.tokens.iter().enumerate().filter(|(at, _)| places.contains(*at)) {
            match token {
                PatternToken::Star => after.add(at),
                PatternToken::DosStar if next.is_last_dot => after.add(at + 1),
                PatternToken::DosStar => after.add(at),
                PatternToken::One => after.add(at + 1),
                PatternToken::DosOne if next.unit != Some(DOT) => after.add(at + 1),
                PatternToken::DosDot if next.unit == Some(DOT) => after.add(at + 1),
                PatternToken::Unit(unit) if next.unit == Some(*unit) => after.add(at + 1),
                _ => {}
            }
        }
        after
    }

    /// The places that are reached from `places` before `next`, by tokens that match nothing.
    fn without_consuming(&self, mut places: TokenPlaces, next: Next) -> TokenPlaces {
        for (at, token) in self.tokens.iter().enumerate() {
            let may_be_none = match token {
                PatternToken::Star | PatternToken::DosStar => true,
                PatternToken::DosOne => matches!(next.unit, None | Some(DOT)),
                PatternToken::DosDot => next.unit.is_none(),
                PatternToken::Unit(_) | PatternToken::One => false,
            };
            if may_be_none && places.contains(at) {
                places.add(at + 1);
            }
        }
        places
    }
}

fn wildcard(unit: u16) -> Option<PatternToken> {
    match u8::try_from(unit).ok()? {
        b'*' => Some(PatternToken::Star),
        b'?' => Some(PatternToken::One),
        b'<' => Some(PatternToken::DosStar),
        b'>' => Some(PatternToken::DosOne),
        b'"' => Some(PatternToken::DosDot),
        _ => None,
    }
}

impl TokenPlaces {
    const WORDS: usize = 8;
    const COUNT: usize = Self::WORDS * 64;

    fn none() -> Self {
        Self([0; Self::WORDS])
    }

    fn first() -> Self {
        let mut places = Self::none();
        places.add(0);
        places
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; Self::WORDS]
    }

    fn contains(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn add(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }
}

#[cfg(test)]
mod tests;
