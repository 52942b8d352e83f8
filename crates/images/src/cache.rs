//! A small cache of what was decoded: the least recently used values leave when the budget is exceeded.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use lock::Mutex;

use crate::ranks::ImageCache;

/// Values by their keys, together at most as heavy as the budget.
pub struct Cache<K, V> {
    budget: usize,
    table: Mutex<CacheTable<K, V>, ImageCache>,
}

struct CacheTable<K, V> {
    values: HashMap<K, CachedValue<V>>,
    /// The keys, by when they were used last.
    order: BTreeMap<u64, K>,
    clock: u64,
    weight: usize,
}

struct CachedValue<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    /// An empty cache. `budget` has the unit of the weights that [`Cache::insert`] is told, mostly bytes.
    pub fn new(budget: usize) -> Self {
        let table = CacheTable { values: HashMap::new(), order: BTreeMap::new(), clock: 0, weight: 0 };
        Self { budget, table: Mutex::new(table) }
    }

    /// The value with this key.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut table = self.table.lock();
        let CacheTable { values, order, clock, .. } = &mut *table;
        let found = values.get_mut(key)?;
        *clock += 1;
        order.remove(&found.used);
        order.insert(*clock, key.clone());
        found.used = *clock;
        Some(found.value.clone())
    }

    /// Keeps a value, unless it alone exceeds the budget.
    pub fn insert(&self, key: K, value: V, weight: usize) {
        if weight > self.budget {
            return;
        }
        let mut table = self.table.lock();
        table.remove(&key);
        while table.weight > self.budget - weight {
            let Some(oldest) = table.order.first_key_value().map(|(_, key)| key.clone()) else { break };
            table.remove(&oldest);
        }
        table.clock += 1;
        let used = table.clock;
        table.weight += weight;
        table.order.insert(used, key.clone());
        table.values.insert(key, CachedValue { value, weight, used });
    }
}

impl<K: Hash + Eq, V> CacheTable<K, V> {
    fn remove(&mut self, key: &K) {
        if let Some(old) = self.values.remove(key) {
            self.weight -= old.weight;
            self.order.remove(&old.used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_leaves_first() {
        let cache = Cache::new(10);
        cache.insert(1, "one", 4);
        cache.insert(2, "two", 4);
        assert_eq!(cache.get(&1), Some("one"));
        cache.insert(3, "three", 4);
        assert_eq!((cache.get(&1), cache.get(&2), cache.get(&3)), (Some("one"), None, Some("three")));
    }

    #[test]
    fn a_value_that_exceeds_the_budget_is_not_kept() {
        let cache = Cache::new(10);
        cache.insert(1, "one", 10);
        cache.insert(2, "two", 11);
        assert_eq!((cache.get(&1), cache.get(&2)), (Some("one"), None));
        cache.insert(1, "again", 10);
        assert_eq!(cache.get(&1), Some("again"));
    }
}
