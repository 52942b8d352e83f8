//! Apple's partition map: Inside Macintosh: Devices, chapter 3. All numbers are big-endian.

use super::{MAX_PARTITIONS, Map, Partition, Scheme, bytes_at};
use crate::check::Problem;
use crate::{ReadAt, Result, decode};

/// The sizes of blocks that disks and CDs have.
const BLOCKS: [u64; 4] = [512, 1024, 2048, 4096];
const ENTRY: usize = 512;
/// Types of entries that have no file system: the map itself, drivers, free space.
const NOT_SHOWN: [&str; 4] = ["Apple_partition_map", "Apple_Free", "Apple_Void", "Apple_Scratch"];

struct Entry {
    count: u32,
    start: u64,
    blocks: u64,
    name: String,
    kind: String,
}

fn entry(disk: &dyn ReadAt, place: u64) -> Result<Option<Entry>> {
    let Some(bytes) = bytes_at(disk, place, ENTRY)? else { return Ok(None) };
    if !bytes.starts_with(b"PM") {
        return Ok(None);
    }
    decode("entry of Apple's partition map", place, &bytes, |r| {
        r.skip(4)?; // signature
        let (count, start, blocks) = (r.u32_be()?, u64::from(r.u32_be()?), u64::from(r.u32_be()?));
        let (name, kind) = (text(r.take(32)?), text(r.take(32)?));
        Ok(Some(Entry { count, start, blocks, name, kind }))
    })
}

/// Text that zeros end, in MacRoman; names of maps are in ASCII.
fn text(field: &[u8]) -> String {
    let used = field.split(|byte| *byte == 0).next().unwrap_or(field);
    used.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' }).collect()
}

pub(super) fn read(disk: &dyn ReadAt) -> Result<Option<Map>> {
    // The first block says the size of blocks, but maps with another one exist: the place of the first entry decides.
    let Some(first) = bytes_at(disk, 0, 4)? else { return Ok(None) };
    if !first.starts_with(b"ER") {
        return Ok(None);
    }
    for block in BLOCKS {
        if let Some(entry) = entry(disk, block)?.filter(|entry| entry.count > 0) {
            return entries(disk, block, entry.count).map(Some);
        }
    }
    Ok(None)
}

fn entries(disk: &dyn ReadAt, block: u64, count: u32) -> Result<Map> {
    let mut map = Map { scheme: Scheme::Apple, partitions: Vec::new(), problems: Vec::new() };
    for number in 1..=u64::from(count).min(MAX_PARTITIONS as u64) {
        let place = number * block;
        let Some(entry) = entry(disk, place)? else {
            let structure = format!("entry {number} of Apple's partition map");
            map.problems.push(Problem::new(structure, Some(place), "it has no signature"));
            continue;
        };
        if entry.blocks > 0
            && !NOT_SHOWN.contains(&entry.kind.as_str())
            && !entry.kind.starts_with("Apple_Driver")
        {
            let (start, length) = (entry.start * block, entry.blocks * block);
            map.partitions.push(Partition { name: entry.name, kind: entry.kind, start, length });
        }
    }
    Ok(map)
}
