//! Netatalk's `afp_spectest` and `afp_logintest`. Each of their tests is an outcome of its own, for
//! every version of AFP.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::place::{PASSWORD, PERSON};
use super::suite::SpectestSuite;
use super::version::AfpVersion;
use crate::interop::outcome::Outcome;
use crate::process;

/// The name that logintest's tests are listed under, beside spectest's sets.
pub const LOGINTEST: &str = "Logintest";
/// Waits for 12 minutes.
pub const SLEEPING: &str = "FPzzz";
/// The time limit of a set. The longest takes half a minute, and much longer with a debug build on
/// a busy machine.
const LIMIT: Duration = Duration::from_secs(240);
const SLEEPING_LIMIT: Duration = Duration::from_secs(1200);

/// A server and the folders of its volumes.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub suite: &'a SpectestSuite,
    pub port: u16,
    pub folder: &'a Path,
    /// The folder for the programs' output.
    pub logs: &'a Path,
}

/// The results of one set in one version.
#[derive(Debug)]
pub struct SetResult {
    pub version: AfpVersion,
    pub set: String,
    pub tests: Vec<(String, Outcome)>,
    pub seconds: f64,
}

/// Runs all sets in all versions. The versions run in parallel, with users and volumes of their
/// own, since the tests mostly wait.
pub fn run(target: Target<'_>, versions: &[AfpVersion], sets: &[String]) -> Result<Vec<SetResult>> {
    let lanes: Vec<_> = versions.iter().map(|&version| (target, vec![version])).collect();
    let mut said = run_lanes(&lanes, sets)?;
    if sets.iter().any(|set| set == LOGINTEST) {
        // One of its tests uses all the connections that a server accepts.
        for &version in versions {
            said.push(run_set(target, version, LOGINTEST)?);
        }
    }
    said.sort_by(|a: &SetResult, b: &SetResult| (&a.set, a.version).cmp(&(&b.set, b.version)));
    Ok(said)
}

