//! File systems that count their errors, and arrays of disks: as the kernel and ZFS tell them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use admin::control::{FilesystemStatus, Health};

/// The most of each kind.
const MOST: usize = 256;
/// What btrfs counts for each device: btrfs-device(8), `stats`.
const BTRFS: [(&str, &str); 5] = [
    ("write_errs", "writes failed"),
    ("read_errs", "reads failed"),
    ("flush_errs", "flushes failed"),
    ("corruption_errs", "blocks with wrong checksums"),
    ("generation_errs", "blocks of the wrong generation"),
];

/// All of this machine; `root` is `/`.
pub(super) fn look(root: &Path) -> Vec<FilesystemStatus> {
    let mut all = btrfs(root);
    all.extend(ext4(root));
    all.extend(arrays(root));
    all.extend(zfs());
    all
}

fn folders(path: PathBuf) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|one| one.path()).collect();
    all.sort();
    all.truncate(MOST);
    all
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn text(path: PathBuf) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn status(kind: &str, name: String, problems: Vec<String>, worst: Health) -> FilesystemStatus {
    let health = if problems.is_empty() { Health::Good } else { worst };
    FilesystemStatus { kind: kind.into(), name, health, problems }
}

/// `/sys/fs/btrfs/UUID/devinfo/ID/error_stats`, Linux 5.14.
fn btrfs(root: &Path) -> Vec<FilesystemStatus> {
    let of = |folder: PathBuf| {
        let devices = folders(folder.join("devinfo"));
        if devices.is_empty() {
            return None; // `features`, and older kernels
        }
        let label = text(folder.join("label")).filter(|label| !label.is_empty());
        let problems = devices.iter().filter_map(|device| {
            let found = text(device.join("error_stats"))?;
            let said: Vec<String> = found.lines().filter_map(counted).collect();
            (!said.is_empty()).then(|| format!("device {}: {}", name(device), said.join(", ")))
        });
        let missing =
            devices.iter().filter(|device| text(device.join("missing")).is_some_and(|word| word == "1"));
        let missing = missing.map(|device| format!("device {} is missing", name(device)));
        let problems: Vec<String> = problems.chain(missing).collect();
        Some(status("btrfs", label.unwrap_or_else(|| name(&folder)), problems, Health::Worn))
    };
    folders(root.join("sys/fs/btrfs")).into_iter().filter_map(of).collect()
}

/// A line such as `read_errs 3`, in words.
fn counted(line: &str) -> Option<String> {
    let (key, count) = line.split_once(' ')?;
    let (_, what) = BTRFS.into_iter().find(|(known, _)| *known == key)?;
    (count != "0").then(|| format!("{count} {what}"))
}

/// `/sys/fs/ext4/DEVICE/errors_count`.
fn ext4(root: &Path) -> Vec<FilesystemStatus> {
    let of = |folder: PathBuf| {
        let count = text(folder.join("errors_count"))?;
        let last = text(folder.join("last_error_time")).and_then(|unix| unix.parse().ok());
        let last = last.and_then(|unix| jiff::Timestamp::from_second(unix).ok());
        let last = last.map_or_else(String::new, |last| format!(", the last one at {last}"));
        let problem = (count != "0")
            .then(|| format!("{count} errors{last}: unmount it, and run `e2fsck -f /dev/{}`", name(&folder)));
        Some(status(
            "ext4",
            format!("/dev/{}", name(&folder)),
            problem.into_iter().collect(),
            Health::Failing,
        ))
    };
    folders(root.join("sys/fs/ext4")).into_iter().filter_map(of).collect()
}

/// `/sys/block/mdN/md/degraded`: the disks that an array lacks.
fn arrays(root: &Path) -> Vec<FilesystemStatus> {
    let of = |folder: PathBuf| {
        let lacking = text(folder.join("md/degraded"))?;
        let problem = (lacking != "0").then(|| {
            format!("{lacking} of its disks are missing: `mdadm --detail /dev/{}` says which", name(&folder))
        });
        Some(status("md", format!("/dev/{}", name(&folder)), problem.into_iter().collect(), Health::Failing))
    };
    folders(root.join("sys/block")).into_iter().filter_map(of).collect()
}

