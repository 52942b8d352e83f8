//! A worker: a session with each side, made again when one breaks.

use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use client::tree::{Tree, TreeEntry};
use client::{Connector, Error as ClientError};
use lock::Mutex;

use crate::ranks;
use crate::walk::CopyContext;
use crate::{Mode, comparing, copying, rights};

/// Attempts at one file while sessions break.
const ATTEMPTS: u32 = 5;
/// The pause before the second attempt; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(250);

/// A file to copy or to compare.
#[derive(Debug)]
pub(crate) struct Job {
    /// Below the source's folder.
    pub(crate) path: String,
    /// Below the destination's folder: accents may be composed otherwise.
    pub(crate) to: String,
    pub(crate) entry: TreeEntry,
    /// What the destination has there.
    pub(crate) there: Option<TreeEntry>,
}

/// The sessions with both sides.
pub(crate) struct Sides {
    pub(crate) from: Box<dyn Tree>,
    pub(crate) to: Box<dyn Tree>,
}

impl Sides {
    pub(crate) fn open(from: &Connector, to: &Connector) -> Result<Self, ClientError> {
        Ok(Self { from: from.tree()?, to: to.tree()? })
    }
}

/// Takes jobs until there are no more.
pub(crate) fn work(
    shared: &CopyContext<'_>,
    jobs: &Mutex<Receiver<Job>, ranks::MigrationJobs>,
    first: Sides,
) {
    let mut sides = Some(first);
    loop {
        let job = jobs.lock().recv();
        let Ok(job) = job else { return };
        if shared.is_over() {
            continue; // the walk ends when the queue is drained
        }
        if let Err(error) = attempt(shared, &job, &mut sides) {
            shared.tally.fail(&job.path, error.to_string());
        }
        shared.tally.done.fetch_add(1, Ordering::Relaxed);
    }
}

fn attempt(shared: &CopyContext<'_>, job: &Job, sides: &mut Option<Sides>) -> Result<(), ClientError> {
    let mut pause = PAUSE;
    for attempt in 1.. {
        let error = match try_once(shared, job, sides) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if error.ends_session() {
            *sides = None;
        } else if let Some(sides) = sides {
            sides.from.abandon();
            sides.to.abandon();
            tidy(shared, job, sides);
        }
        if !error.ends_session() || attempt == ATTEMPTS || shared.is_over() {
            return Err(error);
        }
        std::thread::sleep(pause);
        pause *= 2;
    }
    Ok(())
}

/// Removes what a failed copy has made of the file.
fn tidy(shared: &CopyContext<'_>, job: &Job, sides: &mut Sides) {
    if let Mode::Copy { .. } = shared.plan.mode {
        let partial = sides.to.native(&copying::partial(&job.to));
        let _ = sides.to.remove(&partial); // there may be none
    }
}

fn try_once(shared: &CopyContext<'_>, job: &Job, sides: &mut Option<Sides>) -> Result<(), ClientError> {
    let sides = match sides {
        Some(sides) => sides,
        None => sides.insert(Sides::open(&shared.from, &shared.to)?),
    };
    match shared.plan.mode {
        Mode::Copy { verify, .. } => {
            let copied = copying::copy(shared, job, sides)?;
            if verify {
                copying::check(shared, job, sides, &copied)?;
            }
            tracing::info!("copied {:?}", job.path);
            shared.tally.count(|report| {
                report.files += 1;
                report.overwritten += u64::from(job.there.is_some());
            });
            shared.note(job, &copied.sum);
            Ok(())
        }
        Mode::Compare => compare(shared, job, sides),
        Mode::Plan { .. } => Ok(()), // the walk has counted the file
    }
}

/// Compares the data and everything else.
fn compare(shared: &CopyContext<'_>, job: &Job, sides: &mut Sides) -> Result<(), ClientError> {
    let Some(there) = &job.there else {
        shared.tally.fail(&job.path, "it is missing in the destination");
        return Ok(());
    };
    if there.kind != job.entry.kind {
        shared.tally.fail(&job.path, format!("it is a {:?} in the destination", there.kind).to_lowercase());
        return Ok(());
    }
    let from = copying::sum(shared, &mut *sides.from, &job.path)?;
    let to = copying::sum(shared, &mut *sides.to, &job.to)?;
    if from != to {
        shared.tally.fail(&job.path, "its data differ");
        return Ok(());
    }
    extras(shared, job, sides, &[])?;
    shared.tally.count(|report| report.files += 1);
    Ok(())
}

/// Compares what the files are besides their data, without what is known to be lost.
pub(crate) fn extras(
    shared: &CopyContext<'_>,
    job: &Job,
    sides: &mut Sides,
    known: &[String],
) -> Result<(), ClientError> {
    let (from_path, to_path) = (sides.from.native(&job.path), sides.to.native(&job.to));
    let from = sides.from.extra(&from_path, job.entry.kind)?;
    let to = sides.to.extra(&to_path, job.entry.kind)?;
    let differences = comparing::differences(&from, &to);
    for (what, how) in differences.into_iter().filter(|(what, _)| !known.contains(what)) {
        shared.tally.lose(&job.path, &what, &how);
    }
    rights::compare(shared, sides, (&job.path, job.entry.kind), ((&from_path, &from), (&to_path, &to)), known)
}