/// Runs all sets but logintest in each of these versions: those of one target take the next set in turn.
pub fn run_lanes(lanes: &[(Target<'_>, Vec<AfpVersion>)], sets: &[String]) -> Result<Vec<SetResult>> {
    let said = Mutex::new(Vec::new());
    let queues: Vec<Mutex<VecDeque<&String>>> =
        lanes.iter().map(|_| Mutex::new(sets.iter().filter(|set| *set != LOGINTEST).collect())).collect();
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for ((target, versions), queue) in lanes.iter().zip(&queues) {
            fs::create_dir_all(target.logs)?;
            for &version in versions {
                let (target, said) = (*target, &said);
                workers.push(scope.spawn(move || {
                    let next = || queue.lock().ok()?.pop_front();
                    while let Some(set) = next() {
                        let one = run_set(target, version, set)?;
                        said.lock().map(|mut said| said.push(one)).unwrap_or_default();
                    }
                    anyhow::Ok(())
                }));
            }
        }
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    Ok(said.into_inner().unwrap_or_default())
}

fn run_set(target: Target<'_>, version: AfpVersion, set: &str) -> Result<SetResult> {
    let start = Instant::now();
    for volume in version.volumes() {
        empty(&target.folder.join(volume))?;
    }
    let text = process::both_streams(
        &arguments(target, version, set),
        if set == SLEEPING { SLEEPING_LIMIT } else { LIMIT },
    )?;
    fs::write(log(target.logs, version, set), &text)?;
    Ok(SetResult {
        version,
        set: set.to_owned(),
        tests: parse(&text),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The file with the output of a set.
pub fn log(logs: &Path, version: AfpVersion, set: &str) -> PathBuf {
    logs.join(format!("{set}-{}.log", version.name))
}

fn arguments(target: Target<'_>, version: AfpVersion, set: &str) -> Vec<String> {
    let ([user, second_user], [volume, second_volume]) = (version.users(), version.volumes());
    let path = target.folder.join(&volume).to_string_lossy().into_owned();
    let port = target.port.to_string();
    let common = ["-C", version.option, "-h", "127.0.0.1", "-p", &port, "-w", PASSWORD];
    let (program, more) = match set {
        LOGINTEST => ("afp_logintest", vec!["-u", PERSON]),
        "Readonly" => ("afp_spectest", vec!["-u", PERSON, "-s", "readonly", "-f", set]),
        // This set must run alone.
        SLEEPING => ("afp_spectest", vec!["-u", &user, "-s", &volume, "-f", set]),
        _ => {
            let volumes = ["-u", &user, "-d", &second_user, "-s", &volume, "-S", &second_volume];
            ("afp_spectest", [&volumes[..], &["-c", &path, "-f", set]].concat())
        }
    };
    let mut command = target.suite.command(program);
    command.extend(common.iter().chain(&more).map(|text| (*text).to_owned()));
    command
}

fn empty(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_symlink() || !path.is_dir() { fs::remove_file(path)? } else { fs::remove_dir_all(path)? }
    }
    Ok(())
}

/// The results: lines `FPRead:test46: what it is about - PASSED`. Lines of Netatalk 4.5 also begin
/// with the place of the failure.
fn parse(text: &str) -> Vec<(String, Outcome)> {
    let (mut tests, mut said) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let Some((test, result)) =
            line.rsplit_once(" - ").and_then(|(test, result)| Some((test, outcome(result)?)))
        else {
            said.extend(reason(line));
            continue;
        };
        let name = test.split_once(": ").map_or(test, |(name, _)| name);
        let result = match result {
            Outcome::Fail(what) => Outcome::Fail(format!("{what}{}", said.concat())),
            other => other,
        };
        tests.push((name.trim_start_matches('\t').to_owned(), result));
        said.clear();
    }
    if text.contains("Login failed") {
        tests.push(("log in".into(), Outcome::Fail("the login failed".into())));
    } else if text.contains("Failed to connect") {
        tests.push(("connect".into(), Outcome::Fail("nobody listens".into())));
    }
    tests
}

fn outcome(result: &str) -> Option<Outcome> {
    if result.starts_with("PASSED") {
        Some(Outcome::Pass)
    } else if result.starts_with("FAILED") {
        Some(Outcome::Fail("failed".into()))
    } else if result.starts_with("NOT TESTED") {
        Some(Outcome::Fail("its preparations failed".into()))
    } else {
        let why = result.strip_prefix("SKIPPED (")?;
        Some(Outcome::Skip(why.trim_end().trim_end_matches(')').to_owned()))
    }
}

/// ` at FPRead.c:46` of a line `*** ERROR: test_failed() called at .../FPRead.c:46 ***`.
fn reason(line: &str) -> Option<String> {
    let place = line.split("called at ").nth(1)?.trim_end_matches(" ***");
    Some(format!(" at {}", place.rsplit('/').next().unwrap_or(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From afp_spectest 4.5.1 against its own server.
    const SAID: &str = "===================
Executing testset: FPMapName_test

*** ERROR: test_failed() called at ../netatalk/test/testsuite/FPMapName.c:82 ***
FPMapName:test180: test Map Name - FAILED
FPOpenFork:test151: too many open files - NOT TESTED
FPWrite:test226: disk full error - SKIPPED (a smaller volume)
FPOpenFork::test190: deny mode after file moved - PASSED
Encoding:western - PASSED
=====================
  Passed:     2
    FPMapName:test180: test Map Name
";

    #[test]
    fn results_are_found_with_the_place_in_the_source() {
        let fail = |why: &str| Outcome::Fail(why.into());
        let expected = [
            ("FPMapName:test180", fail("failed at FPMapName.c:82")),
            ("FPOpenFork:test151", fail("its preparations failed")),
            ("FPWrite:test226", Outcome::Skip("a smaller volume".into())),
            ("FPOpenFork::test190", Outcome::Pass),
            ("Encoding:western", Outcome::Pass),
        ];
        assert_eq!(parse(SAID), expected.map(|(name, outcome)| (name.to_owned(), outcome)));
    }
}
