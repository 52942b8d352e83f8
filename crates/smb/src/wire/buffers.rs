//! What the layouts of MS-SMB2 2.2 have in common: a body of fixed size, whose odd size says that a buffer follows, and
//! buffers that are named by an offset from the header and a length.

use std::ops::Range;

use wire::{Malformed, Reader, Writer};

use super::Header;
pub(super) use super::text::{from_bytes as utf16, put as put_utf16};

/// A reader behind the structure size of the body, which must be `size`.
pub(super) fn body(message: &[u8], size: u16) -> Result<Reader<'_>, Malformed> {
    let mut r = Reader::new(message);
    r.skip(Header::LEN)?;
    if r.u16_le()? != size {
        return Err(Malformed("another structure size"));
    }
    Ok(r)
}

/// The buffer that `offset` and `length` name. It lies behind the header and the `fixed` bytes of
/// the body. The offset of an empty buffer is ignored.
pub(super) fn range(
    message: &[u8],
    fixed: usize,
    offset: usize,
    length: usize,
) -> Result<Range<usize>, Malformed> {
    range_in(message.len(), fixed, offset, length)
}

/// The same of a message of which only the length is known.
pub(super) fn range_in(
    message: usize,
    fixed: usize,
    offset: usize,
    length: usize,
) -> Result<Range<usize>, Malformed> {
    if length == 0 {
        let start = Header::LEN + fixed;
        return Ok(start..start);
    }
    let end = offset.checked_add(length).filter(|&end| end <= message);
    match end {
        Some(end) if offset >= Header::LEN + fixed => Ok(offset..end),
        _ => Err(Malformed("a buffer outside of its message")),
    }
}

/// The bytes that `offset` and `length` name, as [`range`] does.
pub(super) fn buffer(
    message: &[u8],
    fixed: usize,
    offset: impl TryInto<usize>,
    length: impl TryInto<usize>,
) -> Result<&[u8], Malformed> {
    let too_large = Malformed("an offset larger than memory");
    let offset = offset.try_into().map_err(|_| too_large)?;
    let length = length.try_into().map_err(|_| too_large)?;
    let range = range(message, fixed, offset, length)?;
    Ok(if range.is_empty() { &[] } else { &message[range] })
}

/// Appends zeros until what was written since `start` is a multiple of 8 long.
pub(super) fn pad8(w: &mut Writer, start: usize) {
    w.zeros((start.wrapping_sub(w.len())) % 8);
}

/// A response of one buffer: QUERY_DIRECTORY, CHANGE_NOTIFY and QUERY_INFO, MS-SMB2 2.2.34, 2.2.36 and 2.2.38.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BufferResponse {
    pub data: Vec<u8>,
}

impl BufferResponse {
    /// How long the body is before its buffer.
    pub const FIXED: usize = 8;
    /// Where the buffer begins, from the start of the header.
    pub const DATA_OFFSET: usize = Header::LEN + Self::FIXED;

    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut r = body(message, 9)?;
        let (offset, length) = (r.u16_le()?, r.u32_le()?);
        Ok(Self { data: buffer(message, Self::FIXED, offset, length)?.to_vec() })
    }

    pub fn encode(&self, w: &mut Writer) {
        Self::encode_head(self.data.len() as u32, w);
        w.put(&self.data);
    }

    /// Appends the fields before `length` bytes that come from elsewhere.
    pub fn encode_head(length: u32, w: &mut Writer) {
        w.u16_le(9);
        w.u16_le(Self::DATA_OFFSET as u16);
        w.u32_le(length);
    }
}

/// A message with `body` after an empty header, for tests of the layouts.
#[cfg(test)]
pub(super) fn after_header(body: &[u8]) -> Vec<u8> {
    [&[0; Header::LEN][..], body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_buffer_may_have_any_offset() {
        assert_eq!(buffer(&[0; 70], 4, u32::MAX, 0_u32), Ok(&[][..]));
        assert_eq!(buffer(&[0; 64], 4, 0_u16, 0_u16), Ok(&[][..]));
    }

    #[test]
    fn a_buffer_lies_behind_the_fixed_part_and_inside_the_message() {
        let message = after_header(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(buffer(&message, 4, 68_u16, 2_u16), Ok(&[5, 6][..]));
        assert!(buffer(&message, 4, 67_u16, 2_u16).is_err());
        assert!(buffer(&message, 4, 69_u16, 2_u16).is_err());
        assert!(buffer(&message, 4, u32::MAX, u32::MAX).is_err());
    }

    #[test]
    fn the_structure_size_is_checked() {
        assert!(body(&after_header(&[4, 0, 0, 0]), 4).is_ok());
        assert!(body(&after_header(&[5, 0, 0, 0]), 4).is_err());
        assert!(body(&after_header(&[4]), 4).is_err());
        assert!(body(&[0; 63], 4).is_err());
    }

    #[test]
    fn an_answer_of_one_buffer_names_it() {
        laid_out!(BufferResponse, b"\x09\0\x48\0\x05\0\0\0hello", BufferResponse { data: b"hello".to_vec() });
        laid_out!(BufferResponse, b"\x09\0\x48\0\0\0\0\0", BufferResponse::default());
    }

    #[test]
    fn padding_is_counted_from_the_start_of_the_body() {
        let mut w = Writer::onto(vec![0; 3]);
        pad8(&mut w, 3);
        assert_eq!(w.len(), 3);
        w.u8(1);
        pad8(&mut w, 3);
        assert_eq!(w.len(), 11);
    }
}
