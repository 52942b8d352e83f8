//! Fonts: which text the codes of a string are, ISO 32000-1 9.10.2.

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GBK, MACINTOSH, SHIFT_JIS, UTF_16BE, WINDOWS_1252};

use super::cmap::CMap;
use super::file::PdfFile;
use super::object::{Dictionary, Object};

/// A font.
pub(super) struct Font {
    map: Option<CMap>,
    encoding: FontEncoding,
}

enum FontEncoding {
    /// One byte is a character. The second part has those that differ.
    Simple(&'static Encoding, Vec<(u8, String)>),
    /// All bytes are text in an encoding.
    Whole(&'static Encoding),
    /// Codes of two bytes that are glyphs of the font: only a map tells their text.
    Glyphs,
}

impl Font {
    pub(super) fn read(file: &PdfFile<'_>, font: &Dictionary) -> Self {
        let map = file.stream(&font.object("ToUnicode")).map(|(_, bytes)| CMap::read(&bytes));
        let encoding = file.resolved(&font.object("Encoding"));
        let is_composite = font.get("Subtype").and_then(Object::name) == Some("Type0");
        let encoding = if is_composite { composite(&encoding) } else { simple(file, &encoding) };
        Self { map, encoding }
    }

    /// The text of a string.
    pub(super) fn text(&self, string: &[u8]) -> String {
        let of_code = match &self.encoding {
            FontEncoding::Simple(..) => 1,
            _ => self.map.as_ref().and_then(|map| map.bytes_of_code).unwrap_or(2),
        };
        match (&self.map, &self.encoding) {
            (Some(map), encoding) => {
                let code = |bytes: &[u8]| {
                    let number = bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
                    match map.get(number) {
                        Some(text) => text.to_owned(),
                        None => encoding.text(bytes),
                    }
                };
                string.chunks(of_code).map(code).collect()
            }
            (None, encoding) => encoding.text(string),
        }
    }
}

impl FontEncoding {
    fn text(&self, bytes: &[u8]) -> String {
        match self {
            Self::Simple(encoding, differences) => {
                let one = |byte: &u8| match differences.iter().find(|(code, _)| code == byte) {
                    Some((_, text)) => text.clone(),
                    None => encoding.decode_without_bom_handling(&[*byte]).0.into_owned(),
                };
                bytes.iter().map(one).collect()
            }
            Self::Whole(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
            Self::Glyphs => String::new(),
        }
    }
}

/// Predefined CMaps, 9.7.5.2, whose codes are text in an encoding.
fn composite(encoding: &Object) -> FontEncoding {
    let name = encoding.name().unwrap_or_default();
    let has = |part: &str| name.contains(part);
    if has("UCS2") || has("UTF16") {
        FontEncoding::Whole(UTF_16BE)
    } else if has("RKSJ") {
        FontEncoding::Whole(SHIFT_JIS)
    } else if has("GBK") || name.starts_with("GB") {
        FontEncoding::Whole(GBK)
    } else if has("KSC") {
        FontEncoding::Whole(EUC_KR)
    } else if has("B5") || has("ETen") {
        FontEncoding::Whole(BIG5)
    } else if name.starts_with("EUC") {
        FontEncoding::Whole(EUC_JP)
    } else {
        FontEncoding::Glyphs
    }
}

/// 9.6.6: a base encoding, and what differs from it.
fn simple(file: &PdfFile<'_>, encoding: &Object) -> FontEncoding {
    let base = |name: Option<&str>| match name {
        Some("MacRomanEncoding") => MACINTOSH,
        _ => WINDOWS_1252,
    };
    let Object::Dictionary(encoding) = encoding else {
        return FontEncoding::Simple(base(encoding.name()), Vec::new());
    };
    let mut differences = Vec::new();
    if let Object::Array(listed) = file.resolved(&encoding.object("Differences")) {
        let mut code = 0u8;
        for object in listed {
            match object {
                Object::Number(number) => code = number as u8,
                Object::Name(name) => {
                    differences.push((code, glyph(&name)));
                    code = code.wrapping_add(1);
                }
                _ => {}
            }
        }
    }
    FontEncoding::Simple(base(encoding.get("BaseEncoding").and_then(Object::name)), differences)
}

/// Glyphs that are neither letters nor letters with an accent, as the Adobe Glyph List names them.
const GLYPHS: &[(&str, &str)] = &[
    ("space", " "),
    ("exclam", "!"),
    ("quotedbl", "\""),
    ("numbersign", "#"),
    ("dollar", "$"),
    ("percent", "%"),
    ("ampersand", "&"),
    ("quotesingle", "'"),
    ("quoteright", "’"),
    ("quoteleft", "‘"),
    ("parenleft", "("),
    ("parenright", ")"),
    ("asterisk", "*"),
    ("plus", "+"),
    ("comma", ","),
    ("hyphen", "-"),
    ("minus", "-"),
    ("period", "."),
    ("slash", "/"),
    ("zero", "0"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("colon", ":"),
    ("semicolon", ";"),
    ("less", "<"),
    ("equal", "="),
    ("greater", ">"),
    ("question", "?"),
    ("at", "@"),
    ("bracketleft", "["),
    ("backslash", "\\"),
    ("bracketright", "]"),
    ("asciicircum", "^"),
    ("underscore", "_"),
    ("braceleft", "{"),
    ("bar", "|"),
    ("braceright", "}"),
    ("asciitilde", "~"),
    ("endash", "–"),
    ("emdash", "—"),
    ("bullet", "•"),
    ("ellipsis", "…"),
    ("quotedblleft", "“"),
    ("quotedblright", "”"),
    ("guillemotleft", "«"),
    ("guillemotright", "»"),
    ("fi", "fi"),
    ("fl", "fl"),
    ("ff", "ff"),
    ("ffi", "ffi"),
    ("ffl", "ffl"),
    ("germandbls", "ß"),
    ("ae", "æ"),
    ("AE", "Æ"),
    ("oe", "œ"),
    ("OE", "Œ"),
    ("oslash", "ø"),
    ("Oslash", "Ø"),
    ("dotlessi", "ı"),
    ("lslash", "ł"),
    ("Lslash", "Ł"),
    ("Euro", "€"),
    ("sterling", "£"),
    ("yen", "¥"),
    ("section", "§"),
    ("degree", "°"),
    ("copyright", "©"),
    ("registered", "®"),
    ("trademark", "™"),
    ("nbspace", " "),
];
/// Accents at the end of the names of letters, as combining characters.
const ACCENTS: &[(&str, char)] = &[
    ("acute", '\u{301}'),
    ("grave", '\u{300}'),
    ("circumflex", '\u{302}'),
    ("dieresis", '\u{308}'),
    ("tilde", '\u{303}'),
    ("ring", '\u{30a}'),
    ("caron", '\u{30c}'),
    ("cedilla", '\u{327}'),
    ("macron", '\u{304}'),
    ("ogonek", '\u{328}'),
    ("breve", '\u{306}'),
    ("dotaccent", '\u{307}'),
    ("hungarumlaut", '\u{30b}'),
];

/// The text of a glyph by its name.
fn glyph(name: &str) -> String {
    let name = name.split('.').next().unwrap_or_default();
    if name.chars().count() == 1 {
        return name.to_owned();
    }
    if let Some((_, text)) = GLYPHS.iter().find(|(known, _)| *known == name) {
        return (*text).to_owned();
    }
    let digits = name.strip_prefix("uni").or_else(|| name.strip_prefix('u'));
    let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    if let Some(c) = number.and_then(char::from_u32) {
        return c.into();
    }
    let accented = ACCENTS.iter().find_map(|(accent, mark)| Some((name.strip_suffix(accent)?, mark)));
    match accented {
        Some((letter, mark)) if letter.chars().count() == 1 => format!("{letter}{mark}"),
        _ => String::new(),
    }
}
