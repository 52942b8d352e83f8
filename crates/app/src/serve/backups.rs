//! The backups of Macs while the server runs: a thread of low priority looks at the bundles, notes the sessions of Macs, and
//! makes and compares checksums while no Mac writes. Another one checks the file systems in images that were verified. Requests of
//! people are answered here, too.

mod status;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use admin::ShareSettings;
use admin::control::{BackupName, BackupsAnswer, BackupsRequest, Progress, Report, Status};
use vfs::names::text_view;
use vfs::{BackupImage, MacBackup, Volume};

use crate::serve::running::Running;
use crate::shares::backups::verify::Slice;
use crate::shares::backups::{Backups, Look, Place, now};

/// How often the bundles are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How often it is looked for images that are to be checked.
const CHECK_EVERY: Duration = Duration::from_secs(30);
/// The priority of the threads: the lowest. The priority of its reads follows from it, ioprio_set(2).
const NICE: i32 = 19;

/// The threads, until they are stopped.
pub(crate) struct BackupsThread {
    backups: Arc<Backups>,
    threads: Vec<JoinHandle<()>>,
}

impl BackupsThread {
    /// Starts them. Needs a tokio runtime.
    ///
    /// # Errors
    /// There is no room for another thread.
    pub(crate) fn start(running: &Arc<Running>) -> io::Result<Self> {
        let backups = running.backups_of_macs().clone();
        let threads = vec![
            slow("backups", running, &backups, LOOK_EVERY, look)?,
            slow("backup-images", running, &backups, CHECK_EVERY, check)?,
        ];
        Ok(Self { backups, threads })
    }

    /// Ends what goes on. What was done stays done.
    pub(crate) fn stop(self) {
        self.backups.stop();
        for thread in self.threads {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("a thread of the backups of Macs has panicked");
            }
        }
    }
}

/// A thread of low priority that works every so often, and at once if there is more to do.
fn slow(
    name: &str,
    running: &Arc<Running>,
    backups: &Arc<Backups>,
    every: Duration,
    work: fn(&Running, &Backups) -> bool,
) -> io::Result<JoinHandle<()>> {
    let (weak, backups) = (Arc::downgrade(running), backups.clone());
    let runtime = tokio::runtime::Handle::current();
    let repeat = move || {
        let _entered = runtime.enter();
        let _ = rustix::process::setpriority_process(None, NICE); // of this thread only, setpriority(2)
        while !backups.has_stopped() {
            let Some(running) = weak.upgrade() else { return };
            let worked = vfs::backend::host::as_ourselves(|| work(&running, &backups));
            drop(running);
            if !worked.unwrap_or(false) {
                std::thread::park_timeout(every);
            }
        }
    };
    std::thread::Builder::new().name(name.into()).spawn(repeat)
}

/// Checks the images of bundles that were verified, one after the other.
fn check(running: &Running, backups: &Backups) -> bool {
    let current = running.current();
    for name in backups.unchecked_inside() {
        let share = current.settings.shares.iter().find(|share| share.name == name.share);
        if share.is_none_or(|share| share.time_machine_verify.is_none()) || backups.has_stopped() {
            continue;
        }
        if let Ok(place) = Place::find(&current, running.volumes(), &name) {
            backups.check_inside(&place);
        }
    }
    false
}

