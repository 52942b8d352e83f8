//! The machine: its kernel, privileges, limits, memory and clock.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, getrlimit};

use super::DoctorFinding;
use crate::host::{confinement, here, privileges};

/// The first kernel with all calls that the server needs (`openat2`, `faccessat2`), as README says.
const OLDEST_KERNEL: (u32, u32) = (5, 8);
/// Descriptors: each connection and each file in use needs one or two.
const FEW_DESCRIPTORS: u64 = 16_384;
/// Watches of folders whose listings are kept.
const FEW_WATCHES: u64 = 65_536;
/// Instances of inotify that are left for other programs of the same user. The server takes one for each share.
const OTHERS_INSTANCES: u64 = 32;
/// Memory in bytes below which caches and replies are small.
const LITTLE_MEMORY: u64 = 256 << 20;
/// The clock of a machine that lost its time is before this: 2026-01-01, in seconds since 1970.
const EARLIEST: u64 = 1_767_225_600;

/// Looks at all of it, for a server with this number of shares.
pub(super) fn look(shares: usize) -> Vec<DoctorFinding> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let number = |path: &str| read(path).trim().parse().ok();
    let limit = getrlimit(Resource::Nofile).maximum;
    let is_root = here::privileged();
    [
        kernel(read("/proc/sys/kernel/osrelease").trim()),
        Some(user(is_root)),
        capabilities(is_root, &privileges::missing()),
        Some(landlock(confinement::is_supported())),
        Some(descriptors(limit)),
        watches(number("/proc/sys/fs/inotify/max_user_watches")),
        instances(number("/proc/sys/fs/inotify/max_user_instances"), shares),
        memory(&read("/proc/meminfo")),
        Some(clock(
            SystemTime::now(),
            CLOCK_KEEPERS.iter().any(|file| Path::new("/run").join(file).exists()),
        )),
        time_zone(Path::new("/etc/localtime").exists()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn landlock(is_supported: bool) -> DoctorFinding {
    match is_supported {
        true => {
            DoctorFinding::fine("confinement", "Landlock keeps the server from executing files of shares")
        }
        false => DoctorFinding::warning(
            "confinement",
            "this kernel has no Landlock for `confinement`, or it is not turned on: nothing keeps a server that was taken over from executing files of shares",
            "boot Linux 5.19 or later, with `landlock` among the security modules (`lsm=`)",
        ),
    }
}

fn kernel(release: &str) -> Option<DoctorFinding> {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next()?);
    Some(if version < OLDEST_KERNEL {
        let (major, minor) = OLDEST_KERNEL;
        let found = format!("Linux {release} lacks system calls that the server needs");
        DoctorFinding::problem("kernel", found, format!("boot Linux {major}.{minor} or later"))
    } else {
        DoctorFinding::fine("kernel", format!("Linux {release}"))
    })
}

fn user(is_root: bool) -> DoctorFinding {
    if is_root {
        return DoctorFinding::fine("user", "root: each account acts as its own user of this machine");
    }
    let found = "not root: every client acts as this user, and ports below 1024 are refused";
    DoctorFinding::warning(
        "user",
        found,
        "`sudo fourfold serve …`: the server drops the privileges that it does not need",
    )
}

/// Root in a container or in a unit of systemd may lack capabilities that the server needs.
fn capabilities(is_root: bool, missing: &[&str]) -> Option<DoctorFinding> {
    let about = "capabilities";
    if !is_root {
        return None;
    }
    if missing.is_empty() {
        return Some(DoctorFinding::fine(about, "root has all that the server needs"));
    }
    let found = format!("root lacks {}: requests of clients will fail", missing.join(", "));
    let (unit, container) = (missing.join(" "), missing.join(",").replace("CAP_", ""));
    let mend = format!(
        "add `CapabilityBoundingSet={unit}` to the systemd unit, or start the container with `--cap-add={container}`"
    );
    Some(DoctorFinding::problem(about, found, mend))
}

fn descriptors(limit: Option<u64>) -> DoctorFinding {
    let about = "open files";
    match limit {
        Some(limit) if limit < FEW_DESCRIPTORS => {
            let found =
                format!("at most {limit} for a process, which is enough for about {} clients", limit / 4);
            let mend = "`LimitNOFILE=524288` in the systemd unit, or `ulimit -Hn 524288` before the start";
            DoctorFinding::warning(about, found, mend)
        }
        Some(limit) => DoctorFinding::fine(about, format!("at most {limit} for a process")),
        None => DoctorFinding::fine(about, "no limit"),
    }
}

fn watches(most: Option<u64>) -> Option<DoctorFinding> {
    let (about, most) = ("inotify watches", most?);
    Some(if most < FEW_WATCHES {
        let found =
            format!("at most {most} folders can be watched; listings of other folders are not cached");
        DoctorFinding::warning(about, found, sysctl("fs.inotify.max_user_watches", 1_048_576))
    } else {
        DoctorFinding::fine(about, format!("at most {most} folders can be watched"))
    })
}

fn instances(most: Option<u64>, shares: usize) -> Option<DoctorFinding> {
    let (about, most, shares) = ("inotify instances", most?, shares as u64);
    Some(if most < shares + OTHERS_INSTANCES {
        let found = format!(
            "at most {most} for a user; the server needs {shares}, and a share without one does not cache listings"
        );
        DoctorFinding::warning(about, found, sysctl("fs.inotify.max_user_instances", 4 * (shares + 256)))
    } else {
        DoctorFinding::fine(about, format!("at most {most} for a user; the server needs {shares}"))
    })
}

/// The command that sets a number of the kernel now and at each start of the machine.
fn sysctl(name: &str, number: u64) -> String {
    format!("`echo {name}={number} | sudo tee -a /etc/sysctl.d/60-fourfold.conf && sudo sysctl --system`")
}

fn memory(meminfo: &str) -> Option<DoctorFinding> {
    let value = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
    };
    let (total, available) = (value("MemTotal:")?, value("MemAvailable:")?);
    let found = format!("{} MiB, of which {} MiB are available", total >> 20, available >> 20);
    Some(if available < LITTLE_MEMORY {
        let mend = "stop other programs or add memory; `fourfold advise` says whether more memory helps";
        DoctorFinding::warning("memory", found, mend)
    } else {
        DoctorFinding::fine("memory", found)
    })
}

