//! Directory entries: sets of a file entry, a stream extension and the parts of the name, sections 6 and 7.

use formats::Time;

use super::{Extent, Volume};
use crate::decode;
use crate::fat::time;
use crate::part::read_vec;
use crate::{Error, Result};

/// The length of an entry.
const ENTRY: usize = 32;
const LABEL: u8 = 0x83;
const FILE: u8 = 0x85;
const STREAM: u8 = 0xC0;
const NAME: u8 = 0xC1;
const FOLDER: u16 = 0x10;
/// The file has clusters, and they follow each other.
const CONTIGUOUS: u8 = 2;
/// The most secondary entries of a set: a stream and 17 parts of a name, section 7.4.1.
const MOST_SECONDARY: usize = 18;
/// Units of a name in an entry, and in all.
const PART: usize = 15;
const LONGEST_NAME: usize = 255;
/// The longest folder that is read, in bytes: 2,097,152 entries. The specification allows four times as many.
pub(super) const MAX_FOLDER: u64 = 64 << 20;
/// Bytes of a folder that are read at once.
const PIECE: u64 = 1 << 16;

/// A file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectoryEntry {
    /// The number of its first entry in its folder.
    pub(super) index: u64,
    pub(super) name: String,
    pub(super) attributes: u16,
    pub(super) data: Extent,
    /// What is behind these bytes reads as zeros.
    pub(super) valid: u64,
    pub(super) created: Time,
    pub(super) modified: Time,
    pub(super) accessed: Time,
}

impl DirectoryEntry {
    pub(super) fn is_folder(&self) -> bool {
        self.attributes & FOLDER != 0
    }

    /// A set of entries. `None`: it is no set of a file, or not whole.
    fn read(index: u64, set: &[u8]) -> Result<Option<Self>> {
        let stream = set.get(ENTRY..2 * ENTRY).filter(|stream| stream[0] == STREAM);
        let Some(stream) = stream.filter(|_| set[0] == FILE && checksum(set) == [set[2], set[3]]) else {
            return Ok(None);
        };
        let structure = "directory entry of exFAT";
        let mut entry = decode(structure, index, set, |r| {
            r.skip(4)?; // type, number of entries, checksum
            let attributes = r.u16_le()?;
            r.skip(2)?;
            let (created, modified, accessed) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
            let (created_10ms, modified_10ms) = (r.u8()?, r.u8()?);
            let zones: [u8; 3] = r.array()?;
            Ok(Self {
                index,
                name: String::new(),
                attributes,
                data: Extent { first: 0, is_contiguous: false, length: 0 },
                valid: 0,
                created: date(created, created_10ms, zones[0]),
                modified: date(modified, modified_10ms, zones[1]),
                accessed: date(accessed, 0, zones[2]),
            })
        })?;
        let length = decode(structure, index, stream, |r| {
            r.skip(1)?; // type
            let flags = r.u8()?;
            r.skip(1)?;
            let length = usize::from(r.u8()?);
            r.skip(4)?; // hash of the name
            entry.valid = r.u64_le()?;
            r.skip(4)?;
            entry.data =
                Extent { first: r.u32_le()?, is_contiguous: flags & CONTIGUOUS != 0, length: r.u64_le()? };
            Ok(length)
        })?;
        let parts = set[2 * ENTRY..].chunks_exact(ENTRY).filter(|part| part[0] == NAME);
        let units: Vec<u16> = parts
            .flat_map(|part| {
                part[2..].as_chunks::<2>().0.iter().take(PART).map(|unit| u16::from_le_bytes(*unit))
            })
            .take(length.min(LONGEST_NAME))
            .collect();
        entry.name = String::from_utf16_lossy(&units).replace('/', ":");
        let is_whole = units.len() == length && length > 0;
        Ok(is_whole.then_some(entry))
    }
}

/// Of all entries of a set but for the checksum itself, section 6.3.3.
fn checksum(set: &[u8]) -> [u8; 2] {
    let bytes = set.iter().enumerate().filter(|(at, _)| !matches!(at, 2 | 3));
    bytes.fold(0u16, |sum, (_, byte)| sum.rotate_right(1).wrapping_add((*byte).into())).to_le_bytes()
}

/// A date with hundredths of a second, and its time zone in quarters of an hour, section 7.4.8.
fn date(stamp: u32, hundredths: u8, zone: u8) -> Time {
    let local = time((stamp >> 16) as u16, stamp as u16);
    let hundredths = i64::from(hundredths.min(199));
    // Seven bits with a sign behind the bit that says that they count.
    let quarters = if zone & 0x80 == 0 { 0 } else { i64::from((zone << 1) as i8 >> 1) };
    let secs = local.secs + hundredths / 100 - quarters * 900;
    Time { secs, nanos: (hundredths % 100) as u32 * 10_000_000 }
}

