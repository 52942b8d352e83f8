//! An ext4 on a served disk while the server is killed. Linux writes it through qemu's initiator,
//! which shows the disk as a file (FUSE) for a loop device.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::client::{BLOCKS, TARGET};
use crate::robustness::random::Random;
use crate::robustness::server::{Server, folder};
use crate::waiting::until;

const KILLS: u32 = 20;
/// Files that exist at a time.
const FILES: usize = 24;
/// How long qemu may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// The promised contents by name: those on the disk when `fsync` returned.
type PromisedContents = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// The disk, attached to this machine and mounted.
struct AttachedDisk {
    qemu: Child,
    at: PathBuf,
}

fn run(program: &str, words: &[&str]) -> bool {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl AttachedDisk {
    /// qemu shows the disk as the file `raw`; `None` if that is impossible.
    fn attach(top: &Path, port: u16) -> Option<Self> {
        let (raw, at) = (top.join("disk.raw"), top.join("mounted"));
        if !raw.exists() {
            File::create(&raw).unwrap();
            std::fs::create_dir(&at).unwrap();
        }
        let disk = format!(
            "driver=iscsi,node-name=disk,transport=tcp,portal=127.0.0.1:{port},target={TARGET},lun=0,\
             initiator-name=iqn.2026-11.invalid:qemu"
        );
        let export = format!(
            "type=fuse,id=fuse,node-name=disk,mountpoint={},writable=on,allow-other=off",
            raw.display()
        );
        let log = File::create(top.join("qemu.log")).unwrap();
        let qemu = Command::new("qemu-storage-daemon")
            .args(["--blockdev", &disk, "--export", &export])
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .ok()?;
        let mut attached = Self { qemu, at };
        let begun = Instant::now();
        while raw.metadata().is_ok_and(|file| file.len() != BLOCKS * 512) {
            if attached.qemu.try_wait().unwrap().is_some() || begun.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(attached)
    }

    fn mount(&self, top: &Path) {
        let mounted = run("mount", &["-o", "loop", text(&top.join("disk.raw")), text(&self.at)]);
        assert!(mounted, "an ext4 that Linux does not mount");
    }
}

impl AttachedDisk {
    /// All that waits for the disk fails from now on.
    fn end(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

impl Drop for AttachedDisk {
    fn drop(&mut self) {
        self.end();
        for _ in 0..100 {
            if run("umount", &[text(&self.at)]) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = run("umount", &["-l", text(&self.at)]);
        let _ = run("umount", &["-l", text(&self.at.with_file_name("disk.raw"))]);
    }
}

/// Makes, renames and deletes files until the disk fails, and records the promised contents.
fn work(at: &Path, kill: u32, promised: &PromisedContents, done: &AtomicUsize) {
    let mut random = Random::new(0x5eed_0054 + u64::from(kill));
    for number in 0.. {
        let name = format!("file-{kill}-{number}");
        if one_file(at, &name, &mut random, promised).is_err() {
            return;
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

fn one_file(at: &Path, name: &str, random: &mut Random, promised: &PromisedContents) -> std::io::Result<()> {
    let length = 1 + random.below(200_000);
    let content = random.bytes(length);
    let mut file = File::create(at.join(name))?;
    file.write_all(&content)?;
    file.sync_all()?;
    if random.below(3) == 0 {
        let other = format!("renamed-{name}");
        std::fs::rename(at.join(name), at.join(&other))?;
        File::open(at)?.sync_all()?;
        promised.lock().unwrap().insert(other, content);
    } else {
        File::open(at)?.sync_all()?;
        promised.lock().unwrap().insert(name.to_owned(), content);
    }
    let old = {
        let mut promised = promised.lock().unwrap();
        if promised.len() > FILES { promised.pop_first().map(|(name, _)| name) } else { None }
    };
    old.map_or(Ok(()), |old| std::fs::remove_file(at.join(old)))
}

/// Checks the disk's bytes that the killed server has left: after the replay of its journal, e2fsck
/// finds no error, and the promised contents exist.
fn verify(top: &Path, image: &Path, promised: &BTreeMap<String, Vec<u8>>) {
    let copy = top.join("copy.img");
    std::fs::copy(image, &copy).unwrap();
    Command::new("e2fsck").args(["-y", "-E", "journal_only", text(&copy)]).output().unwrap();
    let sound = Command::new("e2fsck").args(["-f", "-n", text(&copy)]).output().unwrap();
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stdout));
    let out = top.join("out");
    std::fs::create_dir(&out).unwrap();
    let script: String =
        promised.keys().map(|name| format!("dump {name} {}\n", out.join(name).display())).collect();
    std::fs::write(top.join("script"), script).unwrap();
    assert!(run("debugfs", &["-f", text(&top.join("script")), text(&copy)]));
    for (name, content) in promised {
        let found = std::fs::read(out.join(name)).unwrap_or_default();
        let seen = || {
            let stat = Command::new("debugfs").args(["-R", &format!("stat {name}"), text(&copy)]).output();
            stat.map(|told| String::from_utf8_lossy(&told.stdout).into_owned()).unwrap_or_default()
        };
        assert!(found == *content, "{name}: {} of {} bytes; {}", found.len(), content.len(), seen());
    }
    std::fs::remove_dir_all(&out).unwrap();
}

#[test]
fn an_ext4_is_sound_after_twenty_kills_and_has_what_was_promised() {
    let (top, share) = folder();
    let mut server = Server::start_with_iscsi(top.path(), &share);
    let port = server.iscsi_port;
    let raw = top.path().join("disk.raw");
    let made = rustix::process::geteuid().is_root()
        && AttachedDisk::attach(top.path(), port)
            .is_some_and(|_attached| run("mkfs.ext4", &["-q", "-F", text(&raw)]));
    if !made {
        println!(
            "skipped: it needs root, /dev/fuse, a loop device, mkfs.ext4 and qemu-storage-daemon with iSCSI"
        );
        return;
    }
    let promised = PromisedContents::default();
    let (mut random, mut files) = (Random::new(0x5eed_0055), 0);
    for kill in 0..KILLS {
        let mut attached = AttachedDisk::attach(top.path(), port).expect("qemu");
        attached.mount(top.path());
        let (done, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let working = {
            let (at, promised, done, ended) =
                (attached.at.clone(), promised.clone(), done.clone(), ended.clone());
            std::thread::spawn(move || {
                work(&at, kill, &promised, &done);
                ended.store(true, Ordering::Relaxed);
            })
        };
        until("nothing is written", || done.load(Ordering::Relaxed) >= 5 || ended.load(Ordering::Relaxed));
        std::thread::sleep(Duration::from_millis(random.below(80) as u64)); // the moment of the kill
        server.kill();
        attached.end();
        // Before the file system is unmounted there: otherwise the work would continue in the
        // folder below, and promise contents that are not on the disk.
        working.join().unwrap();
        drop(attached);
        files += done.load(Ordering::Relaxed);
        verify(top.path(), &share.join(".fourfold-luns/disk.img"), &promised.lock().unwrap());
        server = Server::start_with_iscsi_on(top.path(), &share, port);
    }
    println!("{KILLS} kills within {files} files: a sound ext4 each time, and everything promised");
}
