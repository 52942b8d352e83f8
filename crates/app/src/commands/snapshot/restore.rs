//! `fourfold snapshot restore`. A running server does the work, because clients may have the files
//! open; without one the command does it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use admin::control::{self, AskError, RestoreReport, RestoreRequest};
use admin::{Settings, State};
use anyhow::{Context, bail};
use vfs::index::Index;

use crate::cli::SnapshotRestore;
use crate::shares::restoring;
use crate::shares::volumes::Volumes;
use crate::terminal::asking::patiently;
use crate::terminal::progress::ProgressDisplay;
use crate::terminal::{exit, out};

/// What would be overwritten, as far as it is said before the question.
const SHOWN: usize = 20;

/// Restores a file or folder.
pub(super) fn run(settings: &Settings, asked: &SnapshotRestore) -> anyhow::Result<ExitCode> {
    let request = request(asked)?;
    if !request.dry_run
        && !asked.caution.yes
        && out::is_asking_possible()
        && !may_go_on(settings, asked, &request)?
    {
        return Ok(ExitCode::SUCCESS);
    }
    let report = carry_out(settings, &request)?;
    if asked.json {
        out::json(&report)?
    } else {
        print(&report)?
    }
    Ok(if report.refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Finds out what would be overwritten and removed, says it, and asks.
fn may_go_on(settings: &Settings, asked: &SnapshotRestore, request: &RestoreRequest) -> anyhow::Result<bool> {
    let dry = carry_out(settings, &RestoreRequest { dry_run: true, ..request.clone() })?;
    if dry.restored + dry.removed == 0 {
        return Ok(true); // nothing would change
    }
    for entry in dry.entries.iter().take(SHOWN) {
        out::error_line(format_args!("{:<8}  {}", entry.did, entry.path));
    }
    let (restored, removed) = (dry.restored, dry.removed);
    asked
        .caution
        .permits(&format!("{restored} files and folders are made or overwritten, {removed} are removed"))
}

/// Asks the server, or does it without one.
fn carry_out(settings: &Settings, request: &RestoreRequest) -> anyhow::Result<RestoreReport> {
    let progress = ProgressDisplay::default();
    let answer = patiently(|heard| {
        control::restore(&settings.server.state, request.clone(), &mut |now| {
            heard.something();
            progress.show(now);
        })
    });
    let report = match answer {
        Err(AskError::NoServer(_)) => alone(settings, request, &progress),
        other => other.map_err(Into::into),
    };
    progress.end();
    report
}

fn request(asked: &SnapshotRestore) -> anyhow::Result<RestoreRequest> {
    let Some((share, snapshot)) = asked.snapshot.split_once('@') else {
        return Err(exit::usage_error(format!("{:?} names no snapshot: write SHARE@NAME", asked.snapshot)));
    };
    let path = inside(&asked.path)?;
    let to = match &asked.to {
        Some(to) => inside(to)?,
        None if asked.beside => beside(&path, snapshot)?,
        None => path.clone(),
    };
    if path.as_os_str().is_empty() != to.as_os_str().is_empty() {
        bail!("the whole share is restored to the share itself only; restore its folders one by one");
    }
    let bytes = |path: PathBuf| path.into_os_string().into_vec();
    Ok(RestoreRequest {
        share: share.into(),
        snapshot: snapshot.into(),
        path: bytes(path),
        to: bytes(to),
        keep: asked.beside,
        delete: asked.delete,
        dry_run: asked.caution.dry_run,
    })
}

/// The path without `.` and doubled slashes.
fn inside(path: &Path) -> anyhow::Result<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            _ => bail!(
                "{}: give a path relative to the share's folder, without ..; `.` is the whole share",
                path.display()
            ),
        }
    }
    Ok(inside)
}

/// `a/May.doc` as `a/May (monday).doc`.
fn beside(path: &Path, snapshot: &str) -> anyhow::Result<PathBuf> {
    let stem =
        path.file_stem().context("the whole share cannot be restored beside itself; restore its folders")?;
    let mut name = OsString::from(stem);
    name.push(format!(" ({snapshot})"));
    if let Some(extension) = path.extension() {
        name.push(OsStr::from_bytes(b"."));
        name.push(extension);
    }
    Ok(path.with_file_name(name))
}

/// Restores without a server.
fn alone(
    settings: &Settings,
    request: &RestoreRequest,
    progress: &ProgressDisplay,
) -> anyhow::Result<RestoreReport> {
    let state = State::open(&settings.server.state)?;
    let index = Index::open(state.path()).context("the index in the state folder cannot be used")?;
    crate::shares::quotas::forget(state.path())?;
    let volumes = Volumes::new(index, state.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _entered = runtime.enter();
    restoring::restore(settings, &volumes, request, &|now| {
        progress.show(now);
        true
    })
}

fn print(report: &RestoreReport) -> anyhow::Result<()> {
    out::lines(report.entries.iter().map(|entry| {
        let why = entry.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{:<8}  {}{why}", entry.did, entry.path)
    }))?;
    let RestoreReport { restored, unchanged, removed, refused, other_datasets, .. } = report;
    let named = report.entries.len() as u64;
    let more = (restored + removed + refused + other_datasets).saturating_sub(named);
    if more > 0 {
        out::line(format_args!("and {more} more"))?;
    }
    let dry = if report.dry_run { "a dry run, nothing was changed: " } else { "" };
    let others = match other_datasets {
        0 => String::new(),
        many => format!(", {many} of other datasets left alone"),
    };
    Ok(out::line(format_args!(
        "{dry}{restored} restored, {unchanged} unchanged, {removed} removed, {refused} refused{others}"
    ))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_snapshot_comes_before_the_extension() {
        let beside = |path: &str| beside(Path::new(path), "monday").unwrap();
        assert_eq!(beside("a/May.doc"), Path::new("a/May (monday).doc"));
        assert_eq!(beside("May"), Path::new("May (monday)"));
        assert_eq!(beside(".profile"), Path::new(".profile (monday)"));
    }

    #[test]
    fn paths_stay_in_the_share() {
        assert_eq!(inside(Path::new("./a//b/")).unwrap(), Path::new("a/b"));
        assert_eq!(inside(Path::new(".")).unwrap(), Path::new(""));
        for bad in ["../x", "a/../b", "/etc/passwd"] {
            assert!(inside(Path::new(bad)).unwrap_err().to_string().contains("without .."), "{bad}");
        }
    }
}
