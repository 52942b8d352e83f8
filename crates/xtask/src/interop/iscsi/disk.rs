//! A LUN as a file of the host. qemu's storage daemon logs in, and offers the LUN by FUSE.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::place::{LunAddress, said, text};
use crate::process::{self, Running};

/// Dropping it makes the daemon flush and log out.
#[derive(Debug)]
pub struct MountedDisk {
    daemon: Running,
    pub file: PathBuf,
}

const DAEMON: &str = "qemu-storage-daemon";

/// The reason if this machine cannot have such a file.
pub fn why_not() -> Option<&'static str> {
    if process::find(DAEMON).is_none() {
        Some("qemu-storage-daemon is not installed")
    } else if File::options().read(true).write(true).open("/dev/fuse").is_err() {
        Some("there is no /dev/fuse to use")
    } else if !process::is_root() && process::find("fusermount3").is_none() {
        Some("fusermount3 is not installed")
    } else {
        None
    }
}

impl MountedDisk {
    /// Logs in with a new daemon.
    pub fn attach(lun: &LunAddress, work: &Path) -> Result<Self> {
        // A daemon that crashed leaves its file unusable.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let file = work.join(format!("lun{}", NUMBER.fetch_add(1, Relaxed)));
        File::create(&file)?;
        let block_device = format!("node-name=lun,discard=unmap,{}", lun.qemu(""));
        let export = format!("type=fuse,id=lun,node-name=lun,mountpoint={},writable=on", file.display());
        let log = process::log_file(&work.join("daemon.log"))?;
        let program = process::find(DAEMON).context(DAEMON)?;
        let daemon =
            Running::start(program, &["--blockdev", &block_device, "--export", &export], Stdio::null(), log)?;
        let mut disk = Self { daemon, file };
        disk.wait().with_context(|| {
            format!("it says {:?}", fs::read_to_string(work.join("daemon.log")).unwrap_or_default())
        })?;
        Ok(disk)
    }

    fn wait(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while fs::metadata(&self.file)?.len() == 0 {
            self.daemon.still_up()?;
            if Instant::now() > deadline {
                bail!("{DAEMON} shows no disk");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    pub fn path(&self) -> String {
        text(&self.file)
    }
}

/// A file, or a disk that is one, mounted by the kernel through a loop device.
#[derive(Debug)]
pub struct LoopMount {
    at: PathBuf,
    device: Option<String>,
}

/// The reason if the kernel cannot mount such a file system here.
pub fn why_not_mounted(kind: &str) -> Option<String> {
    let kinds = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !process::is_root() {
        Some("only root mounts".into())
    } else if !Path::new("/dev/loop-control").exists() {
        Some("there are no loop devices".into())
    } else if !kinds.lines().any(|line| line.trim() == kind) {
        Some(format!("this kernel has no {kind}"))
    } else {
        why_not().map(str::to_owned)
    }
}

impl LoopMount {
    pub fn by_kernel(disk: &MountedDisk, kind: &str, at: &Path) -> Result<Self> {
        fs::create_dir_all(at)?;
        let device = said("losetup", &["-f", "--show", &disk.path()])?.trim().to_owned();
        let mounted = said("mount", &["-t", kind, &device, &text(at)]);
        let this = Self { at: at.into(), device: Some(device) };
        mounted.map(|_| this)
    }

    pub fn by_ntfs_3g(disk: &MountedDisk, at: &Path) -> Result<Self> {
        fs::create_dir_all(at)?;
        said("ntfs-3g", &[&disk.path(), &text(at)])?;
        Ok(Self { at: at.into(), device: None })
    }
}

impl Drop for LoopMount {
    fn drop(&mut self) {
        let mut done = said("umount", &[&text(&self.at)]).map(drop);
        if let Some(device) = &self.device {
            done = done.and(said("losetup", &["-d", device]).map(drop));
        }
        if let Err(error) = done {
            println!("{error:#}");
        }
    }
}
