//! What a client measures while it works.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hdrhistogram::Histogram;

/// The longest latency that is told from longer ones: 100 s, in nanoseconds.
const LONGEST_NS: u64 = 100_000_000_000;
/// Significant digits of latencies.
const DIGITS: u8 = 3;

/// A histogram of latencies in nanoseconds.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_NS, DIGITS).expect("the limits are those of the crate's manual")
}

/// Counts operations and bytes, until it is time to stop.
pub(crate) struct Meter<'a> {
    begun: Instant,
    deadline: Instant,
    stop: &'a AtomicBool,
    measured: MeterReading,
}

/// What was measured.
#[derive(Debug, Clone)]
pub(crate) struct MeterReading {
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) latency: Histogram<u64>,
    /// Pictures of a video that came, and those of them that were late.
    pub(crate) pictures: (u64, u64),
    /// When parts of the work were done, in seconds since it began.
    pub(crate) marks: Vec<(&'static str, f64)>,
    /// The deadline came before the end of the work.
    pub(crate) cut_short: bool,
}

impl Default for MeterReading {
    fn default() -> Self {
        Self {
            operations: 0,
            bytes: 0,
            latency: histogram(),
            pictures: (0, 0),
            marks: Vec::new(),
            cut_short: false,
        }
    }
}

impl MeterReading {
    pub(crate) fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.latency.add(&other.latency).expect("both have the same limits");
        self.pictures = (self.pictures.0 + other.pictures.0, self.pictures.1 + other.pictures.1);
        for (name, seconds) in &other.marks {
            match self.marks.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = known.max(*seconds),
                None => self.marks.push((name, *seconds)),
            }
        }
        self.cut_short |= other.cut_short;
    }
}

impl<'a> Meter<'a> {
    pub(crate) fn new(deadline: Instant, stop: &'a AtomicBool) -> Self {
        Self { begun: Instant::now(), deadline, stop, measured: MeterReading::default() }
    }

    /// Whether another operation may begin.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && Instant::now() < self.deadline
    }

    /// An operation that has ended.
    pub(crate) fn done(&mut self, begun: Instant, bytes: u64) {
        let nanoseconds = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(LONGEST_NS);
        self.measured.latency.saturating_record(nanoseconds);
        self.measured.operations += 1;
        self.measured.bytes += bytes;
    }

    /// Operations without a latency of their own.
    pub(crate) fn add_operations(&mut self, count: u64) {
        self.measured.operations += count;
    }

    /// A part of the work is done. Of several clients the last one counts.
    pub(crate) fn mark(&mut self, name: &'static str) {
        self.measured.marks.push((name, self.begun.elapsed().as_secs_f64()));
    }

    /// A time that is not since the beginning.
    pub(crate) fn note(&mut self, name: &'static str, seconds: f64) {
        self.measured.marks.push((name, seconds));
    }

    /// A picture of a video.
    pub(crate) fn picture(&mut self, late: bool) {
        self.measured.pictures.0 += 1;
        self.measured.pictures.1 += u64::from(late);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.measured.bytes
    }

    pub(crate) fn end(mut self) -> MeterReading {
        self.measured.cut_short = !self.goes_on();
        self.measured
    }
}
