//! Bytes as values. What is read is bounded by the bytes of the message: no tag makes more values than they have units, but for
//! [`MOST_VALUES`] of those that take no bytes.

use wire::Malformed;

use super::{BIG_ENDIAN, FileNumbers, LITTLE_ENDIAN, Tag, UNIT, Value, kind, variable};

/// The longest message in bytes. Macs say 64 KiB.
pub const LONGEST_MESSAGE: usize = 1 << 20;
/// The most values of a message, those inside of others included.
const MOST_VALUES: usize = 64 << 10;
/// How deep values may be inside of others.
const DEEPEST: usize = 16;

/// The value of a message.
///
/// # Errors
/// It is longer than [`LONGEST_MESSAGE`], deeper or larger than the limits, or cut.
pub fn decode(bytes: &[u8]) -> Result<Value, Malformed> {
    if bytes.len() > LONGEST_MESSAGE {
        return Err(Malformed("a longer message than is allowed"));
    }
    let mut left = MOST_VALUES;
    message(bytes, DEEPEST, &mut left)
}

fn message(bytes: &[u8], depth: usize, left: &mut usize) -> Result<Value, Malformed> {
    let order = bytes.first_chunk::<UNIT>().ok_or(Malformed("no message"))?;
    let big_endian = match *order {
        LITTLE_ENDIAN => false,
        BIG_ENDIAN => true,
        _ => return Err(Malformed("a message of an unknown byte order")),
    };
    let lengths = octets(bytes, UNIT, big_endian)?;
    let (all, data) = (lengths as u32 as usize, (lengths >> 32) as usize);
    let (Some(all), Some(data)) = (all.checked_sub(1), data.checked_sub(1)) else {
        return Err(Malformed("a length of nothing"));
    };
    let body = &bytes[2 * UNIT..];
    let all =
        all.checked_mul(UNIT).and_then(|length| body.get(..length)).ok_or(Malformed("a cut message"))?;
    let data = data.checked_mul(UNIT).filter(|data| *data < all.len()).ok_or(Malformed("no table"))?;
    let (data, table) = all.split_at(data);
    let head = Tag::of(octets(table, 0, big_endian)?);
    if head.kind != kind::TABLE || usize::from(head.size) * UNIT > table.len() {
        return Err(Malformed("a table of another length"));
    }
    let mut reading = MessageReader { data, table: &table[UNIT..], big_endian, at: 0, left };
    let value = reading.list(1, depth)?.pop();
    value.ok_or(Malformed("a message without a value"))
}

/// The number at a place.
fn octets(bytes: &[u8], at: usize, big_endian: bool) -> Result<u64, Malformed> {
    let end = at.checked_add(UNIT);
    let unit = end.and_then(|end| bytes.get(at..end)).and_then(<[u8]>::first_chunk::<UNIT>);
    let unit = *unit.ok_or(Malformed("a cut value"))?;
    Ok(if big_endian { u64::from_be_bytes(unit) } else { u64::from_le_bytes(unit) })
}

struct MessageReader<'a, 'b> {
    data: &'a [u8],
    table: &'a [u8],
    big_endian: bool,
    at: usize,
    /// How many values the message may still have.
    left: &'b mut usize,
}

