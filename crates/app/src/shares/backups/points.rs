//! The restore points of a bundle: snapshots of its share, and points of its journal of replaced bands.

use std::path::Path;
use std::time::SystemTime;

use admin::ShareSettings;
use jiff::Timestamp;
use snapshots::{Dataset, Snapshot};
use vfs::{JournalPoint, Volume};

use super::MOUNTS;

/// Before the time in the names of points of journals.
const PREFIX: &str = "journal-";

/// A restore point.
pub(crate) enum Point {
    /// A snapshot of the share that has the bundle.
    Snapshot(Snapshot),
    /// A point of its journal.
    Journal(JournalPoint),
}

impl Point {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Snapshot(one) => &one.name,
            Self::Journal(one) => &one.name,
        }
    }

    /// When it was taken, in seconds since 1970.
    pub(crate) fn taken(&self) -> i64 {
        match self {
            Self::Snapshot(one) => Timestamp::try_from(one.created).unwrap_or_default().as_second(),
            Self::Journal(one) => one.taken.secs,
        }
    }
}

/// The restore points of a bundle, the newest first.
pub(crate) fn points(share: &ShareSettings, state: &Path, volume: &Volume, bundle: &[u8]) -> Vec<Point> {
    let snapshots = snapshots_with(share, state, bundle).into_iter().map(Point::Snapshot);
    let mut all: Vec<Point> =
        snapshots.chain(volume.backup_journals().points(bundle).into_iter().map(Point::Journal)).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.taken()));
    all
}

/// The snapshots of a share that have a bundle.
fn snapshots_with(share: &ShareSettings, state: &Path, bundle: &[u8]) -> Vec<Snapshot> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let found = Dataset::find(&share.path).and_then(|found| found.with_mounts(&state.join(MOUNTS)).list());
    let mut all = found.unwrap_or_default();
    // One that is not mounted may have it.
    all.retain(|one| !one.path.is_dir() || one.path.join(OsStr::from_bytes(bundle)).is_dir());
    all
}

/// The name of a point of a journal that begins now.
pub(super) fn new_name() -> String {
    let time = Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    time.strftime(&format!("{PREFIX}%Y%m%dT%H%M%SZ")).to_string()
}
