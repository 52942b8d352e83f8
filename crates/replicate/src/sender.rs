//! The source's side of a replication.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use snapshots::{Dataset, EngineKind, Refusal, Snapshot};

use crate::failure::{Failure, Result};
use crate::keys::TreeKeys;
use crate::link::Link;
use crate::location::FolderLocation;
use crate::native;
use crate::record::Record;
use crate::sent::{SnapshotStream, send_entries, send_stream};
use crate::source::{ChangeSink, MovedPaths, Tree, TreeComparison, removed};
use crate::wire::{Begin, Entry, Id, Kind, Message, Native, Receiving, Row, StreamFormat, VERSION};

/// Two changes in this time can have the same time.
const COARSE_S: i64 = 2;

/// Takes a snapshot of a dataset.
pub type SnapshotFunction = fn(&Dataset) -> std::result::Result<(), Refusal>;

/// What a run sends.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The name of the source, for people.
    pub name: String,
    /// The newest snapshot to send; `None`: all.
    pub until: Option<String>,
    /// The checksums of all files are compared, also of those that have not changed.
    pub verify: bool,
    /// How it is sent.
    pub method: Method,
    /// What the source does not have any more stays at the destination.
    pub keep: bool,
    /// Takes the snapshot that is sent, after the other side has answered and does not overlap with the source.
    pub take: Option<SnapshotFunction>,
    /// Of the snapshots whose names begin so only the newest is needed: at the end the others are removed unless they are held.
    pub passing: Option<String>,
}

/// How a snapshot is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// By the stream of `btrfs send` or `zfs send` if that is possible and worth it, by changed files otherwise.
    #[default]
    Auto,
    /// By such a stream, or not at all.
    Send,
    /// By changed files.
    Files,
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The snapshot that is sent.
    pub snapshot: String,
    /// Bytes of files that were read.
    pub done: u64,
    /// Bytes in all, about.
    pub total: u64,
    /// Files, folders and links that were sent.
    pub entries: u64,
    /// It is sent by the stream of the host's program. Otherwise: why not.
    pub native: std::result::Result<(), String>,
}

impl Default for Progress {
    fn default() -> Self {
        let native = Err(String::new());
        Self { snapshot: String::new(), done: 0, total: 0, entries: 0, native }
    }
}

/// What a run would send for one snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Files, folders and links with changes.
    pub entries: u64,
    /// Bytes of the changed files.
    pub bytes: u64,
}

impl ChangeSink for Plan {
    fn entry(&mut self, entry: Entry, _source: &[u8]) -> Result<()> {
        self.entries += 1;
        if let Kind::File { size, .. } = entry.kind {
            self.bytes += size;
        }
        Ok(())
    }

    fn names(&mut self, _folder: &[u8], _names: &[Vec<u8>]) -> Result<()> {
        Ok(())
    }
}

/// The identity of a dataset.
pub(crate) fn identity(folder: &Path) -> Result<Id> {
    Ok(shortened(&TreeKeys::open(folder, None)?.identity()?))
}

/// The identity of a snapshot, which stays when it gets another name.
fn snapshot_identity(snapshot: &Snapshot) -> Result<Id> {
    let bytes = match snapshot.guid {
        Some(guid) => guid.to_be_bytes().to_vec(), // where ZFS shows it may change
        None => {
            let mut bytes = TreeKeys::open(&snapshot.path, None)?.identity()?;
            bytes.extend_from_slice(&nanoseconds(snapshot.created).to_be_bytes());
            bytes
        }
    };
    Ok(shortened(&bytes))
}

fn shortened(bytes: &[u8]) -> Id {
    let mut id = Id::default();
    id.copy_from_slice(&Sha256::digest(bytes)[..16]);
    id
}

fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// A snapshot of the source.
pub(crate) struct SourceSnapshot {
    pub(crate) id: Id,
    pub(crate) snapshot: Snapshot,
}

/// All snapshots of a dataset, the oldest first.
fn known(dataset: &Dataset) -> Result<Vec<SourceSnapshot>> {
    let mut all = Vec::new();
    for snapshot in dataset.list()?.into_iter().rev() {
        dataset.mount(&snapshot.name)?;
        all.push(SourceSnapshot { id: snapshot_identity(&snapshot)?, snapshot });
    }
    Ok(all)
}

pub(crate) fn tree(dataset: &Dataset, path: &Path) -> Result<Tree> {
    let engine = dataset.engine();
    let keeps_inodes = engine != EngineKind::Reflink;
    Tree::open(path, Some(dataset.folder()), keeps_inodes, engine == EngineKind::Btrfs)
}

fn settled(older: Option<&Snapshot>) -> i64 {
    let taken = older.and_then(|older| older.created.duration_since(UNIX_EPOCH).ok());
    taken.map_or(0, |taken| i64::try_from(taken.as_secs()).unwrap_or(i64::MAX) - COARSE_S)
}

