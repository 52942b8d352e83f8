//! Directory entries, and the long names in front of them.

use formats::Time;

use super::{MAX_FOLDER, Volume};
use crate::part::read_vec;
use crate::{Result, decode};

/// The length of an entry.
pub(super) const ENTRY: usize = 32;
const FREE: u8 = 0xE5;
const VOLUME_LABEL: u8 = 0x08;
const FOLDER: u8 = 0x10;
const LONG_NAME: u8 = 0x0F;
/// Parts of a long name, of 13 units each.
const MAX_PARTS: usize = 20;
/// The names of these entries are in lower case: the name, the extension.
const LOWER_NAME: u8 = 0x08;
const LOWER_EXTENSION: u8 = 0x10;

/// A file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectoryEntry {
    /// Where it is on the volume: its number.
    pub(super) place: u64,
    pub(super) name: String,
    pub(super) attributes: u8,
    pub(super) first: u32,
    pub(super) size: u32,
    pub(super) created: Time,
    pub(super) modified: Time,
    pub(super) accessed: Time,
}

impl DirectoryEntry {
    pub(super) fn is_folder(&self) -> bool {
        self.attributes & FOLDER != 0
    }

    /// An entry without a long name.
    pub(super) fn read(place: u64, bytes: &[u8]) -> Result<Self> {
        decode("directory entry of FAT", place, bytes, |r| {
            let name: [u8; 11] = r.array()?;
            let (attributes, case) = (r.u8()?, r.u8()?);
            r.skip(1)?; // hundredths of the creation
            let (created_time, created_date, accessed) = (r.u16_le()?, r.u16_le()?, r.u16_le()?);
            let high = r.u16_le()?;
            let (modified_time, modified_date, low) = (r.u16_le()?, r.u16_le()?, r.u16_le()?);
            Ok(Self {
                place,
                name: short_name(&name, case),
                attributes,
                first: u32::from(high) << 16 | u32::from(low),
                size: r.u32_le()?,
                created: time(created_date, created_time),
                modified: time(modified_date, modified_time),
                accessed: time(accessed, 0),
            })
        })
    }
}

/// The name of 8 and 3 characters. Characters that are not ASCII depend on a code page that is not stored.
fn short_name(name: &[u8; 11], case: u8) -> String {
    let part = |bytes: &[u8], is_lower: bool| -> String {
        let chars = bytes.iter().map(|byte| match byte {
            0x05 => char::REPLACEMENT_CHARACTER, // stands for 0xE5
            byte if !byte.is_ascii() => char::REPLACEMENT_CHARACTER,
            byte if is_lower => char::from(byte.to_ascii_lowercase()),
            byte => char::from(*byte),
        });
        chars.collect::<String>().trim_end().to_owned()
    };
    let (stem, extension) =
        (part(&name[..8], case & LOWER_NAME != 0), part(&name[8..], case & LOWER_EXTENSION != 0));
    if extension.is_empty() { stem } else { format!("{stem}.{extension}") }
}

/// A date and a time of day, without a time zone: it is taken as UTC.
pub(crate) fn time(date: u16, time: u16) -> Time {
    let (year, month, day) = (1980 + i64::from(date >> 9), i64::from(date >> 5 & 15), i64::from(date & 31));
    // Days of the civil calendar since 1970, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let seconds = i64::from(time >> 11) * 3600 + i64::from(time >> 5 & 63) * 60 + i64::from(time & 31) * 2;
    Time { secs: days * 86_400 + seconds, nanos: 0 }
}

/// The parts of a long name, which are in front of its entry, the last one first.
#[derive(Default)]
struct LongName {
    units: Vec<u16>,
    checksum: u8,
    /// The number of the part that comes next; zero if the name is whole.
    next: u8,
}

impl LongName {
    fn add(&mut self, entry: &[u8]) {
        let number = entry[0] & 0x3F;
        if entry[0] & 0x40 != 0 {
            *self = Self { units: Vec::new(), checksum: entry[13], next: number };
        }
        let is_next = number > 0 && number == self.next && usize::from(number) <= MAX_PARTS;
        if !is_next || entry[13] != self.checksum {
            *self = Self::default();
            return;
        }
        let fields = [&entry[1..11], &entry[14..26], &entry[28..32]].concat();
        let units = fields.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
        self.units.splice(0..0, units);
        self.next = number - 1;
    }

    /// The name, if it is whole and belongs to this entry.
    fn take(&mut self, entry: &[u8]) -> Option<String> {
        let name = std::mem::take(self);
        let sum = entry[..11].iter().fold(0u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte));
        let is_whole = name.next == 0 && !name.units.is_empty() && name.checksum == sum;
        let used = name.units.split(|unit| *unit == 0).next().unwrap_or_default();
        is_whole.then(|| String::from_utf16_lossy(used))
    }
}

impl Volume {
    /// Calls `found` for the entries of a folder until it returns `false`. `None` is the top folder.
    pub(super) fn each_entry(
        &self,
        folder: Option<&DirectoryEntry>,
        mut found: impl FnMut(DirectoryEntry) -> bool,
    ) -> Result<()> {
        let runs = match folder {
            Some(folder) => self.runs(folder.first, MAX_FOLDER)?,
            None if self.fixed_root.1 > 0 => std::sync::Arc::new(vec![self.fixed_root]),
            None => self.runs(self.root_cluster, MAX_FOLDER)?,
        };
        let mut long = LongName::default();
        for (start, length) in runs.iter() {
            let bytes = read_vec(self.bytes.as_ref(), *start, (*length).min(MAX_FOLDER) as usize)?;
            for (index, entry) in bytes.chunks_exact(ENTRY).enumerate() {
                match (entry[0], entry[11]) {
                    (0, _) => return Ok(()),
                    (FREE, _) => long = LongName::default(),
                    (_, LONG_NAME) => long.add(entry),
                    (_, attributes) => {
                        let mut known = DirectoryEntry::read(start + (index * ENTRY) as u64, entry)?;
                        if let Some(name) = long.take(entry) {
                            known.name = name;
                        }
                        let is_shown =
                            attributes & VOLUME_LABEL == 0 && !matches!(entry, [b'.', b' ' | b'.', ..]);
                        if is_shown && !found(known) {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The label, which is an entry of the top folder.
    pub(super) fn label(&self) -> Result<String> {
        let runs = match self.fixed_root.1 {
            0 => self.runs(self.root_cluster, MAX_FOLDER)?,
            _ => std::sync::Arc::new(vec![self.fixed_root]),
        };
        let Some((start, length)) = runs.first() else { return Ok(String::new()) };
        let bytes = read_vec(self.bytes.as_ref(), *start, (*length).min(MAX_FOLDER) as usize)?;
        let is_label = |entry: &&[u8]| entry[11] & 0x3F == VOLUME_LABEL && !matches!(entry[0], 0 | FREE);
        let label = bytes.chunks_exact(ENTRY).find(is_label).map(|entry| &entry[..11]);
        let text: String = label.unwrap_or_default().iter().map(|byte| char::from(byte & 0x7F)).collect();
        Ok(text.trim_end().to_owned())
    }
}
