//! The backups of Macs: what the server remembers of each bundle, whether the Mac is safe, verification, and the way back.
//!
//! ```text
//! every 10 s ─► look at the bundles ─► sessions (session.rs) ─► records (record.rs) ─► whether the Mac is safe (explain.rs)
//!                 └─► no client writes ─► checksums of what a session has changed, then verification, in slices (verify.rs)
//! a person ─► verify · roll back · discard · move (verify.rs, replace.rs)
//! ```

pub(crate) mod explain;
mod inside;
mod journal;
pub(crate) mod points;
pub(crate) mod record;
mod rename;
mod replace;
mod session;
pub(crate) mod verify;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use admin::ShareSettings;
use admin::control::{BackupName, BackupProblem};
use anyhow::{Context, bail};
use lock::Mutex;
use snapshots::Dataset;
use vfs::names::{from_text_view, text_view};
use vfs::{ImageProblem, Volume, backup_stem};

use self::points::{Point, points};
use self::record::{BackupRecord, RecordFolder};
use crate::ranks;
use crate::serve::current::Current;
use crate::shares::volumes::Volumes;

pub(crate) use self::session::Look;

/// How long a request waits for the background to pause.
const PAUSES_WITHIN: Duration = Duration::from_secs(20);
/// How often it looks whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// In the state folder: where snapshots are mounted that the engine shows only so.
const MOUNTS: &str = "mounts";

/// The backups of a server.
pub(crate) struct Backups {
    folder: RecordFolder,
    records: Mutex<BTreeMap<BackupName, BackupRecord>, ranks::BackupRecords>,
    /// One reads, moves or puts back at a time.
    is_working: AtomicBool,
    /// Requests that wait for the background.
    waiting: AtomicUsize,
    stops: AtomicBool,
}

/// A share and a bundle in it.
pub(crate) struct Place<'a> {
    pub(crate) current: &'a Arc<Current>,
    pub(crate) volumes: &'a Volumes,
    pub(crate) share: &'a ShareSettings,
    pub(crate) volume: Arc<Volume>,
    pub(crate) name: BackupName,
    /// The stored name of the bundle.
    pub(crate) bundle: Vec<u8>,
}

/// Work on bundles that goes on, until dropped.
pub(crate) struct Working<'a>(&'a Backups);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.is_working.store(false, Ordering::Release);
    }
}

impl Backups {
    pub(crate) fn new(state: &Path) -> Arc<Self> {
        Arc::new(Self {
            folder: RecordFolder::new(state),
            records: Mutex::default(),
            is_working: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            stops: AtomicBool::new(false),
        })
    }

    /// What is remembered of a bundle.
    pub(crate) fn record(&self, name: &BackupName) -> BackupRecord {
        let known = self.records.lock().get(name).cloned();
        known.unwrap_or_else(|| {
            let mut read = self.folder.read(name);
            read.server_began();
            self.records.lock().entry(name.clone()).or_insert(read).clone()
        })
    }

    /// Changes what is remembered, and keeps it.
    pub(crate) fn change<T>(&self, name: &BackupName, change: impl FnOnce(&mut BackupRecord) -> T) -> T {
        let read = self.record(name);
        let (done, changed) = {
            let mut records = self.records.lock();
            let record = records.entry(name.clone()).or_insert(read);
            let before = record.clone();
            let done = change(record);
            (done, (*record != before).then(|| record.clone()))
        };
        changed.iter().for_each(|record| self.folder.write(name, record));
        done
    }

    /// The bundles whose records are so, as far as they were looked at since the start.
    fn known(&self, is_so: impl Fn(&BackupRecord) -> bool) -> Vec<BackupName> {
        let records = self.records.lock();
        records.iter().filter(|(_, record)| is_so(record)).map(|(name, _)| name.clone()).collect()
    }

