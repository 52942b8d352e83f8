//! Mail: RFC 5322 and MIME (RFC 2045 to 2047, 2231), and the files of Apple's Mail (emlx).

mod encoded;

use query::Attribute;

use self::encoded::{base64, quoted_printable, words};
use super::{Problem, Result, bytes, dates, text};
use crate::extracted::Extracted;
use crate::source::Source;

/// How deep parts may be inside of others.
const DEEPEST: usize = 16;
/// The most parts of a mail.
const MOST_PARTS: usize = 1000;

pub(super) fn extract(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    message(&bytes::whole(source)?, found);
    Ok(())
}

/// A mail after the line with its length, and before Mail's own notes of it.
pub(super) fn extract_of_apple(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let bytes = bytes::whole(source)?;
    let end = bytes.iter().take(32).position(|byte| *byte == b'\n');
    let end = end.ok_or(Problem::Damaged("a mail without its length"))?;
    let length = std::str::from_utf8(&bytes[..end]).ok().and_then(|length| length.trim().parse().ok());
    let mail = &bytes[end + 1..];
    message(&mail[..mail.len().min(length.unwrap_or(mail.len()))], found);
    Ok(())
}

fn message(bytes: &[u8], found: &mut Extracted) {
    let (head, body) = split(bytes);
    let head = Head::read(head);
    found.add_text(Attribute::Title, &head.text("subject"));
    for name in ["from", "sender"] {
        people(&head, name, Attribute::Author, found);
    }
    for name in ["to", "cc", "bcc"] {
        people(&head, name, Attribute::Recipient, found);
    }
    found.add_date(Attribute::Taken, head.get("date").and_then(dates::mail));
    let mut left = MOST_PARTS;
    part(&head, body, found, (DEEPEST, &mut left));
}

fn people(head: &Head, name: &str, attribute: Attribute, found: &mut Extracted) {
    head.text(name).split(',').for_each(|one| found.add_text(attribute, one));
}

/// The head and what follows the first empty line.
fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some(end) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        let line = &bytes[at..at + end];
        at += end + 1;
        if line.is_empty() || line == b"\r" {
            return (&bytes[..at], &bytes[at..]);
        }
    }
    (bytes, &[])
}

/// The fields of a head: names in lower case, and unfolded values.
struct Head(Vec<(String, String)>);

impl Head {
    fn read(bytes: &[u8]) -> Self {
        let text = text::decode(bytes, None);
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = fields.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            } else if let Some((name, value)) = line.split_once(':') {
                fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        Self(fields)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(of, _)| of == name).map(|(_, value)| &**value)
    }

    /// A value as people read it.
    fn text(&self, name: &str) -> String {
        self.get(name).map(words).unwrap_or_default()
    }

    /// A parameter of a field: `charset` of `Content-Type`.
    fn parameter(&self, field: &str, name: &str) -> Option<String> {
        let value = self.get(field)?;
        for parameter in parameters(value) {
            let Some((of, value)) = parameter.split_once('=') else { continue };
            let value = value.trim().trim_matches('"');
            if of.trim().eq_ignore_ascii_case(name) {
                return Some(words(value));
            }
            if of.trim().strip_suffix('*').is_some_and(|of| of.eq_ignore_ascii_case(name)) {
                return Some(encoded::extended(value));
            }
        }
        None
    }
}

/// The parts of a value between semicolons that are not quoted, without the first.
fn parameters(value: &str) -> Vec<&str> {
    let (mut parts, mut from, mut is_quoted) = (Vec::new(), 0, false);
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b';' if !is_quoted => {
                parts.push(&value[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&value[from..]);
    parts.remove(0);
    parts
}

fn part(head: &Head, body: &[u8], found: &mut Extracted, (depth, left): (usize, &mut usize)) {
    let kind = head.get("content-type").unwrap_or("text/plain").to_ascii_lowercase();
    for (field, name) in [("content-disposition", "filename"), ("content-type", "name")] {
        if let Some(name) = head.parameter(field, name) {
            found.push(&name);
            found.end_line();
            break;
        }
    }
    if kind.starts_with("multipart/") {
        let boundary = head.parameter("content-type", "boundary");
        return boundary.into_iter().for_each(|boundary| parts(body, &boundary, found, (depth, &mut *left)));
    }
    if kind.starts_with("message/rfc822") {
        if depth > 0 {
            let (inner, body) = split(body);
            let inner = Head::read(inner);
            found.push(&inner.text("subject"));
            found.end_line();
            part(&inner, body, found, (depth - 1, left));
        }
        return;
    }
    if !kind.starts_with("text/") {
        return;
    }
    let body = match &*head.get("content-transfer-encoding").unwrap_or("").trim().to_ascii_lowercase() {
        "base64" => base64(body),
        "quoted-printable" => quoted_printable(body),
        _ => body.to_vec(),
    };
    let text = text::decode(&body, head.parameter("content-type", "charset").as_deref());
    if kind.starts_with("text/html") {
        text::html::read(&text, found, false);
    } else {
        found.push(&text);
    }
    found.end_line();
}

/// The parts between the lines of a boundary.
fn parts(body: &[u8], boundary: &str, found: &mut Extracted, (depth, left): (usize, &mut usize)) {
    if boundary.is_empty() || depth == 0 {
        return;
    }
    let mut begin = None;
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let here = line.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary.as_bytes()));
        if here.is_some() {
            if let Some(begin) = begin {
                let (head, inner) = split(&body[begin..at]);
                part(&Head::read(head), inner, found, (depth - 1, left));
            }
            begin = Some(at + line.len());
            *left = left.saturating_sub(1);
            if *left == 0 || found.is_full() {
                return;
            }
        }
        at += line.len();
    }
    // A mail that is cut has no last boundary.
    if let Some(begin) = begin.filter(|begin| *begin < body.len()) {
        let (head, inner) = split(&body[begin..]);
        part(&Head::read(head), inner, found, (depth - 1, left));
    }
}
