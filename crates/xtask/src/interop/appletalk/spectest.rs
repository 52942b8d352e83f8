//! Netatalk's `afp_spectest` against our server over AppleTalk: LToUDP on the loopback. It knows only TCP; a bridge
//! (`crates/client/tests/asp_bridge`) makes a session of ASP of each of its connections.
//!
//! ```text
//! afp_spectest ── TCP ──► asp_bridge ── ltoudp:lo ──► fourfold
//! ```
//!
//! What is expected is what is expected over TCP (`interop/afp/expected.toml`), but for `interop/appletalk/spectest.toml`.

use std::path::PathBuf;

use anyhow::Result;

use super::bridge::{self, Bridge};
use crate::interop::afp::spectest::{SLEEPING, SetResult, Target, run_lanes};
use crate::interop::afp::suite::SpectestSuite;
use crate::interop::afp::version::AfpVersion;
use crate::interop::afp::{self, AfpPlace};
use crate::interop::expected::{Expectations, SuiteVerdict};
use crate::interop::outcome::Outcome;
use crate::process;

/// Where results over ASP differ from those over TCP.
const EXPECTED: &str = "interop/appletalk/spectest.toml";
const FOLDER: &str = "interop-appletalk-spectest";
const NAME: &str = "Spectest";
/// Each version is tested by so many at once: the tests mostly wait. A node has at most eight sessions.
const LANES: [&str; 3] = ["a", "b", "c"];
/// The versions and their checks.
const VERSIONS: [(&str, &str, &str); 2] =
    [("2.1", "-1", "spectest over ASP, AFP 2.1"), ("2.2", "-2", "spectest over ASP, AFP 2.2")];

/// What is tested unless the checks are named: forks, locks, listings, what is cut to ASP's quantum, the ends of sessions.
const SELECTION: &[&str] =
    &["FPByteRangeLock", "FPEnumerate", "FPGetSrvrMsg", "FPOpenFork", "FPRead", "FPWrite"];

/// The names of the checks.
pub fn checks() -> impl Iterator<Item = &'static str> {
    VERSIONS.into_iter().map(|(.., check)| check)
}

/// Runs the sets in both versions, all of them or a selection. Returns the checks with their outcomes, and lines to be printed.
pub fn run(all: bool) -> (Vec<(&'static str, Outcome)>, Vec<String>) {
    let Some(suite) = SpectestSuite::find(None).filter(|_| process::is_root()) else {
        let why = "netatalk-tests is not installed, and could not be fetched, or this is not root";
        return (checks().map(|check| (check, Outcome::Skip(why.into()))).collect(), Vec::new());
    };
    let outcome = |verdict: &SuiteVerdict| match verdict.failed {
        0 => Outcome::Pass,
        _ => Outcome::Fail(format!("{}; see {}", verdict.summary(), logs().display())),
    };
    match results(&suite, all).and_then(|said| judge(&suite, &said)) {
        Ok(verdicts) => {
            verdicts.iter().for_each(|(check, verdict)| println!("{check}: {}", verdict.summary()));
            let outcomes = verdicts.iter().map(|(check, verdict)| (*check, outcome(verdict))).collect();
            (outcomes, verdicts.into_iter().flat_map(|(_, verdict)| verdict.lines).collect())
        }
        Err(error) => {
            (checks().map(|check| (check, Outcome::Fail(format!("{error:#}")))).collect(), Vec::new())
        }
    }
}

fn logs() -> PathBuf {
    process::root().join("target/interop-appletalk-spectest-logs")
}

fn lanes(name: &'static str, option: &'static str) -> Vec<AfpVersion> {
    LANES.iter().map(|&lane| AfpVersion { name, option, lane }).collect()
}

fn results(suite: &SpectestSuite, all: bool) -> Result<Vec<SetResult>> {
    let versions: Vec<AfpVersion> =
        VERSIONS.into_iter().flat_map(|(name, option, _)| lanes(name, option)).collect();
    let place = AfpPlace::new(FOLDER, &versions)?;
    let (_server, _) = place.ours(&bridge::settings(NAME))?;
    let logs = logs();
    let start =
        |(name, ..): (&str, _, _)| Bridge::start(NAME, &place.folder.join(format!("bridge-{name}.log")));
    let bridges = VERSIONS.into_iter().map(start).collect::<Result<Vec<_>>>()?;
    let mut targets = Vec::new();
    for ((name, option, _), mut bridge) in VERSIONS.into_iter().zip(bridges) {
        let target = Target { suite, port: bridge.port()?, folder: &place.folder, logs: &logs };
        targets.push((target, lanes(name, option), bridge));
    }
    let (targets, _bridges): (Vec<_>, Vec<_>) =
        targets.into_iter().map(|(target, lanes, bridge)| ((target, lanes), bridge)).unzip();
    let is_meant = |set: &String| set != SLEEPING && (all || SELECTION.contains(&set.as_str()));
    let sets: Vec<String> = suite.sets()?.into_iter().filter(is_meant).collect();
    run_lanes(&targets, &sets)
}

fn judge(suite: &SpectestSuite, said: &[SetResult]) -> Result<Vec<(&'static str, SuiteVerdict)>> {
    let verdict = |(name, _, check): (&str, &str, &'static str)| {
        let of_version = said.iter().filter(|one| one.version.name == name);
        let more = Expectations::read(&process::root().join(EXPECTED))?;
        Ok((check, afp::compare(suite, of_version, more)?))
    };
    VERSIONS.into_iter().map(verdict).collect()
}
