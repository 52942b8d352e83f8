//! Chains of clusters, as FAT and exFAT have them: a table says of each cluster which one follows.

use std::sync::Arc;

use crate::cache::Cache;
use crate::{Error, ReadAt, Result};

/// The most pieces of a file: 16 MiB of memory.
const MOST_RUNS: usize = 1 << 20;
/// Bytes of a run, and of what is kept beside the runs of a file.
const RUN: usize = size_of::<(u64, u64)>();
const BESIDE: usize = 256;
/// Bytes of runs that a volume keeps.
const KEPT: usize = 2 * (MOST_RUNS * RUN + BESIDE);

/// Where the clusters of a file are: the first byte, and how many bytes follow each other.
pub(crate) type Runs = Arc<Vec<(u64, u64)>>;

/// Where the clusters of a volume are. They have numbers from 2 on.
pub(crate) struct ClusterHeap {
    /// Where cluster 2 begins, in bytes.
    pub(crate) begin: u64,
    /// Bytes of a cluster.
    pub(crate) cluster: u64,
    /// How many clusters there are.
    pub(crate) count: u32,
}

impl ClusterHeap {
    /// Where a cluster begins, in bytes.
    pub(crate) fn place(&self, cluster: u32) -> u64 {
        self.begin + u64::from(cluster.saturating_sub(2)) * self.cluster
    }

    /// Whether the volume has a cluster.
    pub(crate) fn has(&self, cluster: u32) -> bool {
        cluster.checked_sub(2).is_some_and(|number| number < self.count)
    }

    /// Bytes of all clusters.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.count) * self.cluster
    }
}

/// The clusters of a volume, and the table that chains them.
pub(crate) trait ClusterTable {
    /// Where the clusters are.
    fn heap(&self) -> &ClusterHeap;

    /// The cluster behind another one; `None` at the end of a chain.
    ///
    /// # Errors
    ///
    /// The table cannot be read.
    fn next(&self, cluster: u32) -> Result<Option<u32>>;

    /// What is wrong with a cluster.
    fn damaged(&self, cluster: u32, problem: &str) -> Error;
}

/// The runs of files that were read lately, by the first cluster and the length.
pub(crate) struct KeptRuns(Cache<(u32, u64), Runs>);

impl Default for KeptRuns {
    fn default() -> Self {
        Self(Cache::new(KEPT))
    }
}

impl KeptRuns {
    /// The clusters of a chain that have `length` bytes, or fewer if it ends before.
    ///
    /// # Errors
    ///
    /// The chain leads out of the volume or back to itself, or has too many pieces.
    pub(crate) fn chain(&self, table: &impl ClusterTable, first: u32, length: u64) -> Result<Runs> {
        if let Some(known) = self.0.get(&(first, length)) {
            return Ok(known);
        }
        let runs = Arc::new(chain(table, first, length)?);
        self.0.insert((first, length), runs.clone(), runs.len() * RUN + BESIDE);
        Ok(runs)
    }
}

fn chain(table: &impl ClusterTable, first: u32, length: u64) -> Result<Vec<(u64, u64)>> {
    let heap = table.heap();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let (mut at, mut left) = (Some(first), length);
    // A chain that leads back meets a cluster that it was at, which is another one after 1, 2, 4, 8 … steps.
    let (mut seen, mut steps, mut next_seen) = (at, 0u64, 1u64);
    while let Some(cluster) = at.filter(|_| left > 0) {
        if !heap.has(cluster) {
            return Err(table.damaged(cluster, "a chain leads to it, but the volume has no such cluster"));
        }
        let place = heap.place(cluster);
        match runs.last_mut() {
            Some((start, bytes)) if *start + *bytes == place => *bytes += heap.cluster,
            _ => runs.push((place, heap.cluster)),
        }
        if runs.len() > MOST_RUNS {
            return Err(Error::NotSupported(format!("a file in more than {MOST_RUNS} pieces")));
        }
        left = left.saturating_sub(heap.cluster);
        at = table.next(cluster)?;
        if at.is_some() && at == seen {
            return Err(table.damaged(cluster, "it is in a chain that does not end"));
        }
        steps += 1;
        if steps == next_seen {
            (seen, next_seen) = (at, next_seen * 2);
        }
    }
    Ok(runs)
}

/// Reads from `offset` of a file whose clusters are here; returns how many bytes there were.
pub(crate) fn read_runs(
    bytes: &dyn ReadAt,
    runs: &[(u64, u64)],
    offset: u64,
    buffer: &mut [u8],
) -> Result<usize> {
    let (mut skipped, mut filled) = (0, 0);
    for (start, length) in runs {
        if filled == buffer.len() {
            break;
        }
        // The runs before were read, or are before the offset.
        let at = offset.saturating_add(filled as u64).saturating_sub(skipped);
        if at < *length {
            let piece = (buffer.len() - filled).min(usize::try_from(length - at).unwrap_or(usize::MAX));
            bytes.read_at(start + at, &mut buffer[filled..filled + piece])?;
            filled += piece;
        }
        skipped += length;
    }
    Ok(filled)
}
