//! Compressed files of macOS: an extended attribute says how the data fork is compressed. The data is in the attribute, or
//! in chunks in the resource fork. HFS+ and APFS store them in one way.
//!
//! The header is that of Apple's public `decmpfs.h`; the layouts in the resource fork are those that other readers document.

use std::sync::Arc;

use crate::cache::Cache;
use crate::compression::Method;
use crate::part::read_vec;
use crate::{Error, ReadAt, Result, decode};

/// The attribute.
pub const ATTRIBUTE: &str = "com.apple.decmpfs";

/// Decompressed bytes of a chunk.
const CHUNK: u64 = 64 << 10;
/// The most bytes of a chunk as it is stored: one that cannot be compressed has a marker in front.
const MAX_STORED: u64 = CHUNK + 4096;
/// The most bytes of a file whose data is in the attribute: an attribute is at most 4 KiB on a Mac, and compresses at most
/// a thousand times.
const MAX_INLINE: u64 = 16 << 20;
/// Bytes of decompressed chunks that are kept of each file.
const CACHE: usize = 256 << 10;
const HEADER: usize = 16;
const NAME: &str = "compressed file";

/// How a chunk is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    /// A marker, and the data.
    Plain,
    Compressed(Method),
}

/// Where the data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// Only zeros.
    Nothing,
    /// Behind the header in the attribute, as it is.
    Plain,
    /// In the attribute, as one chunk.
    Inline(Coding),
    /// In the resource fork, as a resource with a table of chunks (zlib).
    Resource,
    /// In the resource fork, which begins with a table of places.
    Chunks(Coding),
}

/// A compressed file.
pub struct Compressed {
    size: u64,
    storage: Storage,
    attribute: Vec<u8>,
    chunks: Cache<u64, Arc<[u8]>>,
}

impl Compressed {
    /// Reads the attribute.
    ///
    /// # Errors
    ///
    /// [`Error::NotSupported`] for compressions that are not known.
    pub fn parse(attribute: Vec<u8>) -> Result<Self> {
        let (kind, size) = decode(NAME, 0, &attribute, |r| {
            if r.array()? != *b"fpmc" {
                return Err(wire::Malformed("its attribute has no signature"));
            }
            Ok((r.u32_le()?, r.u64_le()?))
        })?;
        let storage = match kind {
            1 => Storage::Plain,
            3 => Storage::Inline(Coding::Compressed(Method::Zlib)),
            4 => Storage::Resource,
            5 => Storage::Nothing,
            7 => Storage::Inline(Coding::Compressed(Method::Lzvn)),
            8 => Storage::Chunks(Coding::Compressed(Method::Lzvn)),
            9 => Storage::Inline(Coding::Plain),
            10 => Storage::Chunks(Coding::Plain),
            11 => Storage::Inline(Coding::Compressed(Method::Lzfse)),
            12 => Storage::Chunks(Coding::Compressed(Method::Lzfse)),
            other => return Err(Error::NotSupported(format!("a file with compression {other}"))),
        };
        if matches!(storage, Storage::Inline(_) | Storage::Plain) && size > MAX_INLINE {
            return Err(Error::damaged(NAME, 0, format!("{size} bytes are not in one attribute")));
        }
        Ok(Self { size, storage, attribute, chunks: Cache::new(CACHE) })
    }

    /// Bytes of the file, decompressed.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the resource fork has the data, and so is none of the user's.
    pub fn is_in_resource_fork(&self) -> bool {
        matches!(self.storage, Storage::Resource | Storage::Chunks(_))
    }

    /// Reads decompressed bytes from `offset`; returns how many there were. `resource` is the resource fork.
    ///
    /// # Errors
    ///
    /// What is damaged of the data.
    pub fn read(&self, resource: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = self.size.saturating_sub(offset);
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if count == 0 {
            return Ok(0);
        }
        let buffer = &mut buffer[..count];
        match self.storage {
            Storage::Nothing => buffer.fill(0),
            Storage::Plain => {
                let stored = self.attribute.get(HEADER + offset as usize..).unwrap_or(&[]);
                let stored = stored.get(..count).ok_or_else(|| short(0))?;
                buffer.copy_from_slice(stored);
            }
            Storage::Inline(coding) => {
                let whole = self.inline(coding)?;
                buffer.copy_from_slice(&whole[offset as usize..offset as usize + count]);
            }
            Storage::Resource | Storage::Chunks(_) => self.read_chunks(resource, offset, buffer)?,
        }
        Ok(count)
    }

