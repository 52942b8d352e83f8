//! How much memory there is for the server, and what of it clients may make it hold.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::ServerSettings;
use conn::{Budget, DEFAULT_BUDGET};

/// Clients may make the server hold one part in so many of the memory that it may use.
const PART: usize = 8;
/// Where version 2 of the control groups is mounted.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The budget of all clients together.
pub(crate) fn budget(settings: &ServerSettings) -> Arc<Budget> {
    let set = settings.transfer_memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    Budget::new(
        set.unwrap_or_else(|| available().map_or(DEFAULT_BUDGET, |bytes| bytes / PART).min(DEFAULT_BUDGET)),
    )
}

/// Lets the allocator give memory back that is free, also while the threads that had it sleep.
pub(crate) fn give_back() {
    if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::warn!(%error, "memory that is free again is given back late");
    }
}

/// The memory that the process may use: the machine's, or what its control groups leave of it.
fn available() -> Option<usize> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let group = std::fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| group(&text));
    let limits = group.iter().flat_map(|group| group.ancestors()).filter_map(|group| {
        let limit = std::fs::read_to_string(group.join("memory.max")).ok()?;
        limit.trim().parse().ok() // or `max`
    });
    limits.chain(machine).min()
}

/// `MemTotal` of /proc/meminfo, in bytes.
fn total(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches(" kB").parse::<usize>().ok()?.checked_mul(1024)
}

/// The folder of the process's control group, of version 2.
fn group(cgroup: &str) -> Option<PathBuf> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(CGROUPS).join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_words_are_understood() {
        assert_eq!(total("MemTotal:       24683532 kB\nMemFree: 1 kB\n"), Some(24_683_532 * 1024));
        let cgroup = "12:cpu:/\n0::/system.slice/fourfold.service\n";
        assert_eq!(group(cgroup), Some(PathBuf::from("/sys/fs/cgroup/system.slice/fourfold.service")));
        assert_eq!(group("1:memory:/\n"), None);
    }
}
