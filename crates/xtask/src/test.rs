//! `cargo xtask test`: all tests. CI runs this command.

use anyhow::{Result, bail};

use crate::check::{self, Steps};
use crate::{debian, interop, process};

pub fn run() -> Result<()> {
    let mut missing = debian::ensure(debian::NFS_CLIENTS, true)?;
    missing.extend(debian::ensure(debian::SMB_CLIENTS, false)?);
    missing.extend(debian::ensure(debian::AFP_CLIENTS, false)?);
    missing.extend(debian::ensure(debian::ISCSI_CLIENTS, false)?);
    missing.extend(debian::ensure(debian::LINUX_FILES, false)?);
    let mut steps = Steps::default();
    steps.run("clients", || clients(&missing));
    check::add_steps(&mut steps, check::LONG_STRESS);
    steps.run("release", || {
        process::run("cargo", &["build", "--release", "--quiet", "--package", "fourfold"])
    });
    interop::forget_summaries();
    steps.run("interop nfs", || interop("nfs", &[]));
    steps.run("interop smb", || interop("smb", &["--ci"]));
    steps.run("interop afp", || interop("afp", &["--ci"]));
    steps.run("interop iscsi", || interop("iscsi", &["--ci"]));
    steps.run("interop linux", || interop("linux", &["--ci"]));
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
