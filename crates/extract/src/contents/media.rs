//! Sound and video: how long, and the tags of songs.

pub(super) mod boxes;
mod id3;
mod movie;

use query::Attribute;

use super::bytes::{u16_be, u32_be, u32_le};
use super::{Result, text};
use crate::extracted::Extracted;
use crate::source::Source;

pub(super) use movie::movie;

/// The most chunks of a file that are looked at.
const MOST_CHUNKS: usize = 4096;
/// The longest chunk with facts in bytes.
const LONGEST: usize = 1 << 20;

/// A format of sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audio {
    Aiff,
    Flac,
    Mpeg,
    Wave,
}

pub(super) fn audio(audio: Audio, source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    match audio {
        Audio::Aiff => aiff(source, found),
        Audio::Flac => flac(source, found),
        Audio::Mpeg => id3::extract(source, found),
        Audio::Wave => wave(source, found),
    }
}

fn duration(units: f64, of_second: f64, found: &mut Extracted) {
    if of_second > 0.0 {
        // Thousandths are all that people see, and floating-point numbers are compared.
        found.add_number(Attribute::Duration, (units / of_second * 1000.0).round() / 1000.0);
    }
}

/// WAVE: RIFF's chunks, of which `fmt ` tells the bytes of a second, and `data` how many there are.
fn wave(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let mut place = 12;
    let mut of_second = 0;
    for _ in 0..MOST_CHUNKS {
        let Ok(head) = source.exact_at(place, 8) else { return Ok(()) };
        let length = u32_le(&head, 4)?;
        match &head[..4] {
            b"fmt " => of_second = u32_le(&source.exact_at(place + 8, 16)?, 8)?,
            b"data" => {
                let length = u64::from(length).min(source.length().saturating_sub(place + 8));
                duration(length as f64, of_second.into(), found);
            }
            b"LIST" => information(&source.bytes_at(place + 8, (length as usize).min(LONGEST))?, found),
            _ => {}
        }
        place += 8 + u64::from(length) + u64::from(length % 2);
    }
    Ok(())
}

/// RIFF's list of facts.
fn information(list: &[u8], found: &mut Extracted) {
    let Some(mut rest) = list.strip_prefix(b"INFO") else { return };
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let Some((data, after)) = after.split_at_checked(length) else { return };
        rest = after.get(length % 2..).unwrap_or_default();
        let data = data.split(|byte| *byte == 0).next().unwrap_or_default();
        let attribute = match &head[..4] {
            b"INAM" => Attribute::Title,
            b"IART" => Attribute::Author,
            b"IPRD" => Attribute::Album,
            b"IGNR" => Attribute::Genre,
            _ => continue,
        };
        found.add_text(attribute, &text::decode(data, None));
    }
}

/// AIFF: IFF's chunks, of which `COMM` has the frames and their rate.
fn aiff(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let mut place = 12;
    for _ in 0..MOST_CHUNKS {
        let Ok(head) = source.exact_at(place, 8) else { return Ok(()) };
        let length = u32_be(&head, 4)?;
        match &head[..4] {
            b"COMM" => {
                let common = source.exact_at(place + 8, 18)?;
                duration(u32_be(&common, 2)?.into(), extended(&common[8..])?, found);
            }
            b"NAME" | b"AUTH" => {
                let data = source.bytes_at(place + 8, (length as usize).min(LONGEST))?;
                let attribute = if head.starts_with(b"NAME") { Attribute::Title } else { Attribute::Author };
                found.add_text(attribute, &text::decode(&data, None));
            }
            _ => {}
        }
        place += 8 + u64::from(length) + u64::from(length % 2);
    }
    Ok(())
}

/// A floating-point number of 80 bits, as far as rates need it.
fn extended(bytes: &[u8]) -> Result<f64> {
    let exponent = i32::from(u16_be(bytes, 0)? & 0x7fff) - 16_383 - 63;
    let mantissa = u64::from(u32_be(bytes, 2)?) << 32 | u64::from(u32_be(bytes, 6)?);
    Ok(mantissa as f64 * 2f64.powi(exponent.clamp(-200, 200)))
}

/// FLAC, RFC 9639 8: blocks of metadata.
fn flac(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let mut place = 4;
    for _ in 0..MOST_CHUNKS {
        let head = u32_be(&source.exact_at(place, 4)?, 0)?;
        let (is_last, kind, length) = (head >> 31 == 1, head >> 24 & 0x7f, head & 0xff_ffff);
        let data = |source: &mut dyn Source| source.bytes_at(place + 4, (length as usize).min(LONGEST));
        match kind {
            0 => {
                let data = data(source)?;
                let rate = u32_be(&data, 10)? >> 12;
                let frames = u64::from(u32_be(&data, 10)? & 0xf) << 32 | u64::from(u32_be(&data, 14)?);
                duration(frames as f64, rate.into(), found);
            }
            4 => comments(&data(source)?, found)?,
            _ => {}
        }
        if is_last {
            return Ok(());
        }
        place += 4 + u64::from(length);
    }
    Ok(())
}

/// Vorbis comments: `NAME=value`, each with its length before it.
fn comments(data: &[u8], found: &mut Extracted) -> Result<()> {
    let mut reading = wire::Reader::new(data);
    let vendor = reading.u32_le()?;
    reading.skip(vendor as usize)?;
    let count = reading.u32_le()?;
    for _ in 0..count.min(1000) {
        let length = reading.u32_le()?;
        let comment = String::from_utf8_lossy(reading.take(length as usize)?).into_owned();
        let Some((name, value)) = comment.split_once('=') else { continue };
        let attribute = match &*name.to_ascii_uppercase() {
            "TITLE" => Attribute::Title,
            "ARTIST" => Attribute::Author,
            "ALBUM" => Attribute::Album,
            "GENRE" => Attribute::Genre,
            "COMPOSER" => Attribute::Composer,
            _ => continue,
        };
        found.add_text(attribute, value);
    }
    Ok(())
}
