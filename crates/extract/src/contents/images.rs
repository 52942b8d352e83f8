//! Pictures: their size in pixels, and what the camera noted (EXIF).

mod exif;
mod heif;

use query::Attribute;

use super::bytes::{u16_be, u16_le, u32_be, u32_le};
use super::{Problem, Result, text};
use crate::extracted::Extracted;
use crate::source::Source;

/// The most segments or chunks of a picture that are looked at.
const MOST_PARTS: usize = 4096;
/// The longest segment with facts in bytes.
const LONGEST: usize = 1 << 20;

/// A format of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Picture {
    Gif,
    Heif,
    Jpeg,
    Png,
    Tiff,
    Webp,
}

pub(super) fn extract(picture: Picture, source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    match picture {
        Picture::Gif => {
            let head = source.exact_at(0, 10)?;
            size(u16_le(&head, 6)?.into(), u16_le(&head, 8)?.into(), found);
            Ok(())
        }
        Picture::Heif => heif::extract(source, found),
        Picture::Jpeg => jpeg(source, found),
        Picture::Png => png(source, found),
        Picture::Tiff => exif::read(&source.bytes_at(0, 8 << 20)?, found),
        Picture::Webp => webp(source, found),
    }
}

fn size(width: u32, height: u32, found: &mut Extracted) {
    if width > 0 && height > 0 {
        found.add_number(Attribute::Width, width.into());
        found.add_number(Attribute::Height, height.into());
    }
}

/// JPEG, ITU T.81 B.1: segments up to the scan.
fn jpeg(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let mut place = 2;
    for _ in 0..MOST_PARTS {
        let head = source.exact_at(place, 4)?;
        let (marker, length) = (head[1], usize::from(u16_be(&head, 2)?));
        if head[0] != 0xff || length < 2 {
            return Err(Problem::Damaged("no segment where one begins"));
        }
        match marker {
            0xff => {
                place += 1; // fill bytes
                continue;
            }
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let frame = source.exact_at(place + 4, 5)?;
                size(u16_be(&frame, 3)?.into(), u16_be(&frame, 1)?.into(), found);
            }
            0xe1 => {
                let segment = source.exact_at(place + 4, length - 2)?;
                if let Some(tiff) = segment.strip_prefix(b"Exif\0\0") {
                    // A picture with damaged notes still has its size.
                    let _ = exif::read(tiff, found);
                }
            }
            0xfe => {
                let comment = source.exact_at(place + 4, length - 2)?;
                found.push(&text::decode(&comment, None));
                found.end_line();
            }
            0xda | 0xd9 => return Ok(()),
            _ => {}
        }
        place += 2 + length as u64;
    }
    Ok(())
}

/// PNG (W3C), 5.3: chunks.
fn png(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let mut place = 8;
    for _ in 0..MOST_PARTS {
        let head = source.exact_at(place, 8)?;
        let length = u32_be(&head, 0)?;
        let data = |source: &mut dyn Source| source.exact_at(place + 8, (length as usize).min(LONGEST));
        match &head[4..8] {
            b"IHDR" => {
                let head = data(source)?;
                size(u32_be(&head, 0)?, u32_be(&head, 4)?, found);
            }
            b"eXIf" => drop(exif::read(&data(source)?, found)),
            b"tEXt" | b"iTXt" => note(&data(source)?, found),
            b"IEND" => return Ok(()),
            _ => {}
        }
        place += 12 + u64::from(length);
    }
    Ok(())
}

/// A keyword, a NUL, and a text; between them flags and a language in the newer form.
fn note(chunk: &[u8], found: &mut Extracted) {
    let mut parts = chunk.split(|byte| *byte == 0);
    let keyword = parts.next().unwrap_or_default();
    let value = text::decode(parts.next_back().unwrap_or_default(), None);
    match keyword {
        b"Title" => found.add_text(Attribute::Title, &value),
        b"Author" => found.add_text(Attribute::Author, &value),
        b"Software" | b"Source" => found.add_text(Attribute::Device, &value),
        b"Description" | b"Comment" => {
            found.push(&value);
            found.end_line();
        }
        _ => {}
    }
}

/// WebP, RFC 9649: chunks of RIFF.
fn webp(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let mut place = 12;
    for _ in 0..MOST_PARTS {
        let Ok(head) = source.exact_at(place, 8) else { return Ok(()) };
        let length = u32_le(&head, 4)?;
        let data = source.bytes_at(place + 8, (length as usize).min(LONGEST))?;
        match &head[..4] {
            b"VP8X" if data.len() >= 10 => {
                let number = |at: usize| u32::from_le_bytes([data[at], data[at + 1], data[at + 2], 0]) + 1;
                size(number(4), number(7), found);
            }
            b"VP8 " if data.len() >= 10 => {
                let side = |at| Ok::<_, Problem>(u32::from(u16_le(&data, at)? & 0x3fff));
                size(side(6)?, side(8)?, found);
            }
            b"VP8L" if data.len() >= 5 => {
                let bits = u32_le(&data, 1)?;
                size((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1, found);
            }
            b"EXIF" => drop(exif::read(data.strip_prefix(b"Exif\0\0").unwrap_or(&data), found)),
            _ => {}
        }
        place += 8 + u64::from(length) + u64::from(length % 2);
    }
    Ok(())
}
