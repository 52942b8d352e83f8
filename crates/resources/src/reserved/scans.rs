//! Files that others read from one end to the other while streams are read. What they have passed leaves the page cache again,
//! or one copy of a disk would push out what the streams read next.

use std::collections::HashMap;

use formats::FileId;
use lock::Mutex;

use super::reservation::ByteRange;
use crate::ranks;

/// Files that are followed at a time.
const MOST_FILES: usize = 256;
/// A read that begins so far behind the last one that was not in memory goes on with it: the kernel has read ahead between them.
const FURTHEST: u64 = 16 << 20;
/// Fewer bytes than this stay: they are no scan.
const SHORTEST: u64 = 1 << 20;

/// Where the reads of each file that were not in memory are.
#[derive(Debug, Default)]
pub(super) struct ColdScans(Mutex<HashMap<FileId, ColdScan>, ranks::ColdScans>);

#[derive(Debug, Clone, Copy)]
struct ColdScan {
    /// From here on everything stays in memory so far.
    from: u64,
    /// The end of the last read.
    to: u64,
}

impl ColdScans {
    /// Notes a read that was not in memory. Gives the range before it that was read since the last call, and is passed.
    pub(super) fn note(&self, file: FileId, offset: u64, length: u64) -> Option<ByteRange> {
        let mut scans = self.0.lock();
        if scans.len() >= MOST_FILES && !scans.contains_key(&file) {
            scans.clear(); // those that go on are found again
        }
        let end = offset.saturating_add(length);
        let new = ColdScan { from: offset, to: end };
        let scan = scans.entry(file).or_insert(new);
        if offset < scan.to || offset - scan.to > FURTHEST {
            if (offset, end) != (scan.from, scan.to) {
                *scan = new;
            }
            return None;
        }
        scan.to = end;
        let passed = (scan.from, offset - scan.from);
        (passed.1 >= SHORTEST).then(|| {
            scan.from = offset;
            passed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn file(inode: u64) -> FileId {
        FileId { device: 1, inode }
    }

    #[test]
    fn what_a_scan_has_passed_leaves_the_memory() {
        let scans = ColdScans::default();
        assert_eq!(scans.note(file(1), 0, MIB), None, "it may be read again soon");
        assert_eq!(scans.note(file(1), MIB, MIB), Some((0, MIB)));
        assert_eq!(
            scans.note(file(1), 6 * MIB, MIB),
            Some((MIB, 5 * MIB)),
            "with what the kernel read ahead"
        );
    }

    #[test]
    fn reads_at_random_places_leave_everything_in_memory() {
        let scans = ColdScans::default();
        for offset in [900, 100, 700, 30, 500] {
            assert_eq!(scans.note(file(1), offset * MIB, MIB), None, "{offset}");
        }
    }

    #[test]
    fn the_files_that_are_followed_are_few() {
        let scans = ColdScans::default();
        (0..10 * MOST_FILES as u64).for_each(|inode| assert_eq!(scans.note(file(inode), 0, MIB), None));
        assert!(scans.0.lock().len() <= MOST_FILES);
    }
}