impl Volume {
    /// The top folder. Its length is that of its chain.
    pub(super) fn root_extent(&self) -> Extent {
        Extent { first: self.root_cluster, is_contiguous: false, length: MAX_FOLDER }
    }

    /// Calls `found` for each file and folder in a folder until it returns `false`.
    pub(super) fn each_entry(
        &self,
        folder: Extent,
        mut found: impl FnMut(DirectoryEntry) -> bool,
    ) -> Result<()> {
        let (mut set, mut index, mut wanted) = (Vec::new(), 0, 0);
        self.each_raw(folder, |at, entry| {
            if entry[0] == FILE {
                (index, wanted) = (at, usize::from(entry[1]).min(MOST_SECONDARY));
                set = entry.to_vec();
                return Ok(true);
            }
            if set.is_empty() || entry[0] & 0xC0 != 0xC0 {
                set.clear(); // another kind of entry, or one that is not in use
                return Ok(true);
            }
            set.extend(entry);
            if set.len() < (wanted + 1) * ENTRY {
                return Ok(true);
            }
            let entry = DirectoryEntry::read(index, &set)?;
            set.clear();
            Ok(entry.is_none_or(&mut found))
        })
    }

    /// The file or folder whose entries begin at this number.
    pub(super) fn entry_at(&self, folder: Extent, index: u64) -> Result<DirectoryEntry> {
        let offset = index * ENTRY as u64;
        let mut set = vec![0; ENTRY];
        let none = |error| if matches!(error, Error::Damaged { .. }) { Error::NotFound } else { error };
        self.read(folder, offset, &mut set).map_err(none)?;
        if set[0] != FILE {
            return Err(Error::NotFound);
        }
        set.resize((usize::from(set[1]).min(MOST_SECONDARY) + 1) * ENTRY, 0);
        self.read(folder, offset, &mut set).map_err(none)?;
        DirectoryEntry::read(index, &set)?.ok_or(Error::NotFound)
    }

    /// The label, which is an entry of the top folder.
    pub(super) fn label(&self) -> Result<String> {
        let mut label = String::new();
        self.each_raw(self.root_extent(), |_, entry| {
            if entry[0] == LABEL {
                let units = entry[2..24].as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
                let units: Vec<u16> = units.take(entry[1].into()).collect();
                label = String::from_utf16_lossy(&units);
            }
            Ok(entry[0] != LABEL)
        })?;
        Ok(label)
    }

    /// Calls `each` for the entries of a folder, with their numbers, until it returns `false`.
    fn each_raw(&self, folder: Extent, mut each: impl FnMut(u64, &[u8]) -> Result<bool>) -> Result<()> {
        let folder = Extent { length: folder.length.min(MAX_FOLDER), ..folder };
        let mut index = 0;
        for (start, length) in self.runs(folder)?.iter() {
            let mut at = 0;
            while at < *length {
                let count = (length - at).min(PIECE);
                let bytes = read_vec(self.bytes.as_ref(), start + at, count as usize)?;
                for entry in bytes.chunks_exact(ENTRY) {
                    if entry[0] == 0 || !each(index, entry)? {
                        return Ok(());
                    }
                    index += 1;
                }
                at += count;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_hundredths_and_a_zone() {
        // 2026-11-29, 18:30:02, and 1.5 s more; the zone is one hour east of UTC.
        let stamp = (46 << 9 | 11 << 5 | 29) << 16 | 18 << 11 | 30 << 5 | 1;
        let utc = 1_795_977_003; // 2026-11-29T18:30:03Z
        assert_eq!(date(stamp, 150, 0x84), Time { secs: utc - 3600, nanos: 500_000_000 });
        assert_eq!(date(stamp, 150, 0), Time { secs: utc, nanos: 500_000_000 });
        assert_eq!(date(stamp, 150, 0xFC).secs, utc + 3600, "west of UTC");
    }

    #[test]
    fn a_set_with_another_checksum_is_none() {
        let mut set = vec![0; 3 * ENTRY];
        (set[0], set[1]) = (FILE, 2);
        (set[ENTRY], set[ENTRY + 3]) = (STREAM, 1);
        (set[2 * ENTRY], set[2 * ENTRY + 2]) = (NAME, b'a');
        let sum = checksum(&set);
        set[2..4].copy_from_slice(&sum);
        assert_eq!(DirectoryEntry::read(0, &set).unwrap().unwrap().name, "a");
        set[4] ^= 1;
        assert_eq!(DirectoryEntry::read(0, &set), Ok(None));
    }
}
