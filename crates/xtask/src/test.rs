//! `cargo xtask test`: all tests. CI runs this command.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::check::{self, Steps};
use crate::process::Running;
use crate::{debian, docs, interop, process};

/// How long programs that run beside others may take after these.
const LIMIT: Duration = Duration::from_secs(900);

pub fn run() -> Result<()> {
    std::env::set_current_dir(process::root())?; // of programs that run beside others, too
    let missing = install()?;
    let mut steps = Steps::default();
    steps.run("clients", || clients(&missing));
    check::add_lints(&mut steps);
    steps.run("tests, compiled", check::compile_tests);
    // Most tests wait most of the time.
    let program =
        BackgroundStep::start("program", "nice", &[&["-n", "19", "cargo"], interop::BUILD].concat());
    steps.run("tests", || check::run_tests(check::LONG_STRESS));
    steps.run("program, the rest of it", || program?.finish());
    interop::forget_summaries();
    // The clients of the first steps mostly wait, too.
    let docs = BackgroundStep::start("docs", "nice", &[&["-n", "19", check::DOCS.0], check::DOCS.1].concat());
    // smbtorture mostly waits, in a network of its own.
    let smb = beside("smb", &["--ci"]);
    steps.run("interop nfs", || interop("nfs", &[]));
    steps.run("interop afp", || interop("afp", &["--ci"]));
    steps.run("interop iscsi", || interop("iscsi", &["--ci"]));
    steps.run("docs, the rest of them", || docs?.finish());
    steps.run("interop linux", || interop("linux", &["--ci"]));
    steps.run("interop bench", || interop("bench", &[]));
    // Servers of a cluster mostly wait for the end of leases. What runs beside them measures nothing.
    let cluster = beside("cluster", &[]);
    // Its virtual machine waits for timers of protocols.
    let appletalk = beside("appletalk", &[]);
    steps.run("interop layouts", || interop("layouts", &[]));
    steps.run("interop coherence", || interop("coherence", &[]));
    steps.run("interop ceph", || interop("ceph", &[]));
    steps.run("interop rights", || interop("rights", &[]));
    steps.run("interop package", || interop("package", &[]));
    steps.run("interop domain", || interop("domain", &[]));
    steps.run("guides", guides);
    steps.run("interop migrate", || interop("migrate", &[]));
    steps.run("interop adopt", || interop("adopt", &[]));
    steps.run("interop console", || interop("console", &[]));
    steps.run("interop appletalk, the rest of it", || appletalk?.finish());
    steps.run("interop cluster, the rest of it", || cluster?.finish());
    steps.run("interop smb, the rest of it", || smb?.finish());
    let outcome = steps.finish();
    println!("{}", interop::last_summaries());
    outcome
}

/// Installs what all steps need, and returns the clients that are missing. Nothing is installed later: a package that makes a user
/// replaces /etc/passwd, and the steps that run at that time lose the accounts that they have mounted over it.
fn install() -> Result<Vec<&'static str>> {
    let mut missing = debian::ensure(debian::NFS_CLIENTS, true)?;
    let clients = [
        debian::SMB_CLIENTS,
        debian::AFP_CLIENTS,
        debian::ISCSI_CLIENTS,
        debian::LINUX_FILES,
        debian::APPLETALK,
        debian::RIGHTS,
        debian::PACKAGING,
        debian::BROWSER,
        debian::DOMAIN,
        docs::PACKAGES,
        &[debian::SMB_PEER, debian::NFS_PEER, debian::ISCSI_PEER].concat(),
    ];
    for packages in clients {
        missing.extend(debian::ensure(packages, false)?);
    }
    // The steps themselves say which of these are missing.
    for packages in [debian::AFP_PEER, debian::IMAGES, debian::LINUX_GUEST, debian::CLUSTER, debian::CEPH] {
        debian::ensure(packages, false)?;
    }
    Ok(missing)
}

/// Runs in a process of its own, since it may move itself to a network of its own.
fn interop(protocol: &str, more: &[&str]) -> Result<()> {
    let xtask = std::env::current_exe()?;
    let args = [&["interop", protocol, "--no-build"], more].concat();
    process::run(&xtask.to_string_lossy(), &args)
}

/// What the guides of the manual say is done, each on a machine of its own.
fn guides() -> Result<()> {
    let xtask = std::env::current_exe()?;
    process::run(&xtask.to_string_lossy(), &["docs", "guides", "--no-build"])
}

/// The same as [`interop()`] without waiting.
fn beside(protocol: &str, more: &[&str]) -> Result<BackgroundStep> {
    let xtask = std::env::current_exe()?;
    let args = [&["interop", protocol, "--no-build"], more].concat();
    BackgroundStep::start(&format!("interop-{protocol}"), &xtask.to_string_lossy(), &args)
}

/// A program that runs beside the following steps.
struct BackgroundStep {
    running: Running,
    log: PathBuf,
}

impl BackgroundStep {
    /// The output goes to a file of this name.
    fn start(name: &str, program: &str, args: &[&str]) -> Result<Self> {
        let log = process::root().join(format!("target/{name}.log"));
        let file = File::create(&log)?;
        let running = Running::start(program, args, file.try_clone()?.into(), file.into())?;
        Ok(Self { running, log })
    }

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
