//! The machine: its kernel, limits, memory and clock.

use std::path::Path;

use rustix::process::{Resource, getrlimit};

use super::Finding;
use crate::here;

/// The first kernel with all calls that the server needs (`openat2`).
const OLDEST_KERNEL: (u32, u32) = (5, 6);
/// Descriptors: each connection and each file in use needs one or two.
const FEW_DESCRIPTORS: u64 = 16_384;
/// Watches of folders whose listings are kept.
const FEW_WATCHES: u64 = 65_536;
/// Memory in bytes below which caches and replies are small.
const LITTLE_MEMORY: u64 = 256 << 20;

/// Looks at all of it.
pub(super) fn look() -> Vec<Finding> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let limit = getrlimit(Resource::Nofile).maximum;
    [
        kernel(read("/proc/sys/kernel/osrelease").trim()),
        user(here::privileged()),
        descriptors(limit),
        watches(read("/proc/sys/fs/inotify/max_user_watches").trim().parse().ok()),
        memory(&read("/proc/meminfo")),
        Some(clock(CLOCK_KEEPERS.iter().any(|file| Path::new("/run").join(file).exists()))),
        time_zone(Path::new("/etc/localtime").exists()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn kernel(release: &str) -> Option<Finding> {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next()?);
    Some(if version < OLDEST_KERNEL {
        let (major, minor) = OLDEST_KERNEL;
        let found = format!("Linux {release} lacks calls that the server needs");
        Finding::problem("kernel", found, format!("use Linux {major}.{minor} or later"))
    } else {
        Finding::fine("kernel", format!("Linux {release}"))
    })
}

fn user(is_root: bool) -> Option<Finding> {
    Some(if is_root {
        Finding::fine("user", "root: every account acts as its own user of this machine")
    } else {
        let found =
            "not root: all clients act as this user, and the standard ports below 1024 are not to be had";
        Finding::warning(
            "user",
            found,
            "run it as root (`sudo fourfold serve …`): it gives up what it does not need",
        )
    })
}

fn descriptors(limit: Option<u64>) -> Option<Finding> {
    let about = "open files";
    Some(match limit {
        Some(limit) if limit < FEW_DESCRIPTORS => {
            let found = format!("at most {limit} for a process: enough for some {} clients", limit / 4);
            let mend = "`LimitNOFILE=524288` in the systemd unit, or `ulimit -Hn 524288` before the start";
            Finding::warning(about, found, mend)
        }
        Some(limit) => Finding::fine(about, format!("at most {limit} for a process")),
        None => Finding::fine(about, "no limit"),
    })
}

fn watches(most: Option<u64>) -> Option<Finding> {
    let (about, most) = ("inotify", most?);
    Some(if most < FEW_WATCHES {
        let found = format!("at most {most} folders can be watched: listings of further ones are not kept");
        Finding::warning(about, found, "sysctl fs.inotify.max_user_watches=1048576 (and in /etc/sysctl.d)")
    } else {
        Finding::fine(about, format!("at most {most} folders can be watched"))
    })
}

fn memory(meminfo: &str) -> Option<Finding> {
    let value = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
    };
    let (total, available) = (value("MemTotal:")?, value("MemAvailable:")?);
    let found = format!("{} MiB, of which {} MiB can be had", total >> 20, available >> 20);
    Some(if available < LITTLE_MEMORY {
        Finding::warning(
            "memory",
            found,
            "stop other programs, or add memory; `fourfold advise` says whether it helps",
        )
    } else {
        Finding::fine("memory", found)
    })
}

/// What programs that keep the clock right leave below `/run`.
const CLOCK_KEEPERS: [&str; 5] =
    ["systemd/timesync/synchronized", "chrony/chronyd.pid", "chronyd.pid", "ntpd.pid", "openntpd.sock"];

fn clock(is_kept: bool) -> Finding {
    if is_kept {
        return Finding::fine("clock", "a program keeps it right");
    }
    let found = "no program keeps the clock right (timesyncd, chrony, ntpd): dates of files will be wrong";
    Finding::warning("clock", found, "timedatectl set-ntp true, or install chrony")
}

fn time_zone(is_set: bool) -> Option<Finding> {
    (!is_set).then(|| {
        let found = "the time zone is not set: AFP clients and schedules of snapshots get UTC";
        Finding::warning("time zone", found, "timedatectl set-timezone Europe/Berlin, or where you are")
    })
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn level(finding: Option<Finding>) -> Option<Level> {
        finding.map(|finding| finding.level)
    }

    #[test]
    fn kernels_are_told_apart_by_number() {
        assert_eq!(level(kernel("5.4.0-150-generic")), Some(Level::Problem));
        assert_eq!(level(kernel("5.10.0-28-amd64")), Some(Level::Fine));
        assert_eq!(level(kernel("6.1.0-18-amd64")), Some(Level::Fine));
        assert_eq!(level(kernel("")), None);
    }

    #[test]
    fn small_limits_are_named_with_what_mends_them() {
        let few = descriptors(Some(1024)).unwrap();
        assert_eq!(few.level, Level::Warning);
        assert!(few.mend.contains("LimitNOFILE") && few.found.contains("256 clients"), "{few:?}");
        assert_eq!(level(descriptors(Some(524_288))), Some(Level::Fine));
        assert_eq!(level(descriptors(None)), Some(Level::Fine));
        assert_eq!(level(watches(Some(8192))), Some(Level::Warning));
        assert_eq!(level(watches(Some(1_048_576))), Some(Level::Fine));
        assert_eq!(level(watches(None)), None);
    }

    #[test]
    fn memory_is_what_can_be_had() {
        let meminfo = "MemTotal:        1024000 kB\nMemFree:  1 kB\nMemAvailable:     102400 kB\n";
        let little = memory(meminfo).unwrap();
        assert_eq!((little.level, &*little.found), (Level::Warning, "1000 MiB, of which 100 MiB can be had"));
        assert_eq!(level(memory(&meminfo.replace("102400", "902400"))), Some(Level::Fine));
    }
}
