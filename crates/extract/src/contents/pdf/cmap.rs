//! CMaps that say which text a code is, ISO 32000-1 9.10.3.

use std::collections::BTreeMap;

use super::object::{Object, ObjectReader};

/// The most codes of a font.
const MOST_CODES: usize = 1 << 17;

/// The text of each code.
#[derive(Debug, Clone, Default)]
pub(super) struct CMap {
    texts: BTreeMap<u32, String>,
    /// How many bytes a code has, if the map says so.
    pub(super) bytes_of_code: Option<usize>,
}

impl CMap {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut map = Self::default();
        let mut reading = ObjectReader::new(bytes, 0);
        let mut operands: Vec<Object> = Vec::new();
        while let Some(object) = reading.next() {
            let Object::Word(word) = object else {
                operands.push(object);
                continue;
            };
            match &*word {
                "endcodespacerange" => {
                    let longest = operands.iter().filter_map(text).map(<[u8]>::len).max();
                    map.bytes_of_code = longest.filter(|bytes| (1..=4).contains(bytes));
                }
                "endbfchar" => map.characters(&operands),
                "endbfrange" => map.ranges(&operands),
                _ => {}
            }
            operands.clear();
            if map.texts.len() >= MOST_CODES {
                break;
            }
        }
        map
    }

    fn characters(&mut self, operands: &[Object]) {
        for pair in operands.chunks_exact(2) {
            if let (Some(code), Some(target)) = (text(&pair[0]).and_then(number), text(&pair[1])) {
                self.texts.insert(code, utf16(target));
            }
        }
    }

    fn ranges(&mut self, operands: &[Object]) {
        for range in operands.chunks_exact(3) {
            let codes = (text(&range[0]).and_then(number), text(&range[1]).and_then(number));
            let (Some(first), Some(last)) = codes else { continue };
            let room = MOST_CODES.saturating_sub(self.texts.len());
            for (at, code) in (first..=last).take(room).enumerate() {
                let target = match &range[2] {
                    Object::Text(target) => following(target, at),
                    Object::Array(targets) => targets.get(at).and_then(text).map(utf16),
                    _ => None,
                };
                target.into_iter().for_each(|target| drop(self.texts.insert(code, target)));
            }
        }
    }

    pub(super) fn get(&self, code: u32) -> Option<&str> {
        self.texts.get(&code).map(String::as_str)
    }
}

fn text(object: &Object) -> Option<&[u8]> {
    match object {
        Object::Text(bytes) => Some(bytes),
        _ => None,
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    (bytes.len() <= 4).then(|| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn utf16(bytes: &[u8]) -> String {
    encoding_rs::UTF_16BE.decode_without_bom_handling(bytes).0.into_owned()
}

/// The text `at` places after this one: its last character counts up.
fn following(target: &[u8], at: usize) -> Option<String> {
    let text = utf16(target);
    let last = text.chars().next_back()?;
    let next = char::from_u32(u32::from(last).checked_add(u32::try_from(at).ok()?)?)?;
    Some(text[..text.len() - last.len_utf8()].chars().chain([next]).collect())
}
