//! What the kernel tells about memory: of the machine, and of the control group of the server.

use std::path::{Path, PathBuf};

/// The environment variable with another file of pressure: where a container has it elsewhere, and in tests.
const PRESSURE_VARIABLE: &str = "FOURFOLD_PRESSURE_FILE";
/// The same of the machine's memory.
const MEMORY_VARIABLE: &str = "FOURFOLD_MEMINFO_FILE";
/// Above this a limit of version 1 is none: the kernel writes the largest number of pages.
const NO_LIMIT: u64 = 1 << 60;
/// The percentage of time in which some task waited for memory, from which on memory is short.
const SOME_SHORT: f64 = 10.0;
/// The same for all tasks.
const FULL_SHORT: f64 = 3.0;
/// Tasks that wait for memory are believed if less than one part in this many can be had without swapping,
const WAITING_PART: u64 = 8;
/// or if the control group has less than one part in this many of its limit left.
const GROUP_PART: u64 = 16;
/// Memory is short if less than one part in this many can be had without swapping.
const AVAILABLE_PART: u64 = 32;

/// Where the kernel tells it.
#[derive(Debug, Clone)]
pub(crate) struct KernelMemory {
    proc: PathBuf,
    cgroups: PathBuf,
    pressure: Option<PathBuf>,
    meminfo: Option<PathBuf>,
}

/// The memory that the process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usable {
    pub(crate) bytes: u64,
    /// The control group allows less than the machine has.
    pub(crate) by_group: bool,
}

/// The memory of this moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Now {
    pub(crate) total: u64,
    pub(crate) available: u64,
    pub(crate) page_cache: u64,
    pub(crate) reclaimable: u64,
    pub(crate) swapped: u64,
    pub(crate) dentries: Option<u64>,
    /// Percentages of the last ten seconds.
    pub(crate) some: Option<f64>,
    pub(crate) full: Option<f64>,
    pub(crate) pressure_from: Option<String>,
    pub(crate) group: Option<Group>,
    pub(crate) counted: KernelCounters,
}

/// The control group, of the process or above it, that is nearest to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    /// Without pages of files that can be dropped.
    pub(crate) used: u64,
    pub(crate) limit: u64,
}

/// What the kernel counts since its start, or since that of the control group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KernelCounters {
    /// Pages of files that were read again soon after they had left memory.
    pub(crate) refaults: u64,
    /// Pages of the machine that went to swap.
    pub(crate) swap_outs: u64,
}

impl KernelMemory {
    /// This machine.
    pub(crate) fn here() -> Self {
        Self {
            proc: "/proc".into(),
            cgroups: "/sys/fs/cgroup".into(),
            pressure: std::env::var_os(PRESSURE_VARIABLE).map(PathBuf::from),
            meminfo: std::env::var_os(MEMORY_VARIABLE).map(PathBuf::from),
        }
    }

    /// `None`: the kernel does not tell.
    pub(crate) fn usable(&self) -> Option<Usable> {
        let machine = self.meminfo().and_then(|text| kilobytes(&text, "MemTotal:"));
        let group = self.limits().into_iter().min();
        let bytes = machine.into_iter().chain(group).min()?;
        Some(Usable { bytes, by_group: machine.is_none_or(|machine| bytes < machine) })
    }

