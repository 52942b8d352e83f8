//! Several servers of one tree, with etcd (`interop/cluster/`): the matrix of `coherence` with its two clients at different
//! servers, and what happens when servers and etcd are killed, stopped and cut from each other.

mod multipath;
mod recorded;

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::compiled::{self, TestProgram};
use super::expected::Expectations;
use super::outcome::{Outcome, Outcomes};
use super::smb::python;
use super::smb::suites::CONTINUOUS;
use super::{InteropArgs, conclude, prepare};
use crate::{debian, isolate, loader, process, samba, server};

const LIMIT: Duration = Duration::from_secs(600);
/// More for what runs by hand: all checks over CephFS, or smbtorture.
const BY_HAND: Duration = Duration::from_secs(1_800);
/// The most for one seed of random operations.
const SEED: Duration = Duration::from_secs(60);
/// A Unix user that no other account of this machine has.
const UID: u32 = 61201;
const USER: &str = "ada";
const PASSWORD: &str = "secret";
/// The random model of `fourfold-fuzz`, and the check that runs it.
pub const MODEL: TestProgram = TestProgram { folder: "fuzzed", name: "one_tree" };
const RANDOM: &str = "random operations are answered as the model says";
/// How the names of the checks' outcomes begin.
const CHECK: &str = "cluster: ";
/// More checks than this with differences are no accident.
const ACCIDENTS: usize = 10;
const PROGRAMS: &[&str] =
    &["etcd", "openssl", "cc", "nft", "iscsi-test-cu", "ceph-mon", "ceph-osd", "ceph-mds", "ceph-fuse"];

pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = python::install()
    {
        println!("no Python packages: {error:#}");
    }
    if !isolate::is_isolated() && !args.no_build && seeds(args) > 0 {
        compiled::compile(&[MODEL])?;
    }
    let smbtorture = if args.torture { debian::SMB_CLIENTS } else { &[] };
    if args.multipath && !isolate::is_isolated() {
        multipath::fetch()?;
    }
    let guest = if args.multipath { debian::LINUX_GUEST } else { &[] };
    prepare(
        args,
        &[debian::CLUSTER, debian::CEPH, debian::NFS_CLIENTS, debian::ISCSI_TOOLS, smbtorture, guest]
            .concat(),
        false,
    )?;
    let mut outcomes = Outcomes::default();
    let expected = expected(args)?;
    if !process::is_root() {
        outcomes.skip("cluster", "it needs root, to act as other users");
    } else if !python::is_installed() {
        outcomes.skip("cluster", "its Python packages are not installed");
    } else if args.multipath {
        multipath::run(&mut outcomes)?;
    } else {
        outcomes.run("cluster", PROGRAMS, || Ok(()));
        if outcomes.0.iter().all(|(_, outcome)| *outcome == Outcome::Pass) {
            checks(args, &args.only, &mut outcomes)?;
            if args.ci {
                try_again(args, &expected, &mut outcomes)?;
            }
        }
    }
    let is_of_another =
        |name: &str| (args.gateways + 1..=4).any(|number| name.contains(&format!("beside gate{number}")));
    let is_single = args.scale || args.multipath;
    let is_meant =
        |name: &str| outcomes.has(name) || (args.only.is_empty() && !is_single && !is_of_another(name));
    conclude(args, &expected.retain(is_meant).compare(&outcomes, process::is_ci()))
}

fn expected(args: &InteropArgs) -> Result<Expectations> {
    let list = match (args.torture, args.ceph) {
        (true, _) => "torture.toml",
        (false, true) => "ceph.toml",
        (false, false) => "expected.toml",
    };
    Ok(Expectations::read(&process::root().join("interop/cluster").join(list))?.else_pass())
}

