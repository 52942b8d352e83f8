//! The response of a request that failed, MS-SMB2 2.2.2.

use wire::{Malformed, Reader, Writer};

use super::buffers::{self, pad8, put_utf16, utf16};

/// MS-SMB2 2.2.2. Before 3.1.1 there is data or nothing; in 3.1.1 data are in contexts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Response {
    #[default]
    Empty,
    Data(Vec<u8>),
    Contexts(Vec<Context>),
}

/// SMB2 ERROR Context, MS-SMB2 2.2.2.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub id: u32,
    pub data: Vec<u8>,
}

impl Context {
    /// The data are what they would be without a context.
    pub const DEFAULT: u32 = 0;
    /// The data are a share's other places, MS-SMB2 2.2.2.2.2.
    pub const SHARE_REDIRECT: u32 = 0x7264_5253;
}

impl Response {
    /// An answer to BUFFER_TOO_SMALL and the like: how many bytes are needed, MS-SMB2 2.2.2.2.
    pub fn required_length(length: u32, contexts: bool) -> Self {
        Self::of(length.to_le_bytes().to_vec(), contexts)
    }

    /// `data` in the form of 3.1.1 (`contexts`) or of the dialects before.
    pub fn of(data: Vec<u8>, contexts: bool) -> Self {
        match contexts {
            true => Self::Contexts(vec![Context { id: Context::DEFAULT, data }]),
            false => Self::Data(data),
        }
    }

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = buffers::body(message, 9)?;
        let count = r.u8()?;
        r.skip(1)?; // reserved
        let length = r.u32_le()? as usize;
        let data = r.take(length)?;
        if count == 0 {
            return Ok(if data.is_empty() { Self::Empty } else { Self::Data(data.to_vec()) });
        }
        let mut r = Reader::new(data);
        let mut contexts = Vec::new();
        for _ in 0..count {
            r.skip(r.position().wrapping_neg() % 8)?;
            let (length, id) = (r.u32_le()? as usize, r.u32_le()?);
            contexts.push(Context { id, data: r.take(length)?.to_vec() });
        }
        Ok(Self::Contexts(contexts))
    }

    pub fn encode(&self, w: &mut Writer) {
        let contexts = if let Self::Contexts(contexts) = self { &contexts[..] } else { &[] };
        w.u16_le(9);
        w.u8(contexts.len() as u8);
        w.u8(0); // reserved
        let length_at = w.len();
        w.u32_le(0);
        let start = w.len();
        match self {
            Self::Empty => return w.u8(0), // one byte, which the length does not include
            Self::Data(data) => w.put(data),
            Self::Contexts(_) => put_contexts(contexts, w),
        }
        w.patch_u32_le(length_at, (w.len() - start) as u32);
    }
}

fn put_contexts(contexts: &[Context], w: &mut Writer) {
    let start = w.len();
    for context in contexts {
        pad8(w, start);
        w.u32_le(context.data.len() as u32);
        w.u32_le(context.id);
        w.put(&context.data);
    }
}

/// The data of STOPPED_ON_SYMLINK, MS-SMB2 2.2.2.2.1: where the path goes on, in UTF-16.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symlink {
    /// How many bytes of the path that was asked for come after the link.
    pub unparsed_path_length: u16,
    pub relative: bool,
    pub substitute_name: Vec<u16>,
    pub print_name: Vec<u16>,
}

/// "SYML".
const SYMLINK_ERROR_TAG: u32 = 0x4C4D_5953;
/// IO_REPARSE_TAG_SYMLINK, MS-FSCC 2.1.2.1.
const REPARSE_TAG: u32 = 0xA000_000C;
/// SYMLINK_FLAG_RELATIVE.
const RELATIVE: u32 = 1;

