//! What others have written while streams are reserved, and what of it is not on the disk yet.
//!
//! ```text
//! a write ─► the queue ─► a few threads have the disk write a piece, and wait until it is there ─► it is on the disk
//!               └─ too long: writers wait until it is shorter
//! ```
//!
//! Without that the writes gather in the memory of the host, which gives the disk hundreds of megabytes at once: a read then waits
//! for seconds. Threads that only begin to write wait for the disk, too, so each write must not have one of its own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use formats::FileId;
use lock::Mutex;
use tokio::sync::Notify;

use super::reservation::ByteRange;
use crate::ranks;

/// Pieces that the disk writes at a time. Its own queue stays short, so that a read waits for few of them.
const PIECES: usize = 4;
/// Writes that follow each other become one piece up to this length.
const LONGEST_PIECE: u64 = 4 << 20;
/// Pieces that wait. The host writes more of them in its own time, as it does without reserved streams.
const MOST_PIECES: usize = 4_096;
/// Writers wait while more bytes than this are not on the disk.
const MOST: u64 = 32 << 20;

/// Writes that are not on the disk yet, in their order.
#[derive(Default)]
pub struct WriteBacklog {
    queue: Mutex<PieceQueue, ranks::WriteBacklog>,
    /// Bytes of all pieces, also of those that are being written.
    bytes: AtomicU64,
    /// Rung when a piece is on the disk.
    written: Notify,
}

#[derive(Default)]
struct PieceQueue {
    pieces: VecDeque<Piece>,
    /// Threads that write.
    threads: usize,
}

/// A range of a file, and what puts it on the disk.
struct Piece {
    file: FileId,
    range: ByteRange,
    write: Box<dyn FnOnce(ByteRange) + Send>,
}

impl std::fmt::Debug for WriteBacklog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteBacklog").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl WriteBacklog {
    /// A range of a file is to be put on the disk by this call, which waits for that. The range that the call gets may be longer:
    /// writes that follow each other are put there together.
    pub fn add(
        self: &Arc<Self>,
        file: FileId,
        (offset, length): ByteRange,
        write: impl FnOnce(ByteRange) + Send + 'static,
    ) {
        let mut queue = self.queue.lock();
        if queue.pieces.len() >= MOST_PIECES {
            return;
        }
        self.bytes.fetch_add(length, Ordering::Relaxed);
        let follows = |piece: &&mut Piece| {
            let (begin, before) = piece.range;
            piece.file == file && begin + before == offset && before + length <= LONGEST_PIECE
        };
        match queue.pieces.iter_mut().rev().find(follows) {
            Some(piece) => {
                piece.range.1 += length;
                return;
            }
            None => queue.pieces.push_back(Piece { file, range: (offset, length), write: Box::new(write) }),
        }
        if queue.threads == PIECES {
            return;
        }
        queue.threads += 1;
        drop(queue);
        let me = self.clone();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || me.write_all())),
            Err(_) => me.write_all(), // tests
        }
    }

    /// Bytes that are not on the disk yet.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Waits until it is no longer than its bound, at most for so long. Gives how long that took.
    pub(super) async fn shortened(&self, longest: Duration) -> Duration {
        let begun = Instant::now();
        let shorter = async {
            loop {
                let written = self.written.notified();
                if self.bytes() <= MOST {
                    return;
                }
                written.await;
            }
        };
        if self.bytes() <= MOST {
            return Duration::ZERO;
        }
        let _ = tokio::time::timeout(longest, shorter).await; // a disk that stands still must not stop clients
        begun.elapsed()
    }

    /// Writes pieces until none is left.
    fn write_all(&self) {
        while let Some(Piece { range, write, .. }) = self.next() {
            write(range);
            self.bytes.fetch_sub(range.1, Ordering::Relaxed);
            self.written.notify_waiters();
        }
    }

    fn next(&self) -> Option<Piece> {
        let mut queue = self.queue.lock();
        let piece = queue.pieces.pop_front();
        queue.threads -= usize::from(piece.is_none());
        piece
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const MIB: u64 = 1 << 20;
    /// Longer than any test: who waits for so long has not been woken.
    const NEVER: Duration = Duration::from_secs(3600);

    fn file(inode: u64) -> FileId {
        FileId { device: 1, inode }
    }

    /// A disk that writes nothing before it is released.
    struct StuckDisk {
        backlog: Arc<WriteBacklog>,
        /// Its threads wait until this is gone.
        gate: Option<Sender<()>>,
    }

    impl StuckDisk {
        fn new() -> Self {
            let (backlog, (gate, closed)) = (Arc::<WriteBacklog>::default(), channel());
            let closed = Arc::new(std::sync::Mutex::new(closed));
            for number in 0..PIECES as u64 {
                let closed = closed.clone();
                let wait = move |_| {
                    let _ = closed.lock().unwrap().recv();
                };
                backlog.add(file(1000 + number), (0, 1), wait);
            }
            Self { backlog, gate: Some(gate) }
        }

        /// Adds ranges of files. Gives the pieces that the disk writes once it is released.
        fn add(&self, ranges: &[(u64, ByteRange)]) -> Receiver<(u64, ByteRange)> {
            let (written, pieces) = channel();
            for (inode, range) in ranges.iter().copied() {
                let written = written.clone();
                let write = move |range| {
                    let _ = written.send((inode, range)); // the test may be over
                };
                self.backlog.add(file(inode), range, write);
            }
            pieces
        }

        fn release(&mut self) {
            self.gate = None;
        }
    }

    #[tokio::test]
    async fn writes_that_follow_each_other_are_written_together() {
        let mut disk = StuckDisk::new();
        let pieces = disk.add(&[
            (1, (0, MIB)),
            (2, (0, MIB)),
            (1, (MIB, MIB)),
            (1, (9 * MIB, MIB)),
            (2, (MIB, 3 * MIB)),
            (2, (4 * MIB, 1)),
        ]);
        disk.release();
        let mut written: Vec<_> = pieces.iter().collect(); // until all pieces are gone
        written.sort_unstable();
        let apart = (1, (9 * MIB, MIB));
        assert_eq!(written, [(1, (0, 2 * MIB)), apart, (2, (0, 4 * MIB)), (2, (4 * MIB, 1))]);
    }

    #[tokio::test]
    async fn writers_wait_until_the_disk_has_written_enough() {
        let mut disk = StuckDisk::new();
        let pieces = disk.add(&[(1, (0, MOST))]);
        assert!(disk.backlog.bytes() > MOST);
        let backlog = disk.backlog.clone();
        let waiting = tokio::spawn(async move {
            backlog.shortened(NEVER).await;
            backlog.bytes()
        });
        disk.release();
        assert!(waiting.await.unwrap() <= MOST);
        assert_eq!(pieces.iter().count(), 1);
        assert_eq!(disk.backlog.shortened(NEVER).await, Duration::ZERO, "the rest needs no wait");
    }

    #[tokio::test]
    async fn writers_do_not_wait_forever_for_a_disk_that_stands_still() {
        let mut disk = StuckDisk::new();
        let _pieces = disk.add(&[(1, (0, MOST))]);
        let bound = Duration::from_millis(1);
        assert!(disk.backlog.shortened(bound).await >= bound);
        assert!(disk.backlog.bytes() > MOST);
        disk.release();
    }
}
