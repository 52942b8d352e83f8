//! Reading whole files, and what formats have in common.

use super::{Problem, Result};
use crate::source::Source;

/// The most bytes that are read of a file whose format has no places: the rest is not searched.
pub(super) const MOST_READ: usize = 32 << 20;

/// The whole file, or its beginning.
pub(super) fn whole(source: &mut dyn Source) -> Result<Vec<u8>> {
    Ok(source.bytes_at(0, MOST_READ)?)
}

/// Where one text begins in another.
pub(super) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A big-endian number of two bytes.
pub(super) fn u16_be(bytes: &[u8], at: usize) -> Result<u16> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Problem::Damaged("a cut number"))?;
    Ok(u16::from_be_bytes(*bytes))
}

/// A big-endian number of four bytes.
pub(super) fn u32_be(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Problem::Damaged("a cut number"))?;
    Ok(u32::from_be_bytes(*bytes))
}

/// A little-endian number of two bytes.
pub(super) fn u16_le(bytes: &[u8], at: usize) -> Result<u16> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Problem::Damaged("a cut number"))?;
    Ok(u16::from_le_bytes(*bytes))
}

/// A little-endian number of four bytes.
pub(super) fn u32_le(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Problem::Damaged("a cut number"))?;
    Ok(u32::from_le_bytes(*bytes))
}
