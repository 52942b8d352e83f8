//! What clients have read and written, of all files of a site.

use resources::caches::StripedCounters;

/// Counters of reads and writes. They are not shared by threads, so a read or write pays a few nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct TrafficCounters {
    all: StripedCounters,
    streams: StripedCounters,
}

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
    /// Of the reads, those of resource forks and other named streams: icons of Macs are in forks.
    pub stream_reads: u64,
    /// Bytes that they returned.
    pub stream_bytes: u64,
}

impl TrafficCounters {
    #[inline]
    pub(crate) fn read(&self, bytes: usize) {
        self.all.add(&[(0, 1), (1, bytes as u64)]);
    }

    #[inline]
    pub(crate) fn read_stream(&self, bytes: usize) {
        self.read(bytes);
        self.streams.add(&[(0, 1), (1, bytes as u64)]);
    }

    #[inline]
    pub(crate) fn written(&self, bytes: usize) {
        self.all.add(&[(2, 1), (3, bytes as u64)]);
    }

    pub(crate) fn sums(&self) -> Traffic {
        let [reads, read_bytes, writes, written_bytes] = [0, 1, 2, 3].map(|counter| self.all.sum(counter));
        let [stream_reads, stream_bytes] = [0, 1].map(|counter| self.streams.sum(counter));
        Traffic { reads, read_bytes, writes, written_bytes, stream_reads, stream_bytes }
    }
}
