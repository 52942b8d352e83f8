//! Extended attributes, Apple Filing Protocol Reference, FPGetExtAttr, FPSetExtAttr, FPRemoveExtAttr, FPListExtAttrs.

use wire::{Malformed, Reader, Writer, layout};

use super::Path;
use super::strings::{blob, even, long};

wire::bits! {
    /// The options of an access to an attribute, "Extended Attributes Bitmap".
    pub Bitmap: u16 {
        /// Uses the attribute of a link, not of its target.
        NO_FOLLOW = 1,
        /// Fails if an attribute with this name exists.
        CREATE = 2,
        /// Fails if no attribute with this name exists.
        REPLACE = 4,
    }
}

layout! {
    /// FPGetExtAttr, request.
    pub struct Get<'a> [1] {
        pub volume: u16,
        pub directory: u32,
        pub bitmap: Bitmap,
        pub offset: u64,
        /// How much to return; all ones for all of it.
        pub count: u64,
        /// The longest reply; 0 asks for the length of the attribute.
        pub max_reply: u32,
        pub path: Path<'a> [even],
        pub name: &'a [u8] => long,
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

layout! {
    /// FPSetExtAttr, request.
    pub struct Set<'a> [1] {
        pub volume: u16,
        pub directory: u32,
        pub bitmap: Bitmap,
        pub offset: u64,
        pub path: Path<'a> [even],
        pub name: &'a [u8] => long,
        pub bytes: &'a [u8] => blob,
    }

    /// FPRemoveExtAttr, request.
    pub struct Remove<'a> [1] {
        pub volume: u16,
        pub directory: u32,
        pub bitmap: Bitmap,
        pub path: Path<'a> [even],
        pub name: &'a [u8] => long,
    }

    /// FPListExtAttrs, request.
    pub struct List<'a> [1] {
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
