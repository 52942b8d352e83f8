//! SMB clients: Samba's smbtorture, and common client programs.

mod baseline;
mod kerberos;
mod libraries;
mod mdsearch;
mod place;
pub(super) mod python;
mod smbclient;
pub(super) mod suites;
mod torture;
mod wsdd;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, bail};

use super::expected::{Expectations, SuiteVerdict};
use super::outcome::{Outcome, Outcomes};
use super::{InteropArgs, conclude, prepare};
use crate::{debian, isolate, process, samba};
use baseline::{SuiteBaseline, Tests};
use libraries::{LIBRARIES, ProgramSource};
use place::SmbPlace;
use suites::SUITES;
use torture::{SuiteResult, SuiteSelection, Target};

const EXPECTED: &str = "interop/smb/expected.toml";
const BASELINE: &str = "interop/smb/smbd.toml";

pub fn run(args: &InteropArgs) -> Result<()> {
    let wanted = wanted(args);
    if let Some(against) = &args.against {
        let target = place::elsewhere(against, &args.login, args.folder.as_deref())?;
        let said = torture::run(&target, wanted, &logs(), |said| tell(said, args.keep_going))?;
        return judge(args, &said).and_then(|verdict| conclude(args, &verdict));
    }
    if args.peer {
        debian::ensure(debian::SMB_PEER, false)?;
    }
    if !isolate::is_isolated() {
        install(args);
    }
    prepare(args, debian::SMB_CLIENTS, false)?;
    let place = SmbPlace::new()?;
    if args.peer {
        measure_peer(args, &place, wanted)?;
        let (_smbd, port) = place.peer_for_clients()?;
        print!("{}", clients(args, &place, port)?.as_toml());
        return Ok(());
    }
    // smbtorture mostly waits. Meanwhile the other clients use a server of their own.
    let (verdict, outcomes) = std::thread::scope(|scope| {
        let judged = scope.spawn(|| smbtorture(args, &place, wanted));
        let others = place.ours_for_clients().and_then(|(_server, port)| clients(args, &place, port));
        (judged.join(), others)
    });
    let (mut verdict, outcomes) =
        (verdict.unwrap_or_else(|_| bail!("smbtorture's run panicked"))?, outcomes?);
    let expected = expected()?.retain(|name| outcomes.0.iter().any(|(found, _)| found == name));
    verdict.add(expected.compare(&outcomes, process::is_ci()));
    conclude(args, &verdict)
}

/// Runs suites of smbtorture against a server of their own.
fn smbtorture(args: &InteropArgs, place: &SmbPlace, wanted: Vec<SuiteSelection>) -> Result<SuiteVerdict> {
    if wanted.is_empty() {
        return Ok(SuiteVerdict::default());
    }
    let (_server, target) = place.ours()?;
    let mut said = torture::run(&target, wanted, &logs(), |said| tell(said, args.keep_going))?;
    if args.ci {
        try_again(&target, &mut said)?;
    }
    judge(args, &said)
}

/// Installs the chosen clients that Debian does not have: later there is no network.
fn install(args: &InteropArgs) {
    if python::SCRIPTS.iter().any(|script| is_meant(args, script))
        && let Err(error) = python::install()
    {
        println!("no Python packages: {error:#}");
    }
    LIBRARIES.iter().filter(|library| is_meant(args, library.name)).for_each(ProgramSource::install);
}

/// Whether the filters include this client.
fn is_meant(args: &InteropArgs, client: &str) -> bool {
    args.only.is_empty() || args.only.iter().any(|filter| filter == client)
}

/// The tests that do not pass. All others do.
fn expected() -> Result<Expectations> {
    Ok(Expectations::read(&process::root().join(EXPECTED))?.else_pass())
}

