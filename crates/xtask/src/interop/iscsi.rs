//! iSCSI initiators: libiscsi's test suite and tools, qemu, and file systems on a LUN.

mod disk;
mod filesystems;
mod kernel;
mod linux;
mod place;
mod qemu;
mod suite;
mod tgt;
mod tools;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, bail};

use super::capture::{Capture, CapturedProtocol};
use super::expected::Expectations;
use super::guest;
use super::outcome::{Outcome, Outcomes};
use super::{InteropArgs, conclude, install_and_build};
use crate::{debian, isolate, process};
use place::{IscsiPlace, IscsiServer};
use suite::{RUNS, SuiteRun, TestResult, WATCHED, is_in};

const EXPECTED: &str = "interop/iscsi/expected.toml";

pub fn run(args: &InteropArgs) -> Result<()> {
    if args.peer {
        debian::ensure(debian::ISCSI_PEER, false)?;
    }
    install_and_build(args, debian::ISCSI_CLIENTS, false)?;
    if !isolate::is_isolated()
        && (args.only.is_empty() || args.only.iter().any(|client| client == "linux"))
        && let Err(error) = fetch_linux()
    {
        println!("no kernel for a virtual machine: {error:#}");
    }
    if args.only != ["open-iscsi"] {
        isolate::enter()?;
    }
    let place = IscsiPlace::new()?;
    let wanted = IscsiSelection::of(args)?;
    let served = if args.peer { place.peer()? } else { place.ours()? };
    let expected = Expectations::read(&process::root().join(EXPECTED))?.else_pass();
    let mut outcomes = Outcomes::default();
    if wanted.has(suite::PROGRAM) {
        test_suite(args, &mut outcomes, &served, &wanted, &expected)?;
    }
    if wanted.has("wireshark") {
        watch(&mut outcomes, &place, &served)?;
    }
    if wanted.has("libiscsi") {
        tools::run(&mut outcomes, &place, &served);
        tools::speed(&mut outcomes, &served);
    }
    if wanted.has("qemu") {
        qemu::run(&mut outcomes, &place, &served)?;
    }
    if wanted.has("filesystems") {
        filesystems::run(&mut outcomes, &place, &served)?;
    }
    if wanted.has("open-iscsi") {
        kernel::run(&mut outcomes, &place, &served);
    }
    if wanted.has("linux") && !args.peer {
        linux::run(&mut outcomes, &place)?;
    }
    if args.list || args.peer {
        print!("{}", outcomes.as_toml());
    }
    if args.peer {
        return Ok(());
    }
    let expected = if wanted.is_all { expected } else { expected.retain(|name| outcomes.has(name)) };
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

/// Fetches the programs for the virtual machine.
fn fetch_linux() -> Result<()> {
    debian::ensure(debian::LINUX_GUEST, false)?;
    guest::fetch_kernel(guest::Kernel::Cloud)
}

/// The meaning of the filters: libiscsi's suites and tests, runs of them, and other clients.
/// Without filters: all.
#[derive(Debug)]
struct IscsiSelection {
    is_all: bool,
    clients: BTreeSet<&'static str>,
    runs: Vec<&'static SuiteRun>,
    tests: Vec<String>,
}

const CLIENTS: &[&str] =
    &[suite::PROGRAM, "libiscsi", "qemu", "filesystems", "wireshark", "open-iscsi", "linux"];

impl IscsiSelection {
    fn of(args: &InteropArgs) -> Result<Self> {
        let is_all = args.only.is_empty();
        let mut wanted = Self { is_all, clients: BTreeSet::new(), runs: Vec::new(), tests: Vec::new() };
        let known =
            if is_all || process::find(suite::PROGRAM).is_none() { Vec::new() } else { suite::tests()? };
        for filter in &args.only {
            if let Some(client) = CLIENTS.iter().find(|client| *client == filter) {
                wanted.clients.insert(client);
            } else if let Some(run) = RUNS.iter().find(|run| run.name == filter) {
                wanted.runs.push(run);
            } else if known.iter().any(|test| is_in(test, filter)) {
                wanted.tests.push(filter.clone());
            } else {
                let runs: Vec<&str> = RUNS.iter().map(|run| run.name).collect();
                bail!(
                    "{filter:?} is none of {CLIENTS:?}, of the runs {runs:?}, and no suite or test of {}",
                    suite::PROGRAM
                );
            }
        }
        if is_all {
            wanted.clients.extend(CLIENTS);
        }
        if !wanted.runs.is_empty() || !wanted.tests.is_empty() {
            wanted.clients.insert(suite::PROGRAM);
        }
        if wanted.runs.is_empty() {
            wanted.runs.extend(RUNS);
        }
        Ok(wanted)
    }

    fn has(&self, client: &str) -> bool {
        self.clients.contains(client)
    }

    fn has_test(&self, test: &str) -> bool {
        self.tests.is_empty() || self.tests.iter().any(|filter| is_in(test, filter))
    }
}

fn logs() -> PathBuf {
    process::root().join("target/interop-iscsi-logs")
}

/// More tests than this with differences are no accident.
const ACCIDENTS: usize = 20;

fn test_suite(
    args: &InteropArgs,
    outcomes: &mut Outcomes,
    served: &IscsiServer,
    wanted: &IscsiSelection,
    expected: &Expectations,
) -> Result<()> {
    if process::find(suite::PROGRAM).is_none() {
        outcomes.skip(suite::PROGRAM, "libiscsi-bin is not installed");
        return Ok(());
    }
    let mut said = suite::run(served, &wanted.runs, |test| wanted.has_test(test), &logs())?;
    if args.ci {
        try_again(served, expected, &mut said)?;
    }
    tell_runs(&said);
    for one in said {
        outcomes.add(name_of(expected, &one), one.outcome);
    }
    Ok(())
}

const ISCSI: CapturedProtocol = CapturedProtocol {
    layer: "iscsi",
    replies: "iscsi",
    mistaken: &[],
    lengths: &[
        "frame.number",
        "iscsi.request_frame",
        "iscsi.datasegmentlength",
        "iscsi.scsicommand.expecteddatatransferlength",
    ],
};

/// Wireshark checks the packets of tests that move little data.
fn watch(outcomes: &mut Outcomes, place: &IscsiPlace, served: &IscsiServer) -> Result<()> {
    match Capture::start(&place.folder, served.port) {
        Err(error) => outcomes.skip("wireshark", &format!("{error:#}")),
        Ok(capture) => {
            if process::find(suite::PROGRAM).is_some() {
                suite::run(served, &[&WATCHED], |_| true, &logs())?;
            }
            tools::run(&mut Outcomes::default(), place, served);
            capture.judge(outcomes, served.port, &ISCSI);
        }
    }
    Ok(())
}

/// The name of an expectation: it is listed for all runs, or for one.
fn name_of(expected: &Expectations, said: &TestResult) -> String {
    if expected.lists(&said.exact()) { said.exact() } else { said.general() }
}

/// Runs tests with differences once more: a busy machine may have taken too long.
fn try_again(served: &IscsiServer, expected: &Expectations, said: &mut [TestResult]) -> Result<()> {
    let differs = |one: &TestResult| !expected.is_met(&name_of(expected, one), &one.outcome);
    let again: Vec<usize> = (0..said.len()).filter(|&at| differs(&said[at])).collect();
    if again.len() > ACCIDENTS {
        return Ok(());
    }
    for at in again {
        println!("once more: {}", said[at].exact());
        said[at] = suite::again(served, &said[at], &logs())?;
    }
    Ok(())
}

/// A line for each run.
fn tell_runs(said: &[TestResult]) {
    for run in RUNS {
        let of_run = || said.iter().filter(|one| one.run == run).map(|one| &one.outcome);
        let passed = of_run().filter(|outcome| matches!(outcome, Outcome::Pass)).count();
        let failed = of_run().filter(|outcome| matches!(outcome, Outcome::Fail(_))).count();
        let skipped = of_run().count() - passed - failed;
        if passed + failed + skipped > 0 {
            let name = if run.name.is_empty() { "512" } else { run.name };
            println!("{} {name}: {passed} passed, {failed} failed, {skipped} skipped", suite::PROGRAM);
        }
    }
}
