//! Extended attributes, Apple Filing Protocol Reference, FPGetExtAttr, FPSetExtAttr, FPRemoveExtAttr, FPListExtAttrs.

use wire::{Malformed, Reader, Writer};

use super::Path;
use super::padding::{pad_to_even, skip_to_even};

/// The options of an access to an attribute, "Extended Attributes Bitmap".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bitmap(pub u16);

impl Bitmap {
    /// Uses the attribute of a link, not of its target.
    pub const NO_FOLLOW: Self = Self(1);
    /// Fails if an attribute with this name exists.
    pub const CREATE: Self = Self(2);
    /// Fails if no attribute with this name exists.
    pub const REPLACE: Self = Self(4);

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The file: the beginning of all four requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    volume: u16,
    directory: u32,
    bitmap: Bitmap,
}

impl Start {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?; // padding
        Ok(Self { volume: r.u16_be()?, directory: r.u32_be()?, bitmap: Bitmap(r.u16_be()?) })
    }

    fn encode(self, w: &mut Writer) {
        w.u8(0);
        w.u16_be(self.volume);
        w.u32_be(self.directory);
        w.u16_be(self.bitmap.0);
    }
}

/// FPGetExtAttr, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Get<'a> {
    pub volume: u16,
    pub directory: u32,
    pub bitmap: Bitmap,
    pub offset: u64,
    /// How much to return; all ones for all of it.
    pub count: u64,
    /// The longest reply; 0 asks for the length of the attribute.
    pub max_reply: u32,
    pub path: Path<'a>,
    pub name: &'a [u8],
}

impl<'a> Get<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let Start { volume, directory, bitmap } = Start::decode(r)?;
        let (offset, count, max_reply) = (r.u64_be()?, r.u64_be()?, r.u32_be()?);
        let (path, name) = (Path::decode(r)?, name(r)?);
        Ok(Self { volume, directory, bitmap, offset, count, max_reply, path, name })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        Start { volume: self.volume, directory: self.directory, bitmap: self.bitmap }.encode(w);
        w.u64_be(self.offset);
        w.u64_be(self.count);
        w.u32_be(self.max_reply);
        self.path.encode(w);
        put_name(w, start, self.name);
    }
}

/// FPGetExtAttr and FPListExtAttrs, reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    pub bitmap: Bitmap,
    /// Bytes of the attribute, or of the names of all of them.
    pub length: u32,
    /// The bytes, unless only their length was requested. Each name is followed by a NUL.
    pub bytes: Option<&'a [u8]>,
}

impl<'a> Reply<'a> {
    /// Bytes before the attribute.
    pub const HEAD_LEN: u32 = 6;

    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (bitmap, length) = (Bitmap(r.u16_be()?), r.u32_be()?);
        let bytes = match r.remaining() {
            0 => None,
            _ => Some(r.take(usize::try_from(length).unwrap_or(usize::MAX))?),
        };
        Ok(Self { bitmap, length, bytes: bytes.filter(|bytes| !bytes.is_empty()) })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_be(self.bitmap.0);
        w.u32_be(self.length);
        w.put(self.bytes.unwrap_or_default());
    }
}

/// FPSetExtAttr, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set<'a> {
    pub volume: u16,
    pub directory: u32,
    pub bitmap: Bitmap,
    pub offset: u64,
    pub path: Path<'a>,
    pub name: &'a [u8],
    pub bytes: &'a [u8],
}

impl<'a> Set<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let Start { volume, directory, bitmap } = Start::decode(r)?;
        let (offset, path, name) = (r.u64_be()?, Path::decode(r)?, name(r)?);
        let length = usize::try_from(r.u32_be()?).unwrap_or(usize::MAX);
        Ok(Self { volume, directory, bitmap, offset, path, name, bytes: r.take(length)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        Start { volume: self.volume, directory: self.directory, bitmap: self.bitmap }.encode(w);
        w.u64_be(self.offset);
        self.path.encode(w);
        put_name(w, start, self.name);
        w.u32_be(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        w.put(self.bytes);
    }
}

/// FPRemoveExtAttr, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remove<'a> {
    pub volume: u16,
    pub directory: u32,
    pub bitmap: Bitmap,
    pub path: Path<'a>,
    pub name: &'a [u8],
}

impl<'a> Remove<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let Start { volume, directory, bitmap } = Start::decode(r)?;
        Ok(Self { volume, directory, bitmap, path: Path::decode(r)?, name: name(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        let start = w.len();
        Start { volume: self.volume, directory: self.directory, bitmap: self.bitmap }.encode(w);
        self.path.encode(w);
        put_name(w, start, self.name);
    }
}

/// FPListExtAttrs, request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List<'a> {
    pub volume: u16,
    pub directory: u32,
    pub bitmap: Bitmap,
    /// How many names to return; clients send 0.
    pub count: u16,
    /// The index of the first name; clients send 0.
    pub index: u32,
    /// The longest reply; 0 asks for the length of all names.
    pub max_reply: u32,
    pub path: Path<'a>,
}