/// Looks at all bundles. Whether there is more to do at once.
fn look(running: &Running, backups: &Backups) -> bool {
    let current = running.current();
    let shares: Vec<&ShareSettings> =
        current.settings.shares.iter().filter(|share| share.time_machine).collect();
    if shares.is_empty() {
        return false;
    }
    let (server, mut is_more) = (running.status(), false);
    for share in shares {
        let Ok(volume) = running.volume(share) else { continue }; // a request says why
        let all = volume.backup_bundles().all().unwrap_or_default();
        let was_full = volume.was_full();
        for bundle in &all {
            if backups.has_stopped() {
                return false;
            }
            let name = name_of(share, bundle);
            let has_session = backups.record(&name).session.is_some();
            let look = look_at((share, &volume), (bundle, &all), &server, (was_full, has_session));
            let is_written = !look.writers.is_empty();
            if let Some(end) = backups.change(&name, |record| record.look(&look)) {
                tracing::info!(
                    share = share.name,
                    bundle = name.bundle,
                    ?end,
                    "session of Time Machine ended"
                );
            }
            let place = Place::find(&current, running.volumes(), &name);
            let Some(place) = place.ok().filter(|_| !is_written) else { continue };
            if let Err(error) = backups.keep_journal(&place, bundle) {
                tracing::warn!(share = share.name, bundle = name.bundle, "no restore point: {error:#}");
            }
            let Some(every) = share.time_machine_verify else { continue };
            match backups.slice(&place, every) {
                Ok(slice) => is_more |= slice == Slice::More,
                Err(error) => {
                    tracing::debug!(share = share.name, bundle = name.bundle, "not verified: {error:#}")
                }
            }
        }
        backups.tidy_journals((share, &current.settings), &volume, &all);
    }
    is_more
}

fn look_at(
    (share, volume): (&ShareSettings, &Volume),
    (bundle, all): (&MacBackup, &[MacBackup]),
    server: &Status,
    (was_full, has_session): (bool, bool),
) -> Look {
    let band = bundle.band_size.unwrap_or(0);
    let used: u64 = all.iter().filter_map(|one| one.size).fold(0, u64::saturating_add);
    let own = share.mac_policy(&status::mac(bundle)).and_then(|policy| policy.limit);
    let has_no_room =
        |limit: Option<u64>, used: u64| limit.is_some_and(|limit| limit < used.saturating_add(band));
    let writers = status::writers(share, volume, bundle, server);
    let ends = has_session && writers.is_empty();
    let opened = || BackupImage::open(volume, &bundle.name);
    Look {
        now: now(),
        is_asleep: status::sleeps(&writers, server),
        is_of_others: ends && opened().is_ok_and(|image| image.is_of_others()),
        writers,
        size: bundle.size.unwrap_or(0),
        changed: bundle.changed.secs,
        completed: status::completions(bundle).last().copied(),
        was_full,
        is_at_limit: has_no_room(own, bundle.size.unwrap_or(0)) || has_no_room(share.time_machine_size, used),
    }
}

fn name_of(share: &ShareSettings, bundle: &MacBackup) -> BackupName {
    BackupName { share: share.name.clone(), bundle: text_view(&bundle.name) }
}

/// Answers a request.
pub(super) fn answer(
    running: &Running,
    request: &BackupsRequest,
    progress: &dyn Fn(Progress) -> bool,
) -> anyhow::Result<BackupsAnswer> {
    let (current, backups) = (running.current(), running.backups_of_macs());
    let place = |name| Place::find(&current, running.volumes(), name);
    Ok(match request {
        BackupsRequest::List => BackupsAnswer::List(status::all(running, backups)?),
        BackupsRequest::Verify { name, snapshot: None } => {
            BackupsAnswer::Verified(backups.verify(&place(name)?, progress)?)
        }
        BackupsRequest::Verify { name, snapshot: Some(snapshot) } => {
            BackupsAnswer::Verified(backups.verify_point(&place(name)?, snapshot, progress)?)
        }
        BackupsRequest::RollBack { name, snapshot, dry_run } => BackupsAnswer::Done(backups.roll_back(
            &place(name)?,
            (snapshot.as_deref(), *dry_run),
            progress,
        )?),
        BackupsRequest::Discard { name } => BackupsAnswer::Done(backups.discard(&place(name)?, progress)?),
        BackupsRequest::Rename { name, to } => BackupsAnswer::Done(backups.rename(&place(name)?, to)?),
        BackupsRequest::Move { name, to } => {
            BackupsAnswer::Done(backups.move_to(&place(name)?, to, progress)?)
        }
    })
}
