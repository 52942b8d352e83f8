//! What the long jobs of the API do: see [`web::Jobs`].
//!
//! What needs the server's own state (restores, clones of LUNs) is done by the server. Measurements and replications are
//! this program in a process of its own: they do not disturb the server's memory, and can be ended at any time.

mod adopt;
mod backups;
mod bench;
mod child;
mod names;
mod replicate;
mod scrub;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::ShareSettings;
use admin::control::{BackupName, BackupsRequest, LunAnswer, LunRequest, Progress, Report, RestoreRequest};
use serde_json::Value;
use vfs::backend::host::as_ourselves;
use vfs::names::from_text_view;
use web::jobs::{JobHandle, JobRequest, NewJob, Work};

use super::snapshots::share;
use crate::serve::current::Current;
use crate::serve::running::Running;

pub(super) use adopt::kept as conversions_kept;
pub(super) use bench::{compare, curves, kept, report};

type Outcome = Result<Value, Vec<String>>;

/// The job that is asked for.
pub(super) fn job(running: &Arc<Running>, request: JobRequest) -> Result<NewJob, Vec<String>> {
    let current = running.current();
    match request {
        JobRequest::Names { share: name, fix, windows } => {
            let found = share(&current, &name)?;
            Ok(names::job(found, journals(&current), fix, windows))
        }
        JobRequest::NamesUndo { journal } => names::undo(&journals(&current), journal),
        JobRequest::Scrub { share: name, path, repair } => {
            if let Some(name) = &name {
                share(&current, name)?;
            }
            Ok(scrub::job(running.clone(), name, &path, repair))
        }
        JobRequest::Adopt { share: name } => Ok(adopt::job(share(&current, &name)?)),
        JobRequest::Convert { share: name, to, shown_counts, dry_run } => {
            let found = share(&current, &name)?;
            adopt::convert(running.clone(), found, conversions(&current), (to, shown_counts, dry_run))
        }
        JobRequest::ConvertUndo { journal } => adopt::undo(running.clone(), &conversions(&current), journal),
        JobRequest::Restore { share: name, snapshot, path, to } => {
            share(&current, &name)?;
            Ok(restore(running.clone(), name, snapshot, (path, to)))
        }
        JobRequest::VerifyBackup { share, bundle, snapshot } => {
            Ok(backups::verify(running.clone(), BackupName { share, bundle }, snapshot))
        }
        JobRequest::RollBackBackup { share, bundle, snapshot } => {
            let name = BackupName { share, bundle };
            let what = format!(
                "put {} back to {}",
                name.bundle,
                snapshot.as_deref().unwrap_or("the last good point")
            );
            let request = BackupsRequest::RollBack { name: name.clone(), snapshot, dry_run: false };
            Ok(backups::work(running.clone(), ("roll-back-backup", what), &name, request))
        }
        JobRequest::DiscardBackup { share, bundle } => {
            let name = BackupName { share, bundle };
            let what = format!("remove what is kept of {}", name.bundle);
            let request = BackupsRequest::Discard { name: name.clone() };
            Ok(backups::work(running.clone(), ("discard-backup", what), &name, request))
        }
        JobRequest::MoveBackup { share, bundle, to } => {
            let name = BackupName { share, bundle };
            let what = format!("move {} to {to}", name.bundle);
            let request = BackupsRequest::Move { name: name.clone(), to };
            Ok(backups::work(running.clone(), ("move-backup", what), &name, request))
        }
        JobRequest::CloneLun { share: name, name: lun, new, copy } => {
            share(&current, &name)?;
            let (what, place) = (format!("clone the LUN {name}/{lun} as {new}"), format!("{name}/{new}"));
            let request = LunRequest::Clone { share: name, name: lun, new, copy };
            Ok(lun_work(running.clone(), ("clone-lun", what, place), request))
        }
        JobRequest::SnapshotLun { share: name, name: lun, new, copy } => {
            share(&current, &name)?;
            let new = format!("{lun}.{new}");
            let (what, place) = (format!("take the snapshot {name}/{new} of a LUN"), format!("{name}/{new}"));
            let request = LunRequest::Snapshot { share: name, name: lun, new, copy };
            Ok(lun_work(running.clone(), ("snapshot-lun", what, place), request))
        }
        JobRequest::Replicate { source, destination, .. } => {
            replicate::job(running, share(&current, &source)?, &destination)
        }
        JobRequest::Bench(asked) => bench::job(running, share(&current, &asked.share)?, asked),
    }
}

