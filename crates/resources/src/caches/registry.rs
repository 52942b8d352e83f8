//! The caches of a server under one memory budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Cache, CacheReport, Unit};

/// Of 1000 parts: what of the limits applies without pressure.
const WHOLE: u32 = 1_000;
/// What remains of the limits under long pressure.
const LEAST: u32 = 62;
/// What the limits grow by at each look after the pressure has ended.
const STEP: u32 = 62;
/// Looks without pressure before the limits grow again.
const CALM: u32 = 10;

/// How a cache is registered.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The name for people and scripts.
    pub name: &'static str,
    /// What an entry is.
    pub holds: &'static str,
    /// The unit of the limit.
    pub unit: Unit,
    /// Bytes of the budget for each unit of the limit.
    pub unit_bytes: u64,
    /// The smallest limit that works.
    pub least: u64,
    /// The largest limit, which is not a matter of memory: descriptors, for example.
    pub most: u64,
    /// Whether the limit can be set.
    pub is_fixed: bool,
}

/// A registered cache, as it is shown.
#[derive(Debug, Clone)]
pub struct Entry {
    /// How it is registered.
    pub rules: Rules,
    /// The limit that was set.
    pub wanted: u64,
    /// The limit in force: less than the wanted one while memory is short.
    pub limit: u64,
    /// What it tells of itself.
    pub report: CacheReport,
}

/// Why a limit was not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// No cache has this name.
    #[error("there is no cache `{0}`; the caches are: {1}")]
    Unknown(String, String),
    /// The limit cannot be changed.
    #[error("the limit of the cache `{0}` cannot be changed")]
    Fixed(&'static str),
    /// It would not work with so little.
    #[error("the cache `{name}` needs at least {least}")]
    TooSmall {
        /// Its name.
        name: &'static str,
        /// The smallest limit, in its unit.
        least: u64,
    },
    /// The budget or the host has not so much.
    #[error("the cache `{name}` may have at most {most}: the caches together have {budget}")]
    TooLarge {
        /// Its name.
        name: &'static str,
        /// The largest limit now, in its unit.
        most: u64,
        /// Bytes of all caches together.
        budget: u64,
    },
}

struct CacheRegistration {
    rules: Rules,
    wanted: AtomicU64,
    cache: Arc<dyn Cache>,
}

impl CacheRegistration {
    fn limit(&self, part: u32) -> u64 {
        let wanted = self.wanted.load(Ordering::Relaxed);
        if self.rules.is_fixed || part >= WHOLE {
            return wanted;
        }
        let less = (u128::from(wanted) * u128::from(part) / u128::from(WHOLE)) as u64;
        less.max(self.rules.least.min(wanted))
    }
}

/// All caches of a server.
pub struct Caches {
    budget: u64,
    registered: Vec<CacheRegistration>,
    /// What of the limits applies, of 1000 parts.
    part: AtomicU32,
    /// Looks in a row without pressure.
    calm: AtomicU32,
    /// How often the limits were lowered.
    gave_way: AtomicU64,
}

impl Caches {
    /// No caches yet, which may take so many bytes together.
    #[must_use]
    pub fn new(budget: u64) -> Self {
        Self {
            budget,
            registered: Vec::new(),
            part: AtomicU32::new(WHOLE),
            calm: AtomicU32::new(0),
            gave_way: AtomicU64::new(0),
        }
    }

    /// Adds a cache with its limit, which is cut to what the cache may have.
    pub fn register(&mut self, rules: Rules, limit: u64, cache: Arc<dyn Cache>) {
        let most = self.most(&rules, None);
        let limit = if rules.is_fixed { limit } else { limit.min(most).max(rules.least) };
        cache.limit_to(limit);
        self.registered.push(CacheRegistration { rules, wanted: AtomicU64::new(limit), cache });
    }

    /// Bytes that the caches may take together.
    #[must_use]
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// What of the limits applies, of 1000 parts: fewer while memory is short.
    #[must_use]
    pub fn part(&self) -> u32 {
        self.part.load(Ordering::Relaxed)
    }

    /// How often the limits were lowered because memory was short.
    #[must_use]
    pub fn gave_way(&self) -> u64 {
        self.gave_way.load(Ordering::Relaxed)
    }

