//! Linux's own initiator, open-iscsi, if the kernel has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::place::{IscsiPlace, IscsiServer, said, text};
use crate::interop::outcome::Outcomes;
use crate::isolate;
use crate::process::{self, Running};

const LIMIT: Duration = Duration::from_secs(60);

pub fn run(outcomes: &mut Outcomes, place: &IscsiPlace, served: &IscsiServer) {
    let name = "open-iscsi: discovery, login, a file system, logout";
    match why_not() {
        Some(why) => outcomes.skip(name, why),
        None => outcomes.run(name, &["iscsiadm", "iscsid", "mkfs.ext4"], || use_it(place, served)),
    }
}

/// The reason if it cannot run. The kernel's part communicates with its daemon only in the
/// machine's first network namespace. If only this client is chosen, it runs there.
fn why_not() -> Option<&'static str> {
    if !process::is_root() {
        return Some("only root logs in");
    }
    let _ = process::output("modprobe", &["iscsi_tcp"], LIMIT);
    if !Path::new("/sys/class/iscsi_transport/tcp").exists() {
        return Some("this kernel has no iscsi_tcp");
    }
    isolate::is_isolated()
        .then_some("it works in the machine's own network only: `cargo xtask interop iscsi open-iscsi`")
}

fn use_it(place: &IscsiPlace, served: &IscsiServer) -> Result<()> {
    let work = place.work("open-iscsi")?;
    let program = process::find("iscsid").context("iscsid")?;
    let log = process::log_file(&work.join("iscsid.log"))?;
    let _daemon = Running::start(program, &["-f"], Stdio::null(), log)?;
    let (target, portal) = (served.lun("disk")?.target, format!("127.0.0.1:{}", served.port));
    let found = said("iscsiadm", &["-m", "discovery", "-t", "sendtargets", "-p", &portal])?;
    ensure!(found.contains(&target), "it finds {found}");
    let node = ["-m", "node", "-T", &target, "-p", &portal];
    said("iscsiadm", &[&node[..], &["--login"]].concat())?;
    let outcome = use_disk(&target, &work);
    said("iscsiadm", &[&node[..], &["--logout"]].concat())?;
    said("iscsiadm", &[&node[..], &["-o", "delete"]].concat())?;
    outcome
}

fn use_disk(target: &str, work: &Path) -> Result<()> {
    let (disk, at) = (text(&device(target)?), work.join("mounted"));
    fs::create_dir_all(&at)?;
    said("mkfs.ext4", &["-q", "-F", &disk])?;
    said("mount", &["-t", "ext4", &disk, &text(&at)])?;
    let wrote = fs::write(at.join("file"), vec![7; 20 << 20]);
    said("umount", &[&text(&at)])?;
    wrote?;
    said("e2fsck", &["-fn", &disk]).map(drop)
}

/// The disk, once the kernel has found it.
fn device(target: &str) -> Result<PathBuf> {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let entries = fs::read_dir("/dev/disk/by-path").into_iter().flatten().flatten();
        let mut paths = entries.map(|entry| entry.path());
        if let Some(found) = paths.find(|path| path.to_string_lossy().contains(&format!("{target}-lun-"))) {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    bail!("no disk appears below /dev/disk/by-path");
}