/// The newest snapshot of a dataset that a replica on this machine has.
///
/// # Errors
/// The snapshots, or what the replica knows, cannot be read.
pub fn common(dataset: &Dataset, replica: &Path) -> std::result::Result<Option<String>, Failure> {
    let Some(record) = Record::read(replica)? else { return Ok(None) };
    let mut all = known(dataset)?.into_iter().rev();
    Ok(all.find(|one| record.find(&one.id).is_some()).map(|one| one.snapshot.name))
}

/// What changed from a snapshot to the live tree; without a snapshot, all of it.
///
/// # Errors
/// A file cannot be read, or there is no such snapshot.
pub fn plan(dataset: &Dataset, since: Option<&str>) -> std::result::Result<Plan, Failure> {
    let older = since.map(|name| dataset.snapshot(name)).transpose()?;
    let older_tree = match &older {
        Some(older) => Some(tree(dataset, &dataset.mount(&older.name)?)?),
        None => None,
    };
    let newer = Tree::open(dataset.folder(), None, true, dataset.engine() == EngineKind::Btrfs)?;
    let mut plan = Plan::default();
    let comparison = TreeComparison {
        newer: &newer,
        older: older_tree.as_ref(),
        keeps_inodes: dataset.engine() != EngineKind::Reflink,
        settled: settled(older.as_ref()),
        verify: false,
        moved: &MovedPaths::new(),
        only: None,
    };
    comparison.walk(&mut plan)?;
    Ok(plan)
}

/// Sends the snapshots that the other side does not have. Returns their names.
///
/// # Errors
/// A file cannot be read, or the other side ended. The next run continues from there.
pub fn send(
    dataset: &Dataset,
    options: &Options,
    mut link: Link,
    progress: &mut dyn FnMut(&Progress),
) -> std::result::Result<(Vec<String>, Vec<String>), Failure> {
    let sent = Session { dataset, options, link: &mut link, progress }.run();
    sent.inspect_err(|failure| link.fail(failure))
}

struct Session<'a> {
    dataset: &'a Dataset,
    options: &'a Options,
    link: &'a mut Link,
    progress: &'a mut dyn FnMut(&Progress),
}

