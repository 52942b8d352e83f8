//! Counting of operations. Each thread counts for itself; a scrape adds the threads up.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use conn::observe::{EndedOperation, Observer};
use hashbrown::Equivalent;
use lock::Mutex;

use crate::ranks;

/// The upper bounds of the latency buckets, in microseconds. A last bucket has the rest.
pub(crate) const BOUNDS_US: [u64; 14] =
    [25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_000_000, 10_000_000];
/// Combinations of protocol, command and share. Further ones count for the share [`OTHER`], or for a command of that name.
const MOST_SERIES: usize = 2048;
/// Combinations of protocol and failed result. Further ones count as [`OTHER`].
const MOST_RESULTS: usize = 512;
/// The label of what is beyond a limit.
const OTHER: &str = "(other)";

/// The operations of one command in one share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) nanoseconds: u64,
    /// As [`BOUNDS_US`], and the rest.
    pub(crate) buckets: [u64; BOUNDS_US.len() + 1],
}

impl Series {
    fn count(&mut self, operation: &EndedOperation<'_>, took: Duration) {
        let outcome = &operation.outcome;
        *(if outcome.failed { &mut self.failed } else { &mut self.succeeded }) += 1;
        self.bytes_in += outcome.bytes_in as u64;
        self.bytes_out += outcome.bytes_out as u64;
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds = self.nanoseconds.saturating_add(nanoseconds);
        let at = BOUNDS_US.iter().position(|bound| nanoseconds <= bound * 1000).unwrap_or(BOUNDS_US.len());
        self.buckets[at] += 1;
    }

    /// What was counted after `earlier`, a state of the same counters.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        since.succeeded = since.succeeded.saturating_sub(earlier.succeeded);
        since.failed = since.failed.saturating_sub(earlier.failed);
        since.bytes_in = since.bytes_in.saturating_sub(earlier.bytes_in);
        since.bytes_out = since.bytes_out.saturating_sub(earlier.bytes_out);
        since.nanoseconds = since.nanoseconds.saturating_sub(earlier.nanoseconds);
        for (now, before) in since.buckets.iter_mut().zip(earlier.buckets) {
            *now = now.saturating_sub(before);
        }
        since
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.nanoseconds = self.nanoseconds.saturating_add(other.nanoseconds);
        self.buckets.iter_mut().zip(other.buckets).for_each(|(mine, more)| *mine += more);
    }
}

/// What operations are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) protocol: &'static str,
    pub(crate) command: Cow<'static, str>,
    pub(crate) share: Cow<'static, str>,
}

/// The same, of an operation. Its fields are hashed as those of [`Key`].
#[derive(Hash)]
struct KeyRef<'a> {
    protocol: &'static str,
    command: &'a str,
    share: &'a str,
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        (self.protocol, self.command, self.share) == (key.protocol, &*key.command, &*key.share)
    }
}

/// A protocol and the name of a failed result.
pub(crate) type Failure = (&'static str, Cow<'static, str>);

/// What one thread has counted.
#[derive(Debug, Default)]
struct ThreadCounters {
    series: hashbrown::HashMap<Key, Series>,
    failures: HashMap<Failure, u64>,
}

impl ThreadCounters {
    fn count(&mut self, operation: &EndedOperation<'_>, took: Duration) {
        let share = operation.outcome.share;
        let asked = KeyRef { protocol: operation.protocol, command: operation.command, share };
        if let Some(series) = self.series.get_mut(&asked) {
            series.count(operation, took);
        } else {
            let key = self.limited(&asked);
            self.series.entry(key).or_default().count(operation, took);
        }
        if operation.outcome.failed {
            let result = if self.failures.len() < MOST_RESULTS { operation.outcome.result } else { OTHER };
            let failure = (operation.protocol, Cow::Owned(result.to_owned()));
            *self.failures.entry(failure).or_default() += 1;
        }
    }

    /// The key of an operation that was not counted before.
    fn limited(&self, asked: &KeyRef<'_>) -> Key {
        let has_room = |part: usize| self.series.len() < MOST_SERIES / 4 * part;
        let named = |name: &str, part| {
            if has_room(part) { Cow::Owned(name.to_owned()) } else { Cow::Borrowed(OTHER) }
        };
        Key { protocol: asked.protocol, command: named(asked.command, 4), share: named(asked.share, 3) }
    }

    fn add(&mut self, other: &Self) {
        for (key, series) in &other.series {
            self.series.entry(key.clone()).or_default().add(series);
        }
        for (failure, count) in &other.failures {
            *self.failures.entry(failure.clone()).or_default() += count;
        }
    }
}

/// The operations, and the failed results.
type Sums = (Vec<(Key, Series)>, Vec<(Failure, u64)>);

type Shard = Arc<Mutex<ThreadCounters, ranks::CountedOperations>>;

/// What all threads have counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    shards: Mutex<Vec<Shard>, ranks::CountingThreads>,
    /// The counts of threads that have ended.
    ended: Mutex<ThreadCounters, ranks::CountedOperations>,
}

