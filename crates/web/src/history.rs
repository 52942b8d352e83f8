//! The throughput and latency of the last minutes by the second, and of the last day by the minute.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::metrics::{BOUNDS_US, Series};
use crate::ranks;
use lock::Mutex;

/// Points of one second each: ten minutes.
const SECONDS: usize = 600;
/// Points of one minute each: a day.
const MINUTES: usize = 24 * 60;
/// The most protocols with a history.
const MOST_PROTOCOLS: usize = 8;
/// How often the counters are read.
pub(crate) const EVERY: Duration = Duration::from_secs(1);

/// The operations of a protocol in one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Point {
    operations: u32,
    failed: u32,
    bytes_in: u64,
    bytes_out: u64,
    mean_us: u32,
    p99_us: u32,
}

impl Point {
    fn of(step: &Series) -> Self {
        let operations = step.succeeded + step.failed;
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            operations: small(operations),
            failed: small(step.failed),
            bytes_in: step.bytes_in,
            bytes_out: step.bytes_out,
            mean_us: small((step.nanoseconds / 1000).checked_div(operations).unwrap_or(0)),
            p99_us: small(p99_us(step, operations)),
        }
    }
}

/// The upper bound of the bucket that has the operation that is slower than 99 of 100.
fn p99_us(step: &Series, operations: u64) -> u64 {
    if operations == 0 {
        return 0;
    }
    let wanted = operations - operations / 100;
    let sums = step.buckets.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    let at = sums.take_while(|sum| *sum < wanted).count();
    BOUNDS_US.get(at).copied().unwrap_or(2 * BOUNDS_US[BOUNDS_US.len() - 1])
}

/// What is kept of a protocol.
#[derive(Debug, Default)]
struct ProtocolHistory {
    seconds: VecDeque<Point>,
    minutes: VecDeque<Point>,
    /// The counters at the last second, and at the last minute.
    last: Series,
    last_minute: Series,
}

#[derive(Debug, Default)]
struct HistoryState {
    /// Seconds since the history began.
    ticks: u64,
    protocols: BTreeMap<&'static str, ProtocolHistory>,
}

/// The history of all protocols. It takes about 65 KiB for each.
#[derive(Debug, Default)]
pub(crate) struct History {
    state: Mutex<HistoryState, ranks::ThroughputHistory>,
}

/// Which part of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// Ten minutes, by the second.
    Minutes,
    /// A day, by the minute.
    Day,
}

/// The history of all protocols. All lists have the same length; their last elements are of the newest step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Throughput {
    /// Seconds of a step.
    step_s: u64,
    /// The number of the newest step. With `after`, only later steps are sent.
    last: u64,
    /// By protocol.
    protocols: BTreeMap<&'static str, Columns>,
}

/// The steps of one protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Columns {
    /// Operations that ended.
    operations: Vec<u32>,
    /// Those of them that failed.
    failed: Vec<u32>,
    /// Bytes of requests.
    bytes_in: Vec<u64>,
    /// Bytes of replies.
    bytes_out: Vec<u64>,
    /// The mean latency in microseconds.
    mean_us: Vec<u32>,
    /// The latency that 99 of 100 operations did not exceed, in microseconds: the upper bound of a bucket.
    p99_us: Vec<u32>,
}

impl History {
    /// Adds a second with the counters as they are now.
    pub(crate) fn tick(&self, now: &BTreeMap<&'static str, Series>) {
        let mut state = self.state.lock();
        state.ticks += 1;
        let is_minute = state.ticks.is_multiple_of(60);
        for (protocol, series) in now {
            if state.protocols.len() < MOST_PROTOCOLS || state.protocols.contains_key(protocol) {
                state.protocols.entry(protocol).or_default().add(series, is_minute);
            }
        }
    }

    /// The steps after `after`, the number of a step.
    pub(crate) fn since(&self, span: Span, after: u64) -> Throughput {
        let state = self.state.lock();
        let (step_s, most) = match span {
            Span::Minutes => (1, SECONDS),
            Span::Day => (60, MINUTES),
        };
        let last = state.ticks / step_s;
        // A number from before a restart of the server asks for everything.
        let wanted = last.checked_sub(after).unwrap_or(last);
        let count = usize::try_from(wanted).unwrap_or(most).min(most);
        let columns = |kept: &ProtocolHistory| {
            let points = if span == Span::Minutes { &kept.seconds } else { &kept.minutes };
            Columns::of(points, count)
        };
        let protocols = state.protocols.iter().map(|(name, kept)| (*name, columns(kept))).collect();
        Throughput { step_s, last, protocols }
    }
}