impl Session<'_> {
    fn run(&mut self) -> Result<(Vec<String>, Vec<String>)> {
        let hello = Message::Hello {
            version: VERSION,
            name: self.options.name.clone(),
            source: identity(self.dataset.folder())?,
        };
        self.link.send(&hello)?;
        self.link.flush()?;
        let Message::State(mut state) = self.link.receive()? else {
            return Err(Failure::Order("no state"));
        };
        if FolderLocation::of(self.dataset.folder()).overlaps(&state.snapshots) {
            return Err(Failure::Overlap(self.dataset.folder().to_owned()));
        }
        if let Some(take) = self.options.take {
            take(self.dataset)?;
        }
        let mut all = known(self.dataset)?;
        if let Some(until) = &self.options.until {
            let last = all.iter().position(|one| one.snapshot.name == *until);
            let Some(last) = last else {
                return Err(Failure::Other(format!(
                    "the source has no snapshot {until}; `fourfold snapshot list` shows all"
                )));
            };
            all.truncate(last + 1);
        }
        let mut newest = all.iter().rposition(|one| state.snapshots.contains(&one.id));
        // Several may have been taken at the same time.
        let since = newest.map(|newest| all[newest].snapshot.created);
        let is_newer = |one: &SourceSnapshot| since.is_none_or(|since| one.snapshot.created >= since);
        let is_lacking = |at: &usize| is_newer(&all[*at]) && !state.snapshots.contains(&all[*at].id);
        let mut to_send: Vec<usize> = (0..all.len()).filter(is_lacking).collect();
        let (mut sent, mut warnings) = (Vec::new(), Vec::new());
        let begun = state.receiving.clone();
        let mut receiving = state.receiving;
        // With nothing new there may still be something to verify, or to repair.
        let again = (self.options.verify || receiving.is_some()) && to_send.is_empty();
        if again {
            to_send.extend(newest);
        }
        for at in to_send {
            let base = newest.filter(|_| !self.options.verify && !again).map(|newest| &all[newest]);
            let base = base.filter(|base| is_as_before(receiving.take().as_ref(), &all[at], base));
            let was_cut = begun.as_ref().is_some_and(|begun| begun.id == all[at].id);
            let stream = self.stream(&state.native, newest.is_some(), was_cut, &all, at)?;
            self.snapshot(base, &all[at], stream)?;
            let told = self.finished()?;
            if let (Native::Ready(_, received), true) = (&mut state.native, told.is_empty()) {
                received.push(all[at].id);
            }
            warnings.extend(told);
            sent.push(all[at].snapshot.name.clone());
            newest = Some(at);
        }
        self.remove_passing()?;
        let row = |one: SourceSnapshot| {
            let Snapshot { name, held, .. } = one.snapshot;
            Row { id: one.id, name, held }
        };
        // Those behind the last one to send count as there.
        let rows = known(self.dataset)?.into_iter().map(row).collect();
        self.link.send(&Message::Snapshots { rows, keep: self.options.keep })?;
        self.link.flush()?;
        warnings.extend(self.finished()?);
        Ok((sent, warnings))
    }

    fn remove_passing(&self) -> Result<()> {
        let Some(start) = &self.options.passing else { return Ok(()) };
        let all = self.dataset.list()?;
        let passing = all.iter().filter(|one| one.name.starts_with(&**start) && one.held.is_empty());
        for older in passing.skip(1) {
            self.dataset.remove(&older.name)?;
        }
        Ok(())
    }

    fn finished(&mut self) -> Result<Vec<String>> {
        match self.link.receive()? {
            Message::Finished(lines) => Ok(lines),
            _ => Err(Failure::Order("a snapshot has no end")),
        }
    }

    /// Whether a stream of the host's program is used for a snapshot. The error is the reason why it is not.
    fn stream<'k>(
        &self,
        native: &Native,
        has_older: bool,
        was_cut: bool,
        all: &'k [SourceSnapshot],
        at: usize,
    ) -> Result<std::result::Result<SnapshotStream<'k>, String>> {
        let refused = |why: String| match self.options.method {
            Method::Send => Err(Failure::Other(format!("--method send is not possible: {why}"))),
            _ => Ok(Err(why)),
        };
        if self.options.method == Method::Files {
            return refused("--method files was given".into());
        }
        let ours = match native::able(self.dataset, "source") {
            Ok(format) => format,
            Err(why) => return refused(why),
        };
        let received = match native {
            Native::Ready(theirs, received) if *theirs == ours => received,
            Native::Ready(..) => return refused("one side is on btrfs, and the other one on ZFS".into()),
            Native::Unable(why) => return refused(why.clone()),
        };
        if received.contains(&all[at].id) {
            return Ok(Ok(SnapshotStream::Received));
        }
        if was_cut && self.options.method == Method::Auto {
            return refused("an earlier run was cut off; changed files continue, and a stream cannot".into());
        }
        match all[..at].iter().rev().find(|one| received.contains(&one.id)) {
            Some(older) => Ok(Ok(SnapshotStream::From(older))),
            None if self.options.method == Method::Send => Ok(Ok(SnapshotStream::Whole)),
            None if ours == StreamFormat::Zfs => refused(
                "on ZFS streams need the space of all files at the destination a second time; \
                 `--method send` once begins with them"
                    .into(),
            ),
            None if !has_older => Ok(Ok(SnapshotStream::Whole)),
            None => refused(
                "no snapshot of the source came to the destination by a stream; `--method send` once sends a whole one"
                    .into(),
            ),
        }
    }

    /// Sends one snapshot.
    fn snapshot(
        &mut self,
        base: Option<&SourceSnapshot>,
        one: &SourceSnapshot,
        stream: std::result::Result<SnapshotStream<'_>, String>,
    ) -> Result<()> {
        let newer = tree(self.dataset, &one.snapshot.path)?;
        let older = base.map(|base| tree(self.dataset, &base.snapshot.path)).transpose()?;
        let changed = match base.filter(|_| !self.options.verify) {
            Some(base) if native::able(self.dataset, "source") == Ok(StreamFormat::Btrfs) => {
                native::changed(&base.snapshot.path, &one.snapshot.path)
            }
            _ => None,
        };
        let moved = match &older {
            Some(older) => removed(&newer, older, changed.as_ref())?,
            None => MovedPaths::new(),
        };
        let mut comparison = TreeComparison {
            newer: &newer,
            older: older.as_ref(),
            keeps_inodes: self.dataset.engine() != EngineKind::Reflink,
            settled: settled(base.map(|base| &base.snapshot)),
            verify: false,
            moved: &moved,
            only: changed.as_ref(),
        };
        let mut plan = Plan::default();
        if !comparison.walk(&mut plan)? {
            (comparison.only, plan) = (None, Plan::default());
            comparison.walk(&mut plan)?;
        }
        comparison.verify = self.options.verify;
        let begin = Begin {
            id: one.id,
            name: one.snapshot.name.clone(),
            created: nanoseconds(one.snapshot.created),
            base: base.map(|base| base.id),
            verify: self.options.verify,
            entries: plan.entries,
            bytes: plan.bytes,
            native: stream.as_ref().map(|_| ()).map_err(Clone::clone),
        };
        let mut progress = Progress {
            snapshot: one.snapshot.name.clone(),
            total: plan.bytes,
            native: begin.native.clone(),
            ..Progress::default()
        };
        let told = &mut *self.progress;
        self.link.send(&Message::Begin(begin))?;
        if let Ok(stream) = stream {
            send_stream(self.dataset, &stream, one, self.link, &mut progress, told)?;
        }
        send_entries(&comparison, self.link, progress, told)
    }
}

/// Whether the difference to the base is what the other side needs: if it has another snapshot in part, or the same one as
/// the difference to another base, or if a power cut may have lost something, it gets all entries.
fn is_as_before(receiving: Option<&Receiving>, one: &SourceSnapshot, base: &SourceSnapshot) -> bool {
    receiving.is_none_or(|part| part.id == one.id && part.base == Some(base.id) && !part.is_suspect)
}