/// Runs the chosen clients other than smbtorture.
fn clients(args: &InteropArgs, place: &SmbPlace, port: u16) -> Result<Outcomes> {
    let is_meant = |name: &str| is_meant(args, name);
    let mut outcomes = Outcomes::default();
    if is_meant("smbclient") {
        let configuration = samba::client_configuration(&place.folder.join("client"))?;
        smbclient::run(&mut outcomes, place, port, &configuration)?;
    }
    for script in python::SCRIPTS.iter().filter(|script| is_meant(script)) {
        python::run(&mut outcomes, script, place, port);
    }
    for library in LIBRARIES.iter().filter(|library| is_meant(library.name)) {
        library.run(&mut outcomes, place, port);
    }
    if is_meant("wsdd") && !args.peer {
        wsdd::run(&mut outcomes)?;
    }
    if is_meant("mdsearch") && !args.peer {
        mdsearch::run(&mut outcomes, &samba::client_configuration(&place.folder.join("client"))?)?;
    }
    if is_meant("kerberos") && !args.peer {
        kerberos::run(&mut outcomes)?;
    }
    if is_meant("linux") {
        outcomes.skip("linux: mounts", "this kernel has no SMB client");
    }
    Ok(outcomes)
}

/// The chosen suites. Without filters: all.
fn wanted(args: &InteropArgs) -> Vec<SuiteSelection> {
    let filters = &args.only;
    let suites = SUITES
        .iter()
        .filter(|suite| filters.is_empty() || filters.iter().any(|f| suite.is_meant(f)))
        .filter(|suite| !args.ci || suite.ci);
    let wanted = suites.map(|suite| {
        let whole = filters.iter().any(|filter| suite.is_meant(filter) && !suite.has_test(filter));
        let tests =
            if whole { Vec::new() } else { filters.iter().filter(|f| suite.has_test(f)).cloned().collect() };
        SuiteSelection { suite, tests }
    });
    wanted.collect()
}

fn logs() -> PathBuf {
    process::root().join("target/interop-smb-logs")
}

/// Prints the result of a suite, and the causes of its failures.
fn tell(said: &SuiteResult, whole: bool) {
    let counts = Tests::of(&said.tests).counts();
    println!("{}: {counts} in {:.0} s; {}", said.suite.name, said.seconds, said.log.display());
    let failed: Vec<_> =
        said.tests.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Fail(_))).collect();
    if whole && !failed.is_empty() {
        print!("{}", std::fs::read_to_string(&said.log).unwrap_or_default());
    }
    for (name, outcome) in failed {
        let Outcome::Fail(why) = outcome else { continue };
        println!("  {name}: {}", why.chars().take(200).collect::<String>());
    }
}

/// Runs smbd, some suites in two configurations, and records its results.
fn measure_peer(args: &InteropArgs, place: &SmbPlace, wanted: Vec<SuiteSelection>) -> Result<()> {
    let again: Vec<SuiteSelection> = wanted
        .iter()
        .filter(|wanted| wanted.suite.twice)
        .map(|wanted| SuiteSelection { suite: wanted.suite, tests: wanted.tests.clone() })
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let is_whole = wanted.iter().all(|wanted| wanted.tests.is_empty());
    let (_smbd, port) = place.peer()?;
    let run = |wanted, main: &str| {
        let target = place.peers_target(port, main)?;
        torture::run(&target, wanted, &logs().join(format!("smbd-{main}")), |said| {
            tell(said, args.keep_going)
        })
    };
    let said = run(wanted, "main")?;
    let otherwise = run(again, "other")?;
    if !is_whole {
        return Ok(()); // part of a suite has no results for the rest of it
    }
    let path = process::root().join(BASELINE);
    let mut baseline = if path.exists() { SuiteBaseline::read(&path)? } else { SuiteBaseline::default() };
    baseline.take(&said, &otherwise);
    std::fs::write(&path, baseline.as_toml())?;
    println!("wrote {BASELINE}");
    Ok(())
}

/// More differences than this are no accident.
const ACCIDENTS: usize = 40;

