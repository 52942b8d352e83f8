//! Streams of bytes: the data of files, and of attributes that are not in their record ("Data Streams").

use std::cmp::Ordering;

use wire::{Malformed, Reader};

use super::object::Decoded;
use super::records::{FileExtent, Key, Stream, kind};
use super::volume::Volume;
use super::xts::{UNIT, Xts};
use crate::{Error, Result};

impl Volume {
    /// Reads a stream from `offset`; returns how many bytes there were, less than asked at its end only.
    pub(super) fn read_stream(&self, stream: Stream, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let left = stream.size.saturating_sub(offset);
        let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let buffer = &mut buffer[..length];
        // What no extent has is a hole.
        buffer.fill(0);
        let end = offset + length as u64;
        self.extents(stream.id, offset, &mut |extent| {
            let from = extent.offset.max(offset);
            let to = extent.end().min(end);
            if from < to && extent.block != 0 {
                let part = &mut buffer[(from - offset) as usize..(to - offset) as usize];
                self.read_extent(extent, from - extent.offset, part)?;
            }
            Ok(extent.end() < end)
        })?;
        Ok(length)
    }

    /// Calls `each` for the extents of a stream from `offset` on, until it returns `false`.
    pub(super) fn extents(
        &self,
        stream: u64,
        offset: u64,
        each: &mut dyn FnMut(&FileExtent) -> Result<bool>,
    ) -> Result<()> {
        let comparison = self.comparison;
        let wanted = Key { oid: stream, kind: kind::FILE_EXTENT, number: offset, name: &[] };
        let sealed = |key: &[u8]| {
            let mut r = Reader::new(key);
            Ok::<_, Malformed>((r.u64_le()?, r.u64_le()?))
        };
        let of_catalogue = |key: &[u8]| {
            let key = Key::decode(key, comparison)?;
            Ok((key.kind == kind::FILE_EXTENT).then_some((key.oid, key.number)))
        };
        let is_sealed = self.file_extents.is_some();
        let compare = |key: &[u8]| -> Decoded<Ordering> {
            if is_sealed {
                Ok(sealed(key)?.cmp(&(stream, offset)))
            } else {
                Ok(Key::decode(key, comparison)?.cmp(&wanted))
            }
        };
        let mut cursor = self.file_extents.as_ref().unwrap_or(&self.catalogue).seek(&compare)?;
        while let Some((key, value)) = cursor.entry()? {
            let place = if is_sealed { sealed(key).map(Some) } else { of_catalogue(key) };
            let place = place.map_err(|malformed| cursor.damaged(malformed.0))?;
            match place {
                Some((id, at)) if id == stream => {
                    let extent = FileExtent::decode(at, value, !is_sealed);
                    let extent = extent.map_err(|malformed| cursor.damaged(malformed.0))?;
                    if !each(&extent)? {
                        return Ok(());
                    }
                }
                // The cursor may begin at the entry before.
                _ if compare(key).map_err(|malformed| cursor.damaged(malformed.0))? == Ordering::Less => {}
                _ => return Ok(()),
            }
            cursor.advance()?;
        }
        Ok(())
    }

    /// Reads a part of an extent, and decrypts it.
    fn read_extent(&self, extent: &FileExtent, within: u64, buffer: &mut [u8]) -> Result<()> {
        let blocks = &self.container.blocks;
        let what = "data of a file";
        let Some(key) = self.key.as_deref().filter(|_| extent.tweak != 0) else {
            return blocks.fill(extent.block, within, buffer, what);
        };
        let unit = UNIT as u64;
        let first = Xts::units(extent.tweak, blocks.size);
        let (mut at, mut done) = (within, 0);
        let mut piece = vec![0; blocks.size];
        // By pieces of a block, whose first and last one are read whole.
        while done < buffer.len() {
            let begin = at / unit * unit;
            let skip = (at - begin) as usize;
            let take = (buffer.len() - done).min(piece.len() - skip);
            let whole = &mut piece[..(skip + take).next_multiple_of(UNIT)];
            blocks.fill(extent.block, begin, whole, what)?;
            key.decrypt(whole, first.wrapping_add(begin / unit));
            buffer[done..done + take].copy_from_slice(&whole[skip..skip + take]);
            (done, at) = (done + take, at + take as u64);
        }
        Ok(())
    }

    /// All bytes of a stream that is at most `most` bytes long.
    pub(super) fn whole_stream(&self, stream: Stream, most: usize, what: &str) -> Result<Vec<u8>> {
        let size = usize::try_from(stream.size).ok().filter(|&size| size <= most);
        let size = size.ok_or_else(|| Error::NotSupported(format!("{what} of {} bytes", stream.size)))?;
        let mut bytes = vec![0; size];
        self.read_stream(stream, 0, &mut bytes)?;
        Ok(bytes)
    }
}
