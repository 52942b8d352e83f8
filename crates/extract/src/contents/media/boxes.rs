//! Boxes of the ISO base media file format (ISO 14496-12), which are the atoms of QuickTime.

use super::super::bytes::u32_be;
use super::super::{Problem, Result};
use crate::source::Source;

/// The most boxes of a file or of a box.
const MOST_BOXES: usize = 4096;

/// A box in memory.
#[derive(Clone, Copy)]
pub(in crate::contents) struct Bytes<'a> {
    pub(in crate::contents) kind: &'a [u8],
    pub(in crate::contents) data: &'a [u8],
}

/// The boxes in the data of another one; they end where one is damaged.
pub(in crate::contents) fn children(data: &[u8]) -> impl Iterator<Item = Bytes<'_>> {
    let mut rest = data;
    let next = move || {
        let size = u32_be(rest, 0).ok()? as usize;
        let (head, size) = match size {
            0 => (8, rest.len()),
            1 => (16, usize::try_from(u64::from_be_bytes(*rest.get(8..)?.first_chunk()?)).ok()?),
            size => (8, size),
        };
        let (kind, data) = (rest.get(4..8)?, rest.get(head..size)?);
        rest = &rest[size..];
        Some(Bytes { kind, data })
    };
    std::iter::from_fn(next).take(MOST_BOXES)
}

/// The data of the first box of a kind in another one.
pub(in crate::contents) fn child<'a>(data: &'a [u8], kind: &[u8]) -> Option<&'a [u8]> {
    children(data).find(|child| child.kind == kind).map(|child| child.data)
}

/// The data of the first box of a kind in the file itself, at most `most` bytes.
pub(in crate::contents) fn find_at_top(source: &mut dyn Source, kind: &[u8], most: usize) -> Result<Vec<u8>> {
    let mut place = 0u64;
    for _ in 0..MOST_BOXES {
        let head = source.bytes_at(place, 16)?;
        let (head_length, size) = match u32_be(&head, 0)? {
            0 => (8, source.length().saturating_sub(place)),
            1 => (16, u64::from(u32_be(&head, 8)?) << 32 | u64::from(u32_be(&head, 12)?)),
            size => (8, u64::from(size)),
        };
        if size < head_length {
            return Err(Problem::Damaged("a box shorter than its head"));
        }
        if head.get(4..8) == Some(kind) {
            let length = usize::try_from(size - head_length).unwrap_or(usize::MAX).min(most);
            return Ok(source.bytes_at(place + head_length, length)?);
        }
        place = place.checked_add(size).ok_or(Problem::Damaged("a box without an end"))?;
    }
    Err(Problem::Damaged("no box of the kind"))
}
