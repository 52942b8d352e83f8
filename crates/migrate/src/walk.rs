//! Walks both trees side by side, makes folders and links, and gives files to the workers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use client::tree::{Kind, TreeEntry, below, name_key};
use client::{Connector, Error as ClientError, Reach};
use lock::{Mutex, MutexGuard};

use crate::comparing::{differences, is_same_date};
use crate::copying::NO_WAY;
use crate::journal::MigrationJournal;
use crate::limit::ByteBucket;
use crate::overlap::{self, Probe, is_probe};
use crate::ranks;
use crate::report::Tally;
use crate::rights;
use crate::worker::{Job, Sides, work};
use crate::{Error, Mode, Plan, Progress, Report, Result};

/// Jobs that wait for a worker.
const QUEUE: usize = 1024;
/// Folders in each other.
const DEEPEST: usize = 200;
/// The most bytes of the paths of all folders, which are held until the end: a tree without an end ends here.
const MOST_PATHS: usize = 512 << 20;
/// Why a name cannot be carried.
const UNREADABLE: &str =
    "its name is not UTF-8, or none that a file can have, or another entry has the same, so it is left out";
/// How often the progress is told.
const TICK: Duration = Duration::from_millis(100);

/// What all threads use.
pub(crate) struct CopyContext<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) from: Connector,
    pub(crate) to: Connector,
    pub(crate) tally: Tally,
    pub(crate) bucket: ByteBucket,
    journal: Option<MigrationJournal>,
    /// What the journal cannot keep ends the copy, and an overlap of source and destination.
    broken: Mutex<Option<Error>, ranks::Migration>,
    /// What the source must not show.
    probe: Option<Probe>,
}

impl CopyContext<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.broken().is_some()
    }

    /// Ends the copy: what it writes would be read again.
    fn refuse(&self) {
        *self.broken() = Some(Error::overlap(self.plan));
    }

    fn broken(&self) -> MutexGuard<'_, Option<Error>, ranks::Migration> {
        self.broken.lock()
    }

    /// Notes a copied file.
    pub(crate) fn note(&self, job: &Job, sum: &str) {
        let Some(journal) = &self.journal else { return };
        if let Err(error) = journal.add(&job.path, &job.entry, sum) {
            *self.broken() = Some(error);
        }
    }
}

pub(crate) fn run(plan: &Plan, stop: &AtomicBool, watch: &mut dyn FnMut(&Progress)) -> Result<Report> {
    let begun = Instant::now();
    let (from, to) = (plan.from.to_string(), plan.to.to_string());
    let connector =
        |target: &client::Target| Connector::new(target.clone(), Reach::direct(plan.timeout), 1, 0);
    let mut shared = CopyContext {
        plan,
        stop,
        from: connector(&plan.from),
        to: connector(&plan.to),
        tally: Tally::default(),
        bucket: ByteBucket::new(&plan.limits),
        journal: plan.journal.as_deref().map(|path| MigrationJournal::open(path, &from, &to)).transpose()?,
        broken: Mutex::new(None),
        probe: None,
    };
    let mut sides = open(&shared)?;
    shared.probe = overlap::prove(plan, &mut sides)?;
    let done = copy(&shared, sides, watch);
    if let Some(probe) = &shared.probe
        && let Ok(mut sides) = open(&shared)
    {
        probe.end(&mut sides);
    }
    done?;
    Ok(shared.tally.finish(begun.elapsed()))
}

/// All but the probe.
fn copy(shared: &CopyContext<'_>, mut sides: Sides, watch: &mut dyn FnMut(&Progress)) -> Result<()> {
    let (plan, stop) = (shared.plan, shared.stop);
    let workers = (0..plan.streams.max(1)).map(|_| open(shared)).collect::<Result<Vec<_>>>()?;
    let (sender, receiver) = sync_channel(QUEUE);
    let receiver: Mutex<Receiver<Job>, ranks::MigrationJobs> = Mutex::new(receiver);
    let walked = std::thread::scope(|scope| {
        let receiver = &receiver;
        let threads: Vec<_> =
            workers.into_iter().map(|sides| scope.spawn(move || work(shared, receiver, sides))).collect();
        let walker = scope.spawn(move || {
            let walked = walk(shared, &mut sides, &sender);
            drop(sender);
            shared.tally.walked.store(true, Ordering::Relaxed);
            walked.map(|walked| (sides, walked))
        });
        while !walker.is_finished() || threads.iter().any(|thread| !thread.is_finished()) {
            watch(&shared.tally.progress());
            std::thread::sleep(TICK);
        }
        watch(&shared.tally.progress());
        walker.join()
    });
    if let Some(error) = shared.broken().take() {
        return Err(error);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Stopped);
    }
    let (mut sides, WalkResult { folders, surplus }) = match walked {
        Ok(walked) => walked?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    remove_all(shared, &mut sides, &surplus)?;
    for folder in folders.iter().rev() {
        dress(shared, &mut sides, folder);
    }
    Ok(())
}

