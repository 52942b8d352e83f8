//! The values of Spotlight's messages, and their bytes, as Macs exchange them inside of SMB's pipe `mdssvc` and of AFP's
//! FPSpotlightRPC. Apple has published no specification; the layout is that of captures.
//!
//! ```text
//! 8 bytes   "432130dm" (little-endian numbers), or "md031234" (big-endian ones)
//! 8 bytes   the length of all that follows, and of the data; each in units of 8 bytes, and one more
//! data      tags of 8 bytes, each with its value behind it
//! table     a tag, then one for each value of variable length in the data: its kind, its place and its count
//! ```
//! A tag has a size in units of 8 bytes (16 bits), a kind (16 bits) and a count (32 bits).

mod decoder;
mod encoder;
#[cfg(test)]
mod tests;

pub use decoder::{LONGEST_MESSAGE, decode};
pub use encoder::encode;

/// The unit of sizes and places.
const UNIT: usize = 8;
/// The first bytes of a message whose numbers are little-endian.
const LITTLE_ENDIAN: [u8; UNIT] = *b"432130dm";
/// The first bytes of a message whose numbers are big-endian.
const BIG_ENDIAN: [u8; UNIT] = *b"md031234";
/// The byte order mark of UTF-16 in little-endian units.
const LITTLE_ENDIAN_MARK: [u8; 2] = [0xff, 0xfe];

/// Kinds of tags in the data.
mod kind {
    pub(super) const NIL: u16 = 0x0000;
    pub(super) const BOOL: u16 = 0x0100;
    pub(super) const VARIABLE: u16 = 0x0200;
    pub(super) const BYTES: u16 = 0x0700;
    pub(super) const UUID: u16 = 0x0e00;
    pub(super) const INTEGER: u16 = 0x8400;
    pub(super) const FLOAT: u16 = 0x8500;
    pub(super) const DATE: u16 = 0x8600;
    pub(super) const FILES: u16 = 0x8700;
    pub(super) const TABLE: u16 = 0x8800;
}

/// Kinds of tags in the table.
mod variable {
    pub(super) const ARRAY: u16 = 0x0a00;
    pub(super) const TEXT: u16 = 0x0c00;
    pub(super) const DICTIONARY: u16 = 0x0d00;
    pub(super) const FILES: u16 = 0x1a00;
    pub(super) const METADATA: u16 = 0x1b00;
    pub(super) const WIDE_TEXT: u16 = 0x1c00;
}

/// A value of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    Nil,
    /// True or false.
    Bool(bool),
    /// A number without sign.
    Integer(u64),
    /// A number with a fraction.
    Float(f64),
    /// Seconds since 2001-01-01 00:00 UTC.
    Date(f64),
    /// A UUID.
    Uuid([u8; 16]),
    /// A text in UTF-8.
    Text(String),
    /// A text in UTF-16: Macs use it for some paths.
    WideText(String),
    /// Values in an order.
    Array(Vec<Value>),
    /// Values with names.
    Dictionary(Vec<(String, Value)>),
    /// Numbers of files.
    Files(FileNumbers),
    /// A message inside the message: what is known of files.
    Metadata(Option<Box<Value>>),
}

/// Numbers of files, which protocols have ("CNIDs" of AFP, the 64-bit ids of SMB).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileNumbers {
    /// A number that says what they are for: see [`FileNumbers::FOUND`].
    pub purpose: u16,
    /// The second number of the context that the message belongs to.
    pub context: u32,
    /// The numbers themselves.
    pub numbers: Vec<u64>,
}

impl FileNumbers {
    /// The purpose of the results of a search.
    pub const FOUND: u16 = 0x0add;
    /// The purpose of the files whose attributes are returned.
    pub const DESCRIBED: u16 = 0x0fec;
}

impl Value {
    /// The elements of an array.
    pub fn elements(&self) -> Option<&[Value]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The value of this name in a dictionary.
    pub fn named(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Dictionary(entries) => entries.iter().find(|(of, _)| of == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The characters of a text of either encoding.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::WideText(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one without a fraction.
    pub fn integer(&self) -> Option<u64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

/// A tag.
#[derive(Debug, Clone, Copy)]
struct Tag {
    size: u16,
    kind: u16,
    count: u32,
}

impl Tag {
    fn of(number: u64) -> Self {
        Self { size: number as u16, kind: (number >> 16) as u16, count: (number >> 32) as u32 }
    }

    fn number(self) -> u64 {
        u64::from(self.count) << 32 | u64::from(self.kind) << 16 | u64::from(self.size)
    }
}
