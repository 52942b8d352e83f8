//! FAT12, FAT16 and FAT32, as EFI partitions and cards have them: Microsoft's "FAT32 File System Specification", 1.03. All
//! numbers are little-endian. It is shown, and not checked.
//!
//! A node has the place of its directory entry as its number, as FAT has no numbers of files. The top folder has the number 1.

mod clusters;
mod entries;
mod files;

use std::sync::Arc;

use crate::part::read_vec;
use crate::tree::FileSystem;
use crate::{Error, ReadAt, Result, decode};

pub(crate) use self::clusters::{ClusterHeap, ClusterTable, KeptRuns, Runs, read_runs};
pub(crate) use self::entries::time;
pub(crate) use self::files::{found_by_name, listed_page};

const NAME: &str = "boot sector of FAT";
/// The most bytes of a folder: 65,536 entries.
const MAX_FOLDER: u64 = 65_536 * 32;

/// Opens a volume.
///
/// # Errors
///
/// [`Error::Damaged`] if its boot sector has numbers that are not possible.
pub fn open(bytes: Arc<dyn ReadAt>) -> Result<Arc<dyn FileSystem>> {
    Ok(Arc::new(Volume::open(bytes)?))
}

/// Opens a volume, to be listed with the others of its image.
pub fn volume(bytes: Arc<dyn ReadAt>) -> crate::Volume {
    let (name, format, files) = match open(bytes) {
        Ok(files) => (files.name(), files.format(), Ok(files)),
        Err(error) => (String::new(), "FAT".into(), Err(error)),
    };
    crate::Volume { name, format, files, snapshots: Vec::new() }
}

/// The width of an entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Bits12,
    Bits16,
    Bits32,
}

/// An open volume.
struct Volume {
    bytes: Arc<dyn ReadAt>,
    width: Width,
    heap: ClusterHeap,
    /// Where the first table begins.
    table: u64,
    /// The top folder of FAT12 and FAT16: its place and its length.
    fixed_root: (u64, u64),
    /// The first cluster of the top folder of FAT32.
    root_cluster: u32,
    kept: KeptRuns,
}

/// The fields of the boot sector.
struct BootSector {
    sector: u64,
    per_cluster: u64,
    reserved: u64,
    tables: u64,
    root_entries: u64,
    sectors: u64,
    per_table: u64,
    root_cluster: u32,
}

impl Volume {
    fn open(bytes: Arc<dyn ReadAt>) -> Result<Self> {
        let head = read_vec(bytes.as_ref(), 0, 512)?;
        let boot = decode(NAME, 0, &head, |r| {
            r.skip(11)?; // jump, maker
            let (sector, per_cluster) = (u64::from(r.u16_le()?), u64::from(r.u8()?));
            let (reserved, tables) = (u64::from(r.u16_le()?), u64::from(r.u8()?));
            let (root_entries, few) = (u64::from(r.u16_le()?), u64::from(r.u16_le()?));
            r.skip(1)?; // medium
            let small = u64::from(r.u16_le()?);
            r.skip(8)?; // tracks, heads, hidden sectors
            let (many, large) = (u64::from(r.u32_le()?), u64::from(r.u32_le()?));
            r.skip(4)?; // flags, version
            let root_cluster = r.u32_le()?;
            let (sectors, per_table) =
                (if few == 0 { many } else { few }, if small == 0 { large } else { small });
            Ok(BootSector {
                sector,
                per_cluster,
                reserved,
                tables,
                root_entries,
                sectors,
                per_table,
                root_cluster,
            })
        })?;
        let damaged = |problem: &str| Error::damaged(NAME, 0, problem);
        let is_sector = boot.sector.is_power_of_two() && (512..=4096).contains(&boot.sector);
        if !is_sector || !boot.per_cluster.is_power_of_two() || boot.reserved == 0 || boot.tables == 0 {
            return Err(damaged("its sizes are not possible"));
        }
        let root = boot.reserved + boot.tables * boot.per_table;
        let root_sectors = (boot.root_entries * 32).div_ceil(boot.sector);
        let data = root + root_sectors;
        let rest =
            boot.sectors.checked_sub(data).ok_or_else(|| damaged("its tables are longer than the volume"))?;
        let clusters = (rest / boot.per_cluster) as u32; // at most 2^32 sectors
        let width = match clusters {
            0..4085 => Width::Bits12,
            4085..65_525 => Width::Bits16,
            _ => Width::Bits32,
        };
        Ok(Self {
            bytes,
            width,
            heap: ClusterHeap {
                begin: data * boot.sector,
                cluster: boot.per_cluster * boot.sector,
                count: clusters,
            },
            table: boot.reserved * boot.sector,
            fixed_root: (root * boot.sector, boot.root_entries * 32),
            root_cluster: boot.root_cluster,
            kept: KeptRuns::default(),
        })
    }

    /// The clusters of a chain that have `length` bytes.
    fn runs(&self, first: u32, length: u64) -> Result<Runs> {
        self.kept.chain(self, first, length)
    }
}

impl ClusterTable for Volume {
    fn heap(&self) -> &ClusterHeap {
        &self.heap
    }

    fn next(&self, cluster: u32) -> Result<Option<u32>> {
        let at = |bytes: u64| self.table + bytes;
        let read = |place: u64, count: usize| read_vec(self.bytes.as_ref(), place, count);
        let number = u64::from(cluster);
        let next = match self.width {
            Width::Bits12 => {
                let pair = read(at(number * 3 / 2), 2)?;
                let word = decode("table of FAT", at(0), &pair, |r| r.u16_le())?;
                u32::from(if cluster.is_multiple_of(2) { word & 0xFFF } else { word >> 4 })
            }
            Width::Bits16 => {
                let word = read(at(number * 2), 2)?;
                u32::from(decode("table of FAT", at(0), &word, |r| r.u16_le())?)
            }
            Width::Bits32 => {
                let word = read(at(number * 4), 4)?;
                decode("table of FAT", at(0), &word, |r| r.u32_le())? & 0x0FFF_FFFF
            }
        };
        let end = match self.width {
            Width::Bits12 => 0xFF8,
            Width::Bits16 => 0xFFF8,
            Width::Bits32 => 0x0FFF_FFF8,
        };
        Ok((next < end).then_some(next))
    }

    fn damaged(&self, cluster: u32, problem: &str) -> Error {
        Error::damaged(format!("cluster {cluster} of FAT"), self.heap.place(cluster), problem)
    }
}
