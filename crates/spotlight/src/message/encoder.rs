//! Values as bytes: little-endian, as Macs send them.

use super::{FileNumbers, LITTLE_ENDIAN, LITTLE_ENDIAN_MARK, Tag, UNIT, Value, kind, variable};

/// The bytes of a message. A text is cut, and an array ends, where the size of a tag could not say its length.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut writing = MessageWriter::default();
    writing.value(value);
    writing.finish()
}

/// The most bytes of one text: longer ones are cut at a character.
const LONGEST_TEXT: usize = 16 << 10;

#[derive(Default)]
struct MessageWriter {
    data: Vec<u8>,
    table: Vec<Tag>,
}

impl MessageWriter {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Nil => self.tag(1, kind::NIL, 1),
            Value::Bool(value) => self.tag(1, kind::BOOL, u32::from(*value)),
            Value::Integer(number) => self.number(kind::INTEGER, *number),
            Value::Float(number) => self.number(kind::FLOAT, number.to_bits()),
            Value::Date(seconds) => self.number(kind::DATE, seconds.to_bits()),
            Value::Uuid(uuid) => {
                self.tag(3, kind::UUID, 1);
                self.data.extend_from_slice(uuid);
            }
            Value::Text(text) => self.text(variable::TEXT, cut(text).as_bytes()),
            Value::WideText(text) => {
                let units = cut(text).encode_utf16().flat_map(u16::to_le_bytes);
                self.text(
                    variable::WIDE_TEXT,
                    &LITTLE_ENDIAN_MARK.into_iter().chain(units).collect::<Vec<_>>(),
                );
            }
            Value::Array(elements) => {
                let at = self.variable(variable::ARRAY);
                elements.iter().for_each(|element| self.value(element));
                self.table[at].count = elements.len() as u32;
            }
            Value::Dictionary(entries) => {
                let at = self.variable(variable::DICTIONARY);
                for (name, value) in entries {
                    self.text(variable::TEXT, cut(name).as_bytes());
                    self.value(value);
                }
                self.table[at].count = 2 * entries.len() as u32;
            }
            Value::Files(files) => self.files(files),
            Value::Metadata(inner) => self.metadata(inner.as_deref()),
        }
    }

    fn tag(&mut self, size: u16, kind: u16, count: u32) {
        self.octets(Tag { size, kind, count }.number());
    }

    fn octets(&mut self, number: u64) {
        self.data.extend_from_slice(&number.to_le_bytes());
    }

    fn number(&mut self, kind: u16, number: u64) {
        self.tag(2, kind, 1);
        self.octets(number);
    }

    /// Begins a value of variable length, and returns its place in the table.
    fn variable(&mut self, kind: u16) -> usize {
        // The place counts from the beginning of the message.
        let place = self.data.len() / UNIT + 2;
        self.table.push(Tag { size: place as u16, kind, count: 0 });
        self.tag(1, kind::VARIABLE, self.table.len() as u32);
        self.table.len() - 1
    }

    /// A text, of which the tags say how many bytes of the last unit are used.
    fn text(&mut self, kind: u16, bytes: &[u8]) {
        let at = self.variable(kind);
        let used = match bytes.len() % UNIT {
            0 => UNIT as u32,
            used => used as u32,
        };
        self.table[at].count = used;
        let units = bytes.len().div_ceil(UNIT);
        self.tag(units as u16 + 1, kind::BYTES, used);
        self.data.extend_from_slice(bytes);
        self.data.resize(self.data.len().next_multiple_of(UNIT), 0);
    }

    fn files(&mut self, files: &FileNumbers) {
        self.variable(variable::FILES);
        let count = files.numbers.len() as u16;
        self.tag(if count == 0 { 1 } else { count + 2 }, kind::FILES, UNIT as u32);
        if count > 0 {
            self.tag(count, files.purpose, files.context);
            files.numbers.iter().for_each(|number| self.octets(*number));
        }
    }

    fn metadata(&mut self, inner: Option<&Value>) {
        let at = self.variable(variable::METADATA);
        let bytes = inner.map(encode).unwrap_or_default();
        let units = bytes.len() / UNIT;
        self.table[at].count = units as u32;
        self.tag(units as u16 + 1, kind::BYTES, UNIT as u32);
        self.data.extend_from_slice(&bytes);
    }

    fn finish(self) -> Vec<u8> {
        let data_units = self.data.len() / UNIT + 1;
        let all_units = data_units + self.table.len() + 1;
        let mut bytes = LITTLE_ENDIAN.to_vec();
        bytes.extend_from_slice(&(all_units as u32).to_le_bytes());
        bytes.extend_from_slice(&(data_units as u32).to_le_bytes());
        bytes.extend_from_slice(&self.data);
        let head = Tag { size: self.table.len() as u16 + 1, kind: kind::TABLE, count: 0 };
        for tag in [head].iter().chain(&self.table) {
            bytes.extend_from_slice(&tag.number().to_le_bytes());
        }
        bytes
    }
}

fn cut(text: &str) -> &str {
    let end = (0..=LONGEST_TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}
