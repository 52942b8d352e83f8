//! ZIP: PKWARE's APPNOTE 6.3.10, as far as documents and lists of names need it: no encryption, and deflate only.

use std::io::Read;

use flate2::read::DeflateDecoder;

use super::bytes::{u16_le, u32_le};
use super::{Problem, Result};
use crate::source::Source;

/// The most entries that are looked at.
const MOST_ENTRIES: usize = 65_536;
/// The longest directory in bytes.
const LONGEST_DIRECTORY: u64 = 16 << 20;
/// How far from the end the end of the directory is looked for: a comment may follow it.
const END: u64 = 66_000;
/// The length of a record at the end, without the comment.
const END_RECORD: usize = 22;

/// An entry of the directory.
pub(super) struct Entry {
    /// Its path.
    pub(super) name: String,
    place: u64,
    packed: u64,
    method: u16,
    is_encrypted: bool,
}

/// The entries of the central directory, 4.3.12.
pub(super) fn entries(source: &mut dyn Source) -> Result<Vec<Entry>> {
    let length = source.length();
    let from = length.saturating_sub(END);
    let tail = source.bytes_at(from, END as usize)?;
    let is_end = |at: &usize| tail[*at..].starts_with(b"PK\x05\x06");
    let end = (0..tail.len().saturating_sub(END_RECORD - 1)).rev().find(is_end);
    let end = end.ok_or(Problem::Damaged("no directory"))?;
    let (mut size, mut place) = (u64::from(u32_le(&tail, end + 12)?), u64::from(u32_le(&tail, end + 16)?));
    if place == 0xffff_ffff || size == 0xffff_ffff {
        (size, place) = large_directory(source, &tail, end)?;
    }
    let size =
        usize::try_from(size.min(LONGEST_DIRECTORY)).map_err(|_| Problem::Damaged("a long directory"))?;
    directory(&source.bytes_at(place, size)?)
}

/// Size and place of the directory of a ZIP64 file, 4.3.14.
fn large_directory(source: &mut dyn Source, tail: &[u8], end: usize) -> Result<(u64, u64)> {
    let at = end.checked_sub(20).ok_or(Problem::Damaged("no directory"))?;
    if !tail[at..].starts_with(b"PK\x06\x07") {
        return Err(Problem::Damaged("no directory"));
    }
    let place = long(tail, at + 8)?;
    let record = source.exact_at(place, 56)?;
    Ok((long(&record, 40)?, long(&record, 48)?))
}

fn long(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from(u32_le(bytes, at)?) | u64::from(u32_le(bytes, at + 4)?) << 32)
}

fn directory(bytes: &[u8]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut at = 0;
    while entries.len() < MOST_ENTRIES && bytes.get(at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02"))
    {
        let flags = u16_le(bytes, at + 8)?;
        let (name, extra, comment) =
            (u16_le(bytes, at + 28)?, u16_le(bytes, at + 30)?, u16_le(bytes, at + 32)?);
        let name_at = at + 46;
        let extra_at = name_at + usize::from(name);
        let raw = bytes.get(name_at..extra_at).ok_or(Problem::Damaged("a cut directory"))?;
        let mut entry = Entry {
            name: text(raw, flags),
            place: u32_le(bytes, at + 42)?.into(),
            packed: u32_le(bytes, at + 20)?.into(),
            method: u16_le(bytes, at + 10)?,
            is_encrypted: flags & 1 != 0,
        };
        let extra_end = extra_at + usize::from(extra);
        if let Some(extra) = bytes.get(extra_at..extra_end) {
            let unpacked = u32_le(bytes, at + 24)? == 0xffff_ffff;
            widen(&mut entry, extra, unpacked);
        }
        entries.push(entry);
        at = extra_end + usize::from(comment);
    }
    Ok(entries)
}

/// Numbers that need 64 bits, 4.5.3: of each, only if the directory has no room for it.
fn widen(entry: &mut Entry, extra: &[u8], unpacked: bool) {
    let mut rest = extra;
    while let Some((head, after)) = rest.split_first_chunk::<4>() {
        let (kind, length) = (u16::from_le_bytes([head[0], head[1]]), u16::from_le_bytes([head[2], head[3]]));
        let Some((field, after)) = after.split_at_checked(length.into()) else { return };
        rest = after;
        if kind != 1 {
            continue;
        }
        let mut numbers = field.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        if unpacked {
            numbers.next();
        }
        if entry.packed == 0xffff_ffff {
            entry.packed = numbers.next().unwrap_or(entry.packed);
        }
        if entry.place == 0xffff_ffff {
            entry.place = numbers.next().unwrap_or(entry.place);
        }
        return;
    }
}

/// A name: UTF-8 if it says so or is so, else in the code page of DOS, of which ASCII is the part that all have.
fn text(raw: &[u8], flags: u16) -> String {
    match std::str::from_utf8(raw) {
        Ok(text) => text.to_owned(),
        Err(_) if flags & 0x0800 == 0 => super::text::decode(raw, None).into_owned(),
        Err(_) => String::from_utf8_lossy(raw).into_owned(),
    }
}

impl Entry {
    /// The contents of the entry, at most `most` bytes of them.
    pub(super) fn read(&self, source: &mut dyn Source, most: usize) -> Result<Vec<u8>> {
        if self.is_encrypted {
            return Err(Problem::Damaged("it is encrypted"));
        }
        let head = source.exact_at(self.place, 30)?;
        if !head.starts_with(b"PK\x03\x04") {
            return Err(Problem::Damaged("no entry at its place"));
        }
        let before = 30 + u64::from(u16_le(&head, 26)?) + u64::from(u16_le(&head, 28)?);
        let packed = usize::try_from(self.packed).unwrap_or(usize::MAX).min(super::bytes::MOST_READ);
        let bytes = source.bytes_at(self.place.saturating_add(before), packed)?;
        match self.method {
            0 => Ok(bytes[..bytes.len().min(most)].to_vec()),
            8 => {
                let mut unpacked = Vec::new();
                // What was unpacked before a damaged place is of use.
                let _ = DeflateDecoder::new(&bytes[..]).take(most as u64).read_to_end(&mut unpacked);
                Ok(unpacked)
            }
            _ => Err(Problem::Damaged("a compression that is not supported")),
        }
    }
}
