//! What the program that keeps the schedules could not do, for the alerts of the server: a file in the state folder.

use std::collections::BTreeMap;
use std::path::Path;

use admin::Settings;
use auth::durable;
use serde::{Deserialize, Serialize};

/// The file in the state folder.
const FILE: &str = "keeper-failures.json";
/// The longest reason, in characters.
const LONGEST: usize = 300;
/// The largest file that is read.
const LARGEST: u64 = 1 << 20;

/// What is kept by a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScheduleKind {
    Snapshots,
    Replica,
}

/// Something that was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: ScheduleKind,
    pub(crate) share: String,
    pub(crate) why: String,
}

/// What failed last.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) now: BTreeMap<(ScheduleKind, String), String>,
    /// What the file has.
    written: Option<Vec<Failure>>,
}

impl Failures {
    /// It failed for this reason, or succeeded.
    pub(super) fn note(&mut self, kind: ScheduleKind, share: &str, why: Option<String>) {
        let key = (kind, share.to_owned());
        match why {
            Some(why) => _ = self.now.insert(key, why.chars().take(LONGEST).collect()),
            None => _ = self.now.remove(&key),
        }
    }

    /// Writes the file, if it has to change. Shares that are gone do not fail.
    pub(super) fn write(&mut self, settings: &Settings) {
        self.now.retain(|(_, share), _| settings.shares.iter().any(|known| known.name == *share));
        let failures: Vec<Failure> = self
            .now
            .iter()
            .map(|((kind, share), why)| Failure { kind: *kind, share: share.clone(), why: why.clone() })
            .collect();
        if self.written.as_ref() == Some(&failures) {
            return;
        }
        let text = serde_json::to_vec(&failures).unwrap_or_default();
        match durable::replace(&settings.server.state.join(FILE), &text) {
            Ok(()) => self.written = Some(failures),
            Err(error) => tracing::warn!(%error, "the server cannot be told what failed"),
        }
    }
}

/// What failed last, for the server with this state folder.
pub(crate) fn read(state: &Path) -> Vec<Failure> {
    let path = state.join(FILE);
    if path.metadata().is_ok_and(|found| found.len() > LARGEST) {
        return Vec::new();
    }
    std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use admin::Arguments;

    use super::*;

    #[test]
    fn the_server_reads_what_failed_until_it_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("one")).unwrap();
        std::fs::create_dir_all(folder.path().join("state")).unwrap();
        let text = "[server]\nstate = \"state\"\n[[share]]\nname = \"One\"\npath = \"one\"\n";
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let settings = Settings::load(&Arguments::new(false, folder.path().into())).unwrap();
        let state = settings.server.state.clone();
        assert_eq!(read(&state), []);
        let mut failures = Failures::default();
        failures.note(ScheduleKind::Snapshots, "One", Some("no space".into()));
        failures.note(ScheduleKind::Replica, "Gone", Some("no route".into()));
        failures.write(&settings);
        let one = Failure { kind: ScheduleKind::Snapshots, share: "One".into(), why: "no space".into() };
        assert_eq!(read(&state), [one]);
        failures.note(ScheduleKind::Snapshots, "One", None);
        failures.write(&settings);
        assert_eq!(read(&state), []);
        std::fs::write(state.join(FILE), "[{").unwrap();
        assert_eq!(read(&state), [], "a file that is damaged says nothing");
    }
}
