//! Partition maps: GPT, MBR, Apple's partition map, or none.

mod apple;
mod gpt;
mod mbr;

use std::sync::Arc;

use crate::check::Problem;
use crate::content::{self, Content};
use crate::part::{Part, read_vec};
use crate::{ReadAt, Result};

/// The most partitions of a disk that are read.
pub const MAX_PARTITIONS: usize = 256;

/// How a disk is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Not at all: the disk is one volume.
    Whole,
    /// The GUID partition table of UEFI.
    Gpt,
    /// The master boot record of PCs.
    Mbr,
    /// Apple's partition map.
    Apple,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its name in the map; may be empty.
    pub name: String,
    /// Its type: a GUID, a number, or Apple's name.
    pub kind: String,
    /// Where it begins, in bytes of the disk.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl Partition {
    /// Its bytes.
    pub fn bytes(&self, disk: &Arc<dyn ReadAt>) -> Arc<dyn ReadAt> {
        match self.start == 0 && self.length == disk.length() {
            true => disk.clone(),
            false => Arc::new(Part::new(disk.clone(), self.start, self.length)),
        }
    }
}

/// The map of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    /// What kind of map it is.
    pub scheme: Scheme,
    /// The partitions, in the order of the map, without those that are empty or describe the map itself.
    pub partitions: Vec<Partition>,
    /// What is damaged of the map.
    pub problems: Vec<Problem>,
}

/// Reads the map of a disk. A damaged map is read as far as it is sound; [`Map::problems`] says what is damaged.
///
/// # Errors
///
/// What the source says.
pub fn read(disk: &Arc<dyn ReadAt>) -> Result<Map> {
    let mut map = match gpt::read(disk.as_ref())? {
        Some(map) => map,
        None => match apple::read(disk.as_ref())? {
            Some(map) => map,
            None => without_map(disk)?,
        },
    };
    map.partitions.truncate(MAX_PARTITIONS);
    let length = disk.length();
    for partition in &map.partitions {
        if partition.start.checked_add(partition.length).is_none_or(|end| end > length) {
            let problem = format!("it ends beyond the {length} bytes of the disk");
            map.problems.push(Problem::new(partition_name(partition), Some(partition.start), problem));
        }
    }
    Ok(map)
}

fn partition_name(partition: &Partition) -> String {
    match partition.name.is_empty() {
        true => format!("partition of type {}", partition.kind),
        false => format!("partition “{}”", partition.name),
    }
}

/// A boot sector of FAT looks as a master boot record does, and the first sectors of HFS+ may hold anything: file systems
/// are recognized first.
fn without_map(disk: &Arc<dyn ReadAt>) -> Result<Map> {
    if content::recognize(disk) == Content::Unknown
        && let Some(map) = mbr::read(disk.as_ref())?
    {
        return Ok(map);
    }
    let whole = Partition { name: String::new(), kind: String::new(), start: 0, length: disk.length() };
    Ok(Map { scheme: Scheme::Whole, partitions: vec![whole], problems: Vec::new() })
}

/// The bytes if the disk is long enough to have them.
fn bytes_at(disk: &dyn ReadAt, offset: u64, count: usize) -> Result<Option<Vec<u8>>> {
    match offset.checked_add(count as u64) {
        Some(end) if end <= disk.length() => read_vec(disk, offset, count).map(Some),
        _ => Ok(None),
    }
}