fn open(shared: &CopyContext<'_>) -> Result<Sides> {
    let server = |target: &client::Target, error| Error::Server(target.to_string(), error);
    let from = shared.from.tree().map_err(|error| server(&shared.plan.from, error))?;
    let to = shared.to.tree().map_err(|error| server(&shared.plan.to, error))?;
    Ok(Sides { from, to })
}

/// A folder of the source, and its path in the destination, where accents may be composed otherwise.
#[derive(Debug, Clone, Default)]
struct Place {
    from: String,
    to: String,
}

impl Place {
    /// An entry of it. `there` is what the destination has by this name.
    fn entry(&self, entry: &TreeEntry, there: Option<&TreeEntry>, as_name: Option<&String>) -> Self {
        let to = there.map_or(as_name.unwrap_or(&entry.name), |there| &there.name);
        Self { from: below(&self.from, &entry.name), to: below(&self.to, to) }
    }
}

/// What was found in both trees.
#[derive(Debug, Default)]
struct WalkResult {
    /// The folders, each before those in it.
    folders: Vec<Place>,
    /// What only the destination has: paths in it.
    surplus: Vec<(String, Kind)>,
}

fn walk(shared: &CopyContext<'_>, sides: &mut Sides, jobs: &SyncSender<Job>) -> Result<WalkResult> {
    let (mut walked, mut stack, mut bytes) = (WalkResult::default(), vec![(Place::default(), 0)], 0);
    while let Some((folder, depth)) = stack.pop() {
        if shared.is_over() {
            return Ok(walked);
        }
        let inner = match level(shared, sides, &folder, (jobs, &mut walked.surplus)) {
            Ok(inner) => inner,
            Err(error) if error.ends_session() || folder.from.is_empty() => {
                let target = format!("{} or {}", shared.plan.from, shared.plan.to);
                return Err(Error::Server(target, error));
            }
            Err(error) => {
                shared.tally.fail(&folder.from, error.to_string());
                continue;
            }
        };
        shared.tally.count(|report| report.folders += 1);
        walked.folders.push(folder);
        for inner in inner {
            bytes += inner.from.len() + inner.to.len() + size_of::<Place>();
            if bytes > MOST_PATHS {
                let what =
                    format!("{} has more folders than can be held in memory: is it endless?", inner.from);
                return Err(Error::Server(shared.plan.from.to_string(), ClientError::Other(what)));
            }
            match depth < DEEPEST {
                true => stack.push((inner, depth + 1)),
                false => shared.tally.fail(&inner.from, format!("more than {DEEPEST} folders in each other")),
            }
        }
    }
    Ok(walked)
}

/// One folder: returns the folders in it.
fn level(
    shared: &CopyContext<'_>,
    sides: &mut Sides,
    place: &Place,
    (jobs, surplus): (&SyncSender<Job>, &mut Vec<(String, Kind)>),
) -> std::result::Result<Vec<Place>, ClientError> {
    let folder = &place.from;
    let mut listing = sides.from.entries(&sides.from.native(folder))?;
    let shows_probe = |probe: &Probe| listing.entries.iter().any(|entry| probe.is(&entry.name));
    if shared.probe.as_ref().is_some_and(shows_probe) && overlap::is_refused(shared.plan, folder) {
        shared.refuse();
        return Ok(Vec::new());
    }
    listing.entries.retain(|entry| !is_probe(&entry.name));
    let is_part = folder.is_empty() && !shared.plan.only.is_empty();
    if is_part {
        listing.unreadable.clear();
        listing.entries.retain(|entry| shared.plan.only.contains(&entry.name));
        for name in
            shared.plan.only.iter().filter(|name| listing.entries.iter().all(|entry| entry.name != **name))
        {
            shared.tally.fail(name, "it does not exist");
        }
    }
    let Some(mut there) = there(shared, sides, place)? else { return Ok(Vec::new()) };
    for name in listing.unreadable {
        shared.tally.fail(&below(folder, &name), UNREADABLE);
    }
    let mut folders = Vec::new();
    let as_name = shared.plan.as_name.as_ref().filter(|_| is_part);
    for entry in listing.entries {
        let other = there.remove(&name_key(as_name.unwrap_or(&entry.name)));
        let inner = place.entry(&entry, other.as_ref(), as_name);
        match entry.kind {
            // A link in the place of the folder would lead out of the destination.
            Kind::Folder if other.as_ref().is_some_and(|other| other.kind != Kind::Folder) => {
                shared.tally.fail(
                    &inner.from,
                    "the destination has something else than a folder by this name: remove it there",
                );
            }
            Kind::Folder => folders.push(inner),
            Kind::File => file(shared, Job { path: inner.from, to: inner.to, entry, there: other }, jobs),
            Kind::Link => link(shared, sides, &inner, other.as_ref())?,
            Kind::Other => shared.tally.fail(&inner.from, "it is no file, folder or symbolic link"),
        }
    }
    for entry in there.into_values().filter(|_| !is_part) {
        let path = below(&place.to, &entry.name);
        match shared.plan.mode {
            Mode::Compare => shared.tally.lose(&path, "more than the source", "the source does not have it"),
            Mode::Copy { delete: false, .. } | Mode::Plan { delete: false } => {}
            Mode::Copy { delete: true, .. } | Mode::Plan { delete: true } => surplus.push((path, entry.kind)),
        }
    }
    Ok(folders)
}

