//! What the server remembers of a bundle: its sessions, its sizes, verifications, restore points. A file of the state folder has
//! it, beside the checksums of the bands. A file that is lost costs the history only.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use admin::control::{BackupName, BackupSession, BackupVerification, SessionEnd};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use vfs::BandSums;

use super::inside::InsideRecord;

/// The folder in the state folder.
const FOLDER: &str = "backups";
/// Sessions that are kept.
const MOST_SESSIONS: usize = 50;
/// Sizes that are kept, one for each day.
const MOST_SIZES: usize = 400;
/// Restore points whose verification is kept.
const MOST_POINTS: usize = 1000;
/// The longest files that are read, in bytes.
const LONGEST_RECORD: u64 = 4 << 20;
const LONGEST_SUMS: u64 = 512 << 20;
/// Seconds of a day.
const DAY: i64 = 86_400;

/// What is remembered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct BackupRecord {
    /// The sessions that have ended, the newest last.
    pub(crate) sessions: VecDeque<BackupSession>,
    /// The session that goes on.
    pub(crate) session: Option<RunningSession>,
    /// The size at the end of days, with the time of it.
    pub(crate) sizes: VecDeque<(i64, u64)>,
    /// The last verification, or one that will go on.
    pub(crate) verification: Option<BackupVerification>,
    /// With which band it goes on.
    pub(crate) next_band: u64,
    /// How far the check of the image is, after the verification.
    pub(crate) inside: Option<InsideRecord>,
    /// A session has written since checksums were made of all bands.
    pub(crate) is_unlearned: bool,
    /// All bands had checksums once.
    pub(crate) has_learned: bool,
    /// With which band making checksums goes on.
    pub(crate) next_unlearned: u64,
    /// Restore points that were verified: when, and whether they are damaged.
    pub(crate) points: BTreeMap<String, PointRecord>,
    /// The folders that rollbacks and moves have kept.
    pub(crate) kept: Vec<String>,
    /// A point of the journal is to begin: a session has completed a backup, or the bundle was put back.
    pub(crate) is_point_due: bool,
}

/// A session that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunningSession {
    pub(crate) began: i64,
    /// The account and the address.
    pub(crate) by: String,
    /// The size when it began,
    pub(crate) size: u64,
    /// when the bands had been changed last,
    pub(crate) changed: i64,
    /// and when the newest backup had been completed.
    pub(crate) completed: Option<i64>,
    /// Since when the Mac is away: there is no connection to it, or it sleeps.
    pub(crate) lost: Option<i64>,
    /// It has said that it sleeps.
    #[serde(default)]
    pub(crate) is_asleep: bool,
    /// How often it has come back,
    #[serde(default)]
    pub(crate) returns: u32,
    /// and how many seconds it was away until then.
    #[serde(default)]
    pub(crate) away_s: i64,
    /// A write was refused because the disk was full.
    #[serde(default)]
    pub(crate) was_full: bool,
}

/// The verification of a restore point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PointRecord {
    pub(crate) at: i64,
    pub(crate) damaged: bool,
}

impl BackupRecord {
    /// Adds a session that has ended.
    pub(super) fn add_session(&mut self, session: BackupSession) {
        if self.sessions.len() >= MOST_SESSIONS {
            self.sessions.pop_front();
        }
        self.sessions.push_back(session);
    }

    /// Notes the size, once a day. Of a day the last one counts.
    pub(super) fn note_size(&mut self, now: i64, size: u64) {
        self.sizes.retain(|(at, _)| *at <= now); // the clock may have gone back
        if self.sizes.back().is_some_and(|(at, _)| at.div_euclid(DAY) == now.div_euclid(DAY)) {
            self.sizes.pop_back();
        }
        if self.sizes.len() >= MOST_SIZES {
            self.sizes.pop_front();
        }
        self.sizes.push_back((now, size));
    }

    /// Notes what the verification of a restore point has found, and forgets those that are gone.
    pub(super) fn note_point(&mut self, snapshot: &str, point: PointRecord, there: &[String]) {
        self.points.retain(|name, _| there.contains(name));
        if self.points.len() < MOST_POINTS {
            self.points.insert(snapshot.to_owned(), point);
        }
    }

    /// How the newest session has ended.
    pub(crate) fn last_end(&self) -> Option<(&BackupSession, SessionEnd)> {
        let last = self.sessions.back()?;
        Some((last, last.end?))
    }
}