    /// Every cache, in the order of registration.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let part = self.part();
        let entry = |one: &CacheRegistration| Entry {
            rules: one.rules,
            wanted: one.wanted.load(Ordering::Relaxed),
            limit: one.limit(part),
            report: one.cache.report(),
        };
        self.registered.iter().map(entry).collect()
    }

    /// Sets the limit of a cache; it applies on return. Returns the limit before.
    ///
    /// # Errors
    /// See [`SetError`]; nothing has changed.
    pub fn set(&self, name: &str, limit: u64) -> Result<u64, SetError> {
        let one = self.find(name)?;
        let rules = &one.rules;
        let most = self.most(rules, Some(name));
        if limit < rules.least {
            return Err(SetError::TooSmall { name: rules.name, least: rules.least });
        }
        if limit > most {
            return Err(SetError::TooLarge { name: rules.name, most, budget: self.budget });
        }
        let before = one.wanted.swap(limit, Ordering::Relaxed);
        one.cache.limit_to(one.limit(self.part()));
        Ok(before)
    }

    /// The rules of a cache whose limit can be set.
    ///
    /// # Errors
    /// No cache has this name, or its limit cannot be set.
    pub fn rules(&self, name: &str) -> Result<Rules, SetError> {
        self.find(name).map(|one| one.rules)
    }

    fn find(&self, name: &str) -> Result<&CacheRegistration, SetError> {
        let names = || self.registered.iter().map(|one| one.rules.name).collect::<Vec<_>>().join(", ");
        let found = self.registered.iter().find(|one| one.rules.name == name);
        let one = found.ok_or_else(|| SetError::Unknown(name.into(), names()))?;
        if one.rules.is_fixed { Err(SetError::Fixed(one.rules.name)) } else { Ok(one) }
    }

    /// The largest limit of a cache beside the limits of the others.
    fn most(&self, rules: &Rules, except: Option<&str>) -> u64 {
        let others = self.registered.iter().filter(|one| Some(one.rules.name) != except);
        let others =
            others.map(|one| one.wanted.load(Ordering::Relaxed).saturating_mul(one.rules.unit_bytes));
        let left = self.budget.saturating_sub(others.fold(0, u64::saturating_add));
        (left / rules.unit_bytes.max(1)).min(rules.most)
    }

    /// One look at the host's memory. Under pressure the limits are halved, down to a sixteenth. They grow back in small
    /// steps after it has been calm for a while. Returns whether the limits were lowered.
    pub fn look(&self, under_pressure: bool) -> bool {
        let before = self.part();
        let part = if under_pressure {
            self.calm.store(0, Ordering::Relaxed);
            (before / 2).max(LEAST)
        } else if before < WHOLE && self.calm.fetch_add(1, Ordering::Relaxed) >= CALM {
            (before + STEP).min(WHOLE)
        } else {
            before
        };
        if part == before {
            return false;
        }
        self.part.store(part, Ordering::Relaxed);
        let free = self.registered.iter().filter(|one| !one.rules.is_fixed);
        free.for_each(|one| one.cache.limit_to(one.limit(part)));
        if part < before {
            self.gave_way.fetch_add(1, Ordering::Relaxed);
        }
        part < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Fake(AtomicU64);

    impl Cache for Fake {
        fn report(&self) -> CacheReport {
            CacheReport { bytes: self.0.load(Ordering::Relaxed), ..CacheReport::default() }
        }

        fn limit_to(&self, limit: u64) {
            self.0.store(limit, Ordering::Relaxed);
        }
    }

    fn rules(name: &'static str) -> Rules {
        let (holds, unit) = ("things", Unit::Bytes);
        Rules { name, holds, unit, unit_bytes: 1, least: 10, most: u64::MAX, is_fixed: false }
    }

    fn two() -> Caches {
        let mut caches = Caches::new(1_000);
        let count = Rules { unit: Unit::Entries, unit_bytes: 20, most: 15, ..rules("count") };
        caches.register(count, 10, Arc::new(Fake::default()));
        caches.register(rules("bytes"), 5_000, Arc::new(Fake::default()));
        caches
    }

    fn limits(caches: &Caches) -> Vec<u64> {
        caches.entries().iter().map(|entry| entry.report.bytes).collect()
    }

    #[test]
    fn limits_stay_within_the_budget() {
        let caches = two();
        assert_eq!(limits(&caches), [10, 800], "the second has what the first leaves");
        assert_eq!(
            caches.set("bytes", 801),
            Err(SetError::TooLarge { name: "bytes", most: 800, budget: 1_000 })
        );
        assert_eq!(caches.set("bytes", 9), Err(SetError::TooSmall { name: "bytes", least: 10 }));
        assert_eq!(caches.set("bytes", 700), Ok(800));
        assert_eq!(caches.set("count", 15), Ok(10));
        assert_eq!(
            caches.set("count", 16),
            Err(SetError::TooLarge { name: "count", most: 15, budget: 1_000 })
        );
        assert_eq!(limits(&caches), [15, 700]);
        let unknown = caches.set("icons", 5).unwrap_err();
        assert_eq!(unknown.to_string(), "there is no cache `icons`; the caches are: count, bytes");
    }

    #[test]
    fn a_fixed_cache_counts_and_cannot_be_set() {
        let mut caches = Caches::new(1_000);
        let fixed = Rules { is_fixed: true, ..rules("fixed") };
        caches.register(fixed, 400, Arc::new(Fake::default()));
        caches.register(rules("bytes"), 5_000, Arc::new(Fake::default()));
        assert_eq!(limits(&caches), [400, 600]);
        assert_eq!(caches.set("fixed", 100), Err(SetError::Fixed("fixed")));
        caches.look(true);
        assert_eq!(limits(&caches), [400, 300]);
    }

    #[test]
    fn pressure_halves_the_limits_and_they_come_back_slowly() {
        let caches = two();
        assert!(caches.look(true) && caches.look(true));
        assert_eq!(limits(&caches), [10, 200], "none is below what it needs");
        (0..20).for_each(|_| assert!(!caches.look(true) || caches.part() >= LEAST));
        assert_eq!((caches.part(), limits(&caches)[1]), (LEAST, 49));
        caches.set("bytes", 400).unwrap();
        assert_eq!(limits(&caches)[1], 24, "a new limit counts as far as the pressure lets it");
        (0..CALM).for_each(|_| assert!(!caches.look(false)));
        assert_eq!(caches.part(), LEAST);
        assert!(!caches.look(false));
        assert_eq!(caches.part(), LEAST + STEP);
        (0..20).for_each(|_| assert!(!caches.look(false)));
        assert_eq!((caches.part(), limits(&caches)[1]), (WHOLE, 400));
        assert_eq!(caches.gave_way(), 4);
    }
}
