//! Virus scanners and indexers of clients: a client that opens file after file, and reads a part of each.
//!
//! ```text
//! off ──some client asks for much, in small pieces──► the reads of one look are noted ──► judged ─┬─ nothing: off for twelve looks
//!                                                                                                └─ seen: again soon
//! ```
//!
//! Noting costs each operation a microsecond or two while it lasts, and nothing otherwise. What is kept of a client is bounded.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::Settings;
use conn::observe::{self, EndedOperation, Observer, Switch, Wants};
use lock::Mutex;
use vfs::backend::host::as_ourselves;
use vfs::noted::{Act, OperationTrace, Paths};

use super::pace::Pace;
use super::sample::Activity;
use crate::ranks;

/// The requests in a look, and the bytes of their replies, from which on a client is worth a note.
const WORTH_NOTING: (u64, u64) = (100, 128 << 10);
/// How often a client must have been seen in the looks that are judged together.
const SEEN_TWICE: usize = 2;
/// What is kept of one look: clients, files of each, and files of each whose lengths are looked up.
const MOST_CLIENTS: usize = 64;
const MOST_FILES: usize = 4096;
const MOST_SAMPLED: usize = 32;
/// A scanner reads files so fast, in so many folders,
const FILES_PER_SECOND: f64 = 20.0;
const FOLDERS: usize = 10;
/// changes less than this part of as many,
const CHANGES: f64 = 0.01;
/// and reads less than half of at least this part of them. A program that copies a tree reads all of each.
const READ_PARTLY: f64 = 0.5;
/// Files whose lengths say something.
const ENOUGH_LENGTHS: usize = 10;

/// What was seen of a scanner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScannerEvidence {
    pub(super) files_per_second: f64,
    pub(super) folders: usize,
    /// The part of the files of which less than half was read.
    pub(super) partly: f64,
}

/// The files that a client has read during one look.
#[derive(Debug, Default)]
struct ReadFiles {
    /// Bytes of each, by the hash of its path.
    bytes: HashMap<u64, u64>,
    folders: HashSet<u64>,
    changes: u64,
    /// The share and the path of the first ones.
    sampled: Vec<(u64, String, String)>,
}

impl ReadFiles {
    fn read(&mut self, hasher: &RandomState, share: &str, path: &str, bytes: u64) {
        let file = hasher.hash_one((share, path));
        if !self.bytes.contains_key(&file) {
            if self.bytes.len() >= MOST_FILES {
                return;
            }
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            self.folders.insert(hasher.hash_one((share, folder)));
            if self.sampled.len() < MOST_SAMPLED {
                self.sampled.push((file, share.to_owned(), path.to_owned()));
            }
        }
        *self.bytes.entry(file).or_default() += bytes;
    }

    /// What these reads say after so long; `length` gives the length of a file.
    fn judge(&self, took: Duration, length: &dyn Fn(&str, &str) -> Option<u64>) -> Option<ScannerEvidence> {
        let files_per_second = self.bytes.len() as f64 / took.as_secs_f64().max(0.1);
        let is_fast = files_per_second >= FILES_PER_SECOND && self.folders.len() >= FOLDERS;
        if !is_fast || self.changes as f64 > CHANGES * self.bytes.len() as f64 {
            return None;
        }
        let of_file = |(file, share, path): &(u64, String, String)| {
            let length = length(share, path).filter(|length| *length > 0)?;
            Some(2 * self.bytes.get(file).copied().unwrap_or_default() < length)
        };
        let known: Vec<bool> = self.sampled.iter().filter_map(of_file).collect();
        let partly = known.iter().filter(|partly| **partly).count() as f64 / known.len().max(1) as f64;
        let is_it = known.len() >= ENOUGH_LENGTHS && partly >= READ_PARTLY;
        is_it.then_some(ScannerEvidence { files_per_second, folders: self.folders.len(), partly })
    }
}

/// What the observer notes.
#[derive(Default)]
struct ReadRecorder {
    hasher: RandomState,
    clients: Mutex<HashMap<SocketAddr, ReadFiles>, ranks::ReadFilesOfClients>,
}

struct Ear(Arc<ReadRecorder>);

impl Observer for Ear {
    fn ended(&self, _: &EndedOperation<'_>, _: Duration) {}

    fn ended_with(&self, operation: &EndedOperation<'_>, _: Duration, noted: &OperationTrace) {
        let Some(file) = noted.files.first().filter(|_| !operation.outcome.failed) else { return };
        let is_change = file.act.is_change(false);
        if file.act != Act::Read && !is_change {
            return;
        }
        let path = file.path.text();
        let mut clients = self.0.clients.lock();
        if clients.len() >= MOST_CLIENTS && !clients.contains_key(&operation.client) {
            return;
        }
        let files = clients.entry(operation.client).or_default();
        match is_change {
            true => files.changes += 1,
            false => {
                let (share, bytes) = (operation.outcome.share, operation.outcome.bytes_out as u64);
                files.read(&self.0.hasher, share, &path, bytes);
            }
        }
    }
}

/// The folders of the shares, to look up how long files are.
pub(super) type ShareFolders = Arc<Mutex<Vec<(String, PathBuf)>, ranks::ScannedFolders>>;

/// The folders of these settings.
pub(super) fn folders_of(settings: &Settings) -> Vec<(String, PathBuf)> {
    let local = settings.shares.iter().filter(|share| !share.is_in_store());
    local.map(|share| (share.name.clone(), share.path.clone())).collect()
}

/// Looks for scanners, now and then.
pub(super) struct ScannerWatch {
    recorder: Arc<ReadRecorder>,
    /// Made when it is needed first. `None` inside: there are too many observers.
    switch: Option<Option<Switch>>,
    folders: ShareFolders,
    /// Since when it notes reads.
    noting: Option<Instant>,
    /// Before this time it does not begin.
    rests_until: Option<Instant>,
    /// When each client was seen scanning, and what was seen last.
    seen: HashMap<IpAddr, (Vec<Instant>, ScannerEvidence)>,
}

impl ScannerWatch {
    pub(super) fn new(folders: ShareFolders) -> Self {
        let recorder = Arc::<ReadRecorder>::default();
        Self { recorder, switch: None, folders, noting: None, rests_until: None, seen: HashMap::new() }
    }

