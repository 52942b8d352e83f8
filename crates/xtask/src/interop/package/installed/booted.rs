//! The same machine with a systemd of its own: all restrictions of the unit count, and the scripts of the package start,
//! restart and stop the service.
//!
//! That systemd is process 1 of a process namespace. `/proc/sys` and `/sys` are read-only and `/dev` is its own, so that
//! it changes nothing of this machine.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{CONTENT, FILE, MachineCopy, address};
use crate::interop::nfs3_client;
use crate::interop::outcome::Outcomes;
use crate::process::{self, Running};

const NAME: &str = "unit: systemd starts, reloads, restarts and stops it";
/// How long the start of systemd may take.
const BOOT_LIMIT: Duration = Duration::from_secs(20);
/// The service must be in a state within this time.
const STATE_LIMIT: Duration = Duration::from_secs(30);
/// Folders with the units that are started with others.
const UNITS: [&str; 2] = ["etc/systemd/system", "usr/lib/systemd/system"];
/// The only unit that systemd starts by itself.
const TARGET: &str = "fourfold-test.target";
const NODES: [(&str, &str); 6] = [
    ("null", "1 3"),
    ("zero", "1 5"),
    ("full", "1 7"),
    ("random", "1 8"),
    ("urandom", "1 9"),
    ("tty", "5 0"),
];

/// Boots, and installs, upgrades and removes the package. Skipped where systemd cannot run in a namespace.
pub fn run(outcomes: &mut Outcomes, machine: &MachineCopy, packages: &[&str; 2]) {
    if !machine.path("usr/lib/systemd/systemd").exists() {
        return outcomes.skip(NAME, "systemd is not installed");
    }
    match BootedMachine::start(machine) {
        Ok(booted) => outcomes.run(NAME, &["dpkg", "nfs-ls", "smbclient"], || booted.tests(packages)),
        Err(error) => outcomes.skip(NAME, &format!("systemd does not run in a namespace here: {error:#}")),
    }
}

struct BootedMachine<'a> {
    machine: &'a MachineCopy,
    systemd: Running,
}

impl<'a> BootedMachine<'a> {
    fn start(machine: &'a MachineCopy) -> Result<Self> {
        forget_units(machine)?;
        let _ = fs::remove_file(machine.path("usr/sbin/policy-rc.d")); // of images that start no services
        let unit = "[Unit]\nDefaultDependencies=no\nAllowIsolate=yes\n";
        fs::write(machine.path("etc/systemd/system").join(TARGET), unit)?;
        let script = script();
        let root = machine.root();
        let namespaces = ["--pid", "--fork", "--kill-child", "--cgroup", "--uts", "--ipc"];
        let args = [&namespaces[..], &["sh", "-c", &script, "sh", &root]].concat();
        let log = process::log_file(&machine.path("var/tmp/systemd.log"))?;
        let mut systemd = Running::start("unshare", &args, Stdio::null(), log)?;
        systemd.kill_at_end();
        let deadline = Instant::now() + BOOT_LIMIT;
        let mut booted = Self { machine, systemd };
        while booted.state(TARGET) != "active" {
            let said = fs::read_to_string(machine.path("var/tmp/systemd.log")).unwrap_or_default();
            booted.systemd.still_up().with_context(|| said.clone())?;
            ensure!(Instant::now() < deadline, "no start within {} s; {said}", BOOT_LIMIT.as_secs());
            if let Some(process) = booted.first_process() {
                let _ = machine.systemd.set(process); // it is set once
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(booted)
    }

    fn tests(&self, packages: &[&str; 2]) -> Result<()> {
        let install = |package| self.machine.dpkg(&["--install", &format!("/var/tmp/{package}")]);
        install(packages[0])?;
        self.becomes_active().context("after the installation")?;
        self.machine.shares_a_folder()?;
        self.machine.is_served()?;
        let (handle, first) = (nfs3_client::handle_of(&address(), FILE)?, self.process()?);
        self.machine.run(&["systemctl", "reload", "fourfold"])?;
        self.becomes_active().context("after a reload")?;
        ensure!(self.process()? == first, "a reload has started another process");
        self.is_restricted(&first)?;
        install(packages[1])?;
        self.becomes_active().context("after the upgrade")?;
        ensure!(self.process()? != first, "the upgrade has not started the new version");
        let read = nfs3_client::read_by(&address(), handle)?;
        ensure!(read == CONTENT.as_bytes(), "the handle gives {read:?}");
        self.machine.is_served()?;
        self.machine.dpkg(&["--remove", "fourfold"])?;
        ensure!(self.state("fourfold") != "active", "it runs after the removal");
        self.machine.is_purged()
    }

    /// The server has no other capabilities than the ten of `app/privileges.rs`, and system calls are filtered.
    fn is_restricted(&self, process: &str) -> Result<()> {
        let status = self.machine.run(&["cat", &format!("/proc/{process}/status")])?;
        let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        ensure!(value("CapEff:") == Some("00000000180004df"), "{status}");
        ensure!(value("NoNewPrivs:") == Some("1") && value("Seccomp:") == Some("2"), "{status}");
        Ok(())
    }

    fn process(&self) -> Result<String> {
        let said =
            self.machine.run(&["systemctl", "show", "--property", "MainPID", "--value", "fourfold"])?;
        Ok(said.trim().to_owned())
    }

    /// The child of `unshare`, which is process 1 of its namespace.
    fn first_process(&self) -> Option<u32> {
        let pid = self.systemd.pid();
        fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
            .ok()?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    }

    /// `active`, `inactive`, `failed` …, or nothing if systemd does not answer.
    fn state(&self, unit: &str) -> String {
        let asked = format!("systemctl is-active {unit} || true");
        self.machine.run(&["sh", "-c", &asked]).map(|said| said.trim().to_owned()).unwrap_or_default()
    }

    fn becomes_active(&self) -> Result<()> {
        let deadline = Instant::now() + STATE_LIMIT;
        while self.state("fourfold") != "active" {
            let status =
                || self.machine.run(&["sh", "-c", "systemctl status -l --no-pager fourfold || true"]);
            ensure!(Instant::now() < deadline, "it is {}: {}", self.state("fourfold"), status()?);
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

/// Mounts what a systemd needs, without a way to this machine's devices and settings of the kernel, and starts it.
fn script() -> String {
    let node = |(name, numbers): &(&str, &str)| format!("mknod -m 666 \"$1/dev/{name}\" c {numbers}\n");
    let nodes: String = NODES.iter().map(node).collect();
    format!(
        "set -e
umount \"$1/dev\" \"$1/proc\" \"$1/run\"
mount -t tmpfs tmpfs \"$1/dev\"
{nodes}touch \"$1/dev/console\"
mount -t tmpfs tmpfs \"$1/run\"
mount -t proc proc \"$1/proc\"
mount --bind \"$1/proc/sys\" \"$1/proc/sys\"
mount -o remount,bind,ro \"$1/proc/sys\"
mount -t sysfs -o ro sysfs \"$1/sys\"
mount -t cgroup2 cgroup2 \"$1/sys/fs/cgroup\"
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot \"$1\" /lib/systemd/systemd --system \\
  --unit={TARGET} --log-target=null --show-status=0"
    )
}

/// Nothing of this machine's services is started there.
fn forget_units(machine: &MachineCopy) -> Result<()> {
    for folder in UNITS {
        for entry in fs::read_dir(machine.path(folder))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".wants") || name.ends_with(".requires") {
                fs::remove_dir_all(entry.path())?;
            }
        }
    }
    Ok(())
}
