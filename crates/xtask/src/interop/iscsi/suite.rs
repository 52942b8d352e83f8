//! libiscsi's test suite, `iscsi-test-cu`: every test in a process of its own, with its own time
//! limit, in several arrangements.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::place::{IscsiServer, LunAddress};
use crate::interop::outcome::Outcome;
use crate::{loader, process};

pub const PROGRAM: &str = "iscsi-test-cu";
/// The longest test waits for some seconds. A test that hangs is one failure.
const LIMIT: Duration = Duration::from_secs(40);
/// The most runs in parallel. Each has a LUN and a target of its own, so that resets do not affect
/// other runs.
const WORKERS: usize = 3;

/// One arrangement of the tests.
#[derive(Debug, PartialEq, Eq)]
pub struct SuiteRun {
    /// The name in its outcomes. The first has none.
    pub name: &'static str,
    pub lun: &'static str,
    /// The suites and tests of the run. Empty: all.
    suites: &'static [&'static str],
    /// Each test gets two addresses, so that its second session comes from another initiator.
    has_two_paths: bool,
    has_digests: bool,
}

const ALL: SuiteRun =
    SuiteRun { name: "", lun: "suite", suites: &[], has_two_paths: false, has_digests: false };

pub const RUNS: &[SuiteRun] = &[
    ALL,
    SuiteRun { name: "4k", lun: "suite-4k", ..ALL },
    SuiteRun { name: "header digests", lun: "digest", has_digests: true, ..ALL },
    SuiteRun { name: "two initiators", lun: "paths", suites: TWO_PATHS, has_two_paths: true, ..ALL },
    SuiteRun { name: "read-only", lun: "read-only", suites: READING, ..ALL },
    SuiteRun { name: "CHAP", lun: "vault", suites: LOGGING_IN, ..ALL },
];

/// The tests that Wireshark checks: every kind of command, except those that move much data.
pub static WATCHED: SuiteRun = SuiteRun { name: "watched", lun: "watched", suites: SMALL, ..ALL };

const TWO_PATHS: &[&str] = &[
    "CompareAndWrite",
    "MultipathIO",
    "PreventAllow",
    "PrinReadKeys",
    "PrinReportCapabilities",
    "PrinServiceactionRange",
    "ProutClear",
    "ProutPreempt",
    "ProutRegister",
    "ProutReserve",
    "Reserve6",
    "Sanitize",
];

/// Tests that do not write, and tests that check that no initiator can write.
const READING: &[&str] = &[
    "GetLBAStatus.BeyondEol",
    "GetLBAStatus.Simple",
    "Inquiry",
    "Mandatory",
    "ModeSense6.AllPages",
    "ModeSense6.Control",
    "ModeSense6.Control-D_SENSE",
    "ModeSense6.Residuals",
    "Prefetch10",
    "Prefetch16",
    "Read10",
    "Read12",
    "Read16",
    "Read6",
    "ReadCapacity10",
    "ReadCapacity16",
    "ReadOnly",
    "ReportSupportedOpcodes",
    "StartStopUnit",
    "TestUnitReady",
    "Verify10",
    "Verify12",
    "Verify16",
];

const LOGGING_IN: &[&str] =
    &["ProutReserve", "Read10", "Reserve6", "Write10", "iSCSIcmdsn", "iSCSIResiduals"];

const SMALL: &[&str] = &[
    "CompareAndWrite.DpoFua",
    "CompareAndWrite.InvalidDataOutSize",
    "ExtendedCopy.DescrLimits",
    "ExtendedCopy.DescrType",
    "ExtendedCopy.ParamHdr",
    "ExtendedCopy.ValidSegDescr",
    "ExtendedCopy.ValidTgtDescr",
    "GetLBAStatus.BeyondEol",
    "GetLBAStatus.Simple",
    "Inquiry",
    "ModeSense6",
    "PrinReadKeys",
    "PrinReportCapabilities",
    "ProutClear",
    "ProutPreempt",
    "ProutRegister",
    "ProutReserve",
    "Read10.DpoFua",
    "ReadCapacity10",
    "ReadCapacity16",
    "ReadDefectData10",
    "ReceiveCopyResults",
    "ReportSupportedOpcodes",
    "Reserve6.2Initiators",
    "TestUnitReady",
    "Unmap.VPD",
    "Unmap.ZeroBlocks",
    "Write10.DpoFua",
    "WriteSame16.UnmapVPD",
    "WriteVerify10.Dpo",
    "iSCSIResiduals",
    "iSCSITMF",
];

