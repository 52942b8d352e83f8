//! The scripts of the RPM on a machine: what they ask of systemd when it is installed, upgraded and removed, and what stays.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::installed::{MachineCopy, SETTINGS, STATE};
use crate::package::PackageParts;

/// The version of the upgrade.
const NEXT: &str = "9.0.0";
/// What stands in the place of systemctl: it notes what it is asked.
const NOTING: &str = "#!/bin/sh\necho \"$*\" >> /var/tmp/asked\n";
const ASKED: &str = "var/tmp/asked";
const RELOAD: &str = "--system daemon-reload";

pub(super) fn run(parts: &PackageParts, place: &Path) -> Result<()> {
    let machine = MachineCopy::new(&place.join("rpm-machine"))?;
    let packages = [parts.rpm(None)?, parts.rpm(Some(NEXT))?];
    for (name, bytes) in &packages {
        fs::write(machine.path("var/tmp").join(name), bytes)?;
    }
    fs::create_dir_all(machine.path("run/systemd/system"))?; // the scripts look whether systemd runs
    let systemctl = machine.path("usr/bin/systemctl");
    let _ = fs::remove_file(&systemctl);
    fs::write(&systemctl, NOTING)?;
    fs::set_permissions(&systemctl, PermissionsExt::from_mode(0o755))?;
    // This machine's own rpm has no packages, so that what ours needs is looked at nowhere.
    let rpm = |words: &[&str]| machine.run(&[&["rpm", "--nodeps"], words].concat());
    let [first, next] = packages.each_ref().map(|(name, _)| format!("/var/tmp/{name}"));
    machine.run(&["rpm", "--initdb"])?;

    rpm(&["--install", &first])?;
    asks(&machine, &[RELOAD, "--no-reload preset fourfold.service fourfold-disks.timer"])?;
    machine.run(&["getent", "passwd", "fourfold"]).context("there is no user fourfold")?;
    let settings = machine.path(SETTINGS);
    let changed = format!("{}# a change\n", fs::read_to_string(&settings)?);
    fs::write(&settings, &changed)?;
    let accounts = machine.path(STATE).join("accounts.toml");
    fs::create_dir_all(machine.path(STATE))?;
    fs::write(&accounts, "format = 1\n")?;

    rpm(&["--upgrade", &next])?;
    asks(&machine, &[RELOAD, RELOAD, "try-restart fourfold.service"])?;
    let version = machine.run(&["rpm", "--query", "--queryformat", "%{VERSION}", "fourfold"])?;
    ensure!(version == NEXT, "rpm has {version}");
    ensure!(fs::read_to_string(&settings)? == changed, "the upgrade has replaced the settings");

    rpm(&["--erase", "fourfold"])?;
    asks(&machine, &["--no-reload disable --now fourfold-disks.timer fourfold.service", RELOAD])?;
    ensure!(!machine.path("usr/bin/fourfold").exists(), "the program is still there");
    let kept = settings.with_extension("toml.rpmsave");
    ensure!(fs::read_to_string(kept)? == changed && accounts.exists(), "settings or accounts are lost");
    machine
        .run(&["getent", "passwd", "fourfold"])
        .context("the user fourfold is gone, and its files stay")?;
    Ok(())
}

/// systemd was asked for exactly this since the step before.
fn asks(machine: &MachineCopy, wanted: &[&str]) -> Result<()> {
    let file = machine.path(ASKED);
    let asked = fs::read_to_string(&file).unwrap_or_default();
    ensure!(asked.lines().eq(wanted.iter().copied()), "systemd was asked for {asked:?} and not {wanted:?}");
    fs::remove_file(file).map_err(Into::into)
}
