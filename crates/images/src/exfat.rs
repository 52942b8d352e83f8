//! exFAT, as cards and disks of more than 32 GB have it: Microsoft's "exFAT file system specification", revision 1.00. All
//! numbers are little-endian. It is shown, and not checked.
//!
//! A node has the first cluster of its folder and the place of its directory entry in that as its number, as exFAT has no numbers
//! of files. The top folder has the number 1.

mod entries;
mod files;

use std::sync::Arc;

use crate::fat::{ClusterHeap, ClusterTable, KeptRuns, Runs, read_runs};
use crate::part::read_vec;
use crate::tree::FileSystem;
use crate::{Error, ReadAt, Result, decode};

const NAME: &str = "boot sector of exFAT";
/// The clusters that a volume may have, section 3.1.9.
const MOST_CLUSTERS: u32 = 0xFFFF_FFF5;
/// An entry of the table that ends a chain, section 4.1.
const END: u32 = 0xFFFF_FFFF;
/// The second table counts, section 3.1.13.1.
const SECOND_TABLE: u16 = 1;

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
    let (name, files) = match open(bytes) {
        Ok(files) => (files.name(), Ok(files)),
        Err(error) => (String::new(), Err(error)),
    };
    crate::Volume { name, format: "exFAT".into(), files, snapshots: Vec::new() }
}

/// An open volume.
struct Volume {
    bytes: Arc<dyn ReadAt>,
    heap: ClusterHeap,
    /// Where the table begins.
    table: u64,
    root_cluster: u32,
    kept: KeptRuns,
}

/// Where the data of a file or folder are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    first: u32,
    /// The clusters follow each other, and the table says nothing of them, section 6.3.4.2.
    is_contiguous: bool,
    length: u64,
}

/// The fields of the boot sector, section 3.1.
struct BootSector {
    table: u32,
    table_length: u32,
    heap: u32,
    clusters: u32,
    root: u32,
    flags: u16,
    sector_shift: u8,
    cluster_shift: u8,
    tables: u8,
}

impl Volume {
    fn open(bytes: Arc<dyn ReadAt>) -> Result<Self> {
        let head = read_vec(bytes.as_ref(), 0, 512)?;
        let boot = decode(NAME, 0, &head, |r| {
            r.skip(80)?; // jump, name, zeros, place in the disk, sectors
            let (table, table_length) = (r.u32_le()?, r.u32_le()?);
            let (heap, clusters, root) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
            r.skip(6)?; // serial number, revision
            let (flags, sector_shift, cluster_shift, tables) = (r.u16_le()?, r.u8()?, r.u8()?, r.u8()?);
            Ok(BootSector {
                table,
                table_length,
                heap,
                clusters,
                root,
                flags,
                sector_shift,
                cluster_shift,
                tables,
            })
        })?;
        let damaged = |problem: &str| Err(Error::damaged(NAME, 0, problem));
        if !(9..=12).contains(&boot.sector_shift) || boot.cluster_shift > 25 - boot.sector_shift {
            return damaged("its sizes are not possible");
        }
        if boot.clusters > MOST_CLUSTERS || !(1..=2).contains(&boot.tables) {
            return damaged("its numbers of clusters or tables are not possible");
        }
        let is_second = boot.tables == 2 && boot.flags & SECOND_TABLE != 0;
        let table = u64::from(boot.table) + if is_second { u64::from(boot.table_length) } else { 0 };
        Ok(Self {
            bytes,
            heap: ClusterHeap {
                begin: u64::from(boot.heap) << boot.sector_shift,
                cluster: 1 << (boot.sector_shift + boot.cluster_shift),
                count: boot.clusters,
            },
            table: table << boot.sector_shift,
            root_cluster: boot.root,
            kept: KeptRuns::default(),
        })
    }

    /// Where the bytes of a file or folder are.
    fn runs(&self, of: Extent) -> Result<Runs> {
        let Extent { first, is_contiguous, length } = of;
        if length == 0 {
            return Ok(Runs::default());
        }
        if is_contiguous {
            let last = u64::from(first).checked_add(length.div_ceil(self.heap.cluster) - 1);
            let last = last.and_then(|last| u32::try_from(last).ok()).unwrap_or(END);
            self.check_cluster(first)?;
            self.check_cluster(last)?;
            return Ok(Arc::new(vec![(self.heap.place(first), length)]));
        }
        self.kept.chain(self, first, length)
    }

    fn check_cluster(&self, cluster: u32) -> Result<()> {
        match self.heap.has(cluster) {
            true => Ok(()),
            false => Err(self.damaged(cluster, "something leads to it, but the volume has no such cluster")),
        }
    }

    /// A part of a file or folder.
    fn read(&self, of: Extent, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if read_runs(self.bytes.as_ref(), &self.runs(of)?, offset, buffer)? == buffer.len() {
            return Ok(());
        }
        Err(self.damaged(of.first, "its chain is shorter than the file"))
    }
}

impl ClusterTable for Volume {
    fn heap(&self) -> &ClusterHeap {
        &self.heap
    }

    fn next(&self, cluster: u32) -> Result<Option<u32>> {
        let place = self.table + u64::from(cluster) * 4;
        let word = read_vec(self.bytes.as_ref(), place, 4)?;
        let next = decode("table of exFAT", place, &word, |r| r.u32_le())?;
        Ok((next != END).then_some(next))
    }

    fn damaged(&self, cluster: u32, problem: &str) -> Error {
        Error::damaged(format!("cluster {cluster} of exFAT"), self.heap.place(cluster), problem)
    }
}
