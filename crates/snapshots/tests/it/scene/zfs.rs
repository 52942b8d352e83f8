//! A pool of ZFS. The daemon of zfs-fuse is started if no ZFS runs.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{run, text};

/// A pool in a file, which is gone when it is dropped.
pub(crate) struct Pool {
    dir: tempfile::TempDir,
    name: String,
    daemon: Option<Child>,
}

impl Pool {
    /// `None`, with a message on standard output, where no ZFS runs.
    pub(crate) fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: ZFS needs root");
            return None;
        }
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let name = format!("fourfoldtest{}", std::process::id());
        let mut pool = Self { dir, name, daemon: None };
        let is_running = run("zpool", &["list"]) || pool.start();
        if !is_running {
            println!("skipped: no ZFS and no zfs-fuse");
            return None;
        }
        let (file, root) = (pool.dir.path().join("vdev"), pool.root());
        fs::File::create(&file).unwrap().set_len(128 << 20).unwrap();
        if !run("zpool", &["create", "-f", "-m", text(&root), &pool.name, text(&file)]) {
            println!("skipped: no pool of ZFS can be made");
            return None;
        }
        Some(pool)
    }

    fn start(&mut self) -> bool {
        let mut daemon = Command::new("zfs-fuse");
        daemon.args(["--no-daemon", "--enable-xattr"]).stdin(Stdio::null());
        daemon.stdout(Stdio::null()).stderr(Stdio::null());
        self.daemon = daemon.spawn().ok();
        self.daemon.is_some()
            && (0..50).any(|_| {
                std::thread::sleep(Duration::from_millis(100));
                run("zpool", &["list"])
            })
    }

    /// The name of a dataset or snapshot in the pool.
    pub(crate) fn dataset(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }

    pub(crate) fn mounts(&self) -> PathBuf {
        self.dir.path().join("mounts")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        run("zpool", &["destroy", "-f", &self.name]);
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill().and_then(|()| daemon.wait());
        }
        run("umount", &["-l", text(&self.root())]);
    }
}
