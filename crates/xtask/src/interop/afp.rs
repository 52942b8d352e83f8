//! AFP clients: Netatalk's test programs, and common client programs.

mod baseline;
mod bonjour;
mod clients;
mod place;
pub(super) mod spectest;
pub(super) mod suite;
pub(super) mod version;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::expected::{Expectations, SuiteVerdict};
use super::outcome::{Outcome, Outcomes};
use super::{InteropArgs, conclude, prepare};
use crate::{debian, isolate, process};
use baseline::{Baseline, counts};
pub(super) use place::AfpPlace;
use spectest::{LOGINTEST, SLEEPING, SetResult, Target};
use suite::SpectestSuite;
use version::{AfpVersion, VERSIONS};

const EXPECTED: &str = "interop/afp/expected.toml";
const BASELINE: &str = "interop/afp/netatalk.toml";
/// The outcome for all of Netatalk's test programs when they cannot be run.
const SUITE: &str = "spectest";

pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && args.suite.is_none()
        && let Err(error) = suite::install()
    {
        println!("no test programs of Netatalk: {error:#}");
    }
    prepare(args, debian::AFP_CLIENTS, false)?;
    let place = AfpPlace::new("interop-afp", VERSIONS)?;
    let suite = SpectestSuite::find(args.suite.as_deref());
    if let (Some(given), None) = (&args.suite, &suite) {
        bail!("there are no test programs in {}", given.display());
    }
    let wanted = AfpSelection::of(args, suite.as_ref())?;
    if args.peer {
        return measure_peer(args, &place, &wanted, suite.as_ref());
    }
    let (_server, port) = place.ours("")?;
    let mut verdict = SuiteVerdict::default();
    let logs = logs();
    let target = target(suite.as_ref(), &place, port, &logs).filter(|_| !wanted.sets.is_empty());
    if let Some((suite, target)) = target {
        let mut said = spectest::run(target, &wanted.versions, &wanted.sets)?;
        if args.ci {
            try_again(target, &mut said)?;
        }
        verdict = judge(args, suite, &said)?;
    } else if !wanted.sets.is_empty() {
        verdict.skipped += 1;
        verdict.lines.push(format!("skipped {SUITE}: {}", why_not(suite.is_some())));
    }
    let mut outcomes = Outcomes::default();
    clients::run(&mut outcomes, |name| wanted.has_client(name), &place, port)?;
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = expected()?.retain(|name| outcomes.0.iter().any(|(found, _)| found == name));
    verdict.add(expected.compare(&outcomes, process::is_ci()));
    conclude(args, &verdict)
}

/// The suite, if it can be run. Some tests need two users, neither of which may access the other's
/// files.
fn target<'a>(
    suite: Option<&'a SpectestSuite>,
    place: &'a AfpPlace,
    port: u16,
    logs: &'a std::path::Path,
) -> Option<(&'a SpectestSuite, Target<'a>)> {
    let suite = suite.filter(|_| process::is_root())?;
    Some((suite, Target { suite, port, folder: &place.folder, logs }))
}

fn why_not(is_installed: bool) -> &'static str {
    if is_installed {
        "only root can give the files of its two users to them"
    } else {
        "netatalk-tests is not installed, and could not be fetched"
    }
}

/// The tests that do not pass. All others do.
fn expected() -> Result<Expectations> {
    Ok(Expectations::read(&process::root().join(EXPECTED))?.else_pass())
}

fn logs() -> PathBuf {
    process::root().join("target/interop-afp-logs")
}

/// The meaning of the filters: versions, sets, clients. A kind without a filter means all of that
/// kind.
#[derive(Debug)]
struct AfpSelection {
    versions: Vec<AfpVersion>,
    sets: Vec<String>,
    clients: Vec<String>,
    all_clients: bool,
}

