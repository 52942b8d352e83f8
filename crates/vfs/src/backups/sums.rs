//! The checksums of a bundle's bands, as of their last close. A band that is not what its checksum says although its time of
//! change is the same has rotted, whether the image is encrypted or not.
//!
//! A file keeps them as text, one line for each version of a band: its number, size, time of change and BLAKE3. A line that
//! cannot be read is left out: then that band has no checksum.

use std::collections::BTreeMap;
use std::fmt::Write;

use wire::hex;

use crate::Time;

/// The first line of the file.
const HEADING: &str = "fourfold bands 1";
/// Versions of a band that are kept: those of the newest snapshots.
const MOST_VERSIONS: usize = 32;
/// The most bands that have checksums, and the most lines of a file.
const MOST_BANDS: usize = 1_000_000;
const MOST_LINES: usize = 4 * MOST_BANDS;
/// What ends the line of a band that is gone.
const GONE: &str = "gone";

/// A version of a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandSum {
    /// Its length.
    pub size: u64,
    /// When it was changed last.
    pub modified: Time,
    /// BLAKE3 of its bytes.
    pub sum: [u8; 32],
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct KnownBand {
    /// The newest last.
    versions: Vec<BandSum>,
    /// It was not there any more when the bundle was looked at last.
    is_gone: bool,
}

/// The checksums of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BandSums {
    bands: BTreeMap<u64, KnownBand>,
}

impl BandSums {
    /// The checksum of a band of this length that was changed last at this time.
    pub fn of(&self, number: u64, size: u64, modified: Time) -> Option<&[u8; 32]> {
        let versions = &self.bands.get(&number)?.versions;
        versions.iter().rev().find(|one| one.size == size && one.modified == modified).map(|one| &one.sum)
    }

    /// Keeps the checksum of a version of a band. Of many versions the oldest is forgotten; the bands after a million have none.
    pub fn learn(&mut self, number: u64, version: BandSum) {
        if self.bands.len() >= MOST_BANDS && !self.bands.contains_key(&number) {
            return;
        }
        let known = self.bands.entry(number).or_default();
        known.is_gone = false;
        known.versions.retain(|one| (one.size, one.modified) != (version.size, version.modified));
        known.versions.push(version);
        let too_many = known.versions.len().saturating_sub(MOST_VERSIONS);
        known.versions.drain(..too_many);
    }

    /// A Mac has removed the band. Snapshots may have it still.
    pub fn gone(&mut self, number: u64) {
        if let Some(known) = self.bands.get_mut(&number) {
            known.is_gone = true;
        }
    }

    /// The bands that were there when the bundle was looked at last.
    pub fn there(&self) -> impl Iterator<Item = u64> {
        self.bands.iter().filter(|(_, known)| !known.is_gone).map(|(number, _)| *number)
    }

    /// How many bands have checksums.
    pub fn len(&self) -> usize {
        self.there().count()
    }

    /// Whether no band has one.
    pub fn is_empty(&self) -> bool {
        self.there().next().is_none()
    }

    /// The text of the file.
    pub fn encode(&self) -> String {
        let mut text = format!("{HEADING}\n");
        for (number, known) in &self.bands {
            for BandSum { size, modified, sum } in &known.versions {
                let end = if known.is_gone { format!(" {GONE}") } else { String::new() };
                let (secs, nanos, sum) = (modified.secs, modified.nanos, hex::encode(sum));
                _ = writeln!(text, "{number:x} {size} {secs}.{nanos:09} {sum}{end}"); // a String takes it
            }
        }
        text
    }

    /// Reads the text of the file. One of another kind has no checksums.
    pub fn decode(text: &[u8]) -> Self {
        let mut sums = Self::default();
        let text = String::from_utf8_lossy(text);
        let mut lines = text.lines();
        if lines.next() != Some(HEADING) {
            return sums;
        }
        for (number, version, is_gone) in lines.filter_map(line).take(MOST_LINES) {
            sums.learn(number, version);
            if is_gone {
                sums.gone(number);
            }
        }
        sums
    }
}

fn line(line: &str) -> Option<(u64, BandSum, bool)> {
    let mut words = line.split(' ');
    let number = u64::from_str_radix(words.next()?, 16).ok()?;
    let size = words.next()?.parse().ok()?;
    let modified = time(words.next()?)?;
    let sum = hex::decode(words.next()?)?;
    let is_gone = match words.next() {
        None => false,
        Some(word) if word == GONE => true,
        Some(_) => return None,
    };
    Some((number, BandSum { size, modified, sum }, is_gone))
}

/// A time as `SECONDS.NANOSECONDS`, with nine digits behind the point.
pub(super) fn time(text: &str) -> Option<Time> {
    let (secs, nanos) = text.split_once('.')?;
    let nanos = nanos.parse().ok().filter(|nanos| *nanos < 1_000_000_000)?;
    Some(Time { secs: secs.parse().ok()?, nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(secs: i64, byte: u8) -> BandSum {
        BandSum { size: 4096, modified: Time { secs, nanos: 7 }, sum: [byte; 32] }
    }

    #[test]
    fn each_version_of_a_band_is_found_by_its_length_and_time() {
        let mut sums = BandSums::default();
        sums.learn(0x1f, version(100, 1));
        sums.learn(0x1f, version(200, 2));
        let of = |secs| sums.of(0x1f, 4096, Time { secs, nanos: 7 }).map(|sum| sum[0]);
        assert_eq!([of(100), of(200), of(300)], [Some(1), Some(2), None]);
        assert_eq!(sums.of(0x1f, 4095, Time { secs: 100, nanos: 7 }), None);
        for secs in 0..100 {
            sums.learn(1, version(secs, 9));
        }
        assert!(sums.of(1, 4096, Time { secs: 67, nanos: 7 }).is_none(), "the oldest are forgotten");
        assert!(sums.of(1, 4096, Time { secs: 68, nanos: 7 }).is_some());
    }

    #[test]
    fn a_file_of_checksums_reads_as_it_was_written() {
        let mut sums = BandSums::default();
        sums.learn(0, version(-5, 3));
        sums.learn(0xa1, version(100, 1));
        sums.gone(0xa1);
        let text = sums.encode();
        assert!(text.starts_with("fourfold bands 1\n0 4096 -5.000000007 0303"), "{text}");
        assert_eq!(BandSums::decode(text.as_bytes()), sums);
        assert_eq!(sums.there().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_line_that_is_cut_off_leaves_the_others() {
        let mut sums = BandSums::default();
        sums.learn(0, version(1, 3));
        sums.learn(1, version(1, 3));
        let text = sums.encode();
        assert_eq!(BandSums::decode(&text.as_bytes()[..text.len() - 2]).len(), 1);
        for other in
            ["", "fourfold bands 2\n0 1 1.0 00", "fourfold bands 1\n0 1 1.1000000000 00\nx\n\u{fffd}"]
        {
            assert!(BandSums::decode(other.as_bytes()).is_empty(), "{other}");
        }
    }
}