    /// Whether what a client did since the last look may be the work of a scanner.
    pub(super) fn is_worth_noting(activity: &Activity) -> bool {
        let (requests, bytes) = WORTH_NOTING;
        activity.requests >= requests && activity.bytes_out <= activity.requests.saturating_mul(bytes)
    }

    pub(super) fn folders(&self) -> ShareFolders {
        self.folders.clone()
    }

    /// Notes no reads until the next look.
    pub(super) fn stop(&mut self) {
        if self.noting.take().is_some() {
            self.turn(None);
        }
        self.seen.clear();
    }

    /// One look. `is_worth_it`: some client does what a scanner could do.
    pub(super) fn look(&mut self, pace: Pace, now: Instant, is_worth_it: bool) {
        self.seen.retain(|_, (times, _)| {
            times.retain(|at| now.duration_since(*at) < pace.window());
            !times.is_empty()
        });
        match self.noting.take() {
            Some(since) => {
                self.turn(None);
                let noted = std::mem::take(&mut *self.recorder.clients.lock());
                let found = self.judge(now, now.duration_since(since), &noted);
                let rest = if found { pace.scanner_confirm() } else { pace.scanner_rest() };
                self.rests_until = Some(now + rest);
            }
            None if is_worth_it && self.rests_until.is_none_or(|until| now >= until) => {
                self.recorder.clients.lock().clear();
                self.turn(Some(Wants { files: Some(Paths::Later), times: false }));
                self.noting = Some(now);
            }
            None => {}
        }
    }

    fn turn(&mut self, on: Option<Wants>) {
        let add = || observe::add(Box::new(Ear(self.recorder.clone())));
        if let Some(switch) = *self.switch.get_or_insert_with(add) {
            switch.turn(on);
        }
    }

    fn judge(&mut self, now: Instant, took: Duration, noted: &HashMap<SocketAddr, ReadFiles>) -> bool {
        let folders = self.folders.lock().clone();
        let length = |share: &str, path: &str| {
            let (_, folder) = folders.iter().find(|(name, _)| name == share)?;
            let about = as_ourselves(|| std::fs::symlink_metadata(folder.join(path)).ok()).ok().flatten()?;
            about.is_file().then_some(about.len())
        };
        let mut found = false;
        for (client, files) in noted {
            let Some(evidence) = files.judge(took, &length) else { continue };
            found = true;
            let (times, last) = self.seen.entry(client.ip()).or_insert((Vec::new(), evidence));
            times.push(now);
            *last = evidence;
        }
        found
    }

    /// What was seen of a client, if it was seen often enough.
    pub(super) fn of(&self, client: IpAddr) -> Option<ScannerEvidence> {
        let (times, evidence) = self.seen.get(&client)?;
        (times.len() >= SEEN_TWICE).then_some(*evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Duration = Duration::from_secs(5);

    /// The reads of a client that reads so many bytes of so many files, twenty in a folder.
    fn reads(files: usize, bytes: u64) -> ReadFiles {
        let (hasher, mut read) = (RandomState::new(), ReadFiles::default());
        for number in 0..files {
            read.read(&hasher, "share", &format!("folder {}/file {number}", number / 20), bytes);
        }
        read
    }

    fn of_length(length: u64) -> impl Fn(&str, &str) -> Option<u64> {
        move |_, _| Some(length)
    }

    #[test]
    fn a_client_that_reads_a_part_of_file_after_file_is_a_scanner() {
        let evidence = reads(1000, 4096).judge(LOOK, &of_length(1 << 20)).unwrap();
        assert_eq!((evidence.files_per_second, evidence.folders, evidence.partly), (200.0, 50, 1.0));
    }

    #[test]
    fn a_client_that_copies_a_tree_is_none() {
        assert_eq!(reads(1000, 1 << 20).judge(LOOK, &of_length(1 << 20)), None);
    }

    #[test]
    fn a_client_that_shows_the_pictures_of_a_folder_is_none() {
        let (hasher, mut read) = (RandomState::new(), ReadFiles::default());
        (0..1000).for_each(|at| read.read(&hasher, "share", &format!("pictures/{at}.jpg"), 4096));
        assert_eq!(read.judge(LOOK, &of_length(1 << 20)), None);
    }

    #[test]
    fn a_client_that_changes_what_it_reads_is_none() {
        let read = ReadFiles { changes: 500, ..reads(1000, 4096) };
        assert_eq!(read.judge(LOOK, &of_length(1 << 20)), None);
    }

    #[test]
    fn what_is_kept_of_a_client_is_bounded() {
        let read = reads(2 * MOST_FILES, 1);
        assert_eq!((read.bytes.len(), read.sampled.len()), (MOST_FILES, MOST_SAMPLED));
    }

    #[test]
    fn long_reads_are_not_worth_a_note() {
        let activity = |requests, bytes_out| Activity { requests, bytes_out, ..Activity::default() };
        assert!(ScannerWatch::is_worth_noting(&activity(1000, 4_096_000)));
        assert!(!ScannerWatch::is_worth_noting(&activity(1000, 1000 << 20)));
        assert!(!ScannerWatch::is_worth_noting(&activity(50, 1000)));
    }
}
