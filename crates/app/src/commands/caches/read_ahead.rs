//! How far ahead the host reads, by what the kernel shows: the size for each disk, and the bytes that came from disks.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use admin::control::ReadAheadStatus;
use admin::{ReadAhead, Settings, ShareSettings};

/// The most shares whose disks are looked at.
const MOST_SHARES: usize = 64;

/// The shares on disks of this host. A file system without a disk of its own, such as one in memory, has none.
pub(super) fn of_shares(settings: &Settings) -> Vec<ReadAheadStatus> {
    let local = settings.shares.iter().filter(|share| !share.is_in_store()).take(MOST_SHARES);
    local.filter_map(of_share).collect()
}

fn of_share(share: &ShareSettings) -> Option<ReadAheadStatus> {
    let device = fs::metadata(&share.path).ok()?.dev();
    let disk = of_device(Path::new("/sys"), (rustix::fs::major(device), rustix::fs::minor(device)))?;
    let (bytes, setting) = match share.read_ahead {
        ReadAhead::Normal => (disk, "normal"),
        ReadAhead::Double => (2 * disk, "double"),
        ReadAhead::Off => (0, "none"),
    };
    Some(ReadAheadStatus { share: share.name.clone(), disk, bytes, setting: setting.into() })
}

/// The read-ahead of a file system by its device, in bytes: its own, or that of the disk whose partition it is.
fn of_device(sys: &Path, (major, minor): (u32, u32)) -> Option<u64> {
    let number = format!("{major}:{minor}");
    let block: PathBuf = sys.join("dev/block").join(&number);
    let places = [
        sys.join("class/bdi").join(&number).join("read_ahead_kb"),
        block.join("queue/read_ahead_kb"),
        fs::canonicalize(&block).ok()?.parent()?.join("queue/read_ahead_kb"),
    ];
    let kib = places.iter().find_map(|place| fs::read_to_string(place).ok()?.trim().parse::<u64>().ok())?;
    kib.checked_mul(1024)
}

/// Bytes that came from disks because this process read, Documentation/filesystems/proc.rst, "read_bytes".
pub(super) fn from_disks() -> Option<u64> {
    counted(&fs::read_to_string("/proc/self/io").ok()?)
}

fn counted(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_has_the_read_ahead_of_its_disk() {
        let sys = tempfile::tempdir().unwrap();
        let disk = sys.path().join("devices/sda");
        fs::create_dir_all(disk.join("sda1")).unwrap();
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::write(disk.join("queue/read_ahead_kb"), "128\n").unwrap();
        fs::create_dir_all(sys.path().join("dev/block")).unwrap();
        std::os::unix::fs::symlink(disk.join("sda1"), sys.path().join("dev/block/8:1")).unwrap();
        assert_eq!(of_device(sys.path(), (8, 1)), Some(128 << 10));
        assert_eq!(of_device(sys.path(), (8, 2)), None);
        let own = sys.path().join("class/bdi/8:1");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("read_ahead_kb"), "4096\n").unwrap();
        assert_eq!(
            of_device(sys.path(), (8, 1)),
            Some(4 << 20),
            "a file system of several disks has its own"
        );
    }

    #[test]
    fn bytes_from_disks_are_those_of_read_bytes() {
        let text = "rchar: 9\nwchar: 1\nsyscr: 2\nsyscw: 3\nread_bytes: 81920\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n";
        assert_eq!(counted(text), Some(81_920));
        assert_eq!(counted("rchar: 9\n"), None);
    }
}
