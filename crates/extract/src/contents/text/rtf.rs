//! RTF: the Rich Text Format Specification, version 1.9.1. Its text, and its information group.

use encoding_rs::Encoding;
use query::Attribute;

use super::super::{Problem, Result, bytes};
use crate::extracted::Extracted;
use crate::source::Source;

/// How deep groups may be inside of others.
const DEEPEST: usize = 256;
/// Groups without text for people.
const SILENT: &[&str] = &[
    "fonttbl",
    "colortbl",
    "stylesheet",
    "pict",
    "object",
    "themedata",
    "colorschememapping",
    "datastore",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "latentstyles",
    "xmlnstbl",
    "fldinst",
    "pgptbl",
    "mmathPr",
];

/// Where the text of a group goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Destination {
    Text,
    Information(Attribute),
    Nowhere,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    destination: Destination,
    /// How many characters stand for one of Unicode, for readers that do not know it.
    substitutes: usize,
}

pub(in crate::contents) fn extract(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let bytes = bytes::whole(source)?;
    let group = Group { destination: Destination::Text, substitutes: 1 };
    let mut reading = RtfReader {
        found,
        encoding: encoding_rs::WINDOWS_1252,
        group,
        outer: Vec::new(),
        encoded: Vec::new(),
        information: String::new(),
        to_skip: 0,
        high: None,
    };
    reading.read(&bytes)
}

struct RtfReader<'a> {
    found: &'a mut Extracted,
    encoding: &'static Encoding,
    group: Group,
    outer: Vec<Group>,
    /// Characters in the encoding of the document that are not decoded yet.
    encoded: Vec<u8>,
    information: String,
    /// Substitutes that are still to be skipped.
    to_skip: usize,
    /// The first half of a pair of UTF-16.
    high: Option<u16>,
}

impl RtfReader<'_> {
    fn read(&mut self, mut rest: &[u8]) -> Result<()> {
        while let [first, after @ ..] = rest {
            rest = after;
            match first {
                b'{' => self.open()?,
                b'}' => self.close(),
                b'\\' => rest = self.control(rest),
                b'\r' | b'\n' => {}
                byte => self.byte(*byte),
            }
            if self.found.is_full() {
                return Ok(());
            }
        }
        self.decode();
        if self.outer.is_empty() { Ok(()) } else { Err(Problem::Damaged("a group without an end")) }
    }

    fn open(&mut self) -> Result<()> {
        self.decode();
        if self.outer.len() >= DEEPEST {
            return Err(Problem::Damaged("groups too deep inside of others"));
        }
        self.outer.push(self.group);
        Ok(())
    }

    fn close(&mut self) {
        self.decode();
        if let Destination::Information(attribute) = self.group.destination {
            let text = std::mem::take(&mut self.information);
            self.found.add_text(attribute, &text);
        }
        self.to_skip = 0;
        if let Some(outer) = self.outer.pop() {
            self.group = outer;
        }
    }

    /// A control symbol or word, after its backslash.
    fn control<'b>(&mut self, rest: &'b [u8]) -> &'b [u8] {
        let length = rest.iter().take(32).take_while(|byte| byte.is_ascii_alphabetic()).count();
        if length == 0 {
            return self.symbol(rest);
        }
        let (word, rest) = rest.split_at(length);
        let digits = rest.iter().take(11).enumerate();
        let digits =
            digits.take_while(|(at, byte)| byte.is_ascii_digit() || (*at == 0 && **byte == b'-')).count();
        let (number, rest) = rest.split_at(digits);
        let number = std::str::from_utf8(number).ok().and_then(|number| number.parse::<i32>().ok());
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let word = std::str::from_utf8(word).unwrap_or_default();
        if word == "bin" {
            let count = number.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
            return rest.get(count..).unwrap_or_default();
        }
        self.word(word, number);
        rest
    }

    fn symbol<'b>(&mut self, rest: &'b [u8]) -> &'b [u8] {
        let [symbol, after @ ..] = rest else { return rest };
        match symbol {
            b'\'' => {
                let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    Some(byte) => {
                        self.byte(byte);
                        return &after[2..];
                    }
                    None => return after,
                }
            }
            b'*' => self.group.destination = Destination::Nowhere,
            b'~' => self.text(" "),
            b'_' => self.text("-"),
            b'\r' | b'\n' => self.end_line(),
            b'\\' | b'{' | b'}' => self.byte(*symbol),
            _ => {}
        }
        after
    }

    fn word(&mut self, word: &str, number: Option<i32>) {
        if word != "u" {
            self.decode();
        }
        match word {
            "u" => {
                self.unicode(number.unwrap_or(0) as u16);
                self.to_skip = self.group.substitutes;
            }
            "uc" => self.group.substitutes = number.map_or(1, |count| count.clamp(0, 16) as usize),
            "ansicpg" => self.encoding = code_page(number.unwrap_or(1252)),
            "mac" => self.encoding = encoding_rs::MACINTOSH,
            "par" | "line" | "row" | "sect" | "page" | "pard" => self.end_line(),
            "tab" | "cell" | "emspace" | "enspace" => self.text(" "),
            "emdash" => self.text("—"),
            "endash" => self.text("–"),
            "bullet" => self.text("•"),
            "lquote" => self.text("‘"),
            "rquote" => self.text("’"),
            "ldblquote" => self.text("“"),
            "rdblquote" => self.text("”"),
            "title" => self.group.destination = Destination::Information(Attribute::Title),
            "author" => self.group.destination = Destination::Information(Attribute::Author),
            "keywords" => self.group.destination = Destination::Information(Attribute::Keyword),
            "info" => self.group.destination = Destination::Nowhere,
            "nofpages" => self.found.add_number(Attribute::Pages, number.unwrap_or(0).into()),
            silent if SILENT.contains(&silent) => self.group.destination = Destination::Nowhere,
            _ => {}
        }
    }

    fn unicode(&mut self, unit: u16) {
        self.decode();
        let units = match self.high.take() {
            Some(high) => vec![high, unit],
            None => vec![unit],
        };
        if units.len() == 1 && (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
            return;
        }
        self.text(&String::from_utf16_lossy(&units));
    }

    fn byte(&mut self, byte: u8) {
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return;
        }
        self.encoded.push(byte);
    }

    fn decode(&mut self) {
        if !self.encoded.is_empty() {
            let bytes = std::mem::take(&mut self.encoded);
            self.text(&self.encoding.decode_without_bom_handling(&bytes).0);
        }
    }

    fn text(&mut self, text: &str) {
        match self.group.destination {
            Destination::Text => self.found.push(text),
            Destination::Information(_) if self.information.len() < crate::extracted::LONGEST_FACT => {
                self.information.push_str(text);
            }
            Destination::Information(_) | Destination::Nowhere => {}
        }
    }

    fn end_line(&mut self) {
        self.decode();
        if self.group.destination == Destination::Text {
            self.found.end_line();
        }
    }
}

/// The encoding of a code page of Windows or of old Macs.
fn code_page(number: i32) -> &'static Encoding {
    let label = match number {
        874 => "windows-874",
        932 => "shift_jis",
        936 => "gbk",
        949 => "euc-kr",
        950 => "big5",
        10000 => "macintosh",
        10007 => "x-mac-cyrillic",
        65001 => "utf-8",
        1250..=1258 => {
            return Encoding::for_label(format!("windows-{number}").as_bytes())
                .unwrap_or(encoding_rs::WINDOWS_1252);
        }
        _ => "windows-1252",
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(encoding_rs::WINDOWS_1252)
}