    /// The limits of the control groups of the process and of those above. `memory.high` is one: beyond it the kernel
    /// slows the process down.
    fn limits(&self) -> Vec<u64> {
        let groups = self.fields("self/cgroup").unwrap_or_default();
        let (unified, old) = (self.unified(&groups), self.version_1(&groups));
        let of = |folder: Option<PathBuf>, names: &'static [&'static str], top: PathBuf| {
            let all: Vec<PathBuf> =
                folder.iter().flat_map(|folder| folder.ancestors()).map(Path::to_owned).collect();
            let inside = all.into_iter().filter(move |folder| folder.starts_with(&top));
            inside.flat_map(move |folder| names.iter().map(move |name| folder.join(name)))
        };
        let files = of(unified, &["memory.max", "memory.high"], self.cgroups.clone()).chain(of(
            old,
            &["memory.limit_in_bytes"],
            self.cgroups.join("memory"),
        ));
        files.filter_map(|file| number(&file)).filter(|limit| *limit < NO_LIMIT).collect()
    }

    /// How near the control groups are to their limits.
    fn group(&self) -> Option<Group> {
        let groups = self.fields("self/cgroup")?;
        let folders =
            |folder: Option<PathBuf>| folder.map(|folder| folder.ancestors().map(Path::to_owned).collect());
        let (unified, old): (Option<Vec<PathBuf>>, Option<Vec<PathBuf>>) =
            (folders(self.unified(&groups)), folders(self.version_1(&groups)));
        let all = unified.into_iter().flatten().map(|folder| {
            let limits = [number(&folder.join("memory.max")), number(&folder.join("memory.high"))];
            (limits.into_iter().flatten().min(), number(&folder.join("memory.current")), folder)
        });
        let old = old.into_iter().flatten().map(|folder| {
            let used = number(&folder.join("memory.usage_in_bytes"));
            (number(&folder.join("memory.limit_in_bytes")), used, folder)
        });
        let known = all.chain(old).filter_map(|(limit, used, folder)| {
            let limit = limit.filter(|limit| (1..NO_LIMIT).contains(limit))?;
            let stat = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
            let files = field(&stat, "inactive_file").or_else(|| field(&stat, "total_inactive_file"));
            Some(Group { used: used?.saturating_sub(files.unwrap_or(0)), limit })
        });
        known.min_by_key(|group| group.limit.saturating_sub(group.used))
    }

    /// The folder of the process's control group, of version 2.
    fn unified(&self, groups: &str) -> Option<PathBuf> {
        let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
        Some(self.cgroups.join(path))
    }

    /// The same of version 1.
    fn version_1(&self, groups: &str) -> Option<PathBuf> {
        let mut rows = groups.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?))
        });
        let (_, path) = rows.find(|(controllers, _)| controllers.split(',').any(|one| one == "memory"))?;
        Some(self.cgroups.join("memory").join(path.trim_start_matches('/')))
    }

    /// What memory is like now. What the kernel does not tell is 0 or missing.
    pub(crate) fn now(&self) -> Now {
        let meminfo = self.meminfo().unwrap_or_default();
        let bytes = |key| kilobytes(&meminfo, key).unwrap_or(0);
        let swap = bytes("SwapTotal:").saturating_sub(bytes("SwapFree:"));
        let dentries = self.fields("sys/fs/dentry-state");
        let dentries = dentries.and_then(|text| text.split_whitespace().next()?.parse().ok());
        let (pressure_from, pressure) = self.pressure().unzip();
        let average = |kind| pressure.as_deref().and_then(|text| average(text, kind));
        Now {
            total: bytes("MemTotal:"),
            available: bytes("MemAvailable:"),
            page_cache: bytes("Cached:").saturating_sub(bytes("Shmem:")),
            reclaimable: bytes("SReclaimable:"),
            swapped: swap,
            dentries,
            some: average("some"),
            full: average("full"),
            pressure_from: pressure_from.map(|path| path.display().to_string()),
            group: self.group(),
            counted: self.counted(),
        }
    }

    /// The pressure of the control group, else of the machine: the file and its text.
    fn pressure(&self) -> Option<(PathBuf, String)> {
        let group = || self.unified(&self.fields("self/cgroup")?).map(|group| group.join("memory.pressure"));
        let files = match &self.pressure {
            Some(only) => vec![only.clone()],
            None => group().into_iter().chain([self.proc.join("pressure/memory")]).collect(),
        };
        files.into_iter().find_map(|file| Some((file.clone(), std::fs::read_to_string(file).ok()?)))
    }

    fn counted(&self) -> KernelCounters {
        let vmstat = self.fields("vmstat").unwrap_or_default();
        let group = self.fields("self/cgroup").and_then(|groups| self.unified(&groups));
        let group = group.and_then(|group| std::fs::read_to_string(group.join("memory.stat")).ok());
        let refaults = |text: &str| {
            // Kernels before 5.9 count files and other memory together.
            field(text, "workingset_refault_file").or_else(|| field(text, "workingset_refault"))
        };
        let refaults = group.as_deref().and_then(refaults).or_else(|| refaults(&vmstat));
        KernelCounters { refaults: refaults.unwrap_or(0), swap_outs: field(&vmstat, "pswpout").unwrap_or(0) }
    }

    fn meminfo(&self) -> Option<String> {
        match &self.meminfo {
            Some(file) => std::fs::read_to_string(file).ok(),
            None => self.fields("meminfo"),
        }
    }

    fn fields(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.proc.join(name)).ok()
    }
}

