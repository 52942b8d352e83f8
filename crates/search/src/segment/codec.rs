//! Facts as bytes of an index.

use query::{Attribute, Facts, Value, ValueKind};
use wire::Reader;

/// Appends the values.
pub(crate) fn encode(facts: &Facts, into: &mut Vec<u8>) {
    for (attribute, value) in facts.all() {
        let Some(number) = Attribute::ALL.iter().position(|known| known == attribute) else { continue };
        into.push(number as u8);
        match value {
            Value::Text(text) => {
                let length = text.len().min(usize::from(u16::MAX));
                let end = (0..=length).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                into.extend((end as u16).to_le_bytes());
                into.extend(&text.as_bytes()[..end]);
            }
            Value::Number(number) => into.extend(number.to_bits().to_le_bytes()),
            Value::Date(at) => into.extend(at.to_le_bytes()),
        }
    }
}

/// The facts of bytes that [`encode`] has made; `None` for others.
pub(crate) fn decode(bytes: &[u8]) -> Option<Facts> {
    let mut r = Reader::new(bytes);
    let mut facts = Facts::default();
    while r.remaining() > 0 {
        let attribute = *Attribute::ALL.get(usize::from(r.u8().ok()?))?;
        let value = match attribute.kind() {
            ValueKind::Text => {
                let length = r.u16_le().ok()?;
                Value::Text(std::str::from_utf8(r.take(usize::from(length)).ok()?).ok()?.to_owned())
            }
            ValueKind::Number => Value::Number(f64::from_bits(r.u64_le().ok()?)),
            ValueKind::Date => Value::Date(r.i64_le().ok()?),
        };
        facts.add(attribute, value);
    }
    Some(facts)
}

/// A number of seven bits in each byte, the low ones first.
pub(crate) fn put_number(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// The reverse of [`put_number`]; the bytes after it.
pub(crate) fn take_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// The names of all attributes: facts of an index with others are not read.
pub(crate) fn attributes() -> Vec<String> {
    Attribute::ALL.iter().map(|attribute| attribute.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_as_they_were() {
        let mut facts = Facts::default();
        facts.add_text(Attribute::Tag, "Réd");
        facts.add_text(Attribute::Tag, "");
        facts.add(Attribute::Label, Value::Number(6.0));
        facts.add(Attribute::Added, Value::Date(-5));
        let mut bytes = Vec::new();
        encode(&facts, &mut bytes);
        assert_eq!(decode(&bytes), Some(facts));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(decode(&[255]), None);
    }

    #[test]
    fn numbers_come_back_as_they_were() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_number(number, &mut bytes);
            assert_eq!(take_number(&bytes), Some((number, &[][..])), "{number}");
        }
        assert_eq!(take_number(&[0x80]), None);
    }
}