impl ProtocolHistory {
    fn add(&mut self, now: &Series, is_minute: bool) {
        push(&mut self.seconds, SECONDS, Point::of(&now.since(&self.last)));
        self.last = now.clone();
        if is_minute {
            push(&mut self.minutes, MINUTES, Point::of(&now.since(&self.last_minute)));
            self.last_minute = now.clone();
        }
    }
}

fn push(points: &mut VecDeque<Point>, most: usize, point: Point) {
    if points.len() >= most {
        points.pop_front();
    }
    points.push_back(point);
}

impl Columns {
    /// The newest points. A protocol that has fewer had no operations before.
    fn of(points: &VecDeque<Point>, count: usize) -> Self {
        let missing = count.saturating_sub(points.len());
        let nothing = std::iter::repeat_n(Point::default(), missing);
        let known = points.iter().skip(points.len().saturating_sub(count)).copied();
        let points: Vec<Point> = nothing.chain(known).collect();
        let small = |of: fn(&Point) -> u32| points.iter().map(of).collect();
        let large = |of: fn(&Point) -> u64| points.iter().map(of).collect();
        Self {
            operations: small(|point| point.operations),
            failed: small(|point| point.failed),
            bytes_in: large(|point| point.bytes_in),
            bytes_out: large(|point| point.bytes_out),
            mean_us: small(|point| point.mean_us),
            p99_us: small(|point| point.p99_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(fast: u64, slow: u64) -> Series {
        let mut series = Series { succeeded: fast, failed: slow, bytes_out: fast * 10, ..Series::default() };
        series.nanoseconds = fast * 20_000 + slow * 80_000_000;
        (series.buckets[0], series.buckets[10]) = (fast, slow);
        series
    }

    fn tick(history: &History, protocol: &'static str, series: Series) {
        history.tick(&[(protocol, series)].into());
    }

    #[test]
    fn a_second_has_what_was_counted_since_the_one_before() {
        let history = History::default();
        tick(&history, "smb", counters(90, 0));
        tick(&history, "smb", counters(188, 2));
        history.tick(&[("nfs", counters(5, 0)), ("smb", counters(188, 2))].into());
        let all = history.since(Span::Minutes, 0);
        assert_eq!((all.last, all.protocols.len()), (3, 2));
        let smb = &all.protocols["smb"];
        assert_eq!((&smb.operations[..], &smb.failed[..]), (&[90, 100, 0][..], &[0, 2, 0][..]));
        assert_eq!(smb.bytes_out, [900, 980, 0]);
        assert_eq!((&smb.mean_us[..], &smb.p99_us[..]), (&[20, 1619, 0][..], &[25, 100_000, 0][..]));
        assert_eq!(all.protocols["nfs"].operations, [0, 0, 5], "it had none before");
        let new = history.since(Span::Minutes, 2);
        assert_eq!((new.last, &new.protocols["nfs"].operations[..]), (3, &[5][..]));
        assert_eq!(history.since(Span::Minutes, 3).protocols["nfs"].operations, [0_u32; 0]);
        assert_eq!(history.since(Span::Minutes, 700), all, "from before a restart");
    }

    #[test]
    fn minutes_are_added_up_and_nothing_grows_without_limit() {
        let history = History::default();
        for second in 1..=2 * SECONDS as u64 {
            tick(&history, "smb", counters(second, 0));
        }
        let (seconds, day) = (history.since(Span::Minutes, 0), history.since(Span::Day, 0));
        assert_eq!((seconds.step_s, seconds.protocols["smb"].operations.len()), (1, SECONDS));
        assert_eq!((day.step_s, day.last, &day.protocols["smb"].operations), (60, 20, &vec![60; 20]));
        for number in 0..100 {
            tick(&history, Box::leak(format!("protocol{number}").into_boxed_str()), counters(1, 0));
        }
        assert_eq!(history.since(Span::Minutes, 0).protocols.len(), MOST_PROTOCOLS);
    }
}
