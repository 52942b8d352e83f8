//! A ghost list: which part of a cache's look-ups would be hits if the cache had another size.
//!
//! It simulates an LRU list four times as large as the cache, with a sample of the keys: those whose hash is below a
//! threshold (SHARDS: Waldspurger and others, "Efficient MRC Construction with SHARDS", FAST 2015). A look-up of a sampled
//! key needs the sum of the sizes of the sampled keys that were used since its last look-up, divided by the sampling rate.
//! The look-up is a hit in every cache that is as large as that. When the list has [`MOST`] keys, the rate is halved. So
//! the list takes 16 KiB however many keys there are, and most look-ups cost one comparison.
//!
//! The sample has more or fewer of the often used keys than it should have. The number of sampled look-ups that differ from
//! the expected number is added to those with the shortest distance (SHARDS-adj, section 3.3 of the paper).

/// The sizes that are predicted, relative to the limit of the cache: in quarters of it.
pub const SIZES: [u64; 4] = [2, 4, 8, 16];
/// Keys in the list.
const MOST: usize = 1_024;
/// Tags that are compared at once, without a branch for each.
const CHUNK: usize = 32;
/// The rate at which every key is sampled.
const ALL: u64 = 1 << 32;
/// Look-ups before which no prediction is made.
const FEWEST: f64 = 100.0;
/// Look-ups after which older ones count half.
const HALVE_AFTER: f64 = 1_000_000.0;

/// Hit ratios that are predicted for other sizes of a cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitPrediction {
    /// With half the limit.
    pub half: f64,
    /// With the limit of now, for comparison with the measured ratio.
    pub same: f64,
    /// With twice the limit.
    pub double: f64,
    /// With four times the limit.
    pub four_times: f64,
}

/// The list. Its owner guards it by a lock that it has anyway, or by one that it only tries to take.
#[derive(Debug)]
pub struct Ghost {
    /// Keys whose hash is below this are sampled.
    threshold: u64,
    /// The sampled keys, the last used ones last.
    recent: Recent,
    limit: u64,
    /// Sampled look-ups that are hits at each of [`SIZES`].
    hits: [f64; 4],
    /// Sampled look-ups.
    sampled: f64,
    /// Look-ups times the rate that was in force: how many should have been sampled.
    expected: f64,
}

impl Ghost {
    /// The list of a cache with this limit.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { threshold: ALL, recent: Recent::default(), limit, hits: [0.0; 4], sampled: 0.0, expected: 0.0 }
    }

    /// The cache has another limit. What was predicted for the old one is forgotten.
    pub fn limit_to(&mut self, limit: u64) {
        if limit != self.limit {
            self.limit = limit;
            (self.hits, self.sampled, self.expected) = ([0.0; 4], 0.0, 0.0);
        }
    }

    /// A look-up of the key with this hash, of which all 64 bits must vary, whose entry has this size. `stale`: the entry
    /// has changed since it was looked up last, so no cache of any size would have answered.
    pub fn look_up(&mut self, hash: u64, size: u64, stale: bool) {
        self.expected += self.rate();
        if hash >> 32 >= self.threshold {
            return;
        }
        self.sampled += 1.0;
        if let Some(at) = self.recent.position(hash as u32) {
            let needed = self.recent.later(at) as f64 / self.rate() + size as f64;
            if !stale {
                for (hits, quarters) in self.hits.iter_mut().zip(SIZES) {
                    *hits += f64::from(u8::from(needed <= self.limit as f64 / 4.0 * quarters as f64));
                }
            }
            self.recent.remove(at);
        }
        self.recent.push(hash, size);
        self.trim();
        self.age();
    }

    /// The predicted hit ratios. `None` before there are enough look-ups.
    #[must_use]
    pub fn predicted(&self) -> Option<HitPrediction> {
        if self.expected < FEWEST || self.sampled < 1.0 {
            return None;
        }
        let missing = self.expected - self.sampled;
        let [half, same, double, four_times] =
            self.hits.map(|hits| ((hits + missing) / self.expected).clamp(0.0, 1.0));
        Some(HitPrediction { half, same, double, four_times })
    }

    fn rate(&self) -> f64 {
        self.threshold as f64 / ALL as f64
    }

    /// When the list is full: drops keys that no size has room for, and samples fewer keys if there are still too many.
    fn trim(&mut self) {
        if self.recent.tags.len() <= MOST {
            return;
        }
        let room = self.limit as f64 / 4.0 * SIZES[3] as f64 * self.rate();
        self.recent.keep_last(room as u64);
        while self.recent.tags.len() > MOST - MOST / 8 && self.threshold > 1 {
            self.threshold /= 2;
            self.recent.keep_below(self.threshold);
            self.scale(0.5);
        }
    }

    /// Older look-ups count less, so that the prediction follows what clients do.
    fn age(&mut self) {
        if self.expected > HALVE_AFTER * self.rate() {
            self.scale(0.5);
        }
    }

    fn scale(&mut self, by: f64) {
        self.hits.iter_mut().chain([&mut self.sampled, &mut self.expected]).for_each(|count| *count *= by);
    }
}

