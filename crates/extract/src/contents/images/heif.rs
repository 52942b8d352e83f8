//! HEIF (ISO 23008-12) and AVIF: the properties of the pictures, and the item with EXIF, in the box `meta` (ISO 14496-12, 8.11).

use super::super::bytes::{u16_be, u32_be};
use super::super::media::boxes::{Bytes, children};
use super::super::{Problem, Result};
use super::{exif, size};
use crate::extracted::Extracted;
use crate::source::Source;

/// The longest `meta` in bytes.
const LONGEST_META: usize = 4 << 20;
/// The longest EXIF in bytes.
const LONGEST_EXIF: usize = 1 << 20;
/// The most items of a file.
const MOST_ITEMS: usize = 4096;

pub(super) fn extract(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let meta = super::super::media::boxes::find_at_top(source, b"meta", LONGEST_META)?;
    let meta = meta.get(4..).ok_or(Problem::Damaged("a cut box"))?;
    let mut exif_item = None;
    let mut locations: &[u8] = &[];
    let mut largest = (0, 0);
    for Bytes { kind, data } in children(meta) {
        match kind {
            b"iinf" => exif_item = item_of_exif(data),
            b"iloc" => locations = data,
            b"iprp" => {
                let properties = children(data).filter(|child| child.kind == b"ipco");
                for ispe in
                    properties.flat_map(|child| children(child.data)).filter(|child| child.kind == b"ispe")
                {
                    let side = (u32_be(ispe.data, 4)?, u32_be(ispe.data, 8)?);
                    // A picture is made of tiles, and has a thumbnail: the whole is the largest.
                    largest = largest.max(side);
                }
            }
            _ => {}
        }
    }
    size(largest.0, largest.1, found);
    let Some((place, length)) = exif_item.and_then(|item| location(locations, item)) else { return Ok(()) };
    let bytes = source.bytes_at(place, length.min(LONGEST_EXIF))?;
    let before = u32_be(&bytes, 0)? as usize; // what precedes the TIFF file
    let tiff = before.checked_add(4).and_then(|at| bytes.get(at..)).unwrap_or_default();
    exif::read(tiff, found)
}

/// The number of the item of the kind `Exif`, 8.11.6.
fn item_of_exif(data: &[u8]) -> Option<u32> {
    let entries = if *data.first()? == 0 { data.get(6..)? } else { data.get(8..)? };
    let item = |entry: Bytes<'_>| {
        let (version, data) = (*entry.data.first()?, entry.data);
        let (number, kind) = match version {
            2 => (u16_be(data, 4).ok()?.into(), data.get(8..12)?),
            3 => (u32_be(data, 4).ok()?, data.get(10..14)?),
            _ => return None,
        };
        (kind == b"Exif").then_some(number)
    };
    children(entries).filter(|entry| entry.kind == b"infe").find_map(item)
}

/// Place and length of an item that is in the file itself in one piece, 8.11.3.
fn location(data: &[u8], wanted: u32) -> Option<(u64, usize)> {
    let mut reading = wire::Reader::new(data);
    let version = reading.u8().ok()?;
    reading.skip(3).ok()?;
    let sizes = reading.u16_be().ok()?;
    let (of_place, of_length, of_base) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15);
    let of_index = if version > 0 { sizes & 15 } else { 0 };
    let count = if version < 2 { reading.u16_be().ok()?.into() } else { reading.u32_be().ok()? };
    for _ in 0..(count as usize).min(MOST_ITEMS) {
        let item = if version < 2 { reading.u16_be().ok()?.into() } else { reading.u32_be().ok()? };
        let method = if version > 0 { reading.u16_be().ok()? & 15 } else { 0 };
        reading.skip(2).ok()?; // another file
        let base = sized(&mut reading, of_base)?;
        let pieces = reading.u16_be().ok()?;
        for piece in 0..pieces {
            sized(&mut reading, of_index)?;
            let (place, length) = (sized(&mut reading, of_place)?, sized(&mut reading, of_length)?);
            if item == wanted && method == 0 && piece == 0 && pieces == 1 {
                return Some((base.checked_add(place)?, usize::try_from(length).ok()?));
            }
        }
    }
    None
}

fn sized(reading: &mut wire::Reader<'_>, size: u16) -> Option<u64> {
    match size {
        0 => Some(0),
        4 => reading.u32_be().ok().map(u64::from),
        8 => reading.u64_be().ok(),
        _ => None,
    }
}