    /// All data, which is in the attribute.
    fn inline(&self, coding: Coding) -> Result<Arc<[u8]>> {
        if let Some(known) = self.chunks.get(&0) {
            return Ok(known);
        }
        let whole: Arc<[u8]> = decompress(coding, &self.attribute[HEADER..], self.size as usize, 0)?.into();
        self.chunks.insert(0, whole.clone(), whole.len());
        Ok(whole)
    }

    fn read_chunks(&self, resource: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            let bytes = self.chunk(resource, at / CHUNK)?;
            let inside = (at % CHUNK) as usize;
            let count = left.len().min(bytes.len() - inside);
            let (piece, rest) = left.split_at_mut(count);
            piece.copy_from_slice(&bytes[inside..inside + count]);
            at += count as u64;
            left = rest;
        }
        Ok(())
    }

    /// A chunk of the file, which has all of its bytes.
    fn chunk(&self, resource: &dyn ReadAt, index: u64) -> Result<Arc<[u8]>> {
        if let Some(known) = self.chunks.get(&index) {
            return Ok(known);
        }
        let (place, length, coding) = match self.storage {
            Storage::Chunks(coding) => {
                let (place, length) = chunk_place(resource, index)?;
                (place, length, coding)
            }
            _ => {
                let (place, length) = resource_place(resource, index)?;
                (place, length, Coding::Compressed(Method::Zlib))
            }
        };
        if length > MAX_STORED {
            return Err(Error::damaged(NAME, place, format!("chunk {index} has {length} bytes")));
        }
        let stored = read_vec(resource, place, length as usize)?;
        let size = (self.size - index * CHUNK).min(CHUNK) as usize;
        let bytes: Arc<[u8]> = decompress(coding, &stored, size, place)?.into();
        self.chunks.insert(index, bytes.clone(), bytes.len());
        Ok(bytes)
    }
}

fn short(place: u64) -> Error {
    Error::damaged(NAME, place, "it has fewer bytes than it says")
}

/// Where a chunk is in a fork that begins with the places of all chunks, and of the end.
fn chunk_place(resource: &dyn ReadAt, index: u64) -> Result<(u64, u64)> {
    let table = index * 4; // an index is below 2^48
    let pair = read_vec(resource, table, 8)?;
    let (start, end) = decode(NAME, table, &pair, |r| Ok((u64::from(r.u32_le()?), u64::from(r.u32_le()?))))?;
    let length =
        end.checked_sub(start).ok_or_else(|| Error::damaged(NAME, table, "its chunks are not in order"))?;
    Ok((start, length))
}

/// Where a chunk is in a resource: the header of the fork says where the resources are; the first one has its length, the
/// number of chunks, and for each its place behind the length and its size.
fn resource_place(resource: &dyn ReadAt, index: u64) -> Result<(u64, u64)> {
    let head = read_vec(resource, 0, 4)?;
    let first = u64::from(decode(NAME, 0, &head, |r| r.u32_be())?) + 4;
    let head = read_vec(resource, first, 4)?;
    let count = u64::from(decode(NAME, first, &head, |r| r.u32_le())?);
    if index >= count {
        return Err(short(first));
    }
    let entry = first + 4 + index * 8;
    let bytes = read_vec(resource, entry, 8)?;
    let (start, length) =
        decode(NAME, entry, &bytes, |r| Ok((u64::from(r.u32_le()?), u64::from(r.u32_le()?))))?;
    Ok((first + start, length))
}

/// Decompresses what has `size` bytes. A first byte that no stream begins with says that the data follows as it is.
fn decompress(coding: Coding, stored: &[u8], size: usize, place: u64) -> Result<Vec<u8>> {
    let marker = stored.first().copied();
    let is_plain = match coding {
        Coding::Plain => marker.is_some(),
        Coding::Compressed(Method::Zlib) => marker.is_some_and(|byte| byte & 0x0F == 0x0F),
        Coding::Compressed(Method::Lzvn) => marker == Some(0x06),
        Coding::Compressed(_) => marker == Some(0xFF),
    };
    if is_plain {
        return stored.get(1..1 + size).map(<[u8]>::to_vec).ok_or_else(|| short(place));
    }
    let Coding::Compressed(method) = coding else {
        return if size == 0 { Ok(Vec::new()) } else { Err(short(place)) };
    };
    let mut bytes = vec![0; size];
    let count =
        method.decompress(stored, &mut bytes).map_err(|error| Error::damaged(NAME, place, error.0))?;
    if count < size { Err(short(place)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests;