/// Runs checks with differences once more: on a busy machine a server may have waited too long. Both results are printed.
fn try_again(args: &InteropArgs, expected: &Expectations, outcomes: &mut Outcomes) -> Result<()> {
    let differing: Vec<(String, Outcome)> = outcomes
        .0
        .iter()
        .filter(|(name, outcome)| name.starts_with(CHECK) && !expected.is_met(name, outcome))
        .cloned()
        .collect();
    if differing.is_empty() || differing.len() > ACCIDENTS {
        return Ok(());
    }
    let mut only: Vec<String> =
        differing.iter().map(|(name, _)| name.trim_start_matches(CHECK).to_owned()).collect();
    if only.iter().any(|name| name.contains("beside gate")) {
        only.push("matrix".to_owned());
    }
    let mut again = Outcomes::default();
    checks(args, &only, &mut again)?;
    for (name, first) in differing {
        let now = again.0.iter().find(|(found, _)| *found == name).map(|(_, outcome)| outcome.clone());
        println!("once more: {name}: first {first:?}, now {now:?}");
        if let (Some(now), Some((_, kept))) = (now, outcomes.0.iter_mut().find(|(found, _)| *found == name)) {
            *kept = now;
        }
    }
    Ok(())
}

/// Runs the checks whose names contain one of the words in `only`. All checks run if `only` is empty.
fn checks(args: &InteropArgs, only: &[String], outcomes: &mut Outcomes) -> Result<()> {
    let folder = process::fresh_folder("interop-cluster")?;
    let [script, program, nfs3, folder_text] = [
        process::root().join("interop/cluster/checks.py"),
        server::binary(),
        loader::compile_coherence()?,
        folder.clone(),
    ]
    .map(|path| path.display().to_string());
    let [uid, gateways, partitions] =
        [UID.to_string(), args.gateways.to_string(), args.partitions.to_string()];
    let model = if seeds(args) > 0 { compiled::program(&MODEL)? } else { String::new() };
    let seeds = seeds(args).to_string();
    let mut words = vec!["-B", &script, "--folder", &folder_text, "--uid", &uid, "--nfs3", &nfs3];
    words.extend(["--user", USER, "--password", PASSWORD, "--program", &program, "--gateways", &gateways]);
    words.extend(["--partitions", &partitions, "--seeds", &seeds, "--model", &model]);
    if args.ceph {
        words.push("--ceph");
    }
    if args.torture {
        words.push("--in-turns");
    }
    if args.scale {
        words.push("--scale");
    }
    words.push("--only");
    words.extend(only.iter().map(String::as_str));
    let smb_conf = samba::client_configuration(&folder.join("client"))?.display().to_string();
    match process::find("smbtorture") {
        Some(_) => {
            words.extend(["--smb-conf", &smb_conf, "--torture"].into_iter().chain(CONTINUOUS.iter().copied()))
        }
        None => outcomes.skip("smbtorture", "it is not installed"),
    }
    let mut text = String::new();
    outcomes.run("checks", &["cc"], || {
        let python = python::program().display().to_string();
        let output = process::output(python, &words, limit(args))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        fs::write(folder.join("checks.log"), errors.as_bytes())?;
        text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "{}: {}", output.status, errors.trim());
        if args.scale || args.torture {
            println!("{errors}");
        }
        Ok(())
    });
    outcomes.add_lines(CHECK.trim_end_matches(": "), &text);
    let history = folder.join("history.json");
    if history.exists() {
        outcomes.run("history", &[], || recorded::check(&history));
    }
    Ok(())
}

/// How many seeds of random operations run.
fn seeds(args: &InteropArgs) -> u16 {
    let is_wanted = args.only.is_empty() || args.only.iter().any(|part| RANDOM.contains(part.as_str()));
    if is_wanted && !args.torture && !args.scale && !args.multipath { args.seeds } else { 0 }
}

/// Each partition lasts so long, and half a minute is enough for what follows it.
fn limit(args: &InteropArgs) -> Duration {
    let count = u32::from(args.gateways);
    let partitions = count * (count - 1) / 2 + 2 * count;
    let by_hand = if args.ceph || args.torture { BY_HAND } else { Duration::ZERO };
    let seeds = SEED * u32::from(seeds(args));
    match args.partitions {
        0 => LIMIT + by_hand + seeds,
        seconds => LIMIT + by_hand + seeds + partitions * Duration::from_secs(u64::from(seconds) + 30),
    }
}