impl Symlink {
    pub fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(data);
        let length = r.u32_le()? as usize;
        let mut r = Reader::new(r.take(length)?);
        if (r.u32_le()?, r.u32_le()?) != (SYMLINK_ERROR_TAG, REPARSE_TAG) {
            return Err(Malformed("another tag than a symbolic link's"));
        }
        r.skip(2)?; // reparse data length
        let unparsed_path_length = r.u16_le()?;
        let substitute = (r.u16_le()?, r.u16_le()?);
        let print = (r.u16_le()?, r.u16_le()?);
        let relative = r.u32_le()? & RELATIVE != 0;
        let names = r.rest();
        let name = |(offset, length): (u16, u16)| {
            let range = usize::from(offset)..usize::from(offset) + usize::from(length);
            utf16(names.get(range).ok_or(Malformed("a name outside of its buffer"))?)
        };
        Ok(Self {
            unparsed_path_length,
            relative,
            substitute_name: name(substitute)?,
            print_name: name(print)?,
        })
    }

    pub fn encode(&self, w: &mut Writer) {
        let (substitute, print) = (self.substitute_name.len() * 2, self.print_name.len() * 2);
        w.u32_le((24 + substitute + print) as u32);
        w.u32_le(SYMLINK_ERROR_TAG);
        w.u32_le(REPARSE_TAG);
        w.u16_le((12 + substitute + print) as u16);
        w.u16_le(self.unparsed_path_length);
        w.u16_le(0);
        w.u16_le(substitute as u16);
        w.u16_le(substitute as u16);
        w.u16_le(print as u16);
        w.u32_le(if self.relative { RELATIVE } else { 0 });
        put_utf16(w, &self.substitute_name);
        put_utf16(w, &self.print_name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_data_are_one_byte_that_does_not_count() {
        laid_out!(Response, b"\x09\0\0\0\0\0\0\0\0", Response::Empty, 1);
    }

    #[test]
    fn before_3_1_1_data_follow_at_once() {
        laid_out!(Response, b"\x09\0\0\0\x04\0\0\0\x28\0\0\0", Response::required_length(40, false));
    }

    #[test]
    fn in_3_1_1_data_are_in_contexts() {
        let body = b"\x09\0\x01\0\x0c\0\0\0\x04\0\0\0\0\0\0\0\x28\0\0\0";
        laid_out!(Response, body, Response::required_length(40, true));
    }

    #[test]
    fn contexts_begin_at_multiples_of_eight() {
        let context = |data: &[u8]| Context { id: Context::SHARE_REDIRECT, data: data.to_vec() };
        let body = b"\x09\0\x02\0\x1b\0\0\0\x01\0\0\0SRdra\0\0\0\0\0\0\0\x03\0\0\0SRdrbcd";
        laid_out!(Response, body, Response::Contexts(vec![context(b"a"), context(b"bcd")]));
    }

    /// MS-SMB2 2.2.2.2.1, with a path buffer that has the print name first, as Windows lays it out.
    const SYMLINK: &[u8] =
        b"\x20\0\0\0SYML\x0c\0\0\xa0\x14\0\x06\0\x02\0\x06\0\0\0\x02\0\x01\0\0\0p\0s\0u\0b\0";

    #[test]
    fn a_symbolic_link_says_where_the_path_goes_on() {
        let symlink = Symlink {
            unparsed_path_length: 6,
            relative: true,
            substitute_name: "sub".encode_utf16().collect(),
            print_name: "p".encode_utf16().collect(),
        };
        assert_eq!(Symlink::decode(SYMLINK), Ok(symlink.clone()));
        let mut w = Writer::new();
        symlink.encode(&mut w);
        assert_eq!(w.as_bytes()[..16], SYMLINK[..16]); // lengths and tags
        assert_eq!(w.len(), SYMLINK.len());
        assert_eq!(Symlink::decode(w.as_bytes()), Ok(symlink));
        (0..SYMLINK.len()).for_each(|len| assert!(Symlink::decode(&SYMLINK[..len]).is_err(), "{len}"));
    }
}
