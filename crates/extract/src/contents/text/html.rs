//! HTML: its text, and what its head says.

use query::Attribute;

use super::super::{Result, bytes, dates};
use super::entities::replaced;
use crate::extracted::Extracted;
use crate::source::Source;

/// Elements whose contents are no text for people.
const SILENT: &[&str] = &["script", "style", "template", "noscript", "svg"];
/// Elements inside of a line.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s", "small",
    "span", "strong", "sub", "sup", "tt", "u", "var", "wbr",
];
/// How far from the beginning the encoding is stated.
const HEAD: usize = 4096;

pub(in crate::contents) fn extract(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let bytes = bytes::whole(source)?;
    let text = super::decode(&bytes, charset(&bytes).as_deref());
    read(&text, found, true);
    Ok(())
}

/// The encoding that the head states.
fn charset(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]).to_ascii_lowercase();
    let (_, after) = head.split_once("charset=")?;
    let after = after.trim_start_matches(['"', '\'']);
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':' | '.'));
    Some(after[..end.unwrap_or(after.len())].to_owned())
}

/// Adds the text of HTML, and with `is_document` its title and what it says of itself.
pub(in crate::contents) fn read(html: &str, found: &mut Extracted, is_document: bool) {
    let mut rest = html;
    while !found.is_full() {
        let Some(at) = rest.find('<') else {
            words(rest, found);
            break;
        };
        words(&rest[..at], found);
        rest = &rest[at..];
        let (tag, after) = cut_tag(rest);
        rest = after;
        let name = tag_name(tag);
        if SILENT.contains(&&*name) {
            rest = after_element(rest, &name);
        } else if name == "title" {
            let end = find_end(rest, "title").unwrap_or(rest.len());
            if is_document {
                found.add_text(Attribute::Title, &replaced(&rest[..end]));
            }
            rest = &rest[end..];
        } else if name == "meta" && is_document {
            meta(tag, found);
        }
        if !INLINE.contains(&name.trim_start_matches('/')) {
            found.end_line();
        }
    }
}

/// Words of a text, with one space between them.
fn words(text: &str, found: &mut Extracted) {
    if text.starts_with(char::is_whitespace) {
        found.end_word();
    }
    let text = replaced(text);
    for (number, word) in text.split_whitespace().enumerate() {
        if number > 0 {
            found.end_word();
        }
        found.push(word);
    }
    if text.ends_with(char::is_whitespace) {
        found.end_word();
    }
}

/// A tag or a comment at the beginning, and what follows it.
fn cut_tag(text: &str) -> (&str, &str) {
    if let Some(comment) = text.strip_prefix("<!--") {
        let end = comment.find("-->").map_or(comment.len(), |end| end + 3);
        return ("", &comment[end..]);
    }
    let is_tag = text[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
    if !is_tag {
        return ("", &text[1..]); // a sign in a text
    }
    let mut quote = None;
    for (at, c) in text.char_indices().skip(1) {
        match (quote, c) {
            (None, '>') => return (&text[1..at], &text[at + 1..]),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    (&text[1..], "")
}

fn tag_name(tag: &str) -> String {
    let end = tag.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(tag.len());
    tag[..end].trim_end_matches('/').to_ascii_lowercase()
}

/// Where the end tag of an element begins.
fn find_end(text: &str, name: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let at = from + at;
        let here = bytes.get(at + 2..at + 2 + name.len());
        if here.is_some_and(|here| here.eq_ignore_ascii_case(name.as_bytes())) {
            return Some(at);
        }
        from = at + 2;
    }
    None
}

/// What follows an element whose contents are left out.
fn after_element<'a>(text: &'a str, name: &str) -> &'a str {
    find_end(text, name).map_or("", |end| &text[end..])
}

fn meta(tag: &str, found: &mut Extracted) {
    let (Some(name), Some(content)) = (value(tag, "name"), value(tag, "content")) else { return };
    let content = replaced(content);
    match &*name.to_ascii_lowercase() {
        "author" | "dc.creator" => found.add_text(Attribute::Author, &content),
        "keywords" => content.split(',').for_each(|word| found.add_text(Attribute::Keyword, word)),
        "date" | "dc.date" => found.add_date(Attribute::Taken, dates::iso(&content)),
        "generator" => found.add_text(Attribute::Device, &content),
        "description" => {
            found.push(&content);
            found.end_line();
        }
        _ => {}
    }
}

/// The value of an attribute of a tag.
fn value<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let lower = tag.to_ascii_lowercase();
    let mut from = 0;
    loop {
        let at = from + lower[from..].find(name)?;
        from = at + name.len();
        let is_whole = lower[..at].ends_with(|c: char| c.is_whitespace());
        let after = tag[from..].trim_start();
        if let Some(after) = after.strip_prefix('=').filter(|_| is_whole) {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
            return match quote {
                Some(quote) => after[1..].split(quote).next(),
                None => after.split_whitespace().next(),
            };
        }
    }
}
