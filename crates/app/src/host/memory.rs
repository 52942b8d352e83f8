//! The memory for the server, and the part of it that clients can make it hold.

mod machine;

use std::sync::Arc;

use admin::ServerSettings;
use conn::{Budget, DEFAULT_BUDGET};

pub(crate) use machine::{KernelCounters, KernelMemory};

/// Clients may make the server hold this fraction of its memory: one part in this many.
const PART: usize = 8;
/// The same of the memory for caches.
const CACHES_PART: u64 = 8;
/// The least and the most memory for caches that are not set.
const CACHES: std::ops::RangeInclusive<u64> = 64 << 20..=16 << 30;
/// The memory of a machine that does not tell it.
const UNKNOWN: u64 = 1 << 30;

/// The budget of all clients together.
pub(crate) fn budget(settings: &ServerSettings, machine: &KernelMemory) -> Arc<Budget> {
    let set = settings.transfer_memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let available = machine.usable().map(|usable| usable.bytes as usize / PART);
    Budget::new(set.unwrap_or_else(|| available.unwrap_or(DEFAULT_BUDGET).min(DEFAULT_BUDGET)))
}

/// The budget of all caches together.
pub(crate) fn cache_budget(settings: &ServerSettings, machine: &KernelMemory) -> u64 {
    let usable = machine.usable().map_or(UNKNOWN, |usable| usable.bytes);
    settings.cache_memory.unwrap_or_else(|| default_cache_budget(usable))
}

fn default_cache_budget(usable: u64) -> u64 {
    (usable / CACHES_PART).clamp(*CACHES.start(), *CACHES.end())
}

/// Makes the allocator return free memory to the host, also while the threads that used it sleep.
pub(crate) fn give_back() {
    if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::warn!(%error, "memory that is free again is given back late");
    }
}

/// The memory that the process occupies, in bytes.
pub(crate) fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caches_of_small_and_large_machines_have_a_sane_part() {
        let gib = |count: u64| count << 30;
        assert_eq!(default_cache_budget(gib(1) / 4), 64 << 20);
        assert_eq!(default_cache_budget(gib(1)), 128 << 20);
        assert_eq!(default_cache_budget(gib(16)), gib(2));
        assert_eq!(default_cache_budget(gib(1024)), gib(16));
    }
}