/// Keys in the order of their last use. The parts of a key are in arrays of their own: the search for a tag and the sum of
/// sizes then take many at once.
#[derive(Debug, Default)]
struct Recent {
    /// The lower half of the hash.
    tags: Vec<u32>,
    /// The upper half, which decides whether the key is sampled.
    samples: Vec<u32>,
    sizes: Vec<u64>,
}

impl Recent {
    /// Where a key is: the one that was used last, if two have the tag.
    fn position(&self, tag: u32) -> Option<usize> {
        let mut end = self.tags.len();
        for chunk in self.tags.rchunks(CHUNK) {
            if chunk.iter().fold(false, |found, other| found | (*other == tag)) {
                let start = end - chunk.len();
                return chunk.iter().rposition(|other| *other == tag).map(|at| start + at);
            }
            end -= chunk.len();
        }
        None
    }

    /// The sum of the sizes of the keys that were used later than this one.
    fn later(&self, at: usize) -> u64 {
        self.sizes[at + 1..].iter().sum()
    }

    fn remove(&mut self, at: usize) {
        self.tags.remove(at);
        self.samples.remove(at);
        self.sizes.remove(at);
    }

    fn push(&mut self, hash: u64, size: u64) {
        self.tags.push(hash as u32);
        self.samples.push((hash >> 32) as u32);
        self.sizes.push(size);
    }

    /// Drops the keys that were used first, until the others have at most so many bytes.
    fn keep_last(&mut self, room: u64) {
        let mut sum = 0_u64;
        let fits = |size: &&u64| {
            sum = sum.saturating_add(**size);
            sum <= room
        };
        let stay = self.sizes.iter().rev().take_while(fits).count().max(1);
        let go = self.sizes.len() - stay;
        self.tags.drain(..go);
        self.samples.drain(..go);
        self.sizes.drain(..go);
    }

