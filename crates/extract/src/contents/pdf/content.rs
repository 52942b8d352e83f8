//! Content streams: the strings that are shown, and where lines and words end, ISO 32000-1 9.4.

use std::collections::HashMap;
use std::rc::Rc;

use super::file::PdfFile;
use super::fonts::Font;
use super::object::{Dictionary, Object, ObjectReader};
use crate::extracted::Extracted;

/// How deep forms may be inside of others.
const DEEPEST: usize = 8;
/// The most operators of a page.
const MOST_OPERATORS: usize = 2 << 20;
/// The most operands of an operator.
const MOST_OPERANDS: usize = 1024;
/// In a line, a gap of so many thousandths of the font's size is a space.
const GAP: f64 = 180.0;

/// Reads a page.
pub(super) struct PageReader<'a, 'b> {
    file: &'a PdfFile<'b>,
    found: &'a mut Extracted,
    font: Option<Rc<Font>>,
    /// The line of the last text, to see whether another one begins.
    line: Option<f64>,
    operators: usize,
}

type Fonts = HashMap<String, Rc<Font>>;

impl<'a, 'b> PageReader<'a, 'b> {
    pub(super) fn new(file: &'a PdfFile<'b>, found: &'a mut Extracted) -> Self {
        Self { file, found, font: None, line: None, operators: 0 }
    }

    pub(super) fn page(&mut self, page: &Dictionary) {
        let resources = self.file.dictionary(page, "Resources");
        let contents = page.object("Contents");
        let streams = match self.file.resolved(&contents) {
            Object::Array(streams) => streams,
            _ => vec![contents],
        };
        let mut bytes = Vec::new();
        for (_, data) in streams.iter().filter_map(|stream| self.file.stream(stream)) {
            bytes.extend_from_slice(&data);
            bytes.push(b'\n');
            if bytes.len() > super::file::MOST_OF_STREAM {
                break;
            }
        }
        self.content(&bytes, &resources, DEEPEST);
        self.found.end_line();
    }

    fn content(&mut self, bytes: &[u8], resources: &Dictionary, left: usize) {
        let mut fonts = Fonts::new();
        let mut reading = ObjectReader::new(bytes, 0);
        let mut operands: Vec<Object> = Vec::new();
        while let Some(object) = reading.next() {
            let Object::Word(operator) = object else {
                if operands.len() < MOST_OPERANDS {
                    operands.push(object);
                }
                continue;
            };
            self.operators += 1;
            if self.operators > MOST_OPERATORS || self.found.is_full() {
                return;
            }
            match &*operator {
                "Tf" => self.font = self.font_of(&operands, resources, &mut fonts),
                "Do" => self.form(&operands, resources, left),
                "BI" => skip_picture(&mut reading, bytes),
                other => self.text(other, &operands),
            }
            operands.clear();
        }
    }

    fn font_of(&self, operands: &[Object], resources: &Dictionary, fonts: &mut Fonts) -> Option<Rc<Font>> {
        let name = operands.first()?.name()?;
        if let Some(font) = fonts.get(name) {
            return Some(font.clone());
        }
        let font = self.file.dictionary(&self.file.dictionary(resources, "Font"), name);
        let font = Rc::new(Font::read(self.file, &font));
        fonts.insert(name.to_owned(), font.clone());
        Some(font)
    }

    /// A form, 8.10: a content stream of its own.
    fn form(&mut self, operands: &[Object], resources: &Dictionary, left: usize) {
        let (Some(name), Some(left)) = (operands.first().and_then(Object::name), left.checked_sub(1)) else {
            return;
        };
        let object = self.file.dictionary(resources, "XObject").object(name);
        let Object::Dictionary(head) = self.file.resolved(&object) else { return };
        if head.get("Subtype").and_then(Object::name) != Some("Form") {
            return;
        }
        let Some((head, bytes)) = self.file.stream(&object) else { return };
        let own = self.file.dictionary(&head, "Resources");
        let font = self.font.take();
        self.content(&bytes, if head.has("Resources") { &own } else { resources }, left);
        self.font = font;
    }

    fn text(&mut self, operator: &str, operands: &[Object]) {
        let number = |at: usize| operands.get(at).and_then(Object::number).unwrap_or(0.0);
        match operator {
            "BT" => self.found.end_word(),
            "Td" | "TD" => {
                if number(1).abs() > 0.01 {
                    self.found.end_line();
                } else if number(0) > 0.0 {
                    self.found.end_word();
                }
            }
            "T*" => self.found.end_line(),
            "Tm" => {
                let line = number(5);
                if self.line.is_some_and(|before| (before - line).abs() > 0.01) {
                    self.found.end_line();
                } else {
                    self.found.end_word();
                }
                self.line = Some(line);
            }
            "'" | "\"" => {
                self.found.end_line();
                operands.last().into_iter().for_each(|string| self.show(string));
            }
            "Tj" => operands.last().into_iter().for_each(|string| self.show(string)),
            "TJ" => {
                let Some(Object::Array(parts)) = operands.last() else { return };
                for part in parts {
                    match part {
                        Object::Number(gap) if *gap < -GAP => self.found.end_word(),
                        part => self.show(part),
                    }
                }
            }
            _ => {}
        }
    }

    fn show(&mut self, string: &Object) {
        if let (Object::Text(string), Some(font)) = (string, &self.font) {
            let text = font.text(string);
            self.found.push(&text);
        }
    }
}

/// Passes over a picture inside of the content, 8.9.7: its data are anything.
fn skip_picture(reading: &mut ObjectReader<'_>, bytes: &[u8]) {
    let is_space = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    let mut at = reading.at;
    while at + 2 <= bytes.len() {
        let is_end = bytes[at..].starts_with(b"EI") && at > 0 && is_space(bytes.get(at - 1));
        if is_end && is_space(bytes.get(at + 2)) {
            reading.at = at + 2;
            return;
        }
        at += 1;
    }
    reading.at = bytes.len();
}