impl<'a> MessageReader<'a, '_> {
    /// `count` values. One tag may have several.
    fn list(&mut self, count: u32, depth: usize) -> Result<Vec<Value>, Malformed> {
        let depth = depth.checked_sub(1).ok_or(Malformed("values too deep inside of others"))?;
        let mut values = Vec::new();
        let mut wanted = count as usize;
        while wanted > 0 {
            let before = values.len();
            self.values(wanted, depth, &mut values)?;
            let read = values.len() - before;
            wanted = wanted.checked_sub(read).ok_or(Malformed("more values than were counted"))?;
            *self.left = self.left.checked_sub(read).ok_or(Malformed("more values than are allowed"))?;
        }
        Ok(values)
    }

    /// The values of the next tag, at least one.
    fn values(&mut self, wanted: usize, depth: usize, values: &mut Vec<Value>) -> Result<(), Malformed> {
        let begin = self.at;
        let tag = self.tag()?;
        if tag.kind == kind::VARIABLE {
            values.push(self.variable(tag.count, depth)?);
            return Ok(());
        }
        if tag.kind == kind::BOOL {
            values.push(Value::Bool(tag.count != 0));
        } else {
            let count = tag.count as usize;
            if count == 0 || count > wanted || count > *self.left {
                return Err(Malformed("a tag of another count"));
            }
            for _ in 0..count {
                values.push(self.fixed(tag.kind)?);
            }
        }
        let end = begin + usize::from(tag.size) * UNIT;
        if end < self.at || end > self.data.len() {
            return Err(Malformed("a tag of another size"));
        }
        self.at = end;
        Ok(())
    }

    /// A value of fixed length.
    fn fixed(&mut self, kind: u16) -> Result<Value, Malformed> {
        Ok(match kind {
            kind::NIL => Value::Nil,
            kind::INTEGER => Value::Integer(self.octets()?),
            kind::FLOAT => Value::Float(f64::from_bits(self.octets()?)),
            kind::DATE => Value::Date(f64::from_bits(self.octets()?)),
            kind::UUID => {
                let bytes = self.take(2 * UNIT)?;
                Value::Uuid(bytes.try_into().map_err(|_| Malformed("a cut value"))?)
            }
            _ => return Err(Malformed("a value of an unknown kind")),
        })
    }

    /// A value of variable length, whose kind is in the table.
    fn variable(&mut self, place: u32, depth: usize) -> Result<Value, Malformed> {
        let place = (place as usize).checked_sub(1).and_then(|place| place.checked_mul(UNIT));
        let place = place.ok_or(Malformed("a place outside of the table"))?;
        let tag = Tag::of(octets(self.table, place, self.big_endian)?);
        Ok(match tag.kind {
            variable::ARRAY => Value::Array(self.list(tag.count, depth)?),
            variable::DICTIONARY => Value::Dictionary(pairs(self.list(tag.count, depth)?)?),
            variable::TEXT => {
                let bytes = self.text()?;
                // Some clients count a NUL at the end.
                Value::Text(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
            }
            variable::WIDE_TEXT => {
                let bytes = self.text()?;
                Value::WideText(self.wide(bytes))
            }
            variable::FILES => Value::Files(self.files()?),
            variable::METADATA => Value::Metadata(self.metadata(depth)?),
            _ => return Err(Malformed("a value of an unknown kind")),
        })
    }

    /// The bytes of a text.
    fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let tag = self.tag()?;
        let Some(units) = usize::from(tag.size).checked_sub(1).filter(|_| tag.kind == kind::BYTES) else {
            return Err(Malformed("a text without bytes"));
        };
        let bytes = self.take(units * UNIT)?;
        let unused = if units == 0 { 0 } else { UNIT.saturating_sub(tag.count as usize) };
        Ok(&bytes[..bytes.len() - unused])
    }

    fn wide(&self, bytes: &[u8]) -> String {
        let (big_endian, bytes) = match bytes {
            [0xff, 0xfe, rest @ ..] => (false, rest),
            [0xfe, 0xff, rest @ ..] => (true, rest),
            _ => (self.big_endian, bytes),
        };
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        String::from_utf16_lossy(&bytes.chunks_exact(2).map(unit).collect::<Vec<_>>())
    }

    fn files(&mut self) -> Result<FileNumbers, Malformed> {
        let tag = self.tag()?;
        if tag.kind != kind::FILES || tag.size == 0 {
            return Err(Malformed("numbers of files of another kind"));
        }
        if tag.size == 1 {
            return Ok(FileNumbers::default());
        }
        let head = self.tag()?;
        // The count is the size of its tag, and each number takes a unit.
        if usize::from(head.size) + 2 != usize::from(tag.size) {
            return Err(Malformed("another count of files"));
        }
        let numbers = (0..head.size).map(|_| self.octets()).collect::<Result<Vec<_>, _>>()?;
        Ok(FileNumbers { purpose: head.kind, context: head.count, numbers })
    }

    fn metadata(&mut self, depth: usize) -> Result<Option<Box<Value>>, Malformed> {
        let tag = self.tag()?;
        let Some(units) = usize::from(tag.size).checked_sub(1).filter(|_| tag.kind == kind::BYTES) else {
            return Err(Malformed("metadata without bytes"));
        };
        let bytes = self.take(units * UNIT)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let depth = depth.checked_sub(1).ok_or(Malformed("values too deep inside of others"))?;
        message(bytes, depth, self.left).map(|value| Some(Box::new(value)))
    }

    fn tag(&mut self) -> Result<Tag, Malformed> {
        self.octets().map(Tag::of)
    }

    fn octets(&mut self) -> Result<u64, Malformed> {
        let number = octets(self.data, self.at, self.big_endian)?;
        self.at += UNIT;
        Ok(number)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let bytes = self.data.get(self.at..self.at + count).ok_or(Malformed("a cut value"))?;
        self.at += count;
        Ok(bytes)
    }
}

/// Names and values, one after the other.
fn pairs(values: Vec<Value>) -> Result<Vec<(String, Value)>, Malformed> {
    let mut pairs = Vec::new();
    let mut values = values.into_iter();
    while let Some(name) = values.next() {
        match (name, values.next()) {
            (Value::Text(name) | Value::WideText(name), Some(value)) => pairs.push((name, value)),
            _ => return Err(Malformed("a dictionary without names")),
        }
    }
    Ok(pairs)
}