impl SuiteRun {
    /// Whether a test such as `Read10.Simple` belongs to it.
    fn has(&self, test: &str) -> bool {
        self.suites.is_empty() || self.suites.iter().any(|filter| is_in(test, filter))
    }

    /// The address of the test's second session, if it needs one.
    fn has_second_path(&self, test: &str) -> bool {
        self.has_two_paths || test.starts_with("MultipathIO.")
    }
}

/// Whether the filter names `Read10.Simple` or its suite.
pub fn is_in(test: &str, filter: &str) -> bool {
    test == filter || test.split('.').next() == Some(filter)
}

/// A test in a run, and its result.
#[derive(Debug)]
pub struct TestResult {
    pub run: &'static SuiteRun,
    pub test: String,
    pub outcome: Outcome,
}

impl TestResult {
    /// The name of the outcome for all runs.
    pub fn general(&self) -> String {
        format!("{PROGRAM}: {}", self.test)
    }

    /// The name of the outcome for this run.
    pub fn exact(&self) -> String {
        let run = self.run.name;
        if run.is_empty() { self.general() } else { format!("{} ({run})", self.general()) }
    }
}

/// The names of all tests, `Read10.Simple`.
pub fn tests() -> Result<Vec<String>> {
    let text = process::stdout_of(PROGRAM, &["-l"], LIMIT)?;
    let tests: Vec<String> = text.lines().filter_map(of_all).map(str::to_owned).collect();
    ensure!(!tests.is_empty(), "{PROGRAM} -l lists nothing");
    Ok(tests)
}

/// The test in a line of the list. The list has a family that contains all tests.
fn of_all(line: &str) -> Option<&str> {
    line.strip_prefix("ALL.").filter(|rest| rest.contains('.'))
}

/// Runs the chosen tests, and keeps their output in `logs`.
pub fn run(
    served: &IscsiServer,
    runs: &[&'static SuiteRun],
    is_meant: impl Fn(&str) -> bool + Sync,
    logs: &Path,
) -> Result<Vec<TestResult>> {
    fs::create_dir_all(logs)?;
    let (tests, preload) = (tests()?, loader::compile_preload()?);
    let queue: Mutex<VecDeque<&'static SuiteRun>> = Mutex::new(runs.iter().copied().collect());
    let next = || queue.lock().ok()?.pop_front();
    let one_run = |run: &'static SuiteRun| -> Result<Vec<TestResult>> {
        let lun = served.lun(run.lun)?;
        let meant = tests.iter().filter(|test| run.has(test) && is_meant(test));
        meant.map(|test| one(&lun, run, test, &preload, logs)).collect()
    };
    let worker = || {
        let mut said = Vec::new();
        while let Some(run) = next() {
            said.extend(one_run(run)?);
        }
        anyhow::Ok(said)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        let parts = workers.into_iter().map(|worker| worker.join().ok().context("a worker ended")?);
        let parts: Vec<Vec<TestResult>> = parts.collect::<Result<_>>()?;
        Ok(parts.into_iter().flatten().collect())
    })
}

/// Runs the same test again.
pub fn again(served: &IscsiServer, said: &TestResult, logs: &Path) -> Result<TestResult> {
    one(&served.lun(said.run.lun)?, said.run, &said.test, &loader::compile_preload()?, logs)
}

fn one(
    lun: &LunAddress,
    run: &'static SuiteRun,
    test: &str,
    preload: &Path,
    logs: &Path,
) -> Result<TestResult> {
    let (url, name) = (lun.url(), format!("ALL.{test}"));
    let loaded = format!("LD_PRELOAD={}", preload.display());
    let mut command = vec!["env", &loaded];
    if run.has_digests {
        command.push("FOURFOLD_DIGEST=1");
    }
    command.extend(mend(run, test));
    command.extend([PROGRAM, "--dataloss", "--allow-sanitize", "--Verbose-scsi", "-t", &name, &url]);
    if run.has_second_path(test) {
        command.push(&url);
    }
    let text = process::both_streams(&command, LIMIT)?;
    fs::write(log(logs, run, test), &text)?;
    Ok(TestResult { run, test: test.to_owned(), outcome: judge(&text) })
}

