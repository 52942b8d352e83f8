//! The schedules of snapshots. A program of its own keeps them, which the server starts before it drops its privileges:
//! file systems let only root remove snapshots, and what talks to clients must not be able to. In a cluster, that of one server
//! does (`role.rs`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::SystemTime;

use admin::control::{self, AskError};
use admin::{Settings, ShareSettings};
use anyhow::Context;
use jiff::tz::TimeZone;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use snapshots::{Dataset, EngineKind, Pools, Refusal, Report};

use crate::cli::Where;
use crate::host::here;
use crate::terminal::{exit, log};

mod disks;
mod failures;
mod pulls;
mod role;
mod time_machine;

pub(crate) use failures::{Failure, ScheduleKind, read as failures};
pub(crate) use time_machine::{bundles, changed, is_in_bundle};

use disks::HealthLooks;
use failures::Failures;
use pulls::Pulls;
use role::Role;
use time_machine::MacSessions;

/// How often the schedules are looked at.
const EVERY: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };
/// The same while a new replica begins, which the server must learn, and while one is fetched that another server may have to
/// go on with.
const SOON: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// What the server writes to the program to end it.
const END: u8 = b'q';

/// The program that keeps the schedules. It ends when this is dropped, or when this process ends in any way.
pub(crate) struct Keeper(Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take()); // it waits for this
        let _ = self.0.wait();
    }
}

impl Keeper {
    /// Has it look at once: the settings have changed.
    pub(crate) fn wake(&self) {
        self.tell(b".");
    }

    /// Ends it after what it does now. Does not wait for that.
    pub(crate) fn end(&self) {
        self.tell(&[END]);
    }

    fn tell(&self, word: &[u8]) {
        if let Some(input) = &self.0.stdin {
            let _ = rustix::io::write(input, word); // one that has ended logs why
        }
    }

    /// Starts it for the settings file, if there is one: shares of the command line have no schedules.
    pub(crate) fn start(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let Some(file) = &settings.file else { return Ok(None) };
        let program = std::env::current_exe().context("the program's own file cannot be found")?;
        let mut command = Command::new(program);
        command.args(["snapshot", "keep", "--state"]).arg(&settings.server.state).arg("--config").arg(file);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        Ok(Some(Self(
            started.context("the program that keeps the schedules of snapshots cannot be started")?,
        )))
    }
}

/// Mounts the pools of the state folder.
pub(crate) fn mount_pools(settings: &Settings) {
    match Pools::new(&settings.server.state).mount_all() {
        Ok(failed) => {
            for (pool, why) in failed {
                tracing::warn!(pool = %pool.image.display(), %why, "the pool is not mounted");
            }
        }
        Err(error) => tracing::warn!(%error, "the pools are not mounted"),
    }
}