/// What the destination has in a folder, by the names that can be one. A folder that it does not have is made, with the rights that it
/// has in the source. `None`: the copy ends, or the folder cannot be compared.
fn there(
    shared: &CopyContext<'_>,
    sides: &mut Sides,
    place: &Place,
) -> std::result::Result<Option<HashMap<String, TreeEntry>>, ClientError> {
    let to = sides.to.native(&place.to);
    let entries = match sides.to.entries(&to) {
        Ok(there) => there.entries,
        Err(ClientError::Missing(_)) if shared.plan.mode == Mode::Compare => {
            shared.tally.fail(&place.from, "the folder is missing in the destination");
            return Ok(None);
        }
        Err(ClientError::Missing(_)) if matches!(shared.plan.mode, Mode::Plan { .. }) => {
            return Ok(Some(HashMap::new()));
        }
        Err(ClientError::Missing(_)) => {
            sides.to.make_folder(&to)?;
            let from = sides.from.native(&place.from);
            rights::begin(shared, sides, (&place.from, &from, &to))?;
            return Ok(Some(HashMap::new()));
        }
        Err(error) => return Err(error),
    };
    if shared.probe.is_some() && !place.to.is_empty() && overlap::is_source(shared.plan, sides, &place.to)? {
        shared.refuse();
        return Ok(None);
    }
    let entries = entries.into_iter().filter(|entry| !is_probe(&entry.name));
    Ok(Some(entries.map(|entry| (name_key(&entry.name), entry)).collect()))
}

fn file(shared: &CopyContext<'_>, job: Job, jobs: &SyncSender<Job>) {
    if shared.plan.mode == Mode::Compare {
        shared.tally.found.fetch_add(1, Ordering::Relaxed);
        let _ = jobs.send(job); // the workers end only with this end of the queue
        return;
    }
    let is_there = job.there.as_ref().is_some_and(|there| {
        let dates = job.entry.modified.zip(there.modified);
        there.kind == Kind::File
            && there.length == job.entry.length
            && dates.is_some_and(|(from, to)| is_same_date(from, to))
    });
    let journal = shared.journal.as_ref().and_then(|journal| journal.has_changed(&job.path, &job.entry));
    if is_there && journal != Some(true) {
        shared.tally.count(|report| report.unchanged += 1);
        return;
    }
    shared.tally.found.fetch_add(1, Ordering::Relaxed);
    shared.tally.bytes_found.fetch_add(job.entry.length, Ordering::Relaxed);
    if let Mode::Plan { .. } = shared.plan.mode {
        tracing::info!("would copy {:?}", job.path);
        shared.tally.count(|report| {
            report.files += 1;
            report.bytes += job.entry.length;
            report.overwritten += u64::from(job.there.is_some());
        });
        return;
    }
    let _ = jobs.send(job); // as above
}

fn link(
    shared: &CopyContext<'_>,
    sides: &mut Sides,
    place: &Place,
    there: Option<&TreeEntry>,
) -> std::result::Result<(), ClientError> {
    let path = &place.from;
    let (from, to) = (sides.from.native(path), sides.to.native(&place.to));
    let extra = sides.from.extra(&from, Kind::Link)?;
    let extra = rights::read(shared, sides, (path, &from, Kind::Link), &extra)?.dress(extra);
    let Some(target) = &extra.target else {
        shared.tally.fail(path, "the target of the link cannot be read");
        return Ok(());
    };
    let same = match there {
        Some(there) if there.kind == Kind::Link => {
            sides.to.extra(&to, Kind::Link)?.target.as_ref() == Some(target)
        }
        _ => false,
    };
    match (shared.plan.mode, there) {
        _ if same => {}
        (Mode::Compare, None) => shared.tally.fail(path, "the link is missing in the destination"),
        (Mode::Compare, Some(_)) => {
            shared.tally.fail(path, "it is another link, or none, in the destination")
        }
        (Mode::Plan { .. }, there) => {
            shared.tally.count(|report| report.overwritten += u64::from(there.is_some()))
        }
        (Mode::Copy { .. }, there) => {
            if there.is_some() {
                sides.to.remove(&to)?;
            }
            match sides.to.make_link(&to, target) {
                Ok(()) => {
                    let _ = sides.to.set_extra(&to, Kind::Link, &extra)?; // links have no more than owner and dates
                }
                Err(error) if error.ends_session() => return Err(error),
                Err(error) => shared.tally.fail(path, format!("a symbolic link: {error}")),
            }
        }
    }
    shared.tally.count(|report| report.links += 1);
    Ok(())
}