    /// Ends what goes on in the background, soon.
    pub(crate) fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// The background may work; `None`: a request does, or wants to.
    fn background(&self) -> Option<Working<'_>> {
        let is_free =
            self.waiting.load(Ordering::Acquire) == 0 && !self.is_working.swap(true, Ordering::AcqRel);
        is_free.then(|| Working(self))
    }

    /// Whether the background has to pause.
    fn must_pause(&self) -> bool {
        self.has_stopped() || self.waiting.load(Ordering::Acquire) > 0
    }

    /// Waits until the background pauses.
    ///
    /// # Errors
    /// Another request works.
    fn work(&self) -> anyhow::Result<Working<'_>> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let began = Instant::now();
        let mut is_ours = !self.is_working.swap(true, Ordering::AcqRel);
        while !is_ours && began.elapsed() < PAUSES_WITHIN {
            std::thread::sleep(LOOK_EVERY);
            is_ours = !self.is_working.swap(true, Ordering::AcqRel);
        }
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        if !is_ours {
            bail!("another backup is being verified, moved or put back; wait for its end");
        }
        Ok(Working(self))
    }
}

impl<'a> Place<'a> {
    /// Finds a bundle by its name.
    ///
    /// # Errors
    /// There is no such share or bundle; the sentence says what there is.
    pub(crate) fn find(
        current: &'a Arc<Current>,
        volumes: &'a Volumes,
        name: &BackupName,
    ) -> anyhow::Result<Self> {
        let shares = &current.settings.shares;
        let share = shares.iter().find(|share| share.name == name.share).with_context(|| {
            let names: Vec<&str> = shares.iter().map(|share| &*share.name).collect();
            format!("there is no share {:?}; the shares are: {}", name.share, names.join(", "))
        })?;
        let volume = volumes.open(share, &current.settings)?;
        let bundle = from_text_view(&name.bundle);
        if backup_stem(&bundle).is_none() || bundle.contains(&b'/') {
            bail!("{:?} is no name of a bundle; it ends with .sparsebundle", name.bundle);
        }
        vfs::BackupImage::open(&volume, &bundle)
            .with_context(|| format!("the share {} has no bundle {:?}", share.name, name.bundle))?;
        Ok(Self { current, volumes, share, volume, name: name.clone(), bundle })
    }

    /// The restore points, the newest first.
    pub(crate) fn points(&self) -> Vec<Point> {
        points(self.share, &self.current.settings.server.state, &self.volume, &self.bundle)
    }

    /// The restore point of this name.
    ///
    /// # Errors
    /// No restore point has this name.
    fn point(&self, name: &str) -> anyhow::Result<Point> {
        match self.volume.backup_journals().points(&self.bundle).into_iter().find(|one| one.name == name) {
            Some(one) => Ok(Point::Journal(one)),
            None => Ok(Point::Snapshot(self.dataset()?.snapshot(name)?)),
        }
    }

    fn dataset(&self) -> anyhow::Result<Dataset> {
        let found = Dataset::find(&self.share.path)?;
        Ok(found.with_mounts(&self.current.settings.server.state.join(MOUNTS)))
    }

    /// The name of the bundle without its ending.
    fn stem(&self) -> String {
        text_view(backup_stem(&self.bundle).unwrap_or(&self.bundle))
    }
}

/// Whether a verification has found a bundle damaged.
pub(crate) fn is_damaged(state: &Path, share: &str, bundle: &str) -> bool {
    let name = BackupName { share: share.to_owned(), bundle: bundle.to_owned() };
    RecordFolder::new(state).read(&name).verification.is_some_and(|verification| verification.is_damaged())
}

fn told(problem: &ImageProblem) -> BackupProblem {
    BackupProblem { kind: problem.word().into(), text: problem.to_string(), damage: problem.is_damage() }
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_before_the_background_and_another_request_waits_its_turn() {
        let state = tempfile::tempdir().unwrap();
        let backups = Backups::new(state.path());
        let background = backups.background().unwrap();
        assert!(backups.background().is_none(), "one at a time");
        drop(background);
        let request = backups.work().unwrap();
        assert!(backups.background().is_none());
        drop(request);
        assert!(backups.background().is_some());
    }

    #[test]
    fn what_is_remembered_survives_a_restart() {
        let state = tempfile::tempdir().unwrap();
        let name = BackupName { share: "tm".into(), bundle: "a.sparsebundle".into() };
        Backups::new(state.path()).change(&name, |record| record.kept.push("a (damaged)".into()));
        assert_eq!(Backups::new(state.path()).record(&name).kept, ["a (damaged)"]);
    }
}
