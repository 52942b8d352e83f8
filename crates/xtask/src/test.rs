//! `cargo xtask test`: all tests. CI runs this command.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::check::{self, Steps};
use crate::process::Running;
use crate::{debian, interop, process};

/// How long clients that run beside others may take after these.
const LIMIT: Duration = Duration::from_secs(900);

pub fn run() -> Result<()> {
    std::env::set_current_dir(process::root())?; // of programs that run beside others, too
    let mut missing = debian::ensure(debian::NFS_CLIENTS, true)?;
    missing.extend(debian::ensure(debian::SMB_CLIENTS, false)?);
    missing.extend(debian::ensure(debian::AFP_CLIENTS, false)?);
    missing.extend(debian::ensure(debian::ISCSI_CLIENTS, false)?);
    missing.extend(debian::ensure(debian::LINUX_FILES, false)?);
    missing.extend(debian::ensure(debian::PACKAGING, false)?);
    missing.extend(debian::ensure(debian::BROWSER, false)?);
    missing.extend(debian::ensure(debian::DOMAIN, false)?);
    missing
        .extend(debian::ensure(&[debian::SMB_PEER, debian::NFS_PEER, debian::ISCSI_PEER].concat(), false)?);
    let mut steps = Steps::default();
    steps.run("clients", || clients(&missing));
    check::add_steps(&mut steps, check::LONG_STRESS);
    steps.run("program", interop::build);
    interop::forget_summaries();
    // smbtorture mostly waits, in a network of its own.
    let smb = beside("smb", &["--ci"]);
    steps.run("interop nfs", || interop("nfs", &[]));
    steps.run("interop afp", || interop("afp", &["--ci"]));
    steps.run("interop iscsi", || interop("iscsi", &["--ci"]));
    steps.run("interop linux", || interop("linux", &["--ci"]));
    steps.run("interop layouts", || interop("layouts", &[]));
    steps.run("interop coherence", || interop("coherence", &[]));
    steps.run("interop ceph", || interop("ceph", &[]));
    steps.run("interop bench", || interop("bench", &[]));
    // Servers of a cluster mostly wait for the end of leases. What runs beside them measures nothing.
    let cluster = beside("cluster", &[]);
    steps.run("interop package", || interop("package", &[]));
    steps.run("interop domain", || interop("domain", &[]));
    steps.run("interop migrate", || interop("migrate", &[]));
    steps.run("interop console", || interop("console", &[]));
    steps.run("interop cluster, the rest of it", || cluster?.finish());
    steps.run("interop smb, the rest of it", || smb?.finish());
    let outcome = steps.finish();
    println!("{}", interop::last_summaries());
    outcome
}

/// Runs in a process of its own, since it may move itself to a network of its own.
fn interop(protocol: &str, more: &[&str]) -> Result<()> {
    let xtask = std::env::current_exe()?;
    let args = [&["interop", protocol, "--no-build"], more].concat();
    process::run(&xtask.to_string_lossy(), &args)
}

/// Clients that run beside the following steps.
struct Beside {
    running: Running,
    log: PathBuf,
}

/// The same as [`interop()`] without waiting. The output goes to a file.
fn beside(protocol: &str, more: &[&str]) -> Result<Beside> {
    let log = process::root().join(format!("target/interop-{protocol}.log"));
    let (file, xtask) = (File::create(&log)?, std::env::current_exe()?);
    let args = [&["interop", protocol, "--no-build"], more].concat();
    let running = Running::start(xtask, &args, file.try_clone()?.into(), file.into())?;
    Ok(Beside { running, log })
}

impl Beside {
    /// Waits for the end, and prints the output.
    fn finish(self) -> Result<()> {
        let ended = self.running.finish(LIMIT);
        print!("{}", std::fs::read_to_string(&self.log)?);
        ended
    }
}

/// Under CI other projects' clients must be installed. Elsewhere their tests are skipped, and that
/// is printed.
fn clients(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("missing Debian packages: {}", missing.join(" "));
    if process::is_ci() {
        bail!("{what}");
    }
    println!("{what}; the tests that need them are skipped (as root, `cargo xtask test` installs them)");
    Ok(())
}