impl AfpSelection {
    fn of(args: &InteropArgs, suite: Option<&SpectestSuite>) -> Result<Self> {
        let mut known = suite.map(SpectestSuite::sets).transpose()?.unwrap_or_default();
        known.push(LOGINTEST.into());
        let (mut versions, mut sets, mut clients) = (Vec::new(), Vec::new(), Vec::new());
        for filter in &args.only {
            if let Some(version) = VERSIONS.iter().find(|version| version.name == filter) {
                versions.push(*version);
            } else if known.contains(filter) {
                sets.push(filter.clone());
            } else if clients::CLIENTS.contains(&filter.as_str()) {
                clients.push(filter.clone());
            } else {
                bail!(
                    "{filter:?} is no version, set or client; there are {VERSIONS:?}, {known:?} and {:?}",
                    clients::CLIENTS
                );
            }
        }
        let all_clients = sets.is_empty() && clients.is_empty() && versions.is_empty();
        if sets.is_empty() && clients.is_empty() {
            sets = known.into_iter().filter(|set| set != SLEEPING).collect();
        }
        if versions.is_empty() {
            versions = VERSIONS.to_vec();
        }
        Ok(Self { versions, sets, clients, all_clients })
    }

    fn has_client(&self, name: &str) -> bool {
        self.all_clients || self.clients.iter().any(|client| client == name)
    }
}

/// Runs afpd and records its results.
fn measure_peer(
    args: &InteropArgs,
    place: &AfpPlace,
    wanted: &AfpSelection,
    suite: Option<&SpectestSuite>,
) -> Result<()> {
    let afpd = args.afpd.clone().or_else(|| process::find("afpd"));
    let (_afpd, port) = place.peer(&afpd.context("afpd is missing: --afpd PREFIX/sbin/afpd")?)?;
    let logs = logs().join("netatalk");
    if let Some((suite, target)) = target(suite, place, port, &logs) {
        let said = spectest::run(target, &wanted.versions, &wanted.sets)?;
        let path = process::root().join(BASELINE);
        let mut baseline = Baseline::read(&path)?;
        tell_changes(&baseline, suite, &said);
        baseline.take(&suite.version, &said);
        std::fs::write(&path, baseline.as_toml())?;
        println!("wrote {BASELINE}");
    }
    let mut outcomes = Outcomes::default();
    clients::run(&mut outcomes, |name| wanted.has_client(name), place, port)?;
    print!("{}", outcomes.as_toml());
    Ok(())
}

/// Prints the differences from the last measurement of the peer: such tests are not steady.
fn tell_changes(baseline: &Baseline, suite: &SpectestSuite, said: &[SetResult]) {
    for one in said {
        let Some(set) = baseline.set(&suite.version, &one.set) else { continue };
        let was = set.counts(one.version.name);
        if was.is_some_and(|was| was != counts(&one.tests)) {
            println!("{} AFP {}: was {was:?}, is {:?}", one.set, one.version.name, counts(&one.tests));
        }
    }
}

/// More sets than this with differences are no accident.
const ACCIDENTS: usize = 30;

/// Runs the sets with unexpected results once more: parallel tests on a busy machine may wait too
/// long.
fn try_again(target: Target<'_>, said: &mut [SetResult]) -> Result<()> {
    let (expected, baseline) = (expected()?, Baseline::read(&process::root().join(BASELINE))?);
    let differs = |one: &SetResult| {
        let outcomes = outcomes_of(target.suite, &baseline, &expected, one);
        outcomes.0.iter().any(|(name, outcome)| !expected.is_met(name, outcome))
    };
    let again: Vec<usize> = (0..said.len()).filter(|&at| differs(&said[at])).collect();
    if again.len() > ACCIDENTS {
        return Ok(());
    }
    for at in again {
        let (version, set) = (said[at].version, said[at].set.clone());
        println!("once more: {set}, AFP {}", version.name);
        said[at] = spectest::run(target, &[version], &[set])?.pop().context("no set was run")?;
    }
    Ok(())
}

