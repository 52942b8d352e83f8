//! The memory for the server, and the part of it that clients can make it hold.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::ServerSettings;
use conn::{Budget, DEFAULT_BUDGET};

/// Clients may make the server hold this fraction of its memory: one part in this many.
const PART: usize = 8;
/// The mount point of control groups, version 2.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The budget of all clients together.
pub(crate) fn budget(settings: &ServerSettings) -> Arc<Budget> {
    let set = settings.transfer_memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    Budget::new(
        set.unwrap_or_else(|| available().map_or(DEFAULT_BUDGET, |bytes| bytes / PART).min(DEFAULT_BUDGET)),
    )
}

/// Makes the allocator return free memory to the host, also while the threads that used it sleep.
pub(crate) fn give_back() {
    if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::warn!(%error, "memory that is free again is given back late");
    }
}

/// The memory that the process may use: the machine's, or the limit of its control groups.
fn available() -> Option<usize> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let group = std::fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| group(&text));
    let limits = group.iter().flat_map(|group| group.ancestors()).filter_map(|group| {
        let limit = std::fs::read_to_string(group.join("memory.max")).ok()?;
        limit.trim().parse().ok() // otherwise `max`
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