/// Keeps the schedules of all shares until the standard input ends.
pub(crate) fn run(place: &Where) -> anyhow::Result<ExitCode> {
    let arguments = place.arguments(here::privileged(), here::folder()?);
    let (mut is_logging, mut pulls, mut sessions) = (false, Pulls::default(), MacSessions::default());
    let (mut limits, mut failures, mut role) = (Limits::default(), Failures::default(), Role::default());
    let mut looks = HealthLooks::new();
    loop {
        match Settings::load(&arguments) {
            Ok(settings) => {
                if !is_logging {
                    log::start(&settings.server)?;
                    is_logging = true;
                }
                pulls.learn(&settings);
                role.ask(&settings);
                if role.may_begin(&settings) {
                    limits.keep(&settings.shares);
                    let (changed, of_sessions) =
                        snapshots(&settings, &mut sessions, (&mut role, &mut failures));
                    if changed + of_sessions > 0 {
                        show(&settings.server.state);
                    }
                    pulls.look(&settings, place, (&mut role, &mut failures));
                } else if !role.is_here() {
                    pulls.stop();
                    (limits, failures.now) = (Limits::default(), BTreeMap::default()); // another server knows
                }
                failures.write(&settings);
                looks.look(&settings.server.state);
            }
            Err(diagnostics) if !is_logging => return Ok(exit::refused(&diagnostics)),
            Err(_) => {} // the server says so, and goes on with those before
        }
        let is_soon =
            pulls.is_beginning() || (pulls.are_running() && role.is_for_a_time()) || role.is_unanswered();
        if has_ended(&io::stdin(), if is_soon { &SOON } else { &EVERY })? {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Takes the snapshots that are due. The numbers of shares whose snapshots have changed: by their schedules, and after sessions.
fn snapshots(
    settings: &Settings,
    sessions: &mut MacSessions,
    (role, failures): (&mut Role, &mut Failures),
) -> (usize, usize) {
    let changed =
        settings.shares.iter().filter(|share| role.may_begin(settings) && keep(share, failures)).count();
    let of_sessions = match role.may_begin(settings) {
        true => sessions.look(settings, &role.backups_elsewhere, failures),
        false => 0,
    };
    (changed, of_sessions)
}

/// Has the server show its clients the snapshots that there are now.
fn show(state: &Path) {
    match control::snapshots(state) {
        Ok(_) | Err(AskError::NoServer(_)) => {}
        Err(error) => {
            tracing::warn!(%error, "clients will see the change of the snapshots some seconds later")
        }
    }
}

/// Waits until the next look is due. Whether the input has ended.
fn has_ended(input: &io::Stdin, every: &Timespec) -> io::Result<bool> {
    let mut waited = [PollFd::new(input, PollFlags::IN)];
    match poll(&mut waited, Some(every)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
        Ok(_) => {
            let mut words = [0; 64];
            let length = rustix::io::read(input, &mut words)?;
            Ok(length == 0 || words[..length].contains(&END))
        }
        Err(error) => Err(error.into()),
    }
}

/// The quotas that the host keeps, as they were set last.
#[derive(Default)]
struct Limits {
    /// By the folder of a share: the limit, and the folders of the shares below. `None`: setting it, or removing it, has failed,
    /// so that a part of it may be in force.
    set: BTreeMap<PathBuf, Option<(u64, Vec<PathBuf>)>>,
    /// Limits that an earlier run has set were looked for.
    has_looked: bool,
}

impl Limits {
    /// Sets those that have changed. A limit that cannot be set or removed is tried again with the next look.
    fn keep(&mut self, shares: &[ShareSettings]) {
        let mut wanted: BTreeMap<PathBuf, (u64, Vec<PathBuf>)> = BTreeMap::new();
        for share in shares {
            let Some(limit) = share.quota else { continue };
            let below = shares.iter().map(|other| &other.path);
            let below = below.filter(|path| path.starts_with(&share.path) && **path != share.path);
            let known = wanted.entry(share.path.clone()).or_insert((limit, below.cloned().collect()));
            known.0 = known.0.min(limit);
        }
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        let of_earlier = shares.iter().map(|share| &share.path).filter(|_| is_first);
        let mut stays = BTreeMap::new();
        for folder in self.set.keys().chain(of_earlier).filter(|folder| !wanted.contains_key(*folder)) {
            let has_ours = |dataset: &Dataset| !is_first || dataset.engine() == EngineKind::Btrfs;
            if !Dataset::find(folder).is_ok_and(|dataset| has_ours(&dataset)) {
                continue;
            }
            let removed = Dataset::find(folder).and_then(|dataset| dataset.remove_quota());
            if let Err(error) = removed {
                tracing::warn!(folder = %folder.display(), %error, "the host's quota is not removed");
                stays.insert(folder.clone(), None);
            }
        }
        for dataset in self.set.keys().filter_map(|folder| Dataset::find(folder).ok()) {
            dataset.mend_accounting();
        }
        let is_kept =
            |folder: &PathBuf, known: &mut Option<_>| known.is_some() && wanted.get(folder) == known.as_ref();
        let changed: BTreeMap<_, _> =
            self.set.extract_if(.., |folder, known| !is_kept(folder, known)).collect();
        wanted.retain(|folder, _| !self.set.contains_key(folder));
        self.set.append(&mut stays);
        for (folder, (limit, below)) in wanted {
            let inner: Vec<&Path> = below.iter().map(PathBuf::as_path).collect();
            let Some(dataset) = Dataset::find(&folder).ok().filter(Dataset::has_quotas) else { continue };
            match dataset.set_quota(limit, &inner) {
                Ok(()) => _ = self.set.insert(folder, Some((limit, below))),
                Err(error) => {
                    tracing::warn!(folder = %folder.display(), %error, "the host does not keep the quota");
                    // A limit that was there before us is not ours to remove. btrfs says which are ours.
                    if changed.contains_key(&folder) || dataset.engine() == EngineKind::Btrfs {
                        self.set.insert(folder, None);
                    }
                }
            }
        }
    }
}

/// Keeps the schedule of a share. Whether its snapshots have changed.
fn keep(share: &ShareSettings, failures: &mut Failures) -> bool {
    if share.snapshot_schedule.rows.is_empty() && share.snapshot_floor.is_none() {
        return false;
    }
    let kept = Dataset::find(&share.path).and_then(|dataset| {
        // A replica has the snapshots of its source.
        let mut report = match snapshots::is_replica(&share.path) {
            true => Report::default(),
            false => dataset.keep(&share.snapshot_schedule, SystemTime::now(), &TimeZone::system())?,
        };
        if let Some(floor) = share.snapshot_floor {
            let room = dataset.make_room(floor)?;
            report.removed.extend(room.removed);
            report.warnings.extend(room.warnings);
        }
        Ok(report)
    });
    failures.note(ScheduleKind::Snapshots, &share.name, kept.as_ref().err().map(ToString::to_string));
    tell(&share.name, kept, "the schedule of snapshots is not kept")
}

/// Logs what was done for a share, or why nothing was. Whether its snapshots have, or may have, changed.
fn tell(name: &str, done: Result<Report, Refusal>, otherwise: &str) -> bool {
    match done {
        Ok(report) => {
            let changes = report.taken.len() + report.removed.len() + report.set_aside.len();
            for taken in report.taken {
                tracing::info!(share = name, snapshot = taken, "snapshot taken");
            }
            for (old, why) in report.removed {
                tracing::info!(share = name, snapshot = old, why, "snapshot removed");
            }
            for (old, new) in report.set_aside {
                tracing::info!(share = name, snapshot = old, now = new, "held snapshot renamed");
            }
            report.warnings.iter().for_each(|warning| tracing::warn!(share = name, "{warning}"));
            changes > 0
        }
        Err(error) => {
            tracing::warn!(share = name, %error, "{otherwise}");
            true // some steps may have been done before it failed
        }
    }
}
