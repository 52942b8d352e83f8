//! What the server and its process without rights tell each other over the process's standard input and output. Each message has
//! its length before it, in four bytes. The server believes nothing: a process that was taken over can write anything.

use query::{Attribute, Value};
use wire::{Malformed, Reader, Writer};

use crate::extracted::LONGEST_FACT;

/// The most bytes of a file that one message carries.
pub const MOST_BYTES: usize = 1 << 20;
/// The most bytes of text in one message.
const MOST_OF_TEXT: usize = 64 << 10;
/// The longest message of the process.
pub const LONGEST_MESSAGE: usize = MOST_OF_TEXT + 16;
/// The most messages about one file: all its text and facts, and many places of a large file.
pub const MOST_MESSAGES: usize = 64 << 10;
/// The longest name of a file in bytes.
const LONGEST_NAME: usize = 4096;
/// The longest reason of an end in bytes.
const LONGEST_REASON: usize = 256;

/// What is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The name of the file.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
}

impl Task {
    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u64_le(self.length);
        let end = (0..=self.name.len().min(LONGEST_NAME)).rev().find(|at| self.name.is_char_boundary(*at));
        w.put(&self.name.as_bytes()[..end.unwrap_or(0)]);
        framed(w)
    }

    /// The message behind its length.
    ///
    /// # Errors
    /// It is cut.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let length = r.u64_le()?;
        Ok(Self { length, name: String::from_utf8_lossy(r.rest()).into_owned() })
    }
}

/// What the process says.
#[derive(Debug, Clone, PartialEq)]
pub enum Saying {
    /// It has given up everything, and expects a [`Task`].
    Ready,
    /// It needs bytes of the file. The answer is a message with them; fewer at the end of the file.
    Needs {
        /// Where they begin.
        place: u64,
        /// How many.
        count: u32,
    },
    /// A fact.
    Fact(Attribute, Value),
    /// A part of the text.
    Text(String),
    /// There is nothing more.
    End {
        /// There was more text, or a problem.
        is_cut: bool,
        /// The problem; empty if there was none.
        reason: String,
    },
}

impl Saying {
    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        match self {
            Self::Ready => w.u8(0),
            Self::Needs { place, count } => {
                w.u8(1);
                w.u64_le(*place);
                w.u32_le(*count);
            }
            Self::Fact(attribute, value) => {
                w.u8(2);
                let number = Attribute::ALL.iter().position(|known| known == attribute);
                w.u8(number.unwrap_or(usize::from(u8::MAX)) as u8);
                match value {
                    Value::Text(text) => {
                        w.u8(0);
                        w.put(text.as_bytes());
                    }
                    Value::Number(number) => {
                        w.u8(1);
                        w.u64_le(number.to_bits());
                    }
                    Value::Date(at) => {
                        w.u8(2);
                        w.i64_le(*at);
                    }
                }
            }
            Self::Text(text) => {
                w.u8(3);
                w.put(text.as_bytes());
            }
            Self::End { is_cut, reason } => {
                w.u8(4);
                w.u8(u8::from(*is_cut));
                w.put(&reason.as_bytes()[..reason.len().min(LONGEST_REASON)]);
            }
        }
        framed(w)
    }

    /// The message behind its length.
    ///
    /// # Errors
    /// The bytes are no such message, or exceed a limit.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let saying = match r.u8()? {
            0 => Self::Ready,
            1 => Self::Needs { place: r.u64_le()?, count: r.u32_le()? },
            2 => {
                let attribute = Attribute::ALL.get(usize::from(r.u8()?)).copied();
                let attribute = attribute.ok_or(Malformed("an unknown attribute"))?;
                let value = match r.u8()? {
                    0 => Value::Text(text(r.rest(), LONGEST_FACT)?),
                    1 => Value::Number(f64::from_bits(r.u64_le()?)),
                    2 => Value::Date(r.i64_le()?),
                    _ => return Err(Malformed("an unknown type of values")),
                };
                let is_number = !matches!(value, Value::Number(number) if !number.is_finite());
                if value.kind() != attribute.kind() || !is_number {
                    return Err(Malformed("a value of another type"));
                }
                Self::Fact(attribute, value)
            }
            3 => Self::Text(text(r.rest(), MOST_OF_TEXT)?),
            4 => Self::End { is_cut: r.u8()? != 0, reason: text(r.rest(), LONGEST_REASON)? },
            _ => return Err(Malformed("an unknown message")),
        };
        r.finish()?;
        Ok(saying)
    }
}

fn text(bytes: &[u8], longest: usize) -> Result<String, Malformed> {
    if bytes.len() > longest {
        return Err(Malformed("a longer text than is allowed"));
    }
    String::from_utf8(bytes.to_vec()).map_err(|_| Malformed("a text that is not UTF-8"))
}

/// The parts of a text that messages can carry.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (0..=rest.len().min(MOST_OF_TEXT)).rev().find(|at| rest.is_char_boundary(*at))?;
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Bytes with their length before them.
pub(crate) fn with_length(bytes: &[u8]) -> Vec<u8> {
    let mut framed = (bytes.len() as u32).to_le_bytes().to_vec();
    framed.extend_from_slice(bytes);
    framed
}

fn framed(w: Writer) -> Vec<u8> {
    with_length(w.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(saying: &Saying) -> Result<Saying, Malformed> {
        let bytes = saying.encode();
        let (length, message) = bytes.split_at(4);
        assert_eq!(u32::from_le_bytes(length.try_into().unwrap()) as usize, message.len());
        Saying::decode(message)
    }

    #[test]
    fn what_is_said_is_heard() {
        for saying in [
            Saying::Ready,
            Saying::Needs { place: u64::MAX, count: 7 },
            Saying::Fact(Attribute::Title, Value::Text("Été".into())),
            Saying::Fact(Attribute::Pages, Value::Number(12.0)),
            Saying::Fact(Attribute::Taken, Value::Date(-1)),
            Saying::Text("text".into()),
            Saying::End { is_cut: true, reason: "damaged".into() },
        ] {
            assert_eq!(again(&saying), Ok(saying));
        }
        let task = Task { name: "Été.txt".into(), length: 5 };
        assert_eq!(Task::decode(&task.encode()[4..]), Ok(task));
    }

    #[test]
    fn values_have_the_type_of_their_attribute() {
        assert!(again(&Saying::Fact(Attribute::Title, Value::Number(1.0))).is_err());
        assert!(again(&Saying::Fact(Attribute::Pages, Value::Number(f64::NAN))).is_err());
        assert!(
            Saying::decode(&[2, 255, 0]).is_err()
                && Saying::decode(&[9]).is_err()
                && Saying::decode(&[]).is_err()
        );
        assert!(Saying::decode(&[3, 0xff]).is_err(), "not UTF-8");
    }

    #[test]
    fn parts_of_a_text_end_between_characters() {
        let text = format!("a{}", "é".repeat(MOST_OF_TEXT));
        let all: Vec<&str> = parts(&text).collect();
        assert!(all.len() > 2 && all.iter().all(|part| part.len() <= MOST_OF_TEXT));
        assert_eq!(all.concat(), text);
    }
}