/// The defect of a test that `preload.c` repairs.
fn mend(run: &SuiteRun, test: &str) -> Option<&'static str> {
    match test {
        "iSCSITMF.LUNResetSimpleAsync" => Some("FOURFOLD_WAIT=1"),
        "GetLBAStatus.UnmapSingle" if run.lun != "suite-4k" => Some("FOURFOLD_WHOLE=1"),
        _ => None,
    }
}

fn log(logs: &Path, run: &SuiteRun, test: &str) -> PathBuf {
    let run = if run.name.is_empty() { "512" } else { run.name };
    logs.join(format!("{test} {run}.log"))
}

/// The result of one test, from CUnit's output.
fn judge(text: &str) -> Outcome {
    let Some([_, ran, passed, failed]) = counts(text) else {
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Outcome::Fail(format!("it did not come to its end: {}", last.trim()));
    };
    if failed > 0 || ran == 0 || passed != ran {
        return Outcome::Fail(reason(text));
    }
    let body = text.split_once("Suite: ").map_or(text, |(_, body)| body);
    let skipped = body.lines().find_map(|line| line.split_once("[SKIPPED] "));
    skipped.map_or(Outcome::Pass, |(_, why)| Outcome::Skip(why.trim().to_owned()))
}

/// Total, run, passed and failed tests, from CUnit's summary.
fn counts(text: &str) -> Option<[u32; 4]> {
    let (_, summary) = text.split_once("Run Summary:")?;
    let line = summary.lines().find_map(|line| line.trim().strip_prefix("tests "))?;
    let numbers: Vec<u32> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    numbers.get(..4)?.try_into().ok()
}

/// The test's error message, and its place in the source.
fn reason(text: &str) -> String {
    // A question after the last test follows the line without a line break.
    let lines = || text.lines().map(|line| line.split(")    Send ").next().unwrap_or(line).trim());
    let said = lines().filter(|line| !line.contains("CU_"));
    let found = said.filter_map(|line| line.split_once("[FAILED] ").or(line.split_once("[FAILURE] "))).next();
    let place = lines().find_map(|line| line.strip_prefix("1. "));
    let words = [found.map(|(_, what)| what.trim()), place].into_iter().flatten();
    words.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From libiscsi 1.19 against tgt 1.0.85.
    const FAILED: &str = "
Suite: Reserve6
  Test: 2Initiators ...    Take out a RESERVE6 from the first initiator
    [FAILED] MODESENSE6 successful but should have failed with NO SENSE(0x00)/NO ASCQ(0x0000)
FAILED
    1. test_reserve6_2initiators.c:70  - CU_ASSERT_EQUAL(_r,0)

Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      1      1      0      1        0
             asserts     11     11     10      1      n/a
";
    const SKIPPED: &str = "
    [SKIPPED] what is asked before the tests
Suite: Unmap
  Test: Simple ...    [SKIPPED] Logical unit is fully provisioned. Skipping test
passed

Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      1      1      1      0        0
             asserts      1      1      1      0      n/a
";

    #[test]
    fn a_failure_has_its_reason_and_its_place() {
        let why = "MODESENSE6 successful but should have failed with NO SENSE(0x00)/NO ASCQ(0x0000) \
                   test_reserve6_2initiators.c:70 - CU_ASSERT_EQUAL(_r,0)";
        assert_eq!(judge(FAILED), Outcome::Fail(why.into()));
    }

    #[test]
    fn what_passes_by_doing_nothing_is_skipped() {
        let why = "Logical unit is fully provisioned. Skipping test";
        assert_eq!(judge(SKIPPED), Outcome::Skip(why.into()));
        assert_eq!(judge(&SKIPPED.replace("...    [SKIPPED]", "...")), Outcome::Pass);
    }

    #[test]
    fn what_has_no_summary_or_ran_nothing_has_failed() {
        let hangs = "Suite: Read10\n  Test: Simple ...\nended after 40 s\n";
        assert_eq!(judge(hangs), Outcome::Fail("it did not come to its end: ended after 40 s".into()));
        let nothing = SKIPPED.replace("tests      1      1      1", "tests      1      0      0");
        assert!(matches!(judge(&nothing), Outcome::Fail(_)));
    }

    #[test]
    fn the_list_is_that_of_the_family_of_all() {
        let list = ["ALL", "ALL.Read10", "ALL.Read10.Simple", "SCSI.Read10.Simple"];
        assert_eq!(list.iter().filter_map(|line| of_all(line)).collect::<Vec<_>>(), ["Read10.Simple"]);
    }
}
