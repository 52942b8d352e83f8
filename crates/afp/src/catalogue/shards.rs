//! One direction of the mapping between files and ids, in memory, before the database.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::mem;

use lock::{Mutex, MutexGuard, Rank};

/// So many locks, that threads on different files do not meet.
const SHARDS: usize = 16;

/// One direction of a mapping between keys and ids in memory: the rows that wait to be written, and the recently used
/// of those that the database holds. A row's lock is held while the database is asked for it, so that two threads that
/// see one file first agree.
pub(super) struct Shards<K, V, R: Rank> {
    shards: Vec<Mutex<RowShard<K, V>, R>>,
}

/// Chooses the lock of a key, at a fraction of the cost of the tables' own hash: keys that a client chose may share one.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0 >> 32
    }
}

impl<K: Copy + Eq + Hash, V: Copy + Eq, R: Rank> Shards<K, V, R> {
    /// Remembers at most `cached` rows beside those that wait.
    pub(super) fn new(cached: usize) -> Self {
        let shard = || {
            Mutex::new(RowShard { waiting: HashMap::new(), recent: GenerationCache::new(cached / SHARDS) })
        };
        Self { shards: (0..SHARDS).map(|_| shard()).collect() }
    }

    pub(super) fn lock(&self, key: &K) -> MutexGuard<'_, RowShard<K, V>, R> {
        let mut spread = Spread::default();
        key.hash(&mut spread);
        self.shards[spread.finish() as usize % SHARDS].lock()
    }

    /// A copy of all rows that wait.
    pub(super) fn waiting(&self) -> Vec<(K, Option<V>)> {
        let mut rows = Vec::new();
        for shard in &self.shards {
            rows.extend(shard.lock().waiting.iter().map(|(key, value)| (*key, *value)));
        }
        rows
    }

    /// The rows are in the database now: what did not change since no longer waits. Returns how many those are.
    pub(super) fn written(&self, rows: &[(K, Option<V>)]) -> usize {
        rows.iter().filter(|(key, value)| self.lock(key).written(key, *value)).count()
    }

    /// Forgets all rows. None of them may wait.
    pub(super) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let limit = shard.recent.generation * 2;
            shard.recent = GenerationCache::new(limit);
        }
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().recent.len()).sum()
    }
}

/// The rows of one lock.
pub(super) struct RowShard<K, V> {
    /// `None` is a row to be removed.
    waiting: HashMap<K, Option<V>>,
    recent: GenerationCache<K, V>,
}

/// What memory knows of a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CachedRow<V> {
    Here(V),
    Gone,
    AskDatabase,
}

impl<K: Copy + Eq + Hash, V: Copy + Eq> RowShard<K, V> {
    pub(super) fn look(&mut self, key: &K) -> CachedRow<V> {
        match self.waiting.get(key) {
            Some(Some(value)) => CachedRow::Here(*value),
            Some(None) => CachedRow::Gone,
            None => self.recent.look(key).map_or(CachedRow::AskDatabase, CachedRow::Here),
        }
    }

    /// Remembers a row that the database holds.
    pub(super) fn remember(&mut self, key: K, value: V) {
        self.recent.insert(key, value);
    }

    /// Changes a row. Returns how many more rows wait than before: 0 or 1.
    pub(super) fn change(&mut self, key: K, value: Option<V>) -> usize {
        self.recent.remove(&key);
        usize::from(self.waiting.insert(key, value).is_none())
    }

    fn written(&mut self, key: &K, value: Option<V>) -> bool {
        if self.waiting.get(key) != Some(&value) {
            return false; // changed again meanwhile
        }
        self.waiting.remove(key);
        if let Some(value) = value {
            self.recent.insert(*key, value);
        }
        true
    }
}

/// A bounded memory in two generations: when the young one is full, the old one is forgotten and the young one grows
/// old. What is used again becomes young again. Nearly LRU, without a list.
struct GenerationCache<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    generation: usize,
}

impl<K: Copy + Eq + Hash, V: Copy> GenerationCache<K, V> {
    fn new(limit: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), generation: limit / 2 }
    }

    fn look(&mut self, key: &K) -> Option<V> {
        if let Some(value) = self.young.get(key) {
            return Some(*value);
        }
        let value = self.old.remove(key)?;
        self.insert(*key, value);
        Some(value)
    }

    fn insert(&mut self, key: K, value: V) {
        if self.generation == 0 {
            return;
        }
        if self.young.len() >= self.generation {
            self.old = mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_within_its_limit_and_keeps_what_is_used() {
        let mut recent = GenerationCache::new(100);
        recent.insert(0, 0);
        for key in 1..10_000 {
            recent.insert(key, key);
            assert_eq!(recent.look(&0), Some(0), "used before each insert");
            assert!(recent.len() <= 100);
        }
        assert_eq!(recent.look(&1), None);
        assert_eq!(recent.look(&9_999), Some(9_999));
    }

    #[test]
    fn a_row_changed_while_it_is_written_waits_for_the_next_time() {
        let rows = Shards::<_, _, crate::ranks::CatalogIds>::new(64);
        assert_eq!(rows.lock(&1).change(1, Some(17)), 1);
        let batch = rows.waiting();
        assert_eq!(rows.lock(&1).change(1, None), 0, "the row waits already");
        assert_eq!(rows.written(&batch), 0);
        assert_eq!(rows.waiting(), [(1, None)]);
        assert_eq!(rows.lock(&1).look(&1), CachedRow::Gone);
        assert_eq!(rows.written(&rows.waiting()), 1);
        assert_eq!(rows.lock(&1).look(&1), CachedRow::AskDatabase);
    }

    #[test]
    fn a_written_row_is_remembered() {
        let rows = Shards::<_, _, crate::ranks::CatalogIds>::new(64);
        rows.lock(&1).change(1, Some(17));
        assert_eq!(rows.written(&rows.waiting()), 1);
        assert_eq!(rows.waiting(), []);
        assert_eq!(rows.lock(&1).look(&1), CachedRow::Here(17));
    }
}