/// The outcomes of one set in one version. Tests that Netatalk skips, too, have none. An exception
/// is listed for all versions, as `FPRead:test46`, or for one, as `FPRead:test46 AFP 2.1`.
fn outcomes_of(
    suite: &SpectestSuite,
    baseline: &Baseline,
    expected: &Expectations,
    one: &SetResult,
) -> Outcomes {
    let (version, mut outcomes) = (one.version.name, Outcomes::default());
    let known = baseline.set(&suite.version, &one.set);
    for (test, outcome) in &one.tests {
        let exact = format!("{test} AFP {version}");
        let is_general = expected.lists(test) && !expected.lists(&exact);
        let outcome = match outcome {
            Outcome::Skip(_) if known.is_none_or(|known| known.skips(version, test)) => continue,
            Outcome::Fail(why) => Outcome::Fail(format!("AFP {version}: {why}")),
            other => other.clone(),
        };
        outcomes.add(if is_general { test.clone() } else { exact }, outcome);
    }
    let wanted = known.and_then(|known| known.counts(version)).map_or(0, |counts| counts.iter().sum());
    if one.tests.len() < wanted {
        let why = format!("{} of its {wanted} tests did not run", wanted - one.tests.len());
        outcomes.add(format!("{} AFP {version}", one.set), Outcome::Fail(why));
    }
    outcomes
}

/// Compares results over another transport with those that are expected over TCP. `more` has what is different there.
pub(super) fn compare<'a>(
    suite: &SpectestSuite,
    said: impl Iterator<Item = &'a SetResult>,
    more: Expectations,
) -> Result<SuiteVerdict> {
    let (expected, baseline) = (expected()?.but(more), Baseline::read(&process::root().join(BASELINE))?);
    let mut outcomes = Outcomes::default();
    for one in said {
        outcomes.0.extend(outcomes_of(suite, &baseline, &expected, one).0);
    }
    let expected = expected.retain(|name| outcomes.has(name));
    Ok(expected.compare(&outcomes, true))
}

/// Compares our server's results with the expected ones, and prints them beside Netatalk's.
fn judge(args: &InteropArgs, suite: &SpectestSuite, said: &[SetResult]) -> Result<SuiteVerdict> {
    let (expected, baseline) = (expected()?, Baseline::read(&process::root().join(BASELINE))?);
    let mut outcomes = Outcomes::default();
    for one in said {
        outcomes.0.extend(outcomes_of(suite, &baseline, &expected, one).0);
    }
    if args.list {
        print!("{}", outcomes.exceptions_as_toml());
    }
    print_table(suite, &baseline, said);
    if outcomes.0.is_empty() {
        bail!("nothing was run");
    }
    let expected = expected.retain(|name| outcomes.0.iter().any(|(found, _)| found == name));
    Ok(expected.compare(&outcomes, true))
}

/// A line for each set that differs from Netatalk's, and one for each version of AFP.
fn print_table(suite: &SpectestSuite, baseline: &Baseline, said: &[SetResult]) {
    let text = |[passed, failed, skipped]: [usize; 3]| format!("{passed}/{failed}/{skipped}");
    println!(
        "\n{:<34} {:>12} {:>12}  passed/failed/skipped, suite {}",
        "", "Netatalk", "ours", suite.version
    );
    for one in said {
        let set = baseline.set(&suite.version, &one.set);
        let (ours, theirs) = (counts(&one.tests), set.and_then(|set| set.counts(one.version.name)));
        if theirs == Some(ours) {
            continue;
        }
        let is_lost = |(name, outcome): &&(String, Outcome)| {
            matches!(outcome, Outcome::Fail(_)) && set.is_some_and(|set| set.passes(one.version.name, name))
        };
        let lost: Vec<&str> = one.tests.iter().filter(is_lost).map(|(name, _)| name.as_str()).collect();
        let name = format!("{} AFP {}", one.set, one.version.name);
        println!(
            "{name:<34} {:>12} {:>12}  {}",
            theirs.map(text).unwrap_or_default(),
            text(ours),
            lost.join(" ")
        );
    }
    for version in VERSIONS {
        let of_version = || said.iter().filter(|one| one.version == *version);
        if of_version().next().is_none() {
            continue;
        }
        let ours = sum(of_version().map(|one| counts(&one.tests)));
        let theirs =
            sum(of_version().filter_map(|one| baseline.set(&suite.version, &one.set)?.counts(version.name)));
        let seconds: f64 = of_version().map(|one| one.seconds).sum();
        println!("AFP {:<30} {:>12} {:>12}  {seconds:.0} s", version.name, text(theirs), text(ours));
    }
    println!();
}

fn sum(all: impl Iterator<Item = [usize; 3]>) -> [usize; 3] {
    all.fold([0; 3], |sum, one| [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]])
}
