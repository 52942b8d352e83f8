//! The streams of one reservation: which reads are theirs, how fast they may be, what is read ahead for them.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use formats::FileId;
use lock::Mutex;

use super::reservation::{ByteRange, HEADROOM, STREAM_IDLE, StreamRead, StreamReservation};
use crate::ranks;

/// Reads that could be the first ones of streams.
const MOST_CANDIDATES: usize = 64;
/// Reads of one stream that are sent together arrive in any order within so many bytes.
const DISORDER: u64 = 8 << 20;
/// So much of a stream's time is read ahead.
const AHEAD: Duration = Duration::from_secs(1);
/// And at least and at most so many bytes.
const AHEAD_BYTES: (u64, u64) = (4 << 20, 256 << 20);
/// A player that begins fills its memory with this much of its time at any speed.
const BURST: Duration = Duration::from_secs(2);
/// A read that takes no longer than this is never too slow: it is half a picture.
const SHORT: Duration = Duration::from_millis(20);
/// Shorter times say nothing of the disk: others had the processor.
const JITTER: Duration = Duration::from_millis(2);
/// What the last read counts for in the mean.
const NEWEST: f64 = 0.25;

/// The streams of one reservation.
#[derive(Debug)]
pub(super) struct StreamTable {
    reservation: StreamReservation,
    streams: Mutex<Streams, ranks::ReservedStreams>,
}

#[derive(Debug, Default, Clone)]
struct Streams {
    all: Vec<Stream>,
    candidates: VecDeque<Candidate>,
    counts: StreamCounts,
}

/// The beginning of a read that may be a stream.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    file: FileId,
    client: Option<IpAddr>,
    next: u64,
}

/// A stream that is read, or was.
#[derive(Debug, Clone)]
struct Stream {
    file: FileId,
    client: Option<IpAddr>,
    /// The end of what was read.
    next: u64,
    /// The end of what is read ahead.
    ahead_to: u64,
    read: Instant,
    /// Bytes that it may read now with its rights.
    may_read: f64,
    /// When that was counted.
    counted: Instant,
    in_flight: u32,
    /// How long reads take as a part of the time that they play: the mean of the last ones.
    pressure: f64,
    /// The end of its file was read.
    has_ended: bool,
}

/// What the streams of a reservation have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Streams that are read now.
    pub active: usize,
    /// Reads with the rights of a stream.
    pub reads: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Reads that took longer than their bytes play, and longer than half a picture.
    pub late: u64,
    /// The longest time that one took.
    pub longest: Duration,
    /// Reads of streams beyond those that are reserved.
    pub refused: u64,
    /// When a stream was read last.
    pub last: Option<Instant>,
}

/// A read that belongs to a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NotedRead {
    /// The stream among those of its table.
    pub(super) number: usize,
    /// It has the rights of the reservation.
    pub(super) is_within_speed: bool,
    /// What is to be read ahead.
    pub(super) ahead: Option<ByteRange>,
}

impl StreamTable {
    pub(super) fn new(reservation: StreamReservation) -> Self {
        Self { reservation, streams: Mutex::default() }
    }

    pub(super) fn reservation(&self) -> &StreamReservation {
        &self.reservation
    }

    /// Whether its streams can go on under a changed reservation.
    pub(super) fn may_become(&self, other: &StreamReservation) -> bool {
        (self.reservation.speed, self.reservation.streams) == (other.speed, other.streams)
    }

    /// The same streams under a changed reservation.
    pub(super) fn becoming(&self, reservation: StreamReservation) -> Self {
        let mut streams = self.streams.lock().clone();
        streams.all.iter_mut().for_each(|stream| stream.in_flight = 0); // they are counted in the old ones
        Self { reservation, streams: Mutex::new(streams) }
    }