impl Now {
    /// Whether the server's own control group has used nearly all that it may.
    fn is_near_its_limit(&self) -> bool {
        self.group.is_some_and(|Group { used, limit }| used >= limit - limit / GROUP_PART)
    }

    /// Why memory is short, since a look at which so much had been swapped out. `None`: it is not.
    pub(crate) fn shortage(&self, before: KernelCounters) -> Option<&'static str> {
        let swaps = self.counted.swap_outs > before.swap_outs;
        let waits = self.some.is_some_and(|some| some >= SOME_SHORT)
            || self.full.is_some_and(|full| full >= FULL_SHORT);
        // Tasks also wait where there is plenty: a neighbour has reached the limit of its own group, or one page of a program
        // is read from a slow disk.
        if waits && (self.is_near_its_limit() || self.available < self.total / WAITING_PART) {
            Some("tasks wait for memory")
        } else if self.total > 0 && self.available < self.total / AVAILABLE_PART {
            Some("little memory is available")
        } else if swaps && self.available < self.total / 4 {
            Some("the host swaps")
        } else {
            None
        }
    }
}

fn number(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok() // otherwise `max`
}

/// A line of /proc/meminfo, in bytes.
fn kilobytes(meminfo: &str, key: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
}

/// A line of /proc/vmstat or memory.stat.
fn field(text: &str, key: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(|line| line.split_once(' '));
    rows.find(|(name, _)| *name == key)?.1.trim().parse().ok()
}