/// The counts of a thread. They stay when it ends.
struct Mine {
    shard: Shard,
    counts: Arc<Counts>,
}

impl Drop for Mine {
    fn drop(&mut self) {
        let mut shards = self.counts.shards.lock();
        shards.retain(|shard| !Arc::ptr_eq(shard, &self.shard));
        let counted = std::mem::take(&mut *self.shard.lock());
        self.counts.ended.lock().add(&counted);
    }
}

thread_local! {
    static MINE: std::cell::RefCell<Option<Mine>> = const { std::cell::RefCell::new(None) };
}

impl Counts {
    /// The sums, in the order of their labels.
    pub(crate) fn sums(&self) -> Sums {
        let mut sum = ThreadCounters::default();
        let shards = self.shards.lock();
        shards.iter().for_each(|shard| sum.add(&shard.lock()));
        sum.add(&self.ended.lock());
        drop(shards);
        let mut series: Vec<_> = sum.series.into_iter().collect();
        series.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut failures: Vec<_> = sum.failures.into_iter().collect();
        failures.sort();
        (series, failures)
    }

    /// The sums of each protocol.
    pub(crate) fn by_protocol(&self) -> BTreeMap<&'static str, Series> {
        let mut sums: BTreeMap<&'static str, Series> = BTreeMap::new();
        let mut add = |counted: &ThreadCounters| {
            for (key, series) in &counted.series {
                sums.entry(key.protocol).or_default().add(series);
            }
        };
        let shards = self.shards.lock();
        shards.iter().for_each(|shard| add(&shard.lock()));
        add(&self.ended.lock());
        drop(shards);
        sums
    }

    fn shard(self: &Arc<Self>) -> Mine {
        let shard = Shard::default();
        self.shards.lock().push(shard.clone());
        Mine { shard, counts: self.clone() }
    }
}

/// Counts the operations that it is told of.
#[derive(Debug)]
pub(crate) struct Counter(pub(crate) Arc<Counts>);

impl Observer for Counter {
    fn ended(&self, operation: &EndedOperation<'_>, took: Duration) {
        // An operation that ends while its thread ends is not counted.
        let _ = MINE.try_with(|mine| {
            let mut mine = mine.borrow_mut();
            let is_mine = mine.as_ref().is_some_and(|mine| Arc::ptr_eq(&mine.counts, &self.0));
            if !is_mine {
                *mine = Some(self.0.shard());
            }
            if let Some(mine) = &*mine {
                mine.shard.lock().count(operation, took);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use conn::observe::Outcome;

    use super::*;

    fn tell(counter: &Counter, command: &str, share: &str, result: &str, micros: u64) {
        let failed = result != "OK";
        let outcome = Outcome { share, result, failed, bytes_in: 10, bytes_out: 1000, ..Outcome::default() };
        let client = "192.0.2.1:700".parse().unwrap();
        let operation = EndedOperation { protocol: "nfs", client, command, outcome };
        counter.ended(&operation, Duration::from_micros(micros));
    }

    #[test]
    fn threads_are_added_up_also_when_they_have_ended() {
        let counter = Arc::new(Counter(Arc::default()));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let counter = counter.clone();
                std::thread::spawn(move || {
                    for _ in 0..100 {
                        tell(&counter, "READ", "video", "OK", 30);
                    }
                    tell(&counter, "READ", "video", "NFS3ERR_IO", 3_000_000);
                })
            })
            .collect();
        tell(&counter, "READ", "video", "OK", 25);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let (series, failures) = counter.0.sums();
        let [(key, read)] = &series[..] else { panic!("{series:?}") };
        assert_eq!((&*key.command, &*key.share), ("READ", "video"));
        assert_eq!((read.succeeded, read.failed, read.bytes_in, read.bytes_out), (401, 4, 4050, 405_000));
        assert_eq!((read.buckets[0], read.buckets[1], read.buckets[13], read.buckets[14]), (1, 400, 4, 0));
        assert_eq!(read.nanoseconds, (400 * 30 + 4 * 3_000_000 + 25) * 1000);
        assert_eq!(failures, [(("nfs", "NFS3ERR_IO".into()), 4)]);
        assert!(counter.0.shards.lock().len() <= 1, "ended threads have no counts of their own");
    }

    #[test]
    fn names_of_clients_choice_do_not_fill_the_memory() {
        let counter = Counter(Arc::default());
        for number in 0..3 * MOST_SERIES {
            tell(&counter, "READ", &format!("share{number}"), &format!("ERROR{number}"), 1);
            tell(&counter, &format!("COMMAND{number}"), "", "OK", 1);
        }
        let (series, failures) = counter.0.sums();
        assert!(series.len() <= MOST_SERIES + 2, "{}", series.len());
        assert!(failures.len() <= MOST_RESULTS + 1, "{}", failures.len());
        let counted: u64 = series.iter().map(|(_, series)| series.succeeded + series.failed).sum();
        assert_eq!(counted, 6 * MOST_SERIES as u64);
        assert!(series.iter().any(|(key, _)| &*key.command == "READ" && &*key.share == OTHER));
    }
}
