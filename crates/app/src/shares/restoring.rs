//! Restoring files of snapshots, in the server or without one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use admin::control::{MOST_NAMED, Progress, RestoreReport, RestoreRequest, RestoredEntry};
use admin::{Settings, ShareSettings};
use anyhow::{Context, anyhow, bail};
use snapshots::{Dataset, EngineKind, Snapshot};
use vfs::{
    CacheBudget, Error, Restore, RestoreObserver, RestoreOptions, RestoreOutcome, Volume, VolumeOptions,
};

use crate::shares::snapshots::Live;
use crate::shares::volumes::Volumes;

/// Files of the snapshot that are kept open.
const OPEN_FILES: usize = 64;
/// Memory for listings of the snapshot.
const CACHE_BYTES: usize = 8 << 20;
/// In the state folder: where snapshots are mounted that the engine shows only so.
const MOUNTS: &str = "mounts";
/// Two changes in this time can have the same time of change.
const COARSE: Duration = Duration::from_secs(2);

/// Restores a file or folder of a share.
pub(crate) fn restore(
    settings: &Settings,
    volumes: &Volumes,
    request: &RestoreRequest,
    progress: &dyn Fn(Progress) -> bool,
) -> anyhow::Result<RestoreReport> {
    let share = settings.shares.iter().find(|one| one.name == request.share).with_context(|| {
        let names: Vec<&str> = settings.shares.iter().map(|share| &*share.name).collect();
        format!("there is no share {:?}; the shares are: {}", request.share, names.join(", "))
    })?;
    if share.read_only {
        bail!("the share {0} is read-only; `fourfold set read-only=off {0}` changes that", share.name);
    }
    let dataset = Dataset::find(&share.path)?.with_mounts(&settings.server.state.join(MOUNTS));
    let snapshot = dataset.snapshot(&request.snapshot)?;
    let live = volumes.open(share, settings)?;
    let files = volumes.live(share).context("the share has just been removed")?;
    let shown = show(share, &dataset, &snapshot, &files)?;
    let options = RestoreOptions {
        delete: request.delete,
        dry_run: request.dry_run,
        keep: request.keep,
        past_damage: false,
        settled: settled(dataset.engine(), snapshot.created),
    };
    let mut recorder = RestoreRecorder::new(share, request.dry_run, progress);
    let [source, target] = [&request.path, &request.to].map(|path| parts(path));
    let done = Restore::new(&shown, &live, options, &mut recorder).run(&source, &target);
    if !done.map_err(|error| cannot(error, share, request, &recorder.report))? {
        bail!("the command ended; the same command goes on with the rest");
    }
    Ok(recorder.report)
}

/// A volume that shows a snapshot of a share that is served.
pub(crate) fn snapshot_volume(
    share: &ShareSettings,
    dataset: &Dataset,
    snapshot: &Snapshot,
    volumes: &Volumes,
) -> anyhow::Result<Arc<Volume>> {
    let files = volumes.live(share).context("the share has just been removed")?;
    show(share, dataset, snapshot, &files)
}

/// A volume that shows the snapshot. The keys of its files are those of the live files, where the
/// engine lets us know them.
fn show(
    share: &ShareSettings,
    dataset: &Dataset,
    snapshot: &Snapshot,
    live: &Live,
) -> anyhow::Result<Arc<Volume>> {
    let path = dataset.mount(&snapshot.name)?;
    let refused = || format!("the snapshot in {} cannot be opened", path.display());
    let backend = live.snapshot(snapshot, OPEN_FILES).with_context(refused)?;
    let cache = CacheBudget::new(CACHE_BYTES);
    let options =
        VolumeOptions { read_only: true, cache, sidecars: share.mac_sidecars, ..VolumeOptions::default() };
    Ok(Arc::new(Volume::new(backend, options)))
}

/// The time until which equal times of change mean equal files. `None`: the engine makes new files.
fn settled(engine: EngineKind, created: SystemTime) -> Option<vfs::Time> {
    match engine {
        EngineKind::Btrfs | EngineKind::Zfs => created.checked_sub(COARSE).map(Into::into),
        EngineKind::Reflink | EngineKind::Ceph => None,
    }
}

