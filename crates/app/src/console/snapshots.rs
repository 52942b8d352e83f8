//! The snapshots of the shares, for the console.

use std::time::{SystemTime, UNIX_EPOCH};

use admin::ShareSettings;
use admin::control::Report;
use jiff::Zoned;
use snapshots::{Dataset, EngineKind, Refusal};
use web::manage::{SnapshotStatus, SnapshotsStatus};

use crate::running::{Current, Running};

type Lines = Result<Vec<String>, Vec<String>>;

/// The snapshots of one share, or of all.
pub(super) fn status(running: &Running, only: Option<&str>) -> Result<SnapshotsStatus, Vec<String>> {
    let current = running.current();
    if let Some(name) = only {
        share(&current, name)?;
    }
    let mut all = SnapshotsStatus::default();
    for share in current.settings.shares.iter().filter(|share| only.is_none_or(|name| share.name == name)) {
        let refused = match Dataset::find(&share.path).and_then(|dataset| Ok((dataset.list()?, dataset))) {
            Ok((found, dataset)) => {
                let used = dataset.snapshot_usage();
                all.snapshots.extend(found.into_iter().map(|one| SnapshotStatus {
                    share: share.name.clone(),
                    created: one.created.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
                    path: one.path,
                    used: used.get(&one.name).copied(),
                    held: one.held,
                    name: one.name,
                }));
                None
            }
            Err(why) => Some(why.to_string()),
        };
        all.shares.insert(share.name.clone(), refused);
    }
    Ok(all)
}

pub(super) fn share<'a>(current: &'a Current, name: &str) -> Result<&'a ShareSettings, Vec<String>> {
    let found = current.settings.shares.iter().find(|share| share.name == name);
    found.ok_or_else(|| vec![format!("there is no share {name:?}; `GET /v1/shares` lists them")])
}

fn dataset(running: &Running, name: &str) -> Result<Dataset, Vec<String>> {
    Dataset::find(&share(&running.current(), name)?.path).map_err(|why| vec![why.to_string()])
}

/// Takes a snapshot.
pub(super) fn take(running: &Running, share: &str, name: Option<&str>) -> Lines {
    let named_by_time = || Zoned::now().strftime("manual-%Y-%m-%d-%H%M%S").to_string();
    let name = name.map_or_else(named_by_time, str::to_owned);
    let dataset = dataset(running, share)?;
    let command = format!("`fourfold snapshot create '{share}@{name}'`");
    dataset.create(&name, SystemTime::now()).map_err(|why| explained(&why, &dataset, &command))?;
    running.look_at_snapshots()?;
    Ok(vec![format!("{share}@{name}")])
}

/// Removes a snapshot.
pub(super) fn remove(running: &Running, share: &str, name: &str) -> Lines {
    let dataset = dataset(running, share)?;
    let command = format!("`fourfold snapshot remove '{share}@{name}'`");
    dataset.remove(name).map_err(|why| explained(&why, &dataset, &command))?;
    running.look_at_snapshots()?;
    Ok(vec![format!("{share}@{name} is removed")])
}

/// The server has given up the privileges that some engines need.
fn explained(why: &Refusal, dataset: &Dataset, command: &str) -> Vec<String> {
    let needs_root = matches!(dataset.engine(), EngineKind::Btrfs | EngineKind::Zfs);
    let by_hand = format!("the server has given up the privileges for this: {command} on the host does it");
    let is_of_host = !matches!(
        why,
        Refusal::Name { .. } | Refusal::Exists { .. } | Refusal::Missing { .. } | Refusal::Held { .. }
    );
    [why.to_string()].into_iter().chain((needs_root && is_of_host).then_some(by_hand)).collect()
}