/// The average of ten seconds in a file of pressure: `some avg10=0.12 avg60=… avg300=… total=…`.
fn average(text: &str, kind: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.split(' ').next() == Some(kind))?;
    let average: f64 = line.split(' ').find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
    average.is_finite().then_some(average)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of a machine with 24 GiB.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, KernelMemory) {
        let top = tempfile::tempdir().unwrap();
        let meminfo = "MemTotal:       25165824 kB\nMemFree: 1 kB\nMemAvailable: 20000000 kB\nCached: 3000 kB\n\
                       Shmem: 1000 kB\nSReclaimable: 500 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n";
        for (name, text) in [("proc/meminfo", meminfo)].iter().chain(files) {
            let path = top.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let at = |name| top.path().join(name);
        let machine = KernelMemory { proc: at("proc"), cgroups: at("cg"), pressure: None, meminfo: None };
        (top, machine)
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn without_a_control_group_the_machine_counts() {
        let (_top, machine) = machine(&[("proc/self/cgroup", "0::/\n")]);
        assert_eq!(machine.usable(), Some(Usable { bytes: 24 * GIB, by_group: false }));
    }

    #[test]
    fn the_lowest_limit_of_all_groups_above_counts() {
        let (_top, machine) = machine(&[
            ("proc/self/cgroup", "12:cpu:/\n0::/system.slice/fourfold.service\n"),
            ("cg/system.slice/memory.max", "4294967296\n"),
            ("cg/system.slice/fourfold.service/memory.max", "max\n"),
            ("cg/system.slice/fourfold.service/memory.high", "3221225472\n"),
        ]);
        assert_eq!(machine.usable(), Some(Usable { bytes: 3 * GIB, by_group: true }));
    }

    #[test]
    fn a_limit_of_version_1_counts_and_its_largest_number_is_none() {
        let groups = ("proc/self/cgroup", "9:cpuset:/\n5:memory:/docker/abc\n");
        let limit = "cg/memory/docker/abc/memory.limit_in_bytes";
        let (_top, limited) = machine(&[groups, (limit, "2147483648\n")]);
        assert_eq!(limited.usable(), Some(Usable { bytes: 2 * GIB, by_group: true }));
        let (_top, unlimited) = machine(&[groups, (limit, "9223372036854771712\n")]);
        assert_eq!(unlimited.usable(), Some(Usable { bytes: 24 * GIB, by_group: false }));
    }

    const CALM: &str =
        "some avg10=0.00 avg60=0.10 avg300=0.00 total=100\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
    const BUSY: &str =
        "some avg10=12.50 avg60=0.10 avg300=0.00 total=100\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=9\n";

    #[test]
    fn the_pressure_of_the_group_comes_before_that_of_the_machine() {
        let (_top, machine) = machine(&[
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/pressure/memory", CALM),
            ("cg/a/memory.pressure", BUSY),
            ("cg/a/memory.stat", "anon 5\nworkingset_refault_anon 1\nworkingset_refault_file 70\n"),
            ("proc/vmstat", "pswpout 3\nworkingset_refault_file 900\n"),
        ]);
        let now = machine.now();
        assert_eq!((now.some, now.full), (Some(12.5), Some(1.0)));
        assert_eq!(now.counted, KernelCounters { refaults: 70, swap_outs: 3 });
        assert_eq!((now.page_cache, now.reclaimable, now.swapped), (2_000 << 10, 500 << 10, 60 << 10));
        assert_eq!(now.shortage(KernelCounters::default()), None, "there are 20 GB");
        let short = Now { available: 2 * GIB, ..now };
        assert_eq!(short.shortage(KernelCounters::default()), Some("tasks wait for memory"));
    }

    #[test]
    fn waiting_tasks_count_when_the_own_group_is_full() {
        let full = |used: &'static str, stat: &'static str| {
            let (_top, machine) = machine(&[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("proc/pressure/memory", CALM),
                ("cg/a/b/memory.pressure", BUSY),
                ("cg/a/memory.max", "1000000000\n"),
                ("cg/a/memory.current", used),
                ("cg/a/memory.stat", stat),
                ("cg/a/b/memory.max", "max\n"),
                ("cg/a/b/memory.current", "900000000\n"),
            ]);
            machine.now().shortage(KernelCounters::default())
        };
        assert_eq!(full("990000000\n", "anon 1\n"), Some("tasks wait for memory"));
        assert_eq!(full("990000000\n", "anon 1\ninactive_file 500000000\n"), None, "pages of files can go");
        assert_eq!(full("300000000\n", "anon 1\n"), None);
    }

    #[test]
    fn a_kernel_without_pressure_tells_by_what_is_available() {
        let (_top, machine) = machine(&[]);
        let now = machine.now();
        assert_eq!((now.some, now.shortage(KernelCounters::default())), (None, None));
        let short = Now { available: GIB / 2, ..now.clone() };
        assert_eq!(short.shortage(KernelCounters::default()), Some("little memory is available"));
        let swapping =
            Now { available: 3 * GIB, counted: KernelCounters { swap_outs: 9, refaults: 0 }, ..now };
        assert_eq!(swapping.shortage(KernelCounters::default()), Some("the host swaps"));
        assert_eq!(swapping.shortage(swapping.counted), None, "it did so earlier");
    }

    #[test]
    fn nonsense_in_a_file_of_pressure_is_no_pressure() {
        for text in ["", "some", "some avg10=", "some avg10=NaN", "avg10=50", "full avg10=x total=1"] {
            assert_eq!((average(text, "some"), average(text, "full")), (None, None), "{text}");
        }
    }
}