fn parts(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect()
}

/// Counts what was done, and names it as far as the answer may be long.
struct RestoreRecorder<'a> {
    share: &'a ShareSettings,
    report: RestoreReport,
    progress: &'a dyn Fn(Progress) -> bool,
    bytes: u64,
}

impl<'a> RestoreRecorder<'a> {
    fn new(share: &'a ShareSettings, dry_run: bool, progress: &'a dyn Fn(Progress) -> bool) -> Self {
        let report = RestoreReport { dry_run, ..RestoreReport::default() };
        Self { share, report, progress, bytes: 0 }
    }
}

impl RestoreObserver for RestoreRecorder<'_> {
    fn done(&mut self, path: &[u8], what: RestoreOutcome) {
        let report = &mut self.report;
        let (count, did, why) = match what {
            RestoreOutcome::Unchanged => {
                report.unchanged += 1;
                return;
            }
            RestoreOutcome::Restored => (&mut report.restored, "restored", None),
            RestoreOutcome::Removed => (&mut report.removed, "removed", None),
            RestoreOutcome::OtherTree => (&mut report.other_datasets, "other-dataset", None),
            RestoreOutcome::Refused(error) => {
                let file = self.share.path.join(OsStr::from_bytes(path));
                (&mut report.refused, "refused", Some(why(error, &file)))
            }
        };
        *count += 1;
        if report.entries.len() < MOST_NAMED {
            let path = String::from_utf8_lossy(path).into_owned();
            report.entries.push(RestoredEntry { path, did: did.into(), why });
        }
    }

    fn bytes(&mut self, count: u64) -> bool {
        self.bytes = self.bytes.saturating_add(count);
        (self.progress)(Progress { done: self.bytes, total: 0 })
    }
}

/// Why one file was refused, and the next step.
fn why(error: Error, file: &Path) -> String {
    match error {
        Error::ShareConflict => format!(
            "a client has it open and denies others to replace it; `fourfold status` shows the client. Close it there, or \
             with `fourfold disconnect --file '{}'`, or restore it with --beside",
            file.display()
        ),
        Error::Locked => "it is locked; unlock it first, or restore it with --beside".into(),
        Error::IsFolder => {
            "a folder has this name now; rename the folder, or restore the file with --beside".into()
        }
        Error::NotFolder => "a file has this name now; rename the file, or add --delete".into(),
        Error::Exists => "another file has this name; move it away, or choose another name with --to".into(),
        Error::LeaseRecall(_) => {
            "a client does not give back what it has in its cache; try again, or disconnect it".into()
        }
        Error::CrossVolume => "another dataset is in it; remove that with `fourfold destroy` first".into(),
        other => other.to_string(),
    }
}

/// Why the restore as a whole failed.
fn cannot(
    error: Error,
    share: &ShareSettings,
    request: &RestoreRequest,
    done: &RestoreReport,
) -> anyhow::Error {
    let shown = |path: &[u8]| PathBuf::from(OsStr::from_bytes(path)).display().to_string();
    let snapshot = format!("{}@{}", share.name, request.snapshot);
    match error {
        Error::NotFound => anyhow!(
            "{snapshot} has no file or folder {:?}; `fourfold snapshot diff {snapshot}` shows paths",
            shown(&request.path)
        ),
        Error::NotFolder => anyhow!(
            "the folder of {:?} is not in the share now; restore that folder, or choose another place with --to",
            shown(&request.to)
        ),
        Error::AccessDenied => {
            anyhow!("{:?} is a name of the server's own; choose another one", shown(&request.to))
        }
        Error::NotPermitted => anyhow!(
            "something else has the name of the server's own folder in {}; the server's log says what",
            share.path.display()
        ),
        other => anyhow!(
            "{other} after {} files and folders; put that right, and the same command goes on with the rest",
            done.restored
        ),
    }
}