    /// The stream that a read belongs to, which is noted.
    pub(super) fn stream(
        &self,
        read: &StreamRead<'_>,
        client: Option<IpAddr>,
        now: Instant,
    ) -> Option<NotedRead> {
        let streams = &mut *self.streams.lock();
        let near = streams.near(read, client);
        let (number, is_new) = match near {
            Some(number) => (number, false),
            None => {
                let (follows, other) = (streams.follows(read, client), streams.stopped(read, client));
                let place = || streams.place(client, self.reservation.streams as usize, now);
                match (follows.then(place).flatten(), other) {
                    (Some(number), _) => (number, true),
                    (None, Some(number)) => {
                        streams.note_left(number);
                        (number, false)
                    }
                    (None, None) => {
                        streams.counts.refused += u64::from(follows);
                        return None;
                    }
                }
            }
        };
        if is_new {
            let stream = Stream::new(read, client, self.burst(), now);
            match streams.all.get_mut(number) {
                Some(place) => *place = stream,
                None => streams.all.push(stream),
            }
        }
        let (speed, burst) = (self.reservation.speed as f64, self.burst());
        let stream = &mut streams.all[number];
        let (is_within_speed, ahead) =
            (stream.take(read.length, (speed, burst), now), stream.go_on(read, speed));
        if is_within_speed {
            stream.in_flight += 1;
            streams.counts.reads += 1;
            streams.counts.bytes += read.length as u64;
            streams.counts.last = Some(now);
        }
        Some(NotedRead { number, is_within_speed, ahead: ahead.filter(|_| is_within_speed) })
    }

    /// Whether one of its streams reads this file, or has read it last.
    pub(super) fn has(&self, file: FileId) -> bool {
        self.streams.lock().all.iter().any(|stream| stream.file == file)
    }

    /// The end of a file was read.
    pub(super) fn ended(&self, file: FileId, client: Option<IpAddr>) {
        let mut streams = self.streams.lock();
        let is_it = |stream: &&mut Stream| (stream.file, stream.client) == (file, client);
        streams.all.iter_mut().filter(is_it).for_each(|stream| stream.has_ended = true);
    }

    /// A read was answered. Gives how long the reads of its stream take, as a part of the time that their bytes play.
    pub(super) fn served(&self, number: usize, length: usize, took: Duration) -> f64 {
        let streams = &mut *self.streams.lock();
        let Some(stream) = streams.all.get_mut(number) else { return 0.0 };
        // Those that are sent together share the speed.
        let together = f64::from(stream.in_flight.max(1));
        stream.in_flight = stream.in_flight.saturating_sub(1);
        let plays = Duration::from_secs_f64(together * length as f64 / self.reservation.speed.max(1) as f64);
        let part = took.saturating_sub(JITTER).as_secs_f64() / plays.as_secs_f64().max(1e-6);
        stream.pressure += NEWEST * (part - stream.pressure);
        streams.counts.longest = streams.counts.longest.max(took);
        if took > plays.max(SHORT) {
            streams.counts.late += 1;
        }
        stream.pressure.max(took.as_secs_f64() / plays.max(SHORT).as_secs_f64() / 2.0)
    }

    /// A read ended without an answer.
    pub(super) fn dropped(&self, number: usize) {
        if let Some(stream) = self.streams.lock().all.get_mut(number) {
            stream.in_flight = stream.in_flight.saturating_sub(1);
        }
    }

    pub(super) fn counts(&self, now: Instant) -> StreamCounts {
        let streams = self.streams.lock();
        let active = streams.all.iter().filter(|stream| stream.is_active(now)).count();
        StreamCounts { active, ..streams.counts }
    }

    /// Bytes per second that the streams may need that are read now.
    pub(super) fn needed(&self, now: Instant) -> u64 {
        let active = self.counts(now).active as f64;
        (active * self.reservation.speed as f64 * HEADROOM) as u64
    }

    /// The bytes that a stream may read at once.
    fn burst(&self) -> f64 {
        self.reservation.speed as f64 * HEADROOM * BURST.as_secs_f64()
    }
}

impl Streams {
    /// The streams of a file that a client reads.
    fn same(&self, read: &StreamRead<'_>, client: Option<IpAddr>) -> impl Iterator<Item = (usize, &Stream)> {
        let of = (read.file, client);
        self.all.iter().enumerate().filter(move |(_, stream)| (stream.file, stream.client) == of)
    }

