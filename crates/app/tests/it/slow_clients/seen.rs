//! What `fourfold status --slow` says.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::server::{PROGRAM, text};

/// What the doctor of a server has found.
pub(super) struct Diagnoses(Value);

impl Diagnoses {
    /// Of the server whose state is in the folder `state` of this folder.
    pub(super) fn now(folder: &Path) -> Self {
        let asked = ["status", "--slow", "--json", "--state", "state"];
        let output = Command::new(PROGRAM).args(asked).current_dir(folder).output().unwrap();
        Self(serde_json::from_str(&text(&output.stdout)).unwrap_or_default())
    }

    /// The kernel tells nothing of connections.
    pub(super) fn is_blind(&self) -> bool {
        self.0["blind"].is_string()
    }

    /// The connections of a client: of an address, or of an address and a port.
    fn of(&self, client: &str) -> impl Iterator<Item = &Value> {
        let is_it = move |one: &&Value| {
            let peer = one["peer"].as_str().unwrap_or_default();
            peer == client || peer.rsplit_once(':').is_some_and(|(host, _)| host == client)
        };
        self.0["clients"].as_array().into_iter().flatten().filter(is_it)
    }

    /// The names of the troubles of a client.
    pub(super) fn troubles(&self, client: &str) -> Vec<String> {
        self.of(client).flat_map(|one| names(&one["troubles"])).collect()
    }

    /// What is said of a trouble of a client.
    pub(super) fn said(&self, client: &str, trouble: &str) -> Option<String> {
        let all = self.of(client).filter_map(|one| one["troubles"].as_array()).flatten();
        let text = all.filter(|one| one["name"] == trouble).find_map(|one| one["text"].as_str());
        text.map(str::to_owned)
    }

    /// Milliseconds in which a client did something, in the looks that are judged.
    pub(super) fn active_ms(&self, client: &str) -> u64 {
        self.of(client).filter_map(|one| one["active_ms"].as_u64()).sum()
    }

    /// The troubles of the server's machine: their names, and what they are about.
    pub(super) fn of_machine(&self) -> Vec<(String, String)> {
        let all = self.0["machine"].as_array().into_iter().flatten();
        let word = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        all.map(|one| (word(one, "name"), word(one, "about"))).collect()
    }
}

impl std::fmt::Display for Diagnoses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

/// Whether so many programs want the processors that clients wait for these, and not for their networks.
pub(super) fn is_overloaded() -> bool {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default();
    load > 4.0 * std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64)
}

fn names(troubles: &Value) -> Vec<String> {
    let all = troubles.as_array().into_iter().flatten();
    all.filter_map(|one| one["name"].as_str()).map(str::to_owned).collect()
}
