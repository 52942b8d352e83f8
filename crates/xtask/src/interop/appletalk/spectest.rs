//! Netatalk's `afp_spectest` against our server over AppleTalk: LToUDP on the loopback. It knows only TCP; a bridge
//! (`crates/client/tests/asp_bridge`) makes a session of ASP of each of its connections.
//!
//! ```text
//! afp_spectest ── TCP ──► asp_bridge ── ltoudp:lo ──► fourfold
//! ```
//!
//! What is expected is what is expected over TCP (`interop/afp/expected.toml`), but for `interop/appletalk/spectest.toml`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout};

use anyhow::{Context, Result};

use crate::interop::afp::spectest::{SLEEPING, SetResult, Target, run_lanes};
use crate::interop::afp::suite::SpectestSuite;
use crate::interop::afp::version::Version;
use crate::interop::afp::{self, AfpPlace};
use crate::interop::compiled::{self, TestProgram};
use crate::interop::expected::{Expectations, Verdict};
use crate::interop::outcome::Outcome;
use crate::process::{self, Running};

/// The program of the bridge.
pub const BRIDGE: TestProgram = TestProgram { folder: "client", name: "asp_bridge" };
/// Where results over ASP differ from those over TCP.
const EXPECTED: &str = "interop/appletalk/spectest.toml";
const FOLDER: &str = "interop-appletalk-spectest";
const NAME: &str = "Spectest";
const LINK: &str = "ltoudp:lo";
/// Each version is tested by so many at once: the tests mostly wait. A node has at most eight sessions.
const LANES: [&str; 3] = ["a", "b", "c"];
/// The versions and their checks.
const VERSIONS: [(&str, &str, &str); 2] =
    [("2.1", "-1", "spectest over ASP, AFP 2.1"), ("2.2", "-2", "spectest over ASP, AFP 2.2")];

/// The names of the checks.
pub fn checks() -> impl Iterator<Item = &'static str> {
    VERSIONS.into_iter().map(|(.., check)| check)
}

/// Runs all sets in both versions. Returns the checks with their outcomes, and lines to be printed.
pub fn run() -> (Vec<(&'static str, Outcome)>, Vec<String>) {
    let Some(suite) = SpectestSuite::find(None).filter(|_| process::is_root()) else {
        let why = "netatalk-tests is not installed, and could not be fetched, or this is not root";
        return (checks().map(|check| (check, Outcome::Skip(why.into()))).collect(), Vec::new());
    };
    let outcome = |verdict: &Verdict| match verdict.failed {
        0 => Outcome::Pass,
        _ => Outcome::Fail(format!("{}; see {}", verdict.summary(), logs().display())),
    };
    match results(&suite).and_then(|said| judge(&suite, &said)) {
        Ok(verdicts) => {
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

fn lanes(name: &'static str, option: &'static str) -> Vec<Version> {
    LANES.iter().map(|&lane| Version { name, option, lane }).collect()
}

fn results(suite: &SpectestSuite) -> Result<Vec<SetResult>> {
    let all: Vec<Version> = VERSIONS.into_iter().flat_map(|(name, option, _)| lanes(name, option)).collect();
    let place = AfpPlace::new(FOLDER, &all)?;
    let (_server, _) = place.ours(&format!("\n[appletalk]\nlinks = [\"{LINK}\"]\nname = \"{NAME}\"\n"))?;
    let logs = logs();
    let bridges =
        VERSIONS.into_iter().map(|(name, ..)| Bridge::start(&place, name)).collect::<Result<Vec<_>>>()?;
    let mut targets = Vec::new();
    for ((name, option, _), mut bridge) in VERSIONS.into_iter().zip(bridges) {
        let target = Target { suite, port: bridge.port()?, folder: &place.folder, logs: &logs };
        targets.push((target, lanes(name, option), bridge));
    }
    let (targets, _bridges): (Vec<_>, Vec<_>) =
        targets.into_iter().map(|(target, lanes, bridge)| ((target, lanes), bridge)).unzip();
    let sets: Vec<String> = suite.sets()?.into_iter().filter(|set| set != SLEEPING).collect();
    run_lanes(&targets, &sets)
}

/// A bridge, which ends with its standard input.
struct Bridge {
    output: BufReader<ChildStdout>,
    _input: ChildStdin,
    _running: Running,
}

impl Bridge {
    fn start(place: &AfpPlace, version: &str) -> Result<Self> {
        let log = process::log_file(&place.folder.join(format!("bridge-{version}.log")))?;
        let (running, input, output) = Running::talking(compiled::program(&BRIDGE)?, &[LINK, NAME], log)?;
        Ok(Self { output: BufReader::new(output), _input: input, _running: running })
    }

    /// Its port, once it has found the server.
    fn port(&mut self) -> Result<u16> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        line.trim().parse().context("the bridge does not find the server")
    }
}

fn judge(suite: &SpectestSuite, said: &[SetResult]) -> Result<Vec<(&'static str, Verdict)>> {
    let verdict = |(name, _, check): (&str, &str, &'static str)| {
        let of_version = said.iter().filter(|one| one.version.name == name);
        let more = Expectations::read(&process::root().join(EXPECTED))?;
        Ok((check, afp::compare(suite, of_version, more)?))
    };
    VERSIONS.into_iter().map(verdict).collect()
}
