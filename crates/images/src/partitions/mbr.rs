//! The master boot record of PCs, with its chain of extended partitions. All numbers are little-endian.

use super::{MAX_PARTITIONS, Map, Partition, Scheme, bytes_at};
use crate::check::Problem;
use crate::{ReadAt, Result};

const SECTOR: u64 = 512;
const ENTRIES: usize = 446;
/// The types of extended partitions.
const EXTENDED: [u8; 3] = [0x05, 0x0F, 0x85];

struct Entry {
    active: u8,
    kind: u8,
    start: u64,
    sectors: u64,
}

/// The entries of a record, if it has its signature.
fn record(disk: &dyn ReadAt, sector: u64) -> Result<Option<Vec<Entry>>> {
    let Some(bytes) = bytes_at(disk, sector * SECTOR, SECTOR as usize)? else { return Ok(None) };
    if bytes[510..] != [0x55, 0xAA] {
        return Ok(None);
    }
    let mut entries = Vec::new();
    for entry in bytes[ENTRIES..510].chunks_exact(16) {
        entries.push(crate::decode("master boot record", sector * SECTOR, entry, |r| {
            let active = r.u8()?;
            r.skip(3)?; // cylinder, head, sector
            let kind = r.u8()?;
            r.skip(3)?;
            Ok(Entry { active, kind, start: u64::from(r.u32_le()?), sectors: u64::from(r.u32_le()?) })
        })?);
    }
    Ok(Some(entries))
}

pub(super) fn read(disk: &dyn ReadAt) -> Result<Option<Map>> {
    let Some(entries) = record(disk, 0)? else { return Ok(None) };
    // The signature alone is in many boot sectors; a record has entries that are possible.
    if entries.iter().any(|entry| !matches!(entry.active, 0 | 0x80)) || entries.iter().all(|e| e.sectors == 0)
    {
        return Ok(None);
    }
    let mut map = Map { scheme: Scheme::Mbr, partitions: Vec::new(), problems: Vec::new() };
    for entry in entries.iter().filter(|entry| entry.kind != 0 && entry.sectors > 0) {
        match EXTENDED.contains(&entry.kind) {
            true => extended(disk, entry.start, &mut map)?,
            false => map.partitions.push(partition(entry, 0)),
        }
    }
    Ok(Some(map))
}

/// Each record of the chain has one partition, and the place of the next record in sectors of the whole extended one.
fn extended(disk: &dyn ReadAt, first: u64, map: &mut Map) -> Result<()> {
    let mut at = first;
    for _ in 0..MAX_PARTITIONS {
        let Some(entries) = record(disk, at)? else {
            let problem = "it has no signature, or is outside of the disk";
            map.problems.push(Problem::new("extended boot record", Some(at * SECTOR), problem));
            return Ok(());
        };
        let used = |entry: &&Entry| entry.kind != 0 && entry.sectors > 0;
        if let Some(entry) = entries.iter().filter(used).find(|entry| !EXTENDED.contains(&entry.kind)) {
            map.partitions.push(partition(entry, at));
        }
        match entries.iter().filter(used).find(|entry| EXTENDED.contains(&entry.kind)) {
            Some(next) => at = first + next.start,
            None => return Ok(()),
        }
    }
    map.problems.push(Problem::new("extended boot record", Some(first * SECTOR), "its chain does not end"));
    Ok(())
}

fn partition(entry: &Entry, base: u64) -> Partition {
    Partition {
        name: String::new(),
        kind: format!("{:#04x}", entry.kind),
        start: (base + entry.start) * SECTOR,
        length: entry.sectors * SECTOR,
    }
}
