//! Archives: the names of what is in them are their text.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use super::{Problem, Result, bytes, zip};
use crate::extracted::Extracted;
use crate::source::Source;

/// The most names of an archive.
const MOST_NAMES: usize = 100_000;
/// The unit of a tape archive.
const BLOCK: usize = 512;
/// The most bytes of an unpacked archive that are looked through.
const MOST_UNPACKED: u64 = 4 << 30;
/// The longest name of an extension in bytes.
const LONGEST_NAME: u64 = 64 << 10;

/// A kind of archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Archive {
    Zip,
    Tar,
    CompressedTar,
}

pub(super) fn extract(archive: Archive, source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    match archive {
        Archive::Zip => {
            names(zip::entries(source)?.iter().map(|entry| &*entry.name), found);
            Ok(())
        }
        Archive::Tar => tar(&mut Places { source, place: 0 }, found),
        Archive::CompressedTar => {
            let unpacked = MultiGzDecoder::new(Places { source, place: 0 }).take(MOST_UNPACKED);
            tar(&mut InOrder(unpacked), found)
        }
    }
}

/// Adds names as lines of the text.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a str>, found: &mut Extracted) {
    for name in names.take(MOST_NAMES) {
        found.push(name);
        found.end_line();
    }
}

/// Bytes in their order, of which some are passed over.
trait Stream {
    fn take(&mut self, buffer: &mut [u8]) -> std::io::Result<()>;
    fn skip(&mut self, count: u64) -> std::io::Result<()>;
}

struct Places<'a> {
    source: &'a mut dyn Source,
    place: u64,
}

impl Read for Places<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.source.read_at(self.place, buffer)?;
        self.place += read as u64;
        Ok(read)
    }
}

impl Stream for Places<'_> {
    fn take(&mut self, buffer: &mut [u8]) -> std::io::Result<()> {
        self.read_exact(buffer)
    }

    fn skip(&mut self, count: u64) -> std::io::Result<()> {
        self.place = self.place.saturating_add(count);
        Ok(())
    }
}

struct InOrder<R>(R);

impl<R: Read> Stream for InOrder<R> {
    fn take(&mut self, buffer: &mut [u8]) -> std::io::Result<()> {
        self.0.read_exact(buffer)
    }

    fn skip(&mut self, count: u64) -> std::io::Result<()> {
        std::io::copy(&mut (&mut self.0).take(count), &mut std::io::sink()).map(drop)
    }
}

/// The names of a tape archive: POSIX.1-1988 and -2001 (pax), and GNU's long names.
fn tar(stream: &mut dyn Stream, found: &mut Extracted) -> Result<()> {
    let mut long: Option<String> = None;
    for _ in 0..MOST_NAMES {
        let mut head = [0; BLOCK];
        stream.take(&mut head)?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let size = octal(&head[124..136]).ok_or(Problem::Damaged("an entry without a size"))?;
        let kind = head[156];
        if !matches!(kind, b'x' | b'L') {
            let name = long.take().unwrap_or_else(|| short(&head));
            if !matches!(kind, b'g' | b'K') {
                names([&*name].into_iter(), found);
            }
            stream.skip(size.next_multiple_of(BLOCK as u64))?;
            continue;
        }
        let length = usize::try_from(size.min(LONGEST_NAME)).unwrap_or_default();
        let mut extension = vec![0; length];
        stream.take(&mut extension)?;
        stream.skip(size.next_multiple_of(BLOCK as u64) - length as u64)?;
        let extension = String::from_utf8_lossy(&extension).into_owned();
        long = match kind {
            b'L' => Some(extension.trim_end_matches('\0').to_owned()),
            _ => path(&extension).or(long),
        };
    }
    Ok(())
}

/// The path among the records of an extended header: a length, a space, `path=`, the path, a line feed.
fn path(records: &str) -> Option<String> {
    let (_, after) = records.split_once(" path=")?;
    after.split('\n').next().map(str::to_owned)
}

/// Name and prefix.
fn short(head: &[u8; BLOCK]) -> String {
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let (name, prefix) = (text(&head[..100]), text(&head[345..500]));
    let is_posix = bytes::find(&head[257..263], b"ustar\0").is_some();
    if prefix.is_empty() || !is_posix { name } else { format!("{prefix}/{name}") }
}

/// A number in octal digits, or in binary with its highest bit set.
fn octal(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let number = field.last_chunk::<8>()?;
        return Some(u64::from_be_bytes(*number)).filter(|number| *number < 1 << 60);
    }
    let mut digits =
        field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| (b'0'..=b'7').contains(*byte));
    digits.try_fold(0u64, |number, digit| Some(number * 8 + u64::from(digit - b'0')))
}
