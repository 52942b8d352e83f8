//! Replicas that are fetched by a schedule: a program for each of them while it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use admin::{Settings, control};
use anyhow::Context;
use jiff::tz::TimeZone;
use snapshots::Period;

use super::failures::{Failures, ScheduleKind};
use super::role::Role;
use crate::cli::Where;

/// The longest message of a program that is kept.
const MOST_SAID: u64 = 64 << 10;
/// How long a first run is watched closely.
const BEGINNING: Duration = Duration::from_secs(60);

/// The running programs, by share.
#[derive(Default)]
pub(super) struct Pulls {
    running: BTreeMap<String, RunningPull>,
    /// When each was started last by this program.
    tried: BTreeMap<String, SystemTime>,
    /// Folders that become replicas, which the server must learn. It may not be ready when their first run ends.
    new: BTreeSet<PathBuf>,
}

struct RunningPull {
    child: Child,
    said: Option<JoinHandle<String>>,
}

impl Pulls {
    /// Whether a first run was started just now.
    pub(super) fn is_beginning(&self) -> bool {
        let is_recent = |tried: &SystemTime| tried.elapsed().is_ok_and(|since| since < BEGINNING);
        !self.new.is_empty() && self.tried.values().any(is_recent)
    }

    /// Whether a program runs.
    pub(super) fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Has the server learn which folders have become replicas, of another server of the cluster, too.
    pub(super) fn learn(&mut self, settings: &Settings) {
        let pulled = settings.shares.iter().filter(|share| share.replicate_from.is_some());
        self.new
            .extend(pulled.map(|share| share.path.clone()).filter(|folder| !snapshots::is_replica(folder)));
        if self.new.iter().any(|folder| snapshots::is_replica(folder))
            && control::reload(&settings.server.state).is_ok()
        {
            self.new.retain(|folder| !snapshots::is_replica(folder));
        }
    }

    /// Reports programs that have ended, and starts those that are due.
    pub(super) fn look(
        &mut self,
        settings: &Settings,
        place: &Where,
        (role, failures): (&mut Role, &mut Failures),
    ) {
        self.running.retain(|share, running| !running.has_ended(share, failures));
        for share in &settings.shares {
            let Some(from) = &share.replicate_from else { continue };
            let last = last(&share.path).max(self.tried.get(&share.name).copied());
            let period = share.replicate_schedule.unwrap_or(Period::Hourly);
            let now = SystemTime::now();
            let is_due =
                !self.running.contains_key(&share.name) && period.is_due(last, now, &TimeZone::system());
            if !is_due || !role.may_begin(settings) {
                continue;
            }
            self.tried.insert(share.name.clone(), now);
            match RunningPull::start(from, &share.path, place) {
                Ok(running) => _ = self.running.insert(share.name.clone(), running),
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::warn!(share = share.name, error, "the replica is not fetched");
                    failures.note(ScheduleKind::Replica, &share.name, Some(error));
                }
            }
        }
    }
}

impl Pulls {
    /// Ends the programs. A run that was cut off is continued by the next one, at any server.
    pub(super) fn stop(&mut self) {
        for running in self.running.values_mut() {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        self.running.clear();
    }
}

impl Drop for Pulls {
    fn drop(&mut self) {
        self.stop();
    }
}

/// When the replica was changed last.
fn last(folder: &Path) -> Option<SystemTime> {
    folder.join(snapshots::FOLDER).join(snapshots::REPLICA).metadata().ok()?.modified().ok()
}

impl RunningPull {
    fn start(from: &str, to: &Path, place: &Where) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("the program's own file cannot be found")?;
        let mut command = Command::new(program);
        command.arg("replicate").args(place.words()).args(["--", from]).arg(to);
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = started.context("the program that fetches it cannot be started")?;
        let said = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let mut rest = stderr.take(MOST_SAID);
                // What was read until an error is told.
                let _ = rest.read_to_end(&mut bytes);
                let _ = std::io::copy(rest.get_mut(), &mut std::io::sink());
                String::from_utf8_lossy(&bytes).trim().replace('\n', "; ")
            })
        });
        Ok(Self { child, said })
    }

    fn has_ended(&mut self, share: &str, failures: &mut Failures) -> bool {
        let Ok(status) = self.child.try_wait() else { return false };
        let Some(status) = status else { return false };
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        if status.success() {
            tracing::info!(share, "replica fetched");
            failures.note(ScheduleKind::Replica, share, None);
        } else {
            tracing::warn!(share, error = &*said, "the replica is not fetched; the next run continues");
            failures.note(ScheduleKind::Replica, share, Some(said));
        }
        true
    }
}
