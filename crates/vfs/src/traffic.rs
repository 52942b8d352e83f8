//! What clients have read and written, of all files of a site.

use resources::caches::StripedCounters;

/// Counters of reads and writes. They are not shared by threads, so a read or write pays a few nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct TrafficCounters(StripedCounters);

/// What was read and written since the server began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Reads of file data.
    pub reads: u64,
    /// Bytes that they returned.
    pub read_bytes: u64,
    /// Writes of file data.
    pub writes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
}

impl TrafficCounters {
    #[inline]
    pub(crate) fn read(&self, bytes: usize) {
        self.0.add(&[(0, 1), (1, bytes as u64)]);
    }

    #[inline]
    pub(crate) fn written(&self, bytes: usize) {
        self.0.add(&[(2, 1), (3, bytes as u64)]);
    }

    pub(crate) fn sums(&self) -> Traffic {
        let [reads, read_bytes, writes, written_bytes] = [0, 1, 2, 3].map(|counter| self.0.sum(counter));
        Traffic { reads, read_bytes, writes, written_bytes }
    }
}