/// Removes what only the destination has, when it is proved that nothing of it is the source.
fn remove_all(shared: &CopyContext<'_>, sides: &mut Sides, surplus: &[(String, Kind)]) -> Result<()> {
    let server = |error| Error::Server(shared.plan.to.to_string(), error);
    let is_planned = matches!(shared.plan.mode, Mode::Plan { .. });
    for (path, _) in surplus.iter().filter(|(_, kind)| *kind == Kind::Folder && !is_planned) {
        match overlap::is_source_in(shared, sides, path, DEEPEST) {
            Ok(false) => {}
            Ok(true) => return Err(Error::overlap(shared.plan)),
            Err(error) => return Err(server(error)),
        }
    }
    for (path, kind) in surplus {
        tracing::info!("{} {path:?}", if is_planned { "would remove" } else { "removes" });
        let removed = if is_planned { count(sides, path, *kind, 0) } else { remove(sides, path, *kind, 0) };
        match removed {
            Ok(count) => shared.tally.count(|report| report.removed += count),
            Err(error) if error.ends_session() => return Err(server(error)),
            Err(error) => shared.tally.fail(path, format!("it cannot be removed: {error}")),
        }
    }
    Ok(())
}

fn remove(sides: &mut Sides, path: &str, kind: Kind, depth: usize) -> std::result::Result<u64, ClientError> {
    let native = sides.to.native(path);
    if kind != Kind::Folder {
        return sides.to.remove(&native).map(|()| 1);
    }
    if depth > DEEPEST {
        return Err(ClientError::Other("too many folders in each other".into()));
    }
    let mut count = 1;
    for entry in sides.to.entries(&native)?.entries {
        count += remove(sides, &below(path, &entry.name), entry.kind, depth + 1)?;
    }
    sides.to.remove_folder(&native)?;
    Ok(count)
}

/// How many files and folders [`remove`] would remove.
fn count(sides: &mut Sides, path: &str, kind: Kind, depth: usize) -> std::result::Result<u64, ClientError> {
    if kind != Kind::Folder || depth > DEEPEST {
        return Ok(1);
    }
    let native = sides.to.native(path);
    let inside = sides.to.entries(&native)?.entries;
    inside
        .iter()
        .try_fold(1, |sum, entry| Ok(sum + count(sides, &below(path, &entry.name), entry.kind, depth + 1)?))
}

/// Gives a folder its details, when nothing is made in it any more, or compares them.
fn dress(shared: &CopyContext<'_>, sides: &mut Sides, place: &Place) {
    if let Mode::Plan { .. } = shared.plan.mode {
        return;
    }
    let folder = &place.from;
    let (from, to) = (sides.from.native(folder), sides.to.native(&place.to));
    let mut act = || {
        let extra = sides.from.extra(&from, Kind::Folder)?;
        // The folder itself is the share of the destination: its owner, mode and dates are that server's.
        if folder.is_empty() {
            return rights::compare_roots(shared, sides, &extra);
        }
        if shared.plan.mode == Mode::Compare {
            let there = sides.to.extra(&to, Kind::Folder)?;
            for (what, how) in differences(&extra, &there) {
                shared.tally.lose(folder, &what, &how);
            }
            let (from, to) = ((&*from, &extra), (&*to, &there));
            return rights::compare(shared, sides, (folder, Kind::Folder), (from, to), &[]);
        }
        let wanted = rights::read(shared, sides, (folder, &from, Kind::Folder), &extra)?;
        let lost = sides.to.set_extra(&to, Kind::Folder, &wanted.dress(extra))?;
        for lost in lost.iter().filter(|lost| !rights::is_right(&lost.what)) {
            shared.tally.lose(folder, &lost.what, lost.why.as_deref().unwrap_or(NO_WAY));
        }
        rights::finish(shared, sides, (folder, &to, Kind::Folder), &wanted, &lost).map(drop)
    };
    if let Err(error) = act() {
        shared.tally.fail(folder, error.to_string());
    }
}
