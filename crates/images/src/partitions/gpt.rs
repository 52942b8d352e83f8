//! The GUID partition table: UEFI Specification 2.10, section 5.3. All numbers are little-endian.

use wire::Malformed;

use super::{Map, Partition, Scheme, bytes_at};
use crate::check::Problem;
use crate::{ReadAt, Result};

const SIGNATURE: &[u8] = b"EFI PART";
const HEADER: usize = 92;
const ENTRY: u32 = 128;
/// The most bytes of all entries: 1,024 entries of 1 KiB.
const MAX_ENTRIES: u64 = 1 << 20;
/// The sizes of sectors that disks have.
const SECTORS: [u64; 2] = [512, 4096];

/// A header, and what its table says.
struct Table {
    own: u64,
    other: u64,
    disk: [u8; 16],
    usable: (u64, u64),
    entries_crc: u32,
    partitions: Vec<Partition>,
}

pub(super) fn read(disk: &dyn ReadAt) -> Result<Option<Map>> {
    for sector in SECTORS {
        let last = (disk.length() / sector).saturating_sub(1);
        let is_here = |at: u64| {
            let found = bytes_at(disk, at * sector, SIGNATURE.len())?;
            Ok::<_, crate::Error>(found.is_some_and(|bytes| bytes == SIGNATURE))
        };
        let is_protected = is_protective(disk)?;
        if is_here(1)? || is_protected && last > 1 && is_here(last)? {
            return both(disk, sector, last).map(Some);
        }
    }
    Ok(None)
}

/// Whether the master boot record says that a GUID partition table is behind it: a partition of type 0xEE.
fn is_protective(disk: &dyn ReadAt) -> Result<bool> {
    let Some(sector) = bytes_at(disk, 0, 512)? else { return Ok(false) };
    Ok(sector[510..] == [0x55, 0xAA] && (0..4).any(|at| sector[446 + 16 * at + 4] == 0xEE))
}

/// Reads both tables. The first one counts if it is sound.
fn both(disk: &dyn ReadAt, sector: u64, last: u64) -> Result<Map> {
    let mut problems = Vec::new();
    let mut said = |name: &str, place: u64, problem: &str| {
        problems.push(Problem::new(name, Some(place), problem));
    };
    const FIRST: &str = "GPT header";
    const SECOND: &str = "backup GPT header";
    let first = table(disk, sector, 1)?;
    let second_at = match &first {
        Ok(table) => table.other,
        Err(problem) => {
            said(FIRST, sector, problem.0);
            last
        }
    };
    let second = table(disk, sector, second_at)?;
    match (&first, &second) {
        (_, Err(problem)) => said(SECOND, second_at.saturating_mul(sector), problem.0),
        (Ok(first), Ok(second)) => {
            if first.disk != second.disk || first.usable != second.usable || second.other != first.own {
                said(SECOND, second_at * sector, "it describes another disk than the first header");
            } else if first.entries_crc != second.entries_crc {
                said("backup GPT entries", second_at * sector, "they differ from the first ones");
            }
        }
        (Err(_), Ok(_)) => {}
    }
    let partitions = first.or(second).map(|table| table.partitions).unwrap_or_default();
    Ok(Map { scheme: Scheme::Gpt, partitions, problems })
}

/// The table whose header is in this sector, or what is wrong with it.
fn table(disk: &dyn ReadAt, sector: u64, at: u64) -> Result<std::result::Result<Table, Malformed>> {
    let place = at.checked_mul(sector);
    let header = place.map(|place| bytes_at(disk, place, sector as usize)).transpose()?.flatten();
    let Some(header) = header else { return Ok(Err(Malformed("it is outside of the disk"))) };
    let (mut table, entries_at, count, size) = match self::header(&header, at) {
        Ok(header) => header,
        Err(problem) => return Ok(Err(problem)),
    };
    let length = u64::from(count) * u64::from(size);
    if length > MAX_ENTRIES || size < ENTRY {
        return Ok(Err(Malformed("its entries have a length that is not possible")));
    }
    let entries_at = entries_at.checked_mul(sector);
    let entries = entries_at.map(|place| bytes_at(disk, place, length as usize)).transpose()?.flatten();
    let Some(entries) = entries else { return Ok(Err(Malformed("its entries are outside of the disk"))) };
    if crc(&entries) != table.entries_crc {
        return Ok(Err(Malformed("the checksum of its entries is wrong")));
    }
    for entry in entries.chunks_exact(size as usize) {
        match partition(entry, sector) {
            Ok(Some(partition)) => table.partitions.push(partition),
            Ok(None) => {}
            Err(problem) => return Ok(Err(problem)),
        }
    }
    Ok(Ok(table))
}

/// The header, where its entries are (in sectors), how many they are, and the size of one.
fn header(bytes: &[u8], at: u64) -> std::result::Result<(Table, u64, u32, u32), Malformed> {
    let mut r = wire::Reader::new(bytes);
    if r.take(8)? != SIGNATURE {
        return Err(Malformed("it has no signature"));
    }
    r.skip(4)?; // revision
    let (size, checksum) = (r.u32_le()? as usize, r.u32_le()?);
    let mut summed =
        bytes.get(..size).filter(|_| size >= HEADER).ok_or(Malformed("its size is wrong"))?.to_vec();
    summed[16..20].fill(0);
    if crc(&summed) != checksum {
        return Err(Malformed("its checksum is wrong"));
    }
    r.skip(4)?; // reserved
    let (own, other) = (r.u64_le()?, r.u64_le()?);
    let (usable, disk) = ((r.u64_le()?, r.u64_le()?), r.array()?);
    let (entries_at, count, size, entries_crc) = (r.u64_le()?, r.u32_le()?, r.u32_le()?, r.u32_le()?);
    if own != at {
        return Err(Malformed("it says that it is in another sector"));
    }
    Ok((Table { own, other, disk, usable, entries_crc, partitions: Vec::new() }, entries_at, count, size))
}

/// An entry; `None` for one that is not used.
fn partition(entry: &[u8], sector: u64) -> std::result::Result<Option<Partition>, Malformed> {
    let mut r = wire::Reader::new(entry);
    let kind: [u8; 16] = r.array()?;
    r.skip(16)?; // identifier of the partition
    let (first, last) = (r.u64_le()?, r.u64_le()?);
    r.skip(8)?; // attributes
    let name: Vec<u16> = (0..36)
        .map(|_| r.u16_le())
        .collect::<std::result::Result<Vec<_>, _>>()?
        .into_iter()
        .take_while(|unit| *unit != 0)
        .collect();
    if kind == [0; 16] {
        return Ok(None);
    }
    const OUTSIDE: Malformed = Malformed("a partition ends before it begins, or beyond every disk");
    let sectors = last.checked_sub(first).and_then(|count| count.checked_add(1)).ok_or(OUTSIDE)?;
    let start = first.checked_mul(sector).ok_or(OUTSIDE)?;
    let length = sectors.checked_mul(sector).ok_or(OUTSIDE)?;
    Ok(Some(Partition { name: String::from_utf16_lossy(&name), kind: guid(&kind), start, length }))
}

/// The text of a GUID, whose first three fields are little-endian.
fn guid(bytes: &[u8; 16]) -> String {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::new();
    for (at, from) in ORDER.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{:02X}", bytes[*from]));
    }
    text
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