fn journals(current: &Current) -> PathBuf {
    current.settings.server.state.join("names")
}

/// The journals of converted shares.
fn conversions(current: &Current) -> PathBuf {
    current.settings.server.state.join("adopt")
}

/// Work that is done as the server itself: the thread that starts it may have acted as another user.
pub(super) fn as_server(work: impl FnOnce(&JobHandle) -> Outcome + Send + 'static) -> Work {
    Box::new(move |handle| as_ourselves(|| work(handle)).map_err(|error| vec![error.to_string()])?)
}

/// The lines of an error of this program.
fn lines(error: &anyhow::Error) -> Vec<String> {
    vec![format!("{error:#}")]
}

fn restore(
    running: Arc<Running>,
    share: String,
    snapshot: String,
    (path, to): (String, Option<String>),
) -> NewJob {
    let place = to.as_ref().map(|to| format!(" to {to:?}")).unwrap_or_default();
    let what = format!("restore {path:?} of {share}@{snapshot}{place}");
    let to = to.unwrap_or_else(|| path.clone());
    let key = format!("restore {share} {to}");
    let request = RestoreRequest {
        share,
        snapshot,
        path: from_text_view(&path),
        to: from_text_view(&to),
        dry_run: false,
        delete: false,
        keep: false,
    };
    let work = as_server(move |handle| {
        let report = running.restore(request, &|now: Progress| handle.progress(now.done, now.total))?;
        serde_json::to_value(report).map_err(|error| vec![error.to_string()])
    });
    NewJob { kind: "restore", what, unit: "bytes", key, work }
}

/// A request about a LUN that may copy all its data.
fn lun_work(
    running: Arc<Running>,
    (kind, what, place): (&'static str, String, String),
    request: LunRequest,
) -> NewJob {
    let key = format!("lun {place}");
    let work = as_server(move |handle| {
        match running.lun(request, &|now: Progress| handle.progress(now.done, now.total))? {
            LunAnswer::Done(lines) => lines.iter().for_each(|line| handle.say(line)),
            LunAnswer::Luns(_) => {}
        }
        Ok(Value::Null)
    });
    NewJob { kind, what, unit: "bytes", key, work }
}

/// The folder, which is made if it is missing.
fn made(folder: PathBuf) -> Result<PathBuf, Vec<String>> {
    let failed = |error| vec![format!("{} cannot be made: {error}", folder.display())];
    // The umask of a server lets others read and write.
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
    Ok(folder)
}

/// Removes the oldest files with this ending, by their names, until there is room for one more.
fn make_room(folder: &Path, ending: &str, most: usize) {
    let mut found = files(folder, ending);
    found.sort();
    let too_many = (found.len() + 1).saturating_sub(most);
    for old in found.into_iter().take(too_many) {
        let _ = std::fs::remove_file(old); // then there is one more
    }
}

/// The files of a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == ending))
        .collect()
}

/// The file of this name, which has no folder in it.
fn file(folder: &Path, name: &str, ending: &str, what: &str) -> Result<PathBuf, Vec<String>> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let path = folder.join(format!("{name}.{ending}"));
    if name.is_empty() || name.len() > 100 || !name.chars().all(is_plain) || !path.is_file() {
        return Err(vec![format!("there is no {what} {name:?}")]);
    }
    Ok(path)
}

/// A name of this moment for a share, which no file with this ending has.
fn named(share: &ShareSettings, folder: &Path, ending: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let share: String = share.name.chars().take(40).map(plain).collect();
    let name = format!("{}-{share}", jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S"));
    let is_free = |name: &String| !folder.join(format!("{name}.{ending}")).exists();
    // Jobs of the same second. If all are taken, the job fails and says so.
    let others = (2..100).map(|number| format!("{name}-{number}"));
    [name.clone()].into_iter().chain(others).find(is_free).unwrap_or(name)
}