/// Runs tests with unexpected results once more, alone. On a busy machine a test may have waited
/// too long, and the tests after one in which smbtorture ended did not run.
fn try_again(target: &Target, said: &mut [SuiteResult]) -> Result<()> {
    let (expected, baseline) = (expected()?, SuiteBaseline::read(&process::root().join(BASELINE))?);
    let mut wanted = Vec::new();
    for one in said.iter() {
        let known = baseline.0.get(one.suite.name).into_iter().flat_map(Tests::names);
        let lost = known.filter(|name| !one.tests.iter().any(|(ran, _)| ran == *name));
        let differ = one.tests.iter().filter(|(name, outcome)| !expected.is_met(name, outcome));
        let names = lost.chain(differ.map(|(name, _)| name));
        let tests: Vec<String> = names.filter(|name| !name.contains(' ')).cloned().collect();
        if !tests.is_empty() {
            wanted.push(SuiteSelection { suite: one.suite, tests });
        }
    }
    if wanted.is_empty() || wanted.iter().map(|wanted| wanted.tests.len()).sum::<usize>() > ACCIDENTS {
        return Ok(());
    }
    println!("once more:");
    for again in torture::run(target, wanted, &logs().join("again"), |said| tell(said, false))? {
        let Some(one) = said.iter_mut().find(|one| one.suite.name == again.suite.name) else { continue };
        one.tests.retain(|(name, _)| !again.tests.iter().any(|(newer, _)| newer == name));
        one.tests.extend(again.tests);
    }
    Ok(())
}

/// Compares our server's results in smbtorture with the expected ones, and prints them beside
/// smbd's.
fn judge(args: &InteropArgs, said: &[SuiteResult]) -> Result<SuiteVerdict> {
    let baseline = SuiteBaseline::read(&process::root().join(BASELINE))?;
    let mut outcomes = Outcomes::default();
    for one in said {
        one.tests.iter().for_each(|(name, outcome)| outcomes.add(name, outcome.clone()));
    }
    let whole = |suite: &str| !args.only.iter().any(|filter| filter.starts_with(&format!("{suite}.")));
    for one in said.iter().filter(|one| whole(one.suite.name)) {
        let ran: BTreeSet<&str> = one.tests.iter().map(|(name, _)| name.as_str()).collect();
        let known = baseline.0.get(one.suite.name).into_iter().flat_map(Tests::names);
        for name in known.filter(|name| !ran.contains(name.as_str())) {
            outcomes.add(name, Outcome::Fail("did not run".into()));
        }
    }
    if args.list {
        print!("{}", outcomes.exceptions_as_toml());
    }
    print_columns(&baseline, said, &outcomes);
    let names: BTreeSet<&str> = outcomes.0.iter().map(|(name, _)| name.as_str()).collect();
    let expected = expected()?.retain(|name| names.contains(name));
    if names.is_empty() {
        bail!("nothing was run");
    }
    Ok(expected.compare(&outcomes, true))
}

fn print_columns(baseline: &SuiteBaseline, said: &[SuiteResult], outcomes: &Outcomes) {
    println!("\n{:<30} {:>10} {:>10}  passed/failed/skipped", "", "smbd", "ours");
    for one in said {
        let (suite, ours) = (one.suite, Tests::of(&one.tests).counts());
        let smbd = baseline.0.get(suite.name);
        let is_lost = |(name, outcome): &&(String, Outcome)| {
            let is_ours = name == suite.name || suite.has_test(name);
            is_ours && *outcome != Outcome::Pass && smbd.is_some_and(|smbd| smbd.has_passed(name))
        };
        let lost = outcomes.0.iter().filter(is_lost).count();
        let note = if lost > 0 { format!("  {lost} that smbd passes") } else { String::new() };
        println!("{:<30} {:>10} {ours:>10}{note}", suite.name, smbd.map(Tests::counts).unwrap_or_default());
    }
    println!();
}
