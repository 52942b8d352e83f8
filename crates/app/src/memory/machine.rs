//! What the kernel tells about memory: of the machine, and of the control group of the server.

use std::path::{Path, PathBuf};

/// The environment variable with another file of pressure: where a container has it elsewhere, and in tests.
const PRESSURE_VARIABLE: &str = "FOURFOLD_PRESSURE_FILE";
/// Above this a limit of version 1 is none: the kernel writes the largest number of pages.
const NO_LIMIT: u64 = 1 << 60;
/// The percentage of time in which some task waited for memory, from which on memory is short.
const SOME_SHORT: f64 = 10.0;
/// The same for all tasks.
const FULL_SHORT: f64 = 3.0;
/// Memory is short if less than one part in this many can be had without swapping.
const AVAILABLE_PART: u64 = 32;

/// Where the kernel tells it.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    proc: PathBuf,
    cgroups: PathBuf,
    pressure: Option<PathBuf>,
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
    pub(crate) counted: Counted,
}

/// What the kernel counts since its start, or since that of the control group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Pages of files that were read again soon after they had left memory.
    pub(crate) refaults: u64,
    /// Pages of the machine that went to swap.
    pub(crate) swap_outs: u64,
}

impl Machine {
    /// This machine.
    pub(crate) fn here() -> Self {
        Self {
            proc: "/proc".into(),
            cgroups: "/sys/fs/cgroup".into(),
            pressure: std::env::var_os(PRESSURE_VARIABLE).map(PathBuf::from),
        }
    }

    /// `None`: the kernel does not tell.
    pub(crate) fn usable(&self) -> Option<Usable> {
        let machine = self.fields("meminfo").and_then(|text| kilobytes(&text, "MemTotal:"));
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
        let meminfo = self.fields("meminfo").unwrap_or_default();
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

    fn counted(&self) -> Counted {
        let vmstat = self.fields("vmstat").unwrap_or_default();
        let group = self.fields("self/cgroup").and_then(|groups| self.unified(&groups));
        let group = group.and_then(|group| std::fs::read_to_string(group.join("memory.stat")).ok());
        let refaults = |text: &str| {
            // Kernels before 5.9 count files and other memory together.
            field(text, "workingset_refault_file").or_else(|| field(text, "workingset_refault"))
        };
        let refaults = group.as_deref().and_then(refaults).or_else(|| refaults(&vmstat));
        Counted { refaults: refaults.unwrap_or(0), swap_outs: field(&vmstat, "pswpout").unwrap_or(0) }
    }

    fn fields(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.proc.join(name)).ok()
    }
}

impl Now {
    /// Why memory is short, since a look at which so much had been swapped out. `None`: it is not.
    pub(crate) fn shortage(&self, before: Counted) -> Option<&'static str> {
        let swaps = self.counted.swap_outs > before.swap_outs;
        if self.some.is_some_and(|some| some >= SOME_SHORT)
            || self.full.is_some_and(|full| full >= FULL_SHORT)
        {
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
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let top = tempfile::tempdir().unwrap();
        let meminfo = "MemTotal:       25165824 kB\nMemFree: 1 kB\nMemAvailable: 20000000 kB\nCached: 3000 kB\n\
                       Shmem: 1000 kB\nSReclaimable: 500 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n";
        for (name, text) in [("proc/meminfo", meminfo)].iter().chain(files) {
            let path = top.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let at = |name| top.path().join(name);
        let machine = Machine { proc: at("proc"), cgroups: at("cg"), pressure: None };
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
        assert_eq!(now.counted, Counted { refaults: 70, swap_outs: 3 });
        assert_eq!((now.page_cache, now.reclaimable, now.swapped), (2_000 << 10, 500 << 10, 60 << 10));
        assert_eq!(now.shortage(Counted::default()), Some("tasks wait for memory"));
    }

    #[test]
    fn a_kernel_without_pressure_tells_by_what_is_available() {
        let (_top, machine) = machine(&[]);
        let now = machine.now();
        assert_eq!((now.some, now.shortage(Counted::default())), (None, None));
        let short = Now { available: GIB / 2, ..now.clone() };
        assert_eq!(short.shortage(Counted::default()), Some("little memory is available"));
        let swapping = Now { available: 3 * GIB, counted: Counted { swap_outs: 9, refaults: 0 }, ..now };
        assert_eq!(swapping.shortage(Counted::default()), Some("the host swaps"));
        assert_eq!(swapping.shortage(swapping.counted), None, "it did so earlier");
    }

    #[test]
    fn nonsense_in_a_file_of_pressure_is_no_pressure() {
        for text in ["", "some", "some avg10=", "some avg10=NaN", "avg10=50", "full avg10=x total=1"] {
            assert_eq!((average(text, "some"), average(text, "full")), (None, None), "{text}");
        }
    }
}
