//! `cargo xtask interop appletalk`: AppleTalk of Debian 13 in a virtual machine with the kernel of Debian 12, the last one that has it.
//! `atalkd` routes between two cables. On one of them it gives the nodes their network, and ours are nodes; on the other one our router
//! gives `atalkd` its network. `interop/appletalk/main.sh` asks theirs for ours and ours for theirs, in the end while frames get lost.
//! Wireshark decodes all of it. Meanwhile, Netatalk's `afp_spectest` tests our server over ASP.

pub(super) mod bridge;
mod place;
mod spectest;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::compiled;
use super::expected::Expectations;
use super::guest::{self, Guest, Kernel};
use super::outcome::{Outcome, Outcomes};
use super::{InteropArgs, conclude, install_and_build};
use crate::netatalk::packages;
use crate::{debian, isolate, loader, process};
use place::AppleTalkPlace;

pub use place::NODE;

const EXPECTED: &str = "interop/appletalk/expected.toml";
const SCRIPT: &str = "interop/appletalk/main.sh";
/// The folder of one run, below `target/`.
const FOLDER: &str = "interop-appletalk";
/// The time limit of the whole machine, whose processors are emulated.
const LIMIT: Duration = Duration::from_secs(240);
const CLIENT: &str = "appletalk";
const MODULES: &[&str] = &["virtio_pci", "virtio_net", "virtio-rng", "af_packet", "appletalk"];
/// Debian 13's programs, and the modules of afpd that let guests in.
const PROGRAMS: &[&str] = &[
    "usr/sbin/atalkd",
    "usr/bin/aecho",
    "usr/bin/getzones",
    "usr/bin/nbplkup",
    "usr/bin/nbprgstr",
    "usr/bin/nbpunrgstr",
    "usr/sbin/afpd",
    "usr/sbin/cnid_metad",
    "usr/sbin/cnid_dbd",
    "usr/lib/x86_64-linux-gnu/netatalk/uams_guest.so",
];

pub fn run(args: &InteropArgs) -> Result<()> {
    install_and_build(args, debian::APPLETALK, false)?;
    if !isolate::is_isolated()
        && let Err(error) = fetch()
    {
        println!("no virtual machine: {error:#}");
    }
    if !isolate::is_isolated() && !args.no_build {
        compiled::compile(&[NODE, bridge::PROGRAM])?;
    }
    isolate::enter()?;
    let mut outcomes = Outcomes::default();
    let is_meant =
        |check: &str| args.only.is_empty() || args.only.iter().any(|only| check.contains(only.as_str()));
    std::thread::scope(|scope| {
        let tested =
            spectest::checks().any(is_meant).then(|| scope.spawn(|| spectest::run(!args.only.is_empty())));
        let ended = checks(args, &mut outcomes);
        let (found, lines) = tested.and_then(|thread| thread.join().ok()).unwrap_or_default();
        lines.iter().for_each(|line| println!("{line}"));
        for (check, outcome) in found {
            outcomes.add(format!("{CLIENT}: {check}"), outcome);
        }
        ended
    })?;
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expectations::read(&process::root().join(EXPECTED))?;
    let expected = if args.only.is_empty() { expected } else { expected.retain(|name| outcomes.has(name)) };
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn fetch() -> Result<()> {
    guest::fetch_kernel(Kernel::Full)?;
    packages::install()
}

/// Runs the machine's checks. If the machine cannot be started, all checks are skipped.
fn checks(args: &InteropArgs, outcomes: &mut Outcomes) -> Result<()> {
    let script = fs::read_to_string(process::root().join(SCRIPT))?;
    let network = AppleTalkPlace::network();
    let guest = Guest {
        kernel: Kernel::Full,
        modules: MODULES,
        programs: PROGRAMS,
        system: Some(packages::unpacked()),
        disk: None,
        settings: format!("ONLY='{}'\n", args.only.join("|")),
        checks: vec![
            ("main.sh", script.clone().into_bytes()),
            ("timers.so", fs::read(loader::compile_timers()?)?),
        ],
        memory_mib: 512,
        network: &network.iter().map(String::as_str).collect::<Vec<_>>(),
    };
    if let Err(why) = guest.why_not().and_then(|()| can_connect()) {
        for name in names(&script).chain(place::CHECKS.iter().map(ToString::to_string)) {
            outcomes.skip(&format!("{CLIENT}: {name}"), &format!("{why:#}"));
        }
        return Ok(());
    }
    let folder = process::fresh_folder(FOLDER)?;
    let mut place = AppleTalkPlace::new(&folder)?;
    let mut heard = String::new();
    let ended = guest.run(&folder, LIMIT, &mut heard, |what| place.answer(what));
    outcomes.add_lines(CLIENT, &heard);
    let end = ended.map_or_else(|error| Outcome::Fail(format!("{error:#}")), |()| Outcome::Pass);
    outcomes.add(format!("{CLIENT}: it comes to its end"), end);
    place.judge(CLIENT, outcomes);
    Ok(())
}

/// The names of the script's checks.
fn names(script: &str) -> impl Iterator<Item = String> {
    script.lines().filter_map(|line| Some(line.strip_prefix("check \"")?.split_once('"')?.0.to_owned()))
}

/// Checks that we can create network devices: the machine is reached through them.
fn can_connect() -> Result<()> {
    ensure!(isolate::is_isolated(), "only root has a network of its own");
    ensure!(Path::new("/dev/net/tun").exists(), "there is no /dev/net/tun");
    Ok(())
}
