//! Property lists in XML, as far as disk images have them: dictionaries, arrays, texts, numbers, data.
//!
//! The format is the document type of <http://www.apple.com/DTDs/PropertyList-1.0.dtd>. Entities other than those of XML
//! itself are not expanded.

use std::collections::HashMap;

/// The longest list that is read, in bytes.
pub(super) const MAX_LEN: usize = 64 << 20;
/// How deep values may lie in one another.
const MAX_DEPTH: usize = 16;

/// A value of a property list.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `<dict>`; the last of two equal keys counts.
    Dictionary(HashMap<String, Value>),
    /// `<array>`.
    Array(Vec<Value>),
    /// `<string>`, and the text of `<date>` and `<real>`.
    Text(String),
    /// `<integer>`.
    Number(i64),
    /// `<data>`, without its base-64.
    Data(Vec<u8>),
    /// `<true/>` or `<false/>`.
    Bool(bool),
}

impl Value {
    /// The value behind a key of a dictionary.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Dictionary(entries) => entries.get(key),
            _ => None,
        }
    }

    /// A number that is not negative.
    pub fn unsigned(&self) -> Option<u64> {
        match self {
            Self::Number(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// A text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The value that a list consists of; `None` if it is no list in XML, or too long.
pub fn parse(list: &[u8]) -> Option<Value> {
    if list.len() > MAX_LEN {
        return None;
    }
    let mut scanner = Scanner { rest: std::str::from_utf8(list).ok()? };
    loop {
        match scanner.tag()? {
            Tag::Open("plist") => break,
            Tag::Open(_) | Tag::Close(_) | Tag::Empty(_) => return None,
            Tag::Other => {}
        }
    }
    let first = scanner.element()?;
    scanner.value(first, 0)
}

enum Tag<'a> {
    Open(&'a str),
    Close(&'a str),
    Empty(&'a str),
    /// A declaration, a comment, an instruction.
    Other,
}

struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    /// Passes over text to the next tag.
    fn tag(&mut self) -> Option<Tag<'a>> {
        let (_, rest) = self.rest.split_once('<')?;
        let end = if rest.starts_with("!--") { "-->" } else { ">" };
        let (tag, rest) = rest.split_once(end)?;
        self.rest = rest;
        let name = |text: &'a str| text.split_whitespace().next().unwrap_or("");
        Some(match tag.as_bytes().first()? {
            b'!' | b'?' => Tag::Other,
            b'/' => Tag::Close(name(&tag[1..])),
            _ => match tag.strip_suffix('/') {
                Some(inside) => Tag::Empty(name(inside)),
                None => Tag::Open(name(tag)),
            },
        })
    }

    /// The next tag that is no comment.
    fn element(&mut self) -> Option<Tag<'a>> {
        loop {
            match self.tag()? {
                Tag::Other => {}
                tag => return Some(tag),
            }
        }
    }

    /// The text up to the end of this element, which has no elements in it.
    fn text(&mut self, name: &str) -> Option<String> {
        let (text, _) = self.rest.split_once('<')?;
        let text = unescaped(text)?;
        match self.tag()? {
            Tag::Close(closed) if closed == name => Some(text),
            _ => None,
        }
    }

    fn value(&mut self, tag: Tag<'a>, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match tag {
            Tag::Empty("true") => Value::Bool(true),
            Tag::Empty("false") => Value::Bool(false),
            Tag::Empty("dict") => Value::Dictionary(HashMap::new()),
            Tag::Empty("array") => Value::Array(Vec::new()),
            Tag::Empty("string") => Value::Text(String::new()),
            Tag::Empty("data") => Value::Data(Vec::new()),
            Tag::Open("dict") => self.dictionary(depth)?,
            Tag::Open("array") => self.array(depth)?,
            Tag::Open("integer") => Value::Number(self.text("integer")?.trim().parse().ok()?),
            Tag::Open("data") => Value::Data(base64(self.text("data")?.as_bytes())?),
            Tag::Open(name @ ("string" | "date" | "real")) => Value::Text(self.text(name)?),
            _ => return None,
        })
    }

    fn dictionary(&mut self, depth: usize) -> Option<Value> {
        let mut entries = HashMap::new();
        loop {
            match self.element()? {
                Tag::Close("dict") => return Some(Value::Dictionary(entries)),
                Tag::Open("key") => {
                    let key = self.text("key")?;
                    let tag = self.element()?;
                    entries.insert(key, self.value(tag, depth + 1)?);
                }
                _ => return None,
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let mut values = Vec::new();
        loop {
            match self.element()? {
                Tag::Close("array") => return Some(Value::Array(values)),
                tag => values.push(self.value(tag, depth + 1)?),
            }
        }
    }
}

/// Text without the entities of XML and numeric characters.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('&');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';')?;
        out.push(match entity {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let number = entity.strip_prefix('#')?;
                let code = match number.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code)?
            }
        });
        out.push_str(rest);
    }
    Some(out)
}

/// RFC 4648, section 4, with white space between the characters.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::with_capacity(text.len() / 4 * 3));
    for &byte in text.iter().filter(|byte| !byte.is_ascii_whitespace() && **byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_kind_are_read() {
        let list = br#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>size</key> <integer>4194304</integer>
  <!-- a comment with <tags> in it -->
  <key>name</key><string>A &amp; B &#x41;</string>
  <key>all</key><array><true/><data>
    AQID
    BA==
  </data><dict/></array>
</dict></plist>"#;
        let value = parse(list).unwrap();
        assert_eq!(value.get("size").and_then(Value::unsigned), Some(4_194_304));
        assert_eq!(value.get("name").and_then(Value::text), Some("A & B A"));
        let all = vec![Value::Bool(true), Value::Data(vec![1, 2, 3, 4]), Value::Dictionary(HashMap::new())];
        assert_eq!(value.get("all"), Some(&Value::Array(all)));
    }

    #[test]
    fn what_is_no_list_or_lies_too_deep_is_refused() {
        for list in
            ["", "<plist>", "<plist><dict><key>a</key></dict></plist>", "<plist><integer>x</integer></plist>"]
        {
            assert_eq!(parse(list.as_bytes()), None, "{list}");
        }
        let nested =
            |depth: usize| format!("<plist>{}{}</plist>", "<array>".repeat(depth), "</array>".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_some());
        assert_eq!(parse(nested(100_000).as_bytes()), None);
    }
}