/// The pools of ZFS, if there is ZFS.
fn zfs() -> Vec<FilesystemStatus> {
    let run = |arguments: &[&str]| {
        let mut command = Command::new("zpool");
        let output = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(pools) = run(&["list", "-H", "-o", "name,health"]) else { return Vec::new() };
    let of = |line: &str| {
        let (pool, health) = line.split_once('\t')?;
        Some(pool_status(pool, health, &run(&["status", pool]).unwrap_or_default()))
    };
    pools.lines().take(MOST).filter_map(of).collect()
}

/// A pool, by its health and what `zpool status` says.
fn pool_status(pool: &str, health: &str, said: &str) -> FilesystemStatus {
    let degraded =
        (health != "ONLINE").then(|| format!("it is {health}: `zpool status {pool}` says which disk"));
    let errors = said.lines().find_map(|line| line.trim().strip_prefix("errors: "));
    let errors = errors.filter(|errors| *errors != "No known data errors").map(str::to_owned);
    status("zfs", pool.to_owned(), degraded.into_iter().chain(errors).collect(), Health::Failing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, content: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn found(root: &Path) -> Vec<(String, String, Health, String)> {
        let all = [btrfs(root), ext4(root), arrays(root)].concat();
        all.into_iter().map(|one| (one.kind, one.name, one.health, one.problems.join("; "))).collect()
    }

    #[test]
    fn errors_that_the_kernel_counts_are_told_with_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert!(found(root).is_empty());
        let zeros = "write_errs 0\nread_errs 0\nflush_errs 0\ncorruption_errs 0\ngeneration_errs 0\n";
        put(root, "sys/fs/btrfs/features/raid1c34", "0\n");
        put(root, "sys/fs/btrfs/1111/label", "films\n");
        put(root, "sys/fs/btrfs/1111/devinfo/1/error_stats", zeros);
        put(root, "sys/fs/btrfs/1111/devinfo/1/missing", "0\n");
        put(root, "sys/fs/btrfs/2222/label", "\n");
        put(root, "sys/fs/btrfs/2222/devinfo/1/error_stats", &zeros.replace("read_errs 0", "read_errs 3"));
        put(root, "sys/fs/btrfs/2222/devinfo/2/missing", "1\n");
        put(root, "sys/fs/ext4/sda1/errors_count", "0\n");
        put(root, "sys/fs/ext4/sdb1/errors_count", "2\n");
        put(root, "sys/fs/ext4/sdb1/last_error_time", "1700000000\n");
        put(root, "sys/fs/ext4/features/lazy_itable_init", "supported\n");
        put(root, "sys/block/md0/md/degraded", "1\n");
        put(root, "sys/block/md1/md/degraded", "0\n");
        put(root, "sys/block/sda/size", "1\n");
        let all = found(root);
        let short: Vec<_> = all.iter().map(|(kind, name, health, _)| (&**kind, &**name, *health)).collect();
        assert_eq!(
            short,
            [
                ("btrfs", "films", Health::Good),
                ("btrfs", "2222", Health::Worn),
                ("ext4", "/dev/sda1", Health::Good),
                ("ext4", "/dev/sdb1", Health::Failing),
                ("md", "/dev/md0", Health::Failing),
                ("md", "/dev/md1", Health::Good),
            ]
        );
        assert_eq!(all[1].3, "device 1: 3 reads failed; device 2 is missing");
        let expected =
            "2 errors, the last one at 2023-11-14T22:13:20Z: unmount it, and run `e2fsck -f /dev/sdb1`";
        assert_eq!(all[3].3, expected);
    }

    #[test]
    fn a_pool_is_judged_by_its_health_and_its_errors() {
        let of = |health, said| pool_status("tank", health, said);
        let good = of("ONLINE", "  pool: tank\n state: ONLINE\n\nerrors: No known data errors\n");
        assert_eq!((good.health, good.problems.len()), (Health::Good, 0));
        let lost = of("DEGRADED", " state: DEGRADED\nerrors: 2 data errors, use '-v' for a list\n");
        assert_eq!(lost.health, Health::Failing);
        assert_eq!(lost.problems[1], "2 data errors, use '-v' for a list");
    }
}
