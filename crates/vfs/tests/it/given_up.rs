//! Files that are only read give up the descriptors of their data when others need them, and stay open.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use vfs::backend::Stability;
use vfs::backend::host::{Host, HostOptions, KeptFiles};
use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Caller, Open, OpenOptions, Volume, VolumeOptions};

/// The fewest descriptors of data that there may be.
const LIMIT: usize = 64;
const FILES: usize = 200;

struct Disk {
    dir: tempfile::TempDir,
    volume: Arc<Volume>,
    anna: Actor,
}

impl Disk {
    /// With files of Anna. `None` without root, who alone may open a file whatever its mode is.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root opens files of others again");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let options = HostOptions { open_files: KeptFiles::new(LIMIT), ..HostOptions::default() };
        let host = Host::open(dir.path(), &options).unwrap();
        let volume = Arc::new(Volume::new(Arc::new(host), VolumeOptions::default()));
        let anna = Actor::new(Caller::new(5001, 5001, &[]), Party::client(ClientId(1)));
        let disk = Self { dir, volume, anna };
        for number in 0..FILES {
            std::fs::write(disk.path(number), content(number)).unwrap();
            std::fs::set_permissions(disk.path(number), PermissionsExt::from_mode(0o600)).unwrap();
            chown(disk.path(number), Some(5001), Some(5001)).unwrap();
        }
        Some(disk)
    }

    fn path(&self, number: usize) -> PathBuf {
        self.dir.path().join(format!("file{number:03}"))
    }

    async fn open(&self, number: usize, access: Modes) -> Open {
        let root = self.volume.root().unwrap();
        let name = format!("file{number:03}");
        let found = self.volume.lookup(&self.anna.caller, &root.object, name.as_bytes()).unwrap();
        self.volume.open(&self.anna, &found, OpenOptions::data(access)).await.unwrap()
    }

    /// How many descriptors of this process read or write files of the disk. Those that only name a file do neither.
    fn descriptors(&self) -> usize {
        const O_PATH: u32 = 0o10_000_000;
        let is_data = |number: &str| {
            let info =
                std::fs::read_to_string(Path::new("/proc/self/fdinfo").join(number)).unwrap_or_default();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            flags.is_some_and(|flags| u32::from_str_radix(flags.trim(), 8).unwrap() & O_PATH == 0)
        };
        let all = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
        let is_of_file = |target: &Path| target.starts_with(self.dir.path()) && target != self.dir.path();
        let of_files =
            all.filter(|one| std::fs::read_link(one.path()).is_ok_and(|target| is_of_file(&target)));
        of_files.filter(|one| is_data(one.file_name().to_str().unwrap())).count()
    }
}

fn content(number: usize) -> Vec<u8> {
    format!("the content of {number}").into_bytes()
}

async fn read(open: &Open) -> Vec<u8> {
    let mut bytes = Vec::new();
    open.read_at(0, 100).await.unwrap().payload.append_or_zeros_to(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn an_open_file_is_read_whatever_has_become_of_it() {
    let Some(disk) = Disk::new() else { return };
    let mut opens = Vec::new();
    for number in 0..FILES {
        let open = disk.open(number, Modes::READ).await;
        assert_eq!(read(&open).await, content(number));
        opens.push(open);
    }
    let held = disk.descriptors();
    assert!(held <= LIMIT + 8, "{held} descriptors for {FILES} open files");
    for number in 0..FILES {
        match number % 4 {
            0 => std::fs::set_permissions(disk.path(number), PermissionsExt::from_mode(0o0)).unwrap(),
            1 => std::fs::remove_file(disk.path(number)).unwrap(),
            2 => chown(disk.path(number), Some(0), Some(0)).unwrap(),
            _ => {
                // Another file takes its name.
                std::fs::write(disk.dir.path().join("new"), "other").unwrap();
                std::fs::rename(disk.dir.path().join("new"), disk.path(number)).unwrap();
            }
        }
    }
    for round in 0..3 {
        for (number, open) in opens.iter().enumerate() {
            assert_eq!(read(open).await, content(number), "file {number} in round {round}");
        }
        let held = disk.descriptors();
        assert!(held <= LIMIT + 8, "{held} descriptors in round {round}");
    }
    drop(opens);
}

#[tokio::test]
async fn what_is_written_or_in_use_keeps_its_descriptor() {
    let Some(disk) = Disk::new() else { return };
    let (mut written, mut reading) = (Vec::new(), Vec::new());
    for number in 0..30 {
        let open = disk.open(number, Modes::READ.union(Modes::WRITE)).await;
        open.write_at(0, Bytes::from_static(b"THE"), Stability::Unstable).await.unwrap();
        written.push(open);
    }
    for number in 30..FILES {
        reading.push(disk.open(number, Modes::READ).await);
    }
    // 30 that write, and as many that read as the limit leaves.
    let held = disk.descriptors();
    assert!((30..=LIMIT + 8).contains(&held), "{held}");
    for (number, open) in written.iter().enumerate() {
        let expected = [b"THE", &content(number)[3..]].concat();
        assert_eq!(read(open).await, expected);
        open.sync().await.unwrap();
    }
    // A copy reads from a file whose descriptor is closed.
    let count = written[0].copy_from(&reading[0], 0, 0, 14).await.unwrap();
    assert_eq!((count, &read(&written[0]).await[..14]), (14, &content(30)[..14]));
}