    /// The stream that is where a read is. A client may read several streams of one file, such as a LUN.
    fn near(&self, read: &StreamRead<'_>, client: Option<IpAddr>) -> Option<usize> {
        let near = self.same(read, client).filter(|(_, stream)| stream.is_near(read));
        near.min_by_key(|(_, stream)| stream.next.abs_diff(read.offset)).map(|(number, _)| number)
    }

    /// The stream of the same file and client that was not read for longest: it may go on at another place.
    fn stopped(&self, read: &StreamRead<'_>, client: Option<IpAddr>) -> Option<usize> {
        self.same(read, client).min_by_key(|(_, stream)| stream.read).map(|(number, _)| number)
    }

    /// A stream goes on at another place. If the place that it leaves is read on, that is another stream.
    fn note_left(&mut self, number: usize) {
        let Stream { file, client, next, .. } = self.all[number];
        self.note_candidate(Candidate { file, client, next });
    }

    fn note_candidate(&mut self, candidate: Candidate) {
        if self.candidates.len() >= MOST_CANDIDATES {
            self.candidates.pop_front();
        }
        self.candidates.push_back(candidate);
    }

    /// Whether a read goes on with one before. If not, the next one may go on with it.
    fn follows(&mut self, read: &StreamRead<'_>, client: Option<IpAddr>) -> bool {
        let next = read.offset.saturating_add(read.length as u64);
        let is_before = |one: &Candidate| {
            (one.file, one.client) == (read.file, client) && one.next.abs_diff(read.offset) <= DISORDER
        };
        if let Some(at) = self.candidates.iter().position(is_before) {
            self.candidates.remove(at);
            return true;
        }
        self.note_candidate(Candidate { file: read.file, client, next });
        false
    }

    /// Where a new stream of a client may be, if there is a place.
    fn place(&self, client: Option<IpAddr>, most: usize, now: Instant) -> Option<usize> {
        let ended = self.all.iter().position(|stream| stream.client == client && stream.has_ended);
        let free = || (self.all.len() < most).then_some(self.all.len());
        ended.or_else(free).or_else(|| self.all.iter().position(|stream| !stream.is_active(now)))
    }
}

impl Stream {
    fn new(read: &StreamRead<'_>, client: Option<IpAddr>, burst: f64, now: Instant) -> Self {
        Self {
            file: read.file,
            client,
            next: read.offset,
            ahead_to: read.offset,
            read: now,
            may_read: burst,
            counted: now,
            in_flight: 0,
            pressure: 0.0,
            has_ended: false,
        }
    }

    fn is_active(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.read) < STREAM_IDLE
    }

    /// Takes the bytes of a read from those that it may read. False: it is faster than what is reserved.
    fn take(&mut self, length: usize, (speed, burst): (f64, f64), now: Instant) -> bool {
        let since = now.saturating_duration_since(self.counted).as_secs_f64();
        self.may_read = (self.may_read + since * speed * HEADROOM).min(burst);
        self.counted = now;
        let is_enough = self.may_read >= length as f64;
        self.may_read -= if is_enough { length as f64 } else { 0.0 };
        self.read = now;
        is_enough
    }

    /// Whether a read is where it is now, or within what is read ahead.
    fn is_near(&self, read: &StreamRead<'_>) -> bool {
        let end = read.offset.saturating_add(read.length as u64);
        end >= self.next.saturating_sub(DISORDER) && read.offset <= self.ahead_to.saturating_add(DISORDER)
    }

    /// Notes where it is now. Gives what is to be read ahead.
    fn go_on(&mut self, read: &StreamRead<'_>, speed: f64) -> Option<ByteRange> {
        let end = read.offset.saturating_add(read.length as u64);
        let window = ((speed * AHEAD.as_secs_f64()) as u64).clamp(AHEAD_BYTES.0, AHEAD_BYTES.1);
        self.has_ended = false;
        if !self.is_near(read) {
            (self.next, self.ahead_to) = (read.offset, read.offset); // it goes on at another place
        }
        self.next = self.next.max(end);
        if self.ahead_to >= self.next.saturating_add(window / 2) {
            return None;
        }
        let from = self.ahead_to.max(end);
        self.ahead_to = self.next.saturating_add(window);
        Some((from, self.ahead_to - from))
    }
}
