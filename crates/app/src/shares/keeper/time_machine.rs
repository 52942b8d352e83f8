//! Snapshots after sessions of Time Machine.
//!
//! A session is over when no client has a file of the backup open for writing, over whichever protocol: macOS keeps the bands of
//! the bundle open while it backs up, and closes them when it detaches the disk image. A client that is gone holds its opens
//! until its session times out. A snapshot is then taken if the bundle has changed since the last one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use admin::control::{self, AskError, OpenStatus};
use admin::{Settings, ShareSettings};
use jiff::Timestamp;
use snapshots::{Dataset, Refusal, Report};

use super::failures::{Failures, ScheduleKind};

/// Before the time in the names of the snapshots.
const PREFIX: &str = "time-machine-";
/// The ends of the names of bundles.
const BUNDLES: [&str; 2] = ["sparsebundle", "backupbundle"];
/// Where in a bundle files are.
const PLACES: [&str; 3] = ["", "bands", "mapped"];
/// The server lists up to so many opens.
const MOST_LISTED: usize = 1000;

/// What was seen.
#[derive(Default)]
pub(super) struct MacSessions {
    /// Bundles that had a file open for writing, and have no snapshot since then.
    seen: BTreeSet<PathBuf>,
}

impl MacSessions {
    /// Takes the snapshots that are due. The number of shares whose snapshots have changed.
    /// `elsewhere`: shares in which clients of other servers of the cluster make backups.
    pub(super) fn look(
        &mut self,
        settings: &Settings,
        elsewhere: &[String],
        failures: &mut Failures,
    ) -> usize {
        let is_kept = |share: &&ShareSettings| share.time_machine && share.time_machine_snapshots > 0;
        let shares: Vec<&ShareSettings> = settings.shares.iter().filter(is_kept).collect();
        if shares.is_empty() {
            return 0;
        }
        let opens = match control::status(&settings.server.state) {
            Ok(status) if status.opens.len() < MOST_LISTED => status.opens,
            Err(AskError::NoServer(_)) => Vec::new(),
            // What is open is not known: the next look may tell.
            _ => return 0,
        };
        let changed = shares.into_iter().filter(|share| {
            let done = self.share(share, &opens, elsewhere.contains(&share.name));
            if let Err(error) = &done {
                failures.note(ScheduleKind::Snapshots, &share.name, Some(error.to_string()));
            }
            super::tell(&share.name, done, "no snapshot is taken after a session of Time Machine")
        });
        changed.count()
    }

    fn share(
        &mut self,
        share: &ShareSettings,
        opens: &[OpenStatus],
        is_elsewhere: bool,
    ) -> Result<Report, Refusal> {
        let bundles = bundles(&share.path);
        if bundles.is_empty() || snapshots::is_replica(&share.path) {
            return Ok(Report::default());
        }
        if is_elsewhere {
            self.seen.extend(bundles); // which of them, the other server does not tell
            return Ok(Report::default());
        }
        let dataset = Dataset::find(&share.path)?;
        let all = dataset.list()?;
        let last = all.iter().find(|one| one.name.starts_with(PREFIX)).map(|one| one.created);
        let mut is_due = false;
        for bundle in bundles {
            if opens.iter().any(|open| open.access.contains('w') && is_in_bundle(&bundle, open)) {
                self.seen.insert(bundle);
                return Ok(Report::default()); // another bundle of the share waits for it, too
            }
            is_due |= self.seen.contains(&bundle) || changed(&bundle) > last;
        }
        if !is_due {
            return Ok(Report::default());
        }
        let now = SystemTime::now();
        let time = Timestamp::try_from(now).unwrap_or_default();
        let name = time.strftime("time-machine-%Y%m%dT%H%M%SZ").to_string();
        dataset.create(&name, now)?;
        self.seen.retain(|bundle| !bundle.starts_with(&share.path));
        let mut report = dataset.keep_newest(PREFIX, share.time_machine_snapshots)?;
        report.taken.push(name);
        Ok(report)
    }
}

/// The bundles in the folder of a share.
pub(crate) fn bundles(share: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(share) else { return Vec::new() };
    let is_bundle = |path: &PathBuf| {
        let end = path.extension().and_then(|end| end.to_str());
        end.is_some_and(|end| BUNDLES.contains(&end))
            && path.symlink_metadata().is_ok_and(|found| found.is_dir())
    };
    entries.flatten().map(|entry| entry.path()).filter(is_bundle).collect()
}

/// Whether an open file is in a bundle: the server tells its name and its inode number.
pub(crate) fn is_in_bundle(bundle: &Path, open: &OpenStatus) -> bool {
    let Some(name) = &open.file else { return false };
    PLACES.iter().any(|place| {
        let found = bundle.join(place).join(name).symlink_metadata();
        found.is_ok_and(|found| found.ino() == open.inode)
    })
}

/// When the bundle changed last: each backup adds bands, or replaces the lists beside them.
pub(crate) fn changed(bundle: &Path) -> Option<SystemTime> {
    let time = |path: PathBuf| {
        let found = path.symlink_metadata().ok()?;
        let since =
            Duration::new(u64::try_from(found.mtime()).ok()?, u32::try_from(found.mtime_nsec()).ok()?);
        Some(UNIX_EPOCH + since)
    };
    time(bundle.to_owned()).max(time(bundle.join("bands")))
}