/// What programs that keep the clock right leave below `/run`.
const CLOCK_KEEPERS: [&str; 5] =
    ["systemd/timesync/synchronized", "chrony/chronyd.pid", "chronyd.pid", "ntpd.pid", "openntpd.sock"];

fn clock(now: SystemTime, is_kept: bool) -> DoctorFinding {
    let mend = "`sudo timedatectl set-ntp true`, or `sudo apt install chrony`";
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if seconds < EARLIEST {
        let year = 1970 + seconds / 31_556_952;
        let found =
            format!("it is {year} by the clock of this machine: files get wrong dates, and logins fail");
        return DoctorFinding::problem("clock", found, mend);
    }
    if is_kept {
        return DoctorFinding::fine("clock", "a time service keeps it right");
    }
    let found = "no time service runs (timesyncd, chrony, ntpd): dates of files will drift";
    DoctorFinding::warning("clock", found, mend)
}

fn time_zone(is_set: bool) -> Option<DoctorFinding> {
    (!is_set).then(|| {
        let found = "the time zone is not set: AFP clients and schedules of snapshots get UTC";
        DoctorFinding::warning(
            "time zone",
            found,
            "`sudo timedatectl set-timezone Europe/Berlin`, with your zone",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    fn level(finding: Option<DoctorFinding>) -> Option<Level> {
        finding.map(|finding| finding.level)
    }

    #[test]
    fn kernels_are_told_apart_by_number() {
        assert_eq!(level(kernel("5.4.0-150-generic")), Some(Level::Problem));
        assert_eq!(level(kernel("5.7.19")), Some(Level::Problem));
        assert_eq!(level(kernel("5.10.0-28-amd64")), Some(Level::Fine));
        assert_eq!(level(kernel("6.1.0-18-amd64")), Some(Level::Fine));
        assert_eq!(level(kernel("")), None);
    }

    #[test]
    fn small_limits_are_named_with_what_mends_them() {
        let few = descriptors(Some(1024));
        assert_eq!(few.level, Level::Warning);
        assert!(few.mend.contains("LimitNOFILE") && few.found.contains("256 clients"), "{few:?}");
        assert_eq!(descriptors(Some(524_288)).level, Level::Fine);
        assert_eq!(descriptors(None).level, Level::Fine);
        assert_eq!(level(watches(Some(8192))), Some(Level::Warning));
        assert_eq!(level(watches(Some(1_048_576))), Some(Level::Fine));
        assert_eq!(level(watches(None)), None);
    }

    #[test]
    fn instances_are_compared_with_the_shares() {
        assert_eq!(level(instances(Some(128), 3)), Some(Level::Fine));
        let few = instances(Some(128), 100).unwrap();
        assert_eq!(few.level, Level::Warning);
        assert!(few.mend.contains("fs.inotify.max_user_instances=1424"), "{few:?}");
    }

    #[test]
    fn root_without_capabilities_is_told_which() {
        assert_eq!(capabilities(false, &["CAP_SETUID"]), None);
        assert_eq!(level(capabilities(true, &[])), Some(Level::Fine));
        let missing = capabilities(true, &["CAP_SETUID", "CAP_MKNOD"]).unwrap();
        assert_eq!(missing.level, Level::Problem);
        assert!(missing.mend.contains("--cap-add=SETUID,MKNOD"), "{missing:?}");
        assert!(missing.mend.contains("CapabilityBoundingSet=CAP_SETUID CAP_MKNOD"), "{missing:?}");
    }

    #[test]
    fn a_clock_that_lost_its_time_is_a_problem() {
        let at = |seconds| UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        let lost = clock(at(100_000), true);
        assert!(lost.level == Level::Problem && lost.found.starts_with("it is 1970"), "{lost:?}");
        assert_eq!(clock(at(1_795_000_000), true).level, Level::Fine);
        assert_eq!(clock(at(1_795_000_000), false).level, Level::Warning);
    }

    #[test]
    fn memory_is_what_can_be_had() {
        let meminfo = "MemTotal:        1024000 kB\nMemFree:  1 kB\nMemAvailable:     102400 kB\n";
        let little = memory(meminfo).unwrap();
        assert_eq!(
            (little.level, &*little.found),
            (Level::Warning, "1000 MiB, of which 100 MiB are available")
        );
        assert_eq!(level(memory(&meminfo.replace("102400", "902400"))), Some(Level::Fine));
    }
}