impl<'a> List<'a> {
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let Start { volume, directory, bitmap } = Start::decode(r)?;
        let (count, index, max_reply) = (r.u16_be()?, r.u32_be()?, r.u32_be()?);
        Ok(Self { volume, directory, bitmap, count, index, max_reply, path: Path::decode(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        Start { volume: self.volume, directory: self.directory, bitmap: self.bitmap }.encode(w);
        w.u16_be(self.count);
        w.u32_be(self.index);
        w.u32_be(self.max_reply);
        self.path.encode(w);
    }
}

/// The name of an attribute: UTF-8, at an even offset.
fn name<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    skip_to_even(r)?;
    let length = r.u16_be()?;
    r.take(length.into())
}

/// Names longer than their length field are cut: the caller knows the limit.
fn put_name(w: &mut Writer, start: usize, name: &[u8]) {
    pad_to_even(w, start);
    let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
    w.u16_be(length);
    w.put(&name[..length.into()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    // The layouts are those of the request and reply blocks of the Apple Filing Protocol Reference.

    #[test]
    fn an_attribute_is_asked_for_by_name_and_longest_reply() {
        let bytes = b"\0\0\x01\0\0\0\x02\0\x01\0\0\0\0\0\0\0\x05\xff\xff\xff\xff\xff\xff\xff\xff\0\0\x10\0\
            \x02\x01f\0\0\x03a:b";
        let get = Get {
            volume: 1,
            directory: 2,
            bitmap: Bitmap::NO_FOLLOW,
            offset: 5,
            count: u64::MAX,
            max_reply: 4096,
            path: Path::long(b"f"),
            name: b"a:b",
        };
        assert_eq!(Get::decode(&mut Reader::new(bytes)), Ok(get));
        let mut w = Writer::new();
        get.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
        assert!(Get::decode(&mut Reader::new(&bytes[..bytes.len() - 1])).is_err());
    }

    #[test]
    fn a_reply_without_bytes_says_how_many_there_are() {
        let only_length = Reply { bitmap: Bitmap(0), length: 10, bytes: None };
        assert_eq!(Reply::decode(&mut Reader::new(b"\0\0\0\0\0\x0a")), Ok(only_length));
        let whole = Reply { bitmap: Bitmap(0), length: 2, bytes: Some(b"hi") };
        assert_eq!(Reply::decode(&mut Reader::new(b"\0\0\0\0\0\x02hi")), Ok(whole));
        assert!(Reply::decode(&mut Reader::new(b"\0\0\0\0\0\x0ahi")).is_err());
        let mut w = Writer::new();
        whole.encode(&mut w);
        assert_eq!(w.as_bytes(), b"\0\0\0\0\0\x02hi");
        assert_eq!(Reply::HEAD_LEN, 6);
    }

    #[test]
    fn an_attribute_is_set_with_its_bytes_and_removed_by_name() {
        let bytes = b"\0\0\x01\0\0\0\x02\0\x02\0\0\0\0\0\0\0\0\x02\x02fi\0\x01a\0\0\0\x02hi";
        let (volume, directory, path) = (1, 2, Path::long(b"fi"));
        let set =
            Set { volume, directory, bitmap: Bitmap::CREATE, offset: 0, path, name: b"a", bytes: b"hi" };
        assert_eq!(Set::decode(&mut Reader::new(bytes)), Ok(set));
        let mut w = Writer::new();
        set.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
        let too_long = b"\0\0\x01\0\0\0\x02\0\x02\0\0\0\0\0\0\0\0\x02\x02fi\0\x01a\xff\xff\xff\xffhi";
        assert!(Set::decode(&mut Reader::new(too_long)).is_err());

        let bytes = b"\0\0\x01\0\0\0\x02\0\0\x02\x01f\0\0\x01a";
        let remove = Remove { volume, directory, bitmap: Bitmap(0), path: Path::long(b"f"), name: b"a" };
        assert_eq!(Remove::decode(&mut Reader::new(bytes)), Ok(remove));
        let mut w = Writer::new();
        remove.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
    }

    #[test]
    fn names_are_asked_for_by_longest_reply() {
        let bytes = b"\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\x10\0\x02\0";
        let list = List {
            volume: 1,
            directory: 2,
            bitmap: Bitmap(0),
            count: 0,
            index: 0,
            max_reply: 4096,
            path: Path::long(b""),
        };
        assert_eq!(List::decode(&mut Reader::new(bytes)), Ok(list));
        let mut w = Writer::new();
        list.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
    }
}