/// The files of the records.
#[derive(Debug, Clone)]
pub(super) struct RecordFolder(PathBuf);

impl RecordFolder {
    pub(super) fn new(state: &Path) -> Self {
        Self(state.join(FOLDER))
    }

    pub(super) fn read(&self, name: &BackupName) -> BackupRecord {
        let text = read(&self.file(name, "json"), LONGEST_RECORD).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    pub(super) fn write(&self, name: &BackupName, record: &BackupRecord) {
        let text = serde_json::to_vec(record).unwrap_or_default();
        self.replace(name, "json", &text);
    }

    pub(super) fn sums(&self, name: &BackupName) -> BandSums {
        BandSums::decode(&read(&self.file(name, "bands"), LONGEST_SUMS).unwrap_or_default())
    }

    pub(super) fn write_sums(&self, name: &BackupName, sums: &BandSums) {
        self.replace(name, "bands", sums.encode().as_bytes());
    }

    /// The bundle has another name, or is in another share. What was remembered of one that had the name before is forgotten.
    pub(super) fn rename(&self, from: &BackupName, to: &BackupName) {
        for ending in ["json", "bands"] {
            if let Err(error) = std::fs::rename(self.file(from, ending), self.file(to, ending)) {
                tracing::debug!(%error, "what is known of a backup stays at its old name");
            }
        }
    }

    /// The names of bundles have all letters, so the file has a hash of them.
    fn file(&self, name: &BackupName, ending: &str) -> PathBuf {
        let hash = Sha256::digest(format!("{}\0{}", name.share, name.bundle));
        self.0.join(format!("{}.{ending}", wire::hex::encode(&hash[..16])))
    }

    fn replace(&self, name: &BackupName, ending: &str, text: &[u8]) {
        let (file, new) = (self.file(name, ending), self.file(name, &format!("{ending}.new")));
        let write = || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600).open(&new)?.write_all(text)?;
            std::fs::rename(&new, &file)
        };
        if let Err(error) = write() {
            tracing::warn!(%error, file = %file.display(), "what is known of a backup cannot be kept");
        }
    }
}

/// The file, unless it is too long.
fn read(path: &Path, longest: u64) -> Option<Vec<u8>> {
    path.metadata().is_ok_and(|found| found.len() <= longest).then(|| std::fs::read(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(share: &str, bundle: &str) -> BackupName {
        BackupName { share: share.into(), bundle: bundle.into() }
    }

    #[test]
    fn a_record_is_kept_for_the_server_only_and_read_again() {
        use std::os::unix::fs::MetadataExt;
        let state = tempfile::tempdir().unwrap();
        let folder = RecordFolder::new(state.path());
        let ada = name("tm", "Ada's Mac.sparsebundle");
        assert_eq!(folder.read(&ada), BackupRecord::default());
        let mut record = BackupRecord::default();
        record.note_size(5, 1000);
        folder.write(&ada, &record);
        assert_eq!(folder.read(&ada), record);
        assert_eq!(folder.read(&name("tm", "other.sparsebundle")), BackupRecord::default());
        assert_eq!(folder.file(&ada, "json").metadata().unwrap().mode() & 0o777, 0o600);
        let moved = name("tm2", "Ada's Mac.sparsebundle");
        folder.rename(&ada, &moved);
        assert_eq!((folder.read(&moved), folder.read(&ada)), (record, BackupRecord::default()));
    }

    #[test]
    fn of_a_day_the_last_size_counts() {
        let mut record = BackupRecord::default();
        for (at, size) in [(10, 1), (DAY - 1, 2), (DAY, 3), (DAY + 5, 4)] {
            record.note_size(at, size);
        }
        assert_eq!(record.sizes, [(DAY - 1, 2), (DAY + 5, 4)]);
    }

    #[test]
    fn a_file_that_is_damaged_costs_the_history_only() {
        let state = tempfile::tempdir().unwrap();
        let folder = RecordFolder::new(state.path());
        let ada = name("tm", "a.sparsebundle");
        folder.write(&ada, &BackupRecord { is_unlearned: true, ..BackupRecord::default() });
        std::fs::write(folder.file(&ada, "json"), b"{\"sessions\":").unwrap();
        assert_eq!(folder.read(&ada), BackupRecord::default());
    }
}
