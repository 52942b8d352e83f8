//! `fourfold snapshot`: the snapshots of shares. The engines do the work, with or without a running server, which finds what
//! they have done. (`restore.rs` has the restore, for which the server is asked.)

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use admin::Settings;
use admin::control::{self, AskError};
use admin::settings::units::format_size;
use anyhow::Context;
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use snapshots::{Change, Dataset, Snapshot, What};

use crate::cli::{SnapshotCommand, SnapshotList, Where};
use crate::host::here;
use crate::shares::keeper;
use crate::terminal::asking::patiently;
use crate::terminal::looked_at_bar::busy;
use crate::terminal::{exit, out};

mod restore;

/// Takes, lists, renames, holds and removes snapshots.
pub(crate) fn run(command: &SnapshotCommand) -> anyhow::Result<ExitCode> {
    let place = match command {
        SnapshotCommand::Create(named) => &named.place,
        SnapshotCommand::Remove(asked) => &asked.named.place,
        SnapshotCommand::List(list) => &list.place,
        SnapshotCommand::Diff(diff) => &diff.place,
        SnapshotCommand::Restore(asked) => &asked.place,
        SnapshotCommand::Keep(place) => place,
        SnapshotCommand::Rename(renamed) => &renamed.place,
        SnapshotCommand::Hold(held) | SnapshotCommand::Release(held) => &held.place,
    };
    let settings = match settings(place)? {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        SnapshotCommand::List(asked) => list(&settings, asked)?,
        SnapshotCommand::Keep(place) => return keeper::run(place),
        SnapshotCommand::Restore(asked) => return restore::run(&settings, asked),
        SnapshotCommand::Diff(asked) => {
            let (dataset, name) = one(&settings, &asked.snapshot)?;
            diff(&dataset.diff(name, asked.newer.as_deref())?, asked.json)?;
        }
        SnapshotCommand::Create(named) => {
            let name = create(&settings, &named.snapshot)?;
            show(&settings.server.state);
            out::line(name)?;
        }
        SnapshotCommand::Remove(asked) => {
            let snapshot = &asked.named.snapshot;
            let (dataset, name) = one(&settings, snapshot)?;
            if !asked.caution.permits_script(&format!("the snapshot {snapshot} is removed"))? {
                return Ok(ExitCode::SUCCESS);
            }
            busy(format!("removes {snapshot}"), || dataset.remove(name))?;
            show(&settings.server.state);
        }
        SnapshotCommand::Rename(renamed) => {
            let (dataset, name) = one(&settings, &renamed.snapshot)?;
            dataset.rename(name, &renamed.new)?;
            show(&settings.server.state);
        }
        SnapshotCommand::Hold(held) => {
            let (dataset, name) = one(&settings, &held.snapshot)?;
            dataset.hold(name, &held.tag)?;
        }
        SnapshotCommand::Release(held) => {
            let (dataset, name) = one(&settings, &held.snapshot)?;
            dataset.release(name, &held.tag)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn settings(place: &Where) -> anyhow::Result<Result<Settings, Vec<admin::Diagnostic>>> {
    Ok(Settings::load(&here::of_server(place)?))
}

/// The dataset of a share.
fn dataset(settings: &Settings, share: &str) -> anyhow::Result<Dataset> {
    let found = settings.shares.iter().find(|one| one.name == share).with_context(|| {
        let names: Vec<&str> = settings.shares.iter().map(|share| &*share.name).collect();
        format!("there is no share {share:?}; the shares are: {}", names.join(", "))
    })?;
    Ok(Dataset::find(&found.path)?)
}

/// The dataset and the name of SHARE@NAME.
fn one<'a>(settings: &Settings, snapshot: &'a str) -> anyhow::Result<(Dataset, &'a str)> {
    let Some((share, name)) = snapshot.split_once('@') else {
        return Err(exit::usage_error(format!("{snapshot:?} names no snapshot: write SHARE@NAME")));
    };
    Ok((dataset(settings, share)?, name))
}

/// Has a running server show its clients the snapshots that there are now. Without a server there is nothing to do.
pub(crate) fn show(state: &Path) {
    match patiently(|_| control::snapshots(state)) {
        Ok(_) | Err(AskError::NoServer(_)) => {}
        Err(error) => out::error_line(format_args!(
            "fourfold: the change is made, and clients will see it some seconds later: {error}"
        )),
    }
}

/// Takes a snapshot. Its name.
fn create(settings: &Settings, snapshot: &str) -> anyhow::Result<String> {
    let (share, name) = match snapshot.split_once('@') {
        Some((share, name)) => (share, name.to_owned()),
        None => (snapshot, Zoned::now().strftime("manual-%Y-%m-%d-%H%M%S").to_string()),
    };
    let dataset = dataset(settings, share)?;
    busy(format!("takes {share}@{name}"), || dataset.create(&name, SystemTime::now()))?;
    Ok(format!("{share}@{name}"))
}

/// A snapshot for scripts.
#[derive(Serialize)]
struct Row {
    share: String,
    name: String,
    created: String,
    path: std::path::PathBuf,
    /// What its removal alone would free, where the host knows that.
    used: Option<u64>,
    held: Vec<String>,
}

impl Row {
    fn new(share: &str, snapshot: Snapshot, used: Option<u64>) -> Self {
        let created = Timestamp::try_from(snapshot.created).unwrap_or_default();
        let Snapshot { name, path, held, .. } = snapshot;
        Self {
            share: share.into(),
            name,
            created: created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            path,
            used,
            held,
        }
    }

    fn cells(&self) -> [String; 4] {
        let held = if self.held.is_empty() { "-".into() } else { self.held.join(",") };
        let used = self.used.map_or_else(|| "-".into(), format_size);
        [format!("{}@{}", self.share, self.name), used, self.created.clone(), held]
    }
}

fn list(settings: &Settings, asked: &SnapshotList) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    let mut add = |share: &str, dataset: &Dataset| {
        let used = dataset.snapshot_usage();
        let row = |snapshot: Snapshot| Row::new(share, snapshot.clone(), used.get(&snapshot.name).copied());
        rows.extend(dataset.list()?.into_iter().map(row));
        anyhow::Ok(())
    };
    if let Some(share) = &asked.share {
        add(share, &dataset(settings, share)?)?;
    } else {
        for share in &settings.shares {
            // A share without an engine has none.
            let Ok(dataset) = Dataset::find(&share.path) else { continue };
            add(&share.name, &dataset)?;
        }
    }
    if asked.json {
        return out::json(&rows);
    }
    let headings = ["NAME", "USED", "CREATED", "HELD"].map(str::to_owned);
    Ok(out::print(out::table(std::iter::once(headings).chain(rows.iter().map(Row::cells))))?)
}

/// A change for scripts.
#[derive(Serialize)]
struct ChangeRow<'a> {
    change: &'static str,
    path: &'a std::path::Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a std::path::Path>,
}

impl<'a> ChangeRow<'a> {
    fn new(change: &'a Change) -> Self {
        let (word, from) = match &change.what {
            What::Added => ("added", None),
            What::Removed => ("removed", None),
            What::Modified => ("modified", None),
            What::Renamed { from } => ("renamed", Some(from.as_path())),
        };
        Self { change: word, path: &change.path, from }
    }
}

fn diff(changes: &[Change], json: bool) -> anyhow::Result<()> {
    let rows: Vec<ChangeRow<'_>> = changes.iter().map(ChangeRow::new).collect();
    if json {
        return out::json(&rows);
    }
    let line = |row: &ChangeRow<'_>| {
        let from = row.from.map(|from| format!(" from {}", from.display())).unwrap_or_default();
        format!("{:<8}  {}{from}", row.change, row.path.display())
    };
    Ok(out::lines(rows.iter().map(line))?)
}