    /// Drops the keys that are not sampled any more.
    fn keep_below(&mut self, threshold: u64) {
        let stays: Vec<bool> = self.samples.iter().map(|sample| u64::from(*sample) < threshold).collect();
        let kept = |at: &mut usize| {
            *at += 1;
            stays[*at - 1]
        };
        let (mut tag, mut sample, mut size) = (0, 0, 0);
        self.tags.retain(|_| kept(&mut tag));
        self.samples.retain(|_| kept(&mut sample));
        self.sizes.retain(|_| kept(&mut size));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// The greatest difference between a predicted ratio and that of an exact LRU list of that size. Measured: 0.030 at most,
    /// 0.009 on average.
    const BOUND: f64 = 0.04;

    /// The hit ratios of exact LRU lists of so many bytes each. A look-up is a hit where the entry and all that were used
    /// since its last look-up fit; their sum comes from a Fenwick tree over the times of the last look-ups.
    fn exact(trace: &[(u64, u64)], limits: [u64; 4]) -> [f64; 4] {
        let (mut tree, mut last, mut hits) = (vec![0_u64; trace.len() + 1], HashMap::new(), [0; 4]);
        let add = |tree: &mut Vec<u64>, at: usize, size: u64| {
            let mut at = at + 1;
            while at < tree.len() {
                tree[at] = tree[at].wrapping_add(size);
                at += at & at.wrapping_neg();
            }
        };
        let sum = |tree: &[u64], before: usize| {
            let (mut at, mut sum) = (before, 0_u64);
            while at > 0 {
                sum = sum.wrapping_add(tree[at]);
                at -= at & at.wrapping_neg();
            }
            sum
        };
        for (now, (key, size)) in trace.iter().enumerate() {
            if let Some(then) = last.insert(*key, now) {
                let needed = sum(&tree, now).wrapping_sub(sum(&tree, then));
                hits.iter_mut().zip(limits).for_each(|(hits, limit)| *hits += u64::from(needed <= limit));
                add(&mut tree, then, size.wrapping_neg());
            }
            add(&mut tree, now, *size);
        }
        hits.map(|hits| hits as f64 / trace.len() as f64)
    }

    fn mixed(key: u64) -> u64 {
        let mut x = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Random numbers of [0, 1), the same in each run.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(1);
            (mixed(self.0) >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// Keys of 0..count: the smaller ones are used more often, by a power law with this exponent.
    fn zipf(count: usize, exponent: f64, length: usize, random: &mut Random) -> Vec<u64> {
        let mut sums: Vec<f64> = Vec::new();
        for rank in 1..=count {
            sums.push(sums.last().unwrap_or(&0.0) + (rank as f64).powf(-exponent));
        }
        let total = sums[count - 1];
        let pick = |at: f64| sums.partition_point(|sum| *sum < at * total) as u64;
        (0..length).map(|_| pick(random.next())).collect()
    }

    fn compare(name: &str, trace: &[(u64, u64)], limit: u64) {
        let mut ghost = Ghost::new(limit);
        trace.iter().for_each(|(key, size)| ghost.look_up(mixed(*key), *size, false));
        let got = ghost.predicted().unwrap();
        assert!(ghost.recent.tags.len() <= MOST);
        let got = [got.half, got.same, got.double, got.four_times];
        let exact = exact(trace, SIZES.map(|quarters| limit / 4 * quarters));
        for ((got, is), quarters) in got.into_iter().zip(exact).zip(SIZES) {
            assert!((got - is).abs() <= BOUND, "{name} at {quarters}/4: {got:.3}, and an LRU list {is:.3}");
        }
    }

    #[test]
    fn a_small_working_set_is_predicted_exactly() {
        let mut random = Random(1);
        let keys = zipf(400, 0.7, 20_000, &mut random);
        let trace: Vec<(u64, u64)> = keys.into_iter().map(|key| (key, 10)).collect();
        let mut ghost = Ghost::new(1_000);
        trace.iter().for_each(|(key, size)| ghost.look_up(mixed(*key), *size, false));
        let got = ghost.predicted().unwrap();
        let is = exact(&trace, [500, 1_000, 2_000, 4_000]);
        assert_eq!([got.half, got.same, got.double, got.four_times], is);
    }

    #[test]
    fn large_working_sets_are_predicted_within_the_bound() {
        let mut random = Random(7);
        for exponent in [0.6, 0.8, 1.0] {
            let keys = zipf(8_000, exponent, 60_000, &mut random);
            let same: Vec<(u64, u64)> = keys.iter().map(|key| (*key, 1)).collect();
            compare(&format!("power law {exponent}"), &same, 1_000);
            let sizes: Vec<(u64, u64)> = keys.iter().map(|key| (*key, 20 + mixed(*key) % 200)).collect();
            compare(&format!("power law {exponent} with sizes"), &sizes, 120_000);
        }
    }

    /// Walks of a whole tree beside users who stay in their folders: what defeats a plain LRU cache.
    #[test]
    fn scans_beside_users_are_predicted_within_the_bound() {
        let mut random = Random(9);
        let users = zipf(1_500, 0.9, 40_000, &mut random);
        let mut scan = (0..).map(|at| 1_000_000 + at % 6_000);
        let trace: Vec<(u64, u64)> = users
            .into_iter()
            .enumerate()
            .flat_map(|(at, key)| [Some(key), (at % 3 == 0).then(|| scan.next().unwrap())])
            .flatten()
            .map(|key| (key, 1))
            .collect();
        compare("scans", &trace, 1_200);
    }

    /// Not made by a formula: the words of some sources, in their order.
    #[test]
    fn words_of_a_text_are_predicted_within_the_bound() {
        let text = concat!(
            include_str!("ghost.rs"),
            include_str!("registry.rs"),
            include_str!("counters.rs"),
            include_str!("../caches.rs"),
            include_str!("../pool.rs"),
            include_str!("../payload.rs"),
        );
        let hash = |word: &str| word.bytes().fold(5_381_u64, |sum, byte| mixed(sum ^ u64::from(byte)));
        let trace: Vec<(u64, u64)> = text.split_whitespace().map(|word| (hash(word), 1)).collect();
        compare("words", &trace, 300);
    }

    #[test]
    fn what_changes_between_two_look_ups_is_a_hit_at_no_size() {
        let mut ghost = Ghost::new(100);
        (0..1_000).for_each(|at| ghost.look_up(mixed(at % 2), 1, at % 4 < 2));
        let predicted = ghost.predicted().unwrap();
        assert_eq!((predicted.half, predicted.four_times), (0.5, 0.5));
    }

    #[test]
    fn another_limit_begins_a_new_prediction() {
        let mut ghost = Ghost::new(4);
        (0..1_000).for_each(|at| ghost.look_up(mixed(at % 8), 1, false));
        let before = ghost.predicted().unwrap();
        assert_eq!((before.half, before.same), (0.0, 0.0));
        assert!(before.double > 0.9);
        ghost.limit_to(8);
        assert_eq!(ghost.predicted(), None);
        (0..1_000).for_each(|at| ghost.look_up(mixed(at % 8), 1, false));
        assert_eq!(ghost.predicted().unwrap().same, 1.0, "the keys were not forgotten");
    }
}
