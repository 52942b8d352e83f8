//! What is reserved for streams of a known speed: who reads them, and how others make room for them.
//!
//! ```text
//! a read ─► whose reservation? ─► the second of two that follow each other ─► a stream, one of those that are reserved
//!                                                                               │
//!   conn: its connection goes first, others wait a little ◄── OthersPace ◄──────┤ how long each read took
//!   vfs:  its file is read ahead, what others read once leaves the page cache ◄─┤
//!         what others write goes to the disk piece by piece ◄── WriteBacklog ◄──┘
//! ```
//!
//! A stream has rights up to its own speed only: what a client reads beyond that is as any other read. Without a reservation a
//! read costs one relaxed load.

mod backlog;
mod clock;
mod others;
mod reader;
mod reservation;
mod scans;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use formats::FileId;
use lock::RwLock;

use crate::ranks;

pub use self::backlog::WriteBacklog;
use self::clock::nanos;
use self::others::LONGEST_WAIT;
pub use self::others::OthersPace;
pub use self::reader::{StreamService, while_reading};
pub use self::reservation::{ByteRange, HEADROOM, STREAM_IDLE, StreamFilter, StreamRead, StreamReservation};
use self::scans::ColdScans;
pub use self::stream::StreamCounts;
use self::stream::StreamTable;

/// Others make room for so long after the last read of a stream. Players pause between the pictures that they read ahead.
const ROOM_FOR: Duration = Duration::from_secs(2);
/// How often it is counted what the streams need that are read.
const RECOUNT_EVERY: Duration = Duration::from_millis(500);
/// Shorter reads are no stream's: they are of catalogues, indexes and previews.
const SHORTEST_READ: usize = 32 * 1024;

/// The reservations of a server, and the streams that are read now.
#[derive(Debug, Default)]
pub struct ReservedStreams {
    is_on: AtomicBool,
    tables: RwLock<Vec<Arc<StreamTable>>, ranks::StreamReservations>,
    others: OthersPace,
    scans: ColdScans,
    backlog: Arc<WriteBacklog>,
    /// Until when others make room, in nanoseconds of [`nanos`].
    room_until: AtomicU64,
    /// When it is counted again what streams need.
    recount_at: AtomicU64,
}

impl ReservedStreams {
    /// Keeps these reservations and no others. Streams of reservations that stay go on. `capacity`: bytes per second that were
    /// measured for all streams and all others together.
    pub fn keep(&self, reservations: Vec<StreamReservation>, capacity: Option<u64>) {
        let mut tables = self.tables.write();
        let keep = |reservation: StreamReservation| {
            let known = tables.iter().find(|table| table.reservation().id == reservation.id);
            match known.filter(|known| known.may_become(&reservation)) {
                Some(known) if *known.reservation() == reservation => known.clone(),
                Some(known) => Arc::new(known.becoming(reservation)),
                None => Arc::new(StreamTable::new(reservation)),
            }
        };
        *tables = reservations.into_iter().map(keep).collect();
        self.is_on.store(!tables.is_empty(), Ordering::Release);
        drop(tables);
        self.others.set_capacity(capacity);
    }

    /// Ends these reservations.
    pub fn release(&self, ids: &[u64]) {
        let mut tables = self.tables.write();
        tables.retain(|table| !ids.contains(&table.reservation().id));
        self.is_on.store(!tables.is_empty(), Ordering::Release);
    }

    /// Whether there are reservations.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Whether others make room now: a stream was read lately.
    pub fn is_read(&self, now: Instant) -> bool {
        self.is_on() && nanos(now) < self.room_until.load(Ordering::Relaxed)
    }

    /// How fast others may be.
    pub fn others(&self) -> &OthersPace {
        &self.others
    }

    /// Notes a read before it is executed. If it is a stream's, the connection that it came by goes first, and this gives the
    /// range of the file that is to be read ahead, if it is time for that.
    pub fn note(self: &Arc<Self>, read: &StreamRead<'_>, now: Instant) -> Option<ByteRange> {
        if !self.is_on() || read.length < SHORTEST_READ {
            return None;
        }
        let client = read.client.or_else(reader::client);
        let tables = self.tables.read();
        let mut of_read = tables.iter().filter(|table| table.reservation().of.has(read, client));
        let (table, stream) = of_read.find_map(|table| Some((table, table.stream(read, client, now)?)))?;
        if !stream.is_within_speed {
            return None;
        }
        self.room_until.store(nanos(now + ROOM_FOR), Ordering::Relaxed);
        if nanos(now) >= self.recount_at.load(Ordering::Relaxed) {
            self.recount_at.store(nanos(now + RECOUNT_EVERY), Ordering::Relaxed);
            self.others.leave(tables.iter().map(|table| table.needed(now)).sum());
        }
        reader::serve(StreamService::new(self.clone(), table.clone(), (stream.number, read.length), now));
        stream.ahead
    }

    /// A stream has been read to the end of its file: the next file of the same client takes its place.
    pub fn note_end(&self, read: &StreamRead<'_>) {
        let client = read.client.or_else(reader::client);
        self.tables.read().iter().for_each(|table| table.ended(read.file, client));
    }

    /// Others have read a range that was not in memory, while streams are read. Gives what of the file they have passed, and
    /// is to leave the memory again.
    pub fn passed(&self, file: FileId, offset: u64, length: usize, now: Instant) -> Option<ByteRange> {
        if !self.is_read(now) || self.tables.read().iter().any(|table| table.has(file)) {
            return None;
        }
        self.scans.note(file, offset, length as u64)
    }

    /// What others have written that is not on the disk yet.
    pub fn backlog(&self) -> &Arc<WriteBacklog> {
        &self.backlog
    }

    /// Waits so that streams go first. Others have moved so many bytes; `written`: most of them were written. What is written must not
    /// gather while no stream is read, either: the next one would begin late.
    pub async fn pause(&self, bytes: usize, written: bool, now: Instant) {
        let wait = if self.is_read(now) { self.others.charge(bytes, now) } else { Duration::ZERO };
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        if written {
            self.others.note_wait(self.backlog.shortened(LONGEST_WAIT.saturating_sub(wait)).await);
        }
    }

    /// The time that a thread of the server's own, which has read so many bytes, rests now, so that streams go first.
    pub fn rest(&self, bytes: usize, now: Instant) -> Duration {
        if self.is_read(now) { self.others.charge(bytes, now) } else { Duration::ZERO }
    }

    /// What the streams of each reservation have done, by the numbers of the reservations.
    pub fn counts(&self, now: Instant) -> Vec<(u64, StreamCounts)> {
        self.tables.read().iter().map(|table| (table.reservation().id, table.counts(now))).collect()
    }
}

#[cfg(test)]
mod tests;
