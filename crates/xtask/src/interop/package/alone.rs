//! The static program: it serves where nothing else is.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::installed::{CONTENT, FILE, LOGIN, START_LIMIT, is_served};
use super::{LIMIT, unpack};
use crate::package::PackageParts;
use crate::process::{self, Running};
use crate::server::UID;

/// Unpacks the tarball, and starts its program with a file system that has the program, a share, a state folder and
/// `/proc`: no libraries, no `/etc` and `/dev`.
pub fn run(program: &Path, place: &Path) -> Result<()> {
    let own = place.join("static");
    fs::create_dir_all(&own)?;
    let (name, bytes) = PackageParts::of(program, &own)?.tarball()?;
    ensure!(name.ends_with("-linux-musl.tar.gz"), "the tarball of a static program is {name}");
    fs::write(own.join(&name), &bytes)?;
    unpack(&own.join(&name), &own)?;
    let root = own.join("root");
    fs::create_dir(&root)?;
    process::stdout_of("mount", &["-t", "tmpfs", "tmpfs", &root.display().to_string()], LIMIT)?;
    let proc = root.join("proc"); // files are opened again by their descriptors
    fs::create_dir(&proc)?;
    process::stdout_of("mount", &["-t", "proc", "proc", &proc.display().to_string()], LIMIT)?;
    let unpacked = own.join(name.trim_end_matches(".tar.gz")).join("bin/fourfold");
    fs::copy(unpacked, root.join("fourfold"))?;
    fs::create_dir(root.join("share"))?;
    fs::write(root.join("share").join(FILE), CONTENT)?;
    chown(root.join("share"), Some(UID), Some(UID))?;
    let (user, password) = LOGIN.split_once('%').context("a password")?;
    fs::write(root.join("password"), password)?;

    let (root_text, uid) = (root.display().to_string(), UID.to_string());
    let add = [&root_text, "/fourfold", "user", "add", user, "--uid", &uid, "--password-file", "/password"];
    process::stdout_of("chroot", &[&add[..], &["--state", "/state"]].concat(), LIMIT)?;
    let words = "serve Share=/share --state /state --bonjour off --nfs-clients 127.0.0.1";
    let serve: Vec<&str> = [&*root_text, "/fourfold"].into_iter().chain(words.split(' ')).collect();
    let path = own.join("serve.log");
    let log = process::log_file(&path)?;
    let mut running = Running::start("chroot", &serve, Stdio::null(), log)?;
    let until = Instant::now() + START_LIMIT;
    loop {
        running.still_up().with_context(|| fs::read_to_string(&path).unwrap_or_default())?;
        match is_served(&own.join("samba")) {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > until => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}
