//! What was found in the contents of a file, within limits.

use query::{Attribute, Value};

/// The most text of a file in bytes of UTF-8; the rest is not searched.
pub const MOST_TEXT: usize = 4 << 20;
/// The most facts of a file.
pub const MOST_FACTS: usize = 256;
/// The longest text of a fact in bytes.
pub const LONGEST_FACT: usize = 2048;

/// What was found in the contents of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extracted {
    /// Values of attributes.
    pub facts: Vec<(Attribute, Value)>,
    /// The text, with a line feed between its parts.
    pub text: String,
    /// There is more text than [`MOST_TEXT`], or the contents are damaged behind what was found.
    pub is_cut: bool,
}

impl Extracted {
    /// Whether more text would be dropped.
    pub fn is_full(&self) -> bool {
        self.is_cut && self.text.len() + 4 > MOST_TEXT
    }

    /// Adds text. NULs and other controls become spaces.
    pub fn push(&mut self, text: &str) {
        for c in text.chars() {
            if self.text.len() + c.len_utf8() > MOST_TEXT {
                self.is_cut = true;
                return;
            }
            self.text.push(if c.is_control() && c != '\n' && c != '\t' { ' ' } else { c });
        }
    }

    /// Ends a line, if one was begun.
    pub fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.push("\n");
        }
    }

    /// Adds a space, if a word was begun.
    pub fn end_word(&mut self) {
        if self.text.chars().next_back().is_some_and(|last| !last.is_whitespace()) {
            self.push(" ");
        }
    }

    /// Adds a text as the value of an attribute, without the spaces around it; nothing if it is empty.
    pub fn add_text(&mut self, attribute: Attribute, text: &str) {
        let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
        if text.is_empty() {
            return;
        }
        let end = (0..=text.len().min(LONGEST_FACT)).rev().find(|at| text.is_char_boundary(*at));
        self.add(attribute, Value::Text(text[..end.unwrap_or(0)].to_owned()));
    }

    /// Adds a number as the value of an attribute.
    pub fn add_number(&mut self, attribute: Attribute, number: f64) {
        if number.is_finite() && number >= 0.0 {
            self.add(attribute, Value::Number(number));
        }
    }

    /// Adds a moment as the value of an attribute: seconds since 1970-01-01 00:00 UTC.
    pub fn add_date(&mut self, attribute: Attribute, seconds: Option<i64>) {
        if let Some(seconds) = seconds {
            self.add(attribute, Value::Date(seconds));
        }
    }

    fn add(&mut self, attribute: Attribute, value: Value) {
        let fact = (attribute, value);
        if self.facts.len() < MOST_FACTS && !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
    }
}
