//! Create contexts, MS-SMB2 2.2.13.2 and 2.2.14.2: the list of them here, what they say in the files below.
//!
//! A request keeps them raw, because some are ignored when they are malformed and some are not. The
//! server decodes those that it uses with [`request::Context::decode`].

use std::borrow::Cow;

use wire::{Malformed, Reader, Writer};

use super::buffers::pad8;

pub mod request;
pub mod response;
pub mod values;

/// The names of contexts, MS-SMB2 2.2.13.2.
pub mod tag {
    pub const EA_BUFFER: &[u8] = b"ExtA";
    pub const SECURITY_DESCRIPTOR: &[u8] = b"SecD";
    pub const DURABLE_REQUEST: &[u8] = b"DHnQ";
    pub const DURABLE_RECONNECT: &[u8] = b"DHnC";
    pub const DURABLE_REQUEST_V2: &[u8] = b"DH2Q";
    pub const DURABLE_RECONNECT_V2: &[u8] = b"DH2C";
    pub const ALLOCATION_SIZE: &[u8] = b"AlSi";
    pub const MAXIMAL_ACCESS: &[u8] = b"MxAc";
    pub const TIMEWARP: &[u8] = b"TWrp";
    pub const DISK_ID: &[u8] = b"QFid";
    /// Of both versions; the length tells them apart.
    pub const LEASE: &[u8] = b"RqLs";
    pub const APPLE: &[u8] = b"AAPL";
    pub const APP_INSTANCE_ID: &[u8] = b"\x45\xBC\xA6\x6A\xEF\xA7\xF7\x4A\x90\x08\xFA\x46\x2E\x14\x4D\x74";
    pub const APP_INSTANCE_VERSION: &[u8] =
        b"\xB9\x82\xD0\xB7\x3B\x56\x07\x4F\xA0\x7B\x52\x4A\x81\x16\xA0\x10";
    pub const OPEN_DEVICE: &[u8] = b"\x9C\xCB\xCF\x9E\x04\xC1\xE6\x43\x98\x0E\x15\x8D\xA1\xF6\xEC\x83";
    /// The POSIX extensions of Samba and Linux.
    pub const POSIX: &[u8] = &crate::wire::negotiate_context::POSIX;
}

/// SMB2_CREATE_CONTEXT, MS-SMB2 2.2.13.2: a name, see [`tag`], and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawContext<'a> {
    pub tag: Cow<'a, [u8]>,
    pub data: Cow<'a, [u8]>,
}

/// How long a context is before its name.
const FIXED: usize = 16;

impl<'a> RawContext<'a> {
    /// The context that `bytes` begins with, which may have more than it.
    fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        r.skip(4)?; // the offset of the next context
        let (tag_offset, tag_length) = (r.u16_le()?.into(), r.u16_le()?.into());
        r.skip(2)?; // reserved
        let (data_offset, data_length) = (r.u16_le()?.into(), r.u32_le()?);
        let data_length =
            usize::try_from(data_length).map_err(|_| Malformed("a length larger than memory"))?;
        let part = |offset: usize, length: usize| match length {
            0 => Ok(&[][..]),
            _ if offset < FIXED => Err(Malformed("a create context that lies about its parts")),
            _ => offset
                .checked_add(length)
                .and_then(|end| bytes.get(offset..end))
                .ok_or(Malformed("a create context longer than its list")),
        };
        let (tag, data) = (part(tag_offset, tag_length)?, part(data_offset, data_length)?);
        Ok(Self { tag: Cow::Borrowed(tag), data: Cow::Borrowed(data) })
    }

    /// Appends the context without padding; the offset of the next one is 0.
    fn encode(&self, w: &mut Writer) {
        let start = w.len();
        w.u32_le(0);
        w.u16_le(FIXED as u16);
        w.u16_le(self.tag.len() as u16);
        w.u16_le(0); // reserved
        let data_offset = w.len();
        w.u16_le(0);
        w.u32_le(self.data.len() as u32);
        w.put(&self.tag);
        if !self.data.is_empty() {
            pad8(w, start);
            w.patch_u16_le(data_offset, (w.len() - start) as u16);
            w.put(&self.data);
        }
    }
}

/// All contexts of a list, which may be empty.
pub(super) fn decode_list(mut bytes: &[u8]) -> Result<Vec<RawContext<'_>>, Malformed> {
    let mut contexts = Vec::new();
    while !bytes.is_empty() {
        let next = Reader::new(bytes).u32_le()? as usize;
        let (this, rest) = match next {
            0 => (bytes, &[][..]),
            FIXED.. if next.is_multiple_of(8) => {
                bytes.split_at_checked(next).ok_or(Malformed("a create context behind its list"))?
            }
            _ => return Err(Malformed("create contexts that overlap")),
        };
        contexts.push(RawContext::decode(this)?);
        bytes = rest;
    }
    Ok(contexts)
}

/// Appends `contexts`, each at a multiple of 8 from the first.
pub(super) fn encode_list(contexts: &[RawContext<'_>], w: &mut Writer) {
    let first = w.len();
    let mut before = None;
    for context in contexts {
        pad8(w, first);
        if let Some(before) = before.replace(w.len()) {
            w.patch_u32_le(before, (w.len() - before) as u32);
        }
        context.encode(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three contexts of MS-SMB2 2.2.13.2: with data, without, and with a name of 16 bytes.
    const LIST: &[u8] = b"\x20\0\0\0\x10\0\x04\0\0\0\x18\0\x08\0\0\0AlSi\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\
        \x18\0\0\0\x10\0\x04\0\0\0\0\0\0\0\0\0QFid\0\0\0\0\
        \0\0\0\0\x10\0\x10\0\0\0\x20\0\x04\0\0\0\x93\xad\x25\x50\x9c\xb4\x11\xe7\xb4\x23\x83\xde\x96\x8b\xcd\x7c\xa4\x01\0\0";

    fn contexts() -> Vec<RawContext<'static>> {
        vec![
            RawContext { tag: b"AlSi".into(), data: (&[1, 2, 3, 4, 5, 6, 7, 8]).into() },
            RawContext { tag: b"QFid".into(), data: b"".into() },
            RawContext { tag: tag::POSIX.into(), data: (&[0xA4, 1, 0, 0]).into() },
        ]
    }

    #[test]
    fn contexts_are_linked_by_offsets_that_are_multiples_of_eight() {
        assert_eq!(decode_list(LIST), Ok(contexts()));
        let mut w = Writer::new();
        encode_list(&contexts(), &mut w);
        assert_eq!(w.as_bytes(), LIST);
        assert_eq!(decode_list(b""), Ok(Vec::new()));
    }

    #[test]
    fn offsets_and_lengths_that_lie_are_malformed() {
        // The first context: the next one behind the list, not aligned, inside of this one; the name, the data inside of
        // its head, or longer than it.
        for (at, byte) in [(1, 1), (0, 0x21), (0, 8), (4, 15), (6, 17), (10, 8), (12, 9), (15, 0xFF)] {
            let mut list = LIST.to_vec();
            list[at] = byte;
            assert!(decode_list(&list).is_err(), "{byte} at {at}");
        }
        for len in [1, 15, 31, 33, LIST.len() - 1] {
            assert!(decode_list(&LIST[..len]).is_err(), "{len}");
        }
    }
}
