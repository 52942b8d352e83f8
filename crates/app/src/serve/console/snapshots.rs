//! The snapshots of the shares, for the console.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use admin::ShareSettings;
use admin::control::Report;
use jiff::Zoned;
use jiff::tz::TimeZone;
use snapshots::{Dataset, EngineKind, Refusal};
use vfs::names::text_view;
use web::manage::{PeriodStatus, SnapshotStatus, SnapshotsStatus};

use crate::serve::current::Current;
use crate::serve::running::Running;

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
                let mut inside = inside(running, share);
                all.snapshots.extend(found.into_iter().rev().map(|one| SnapshotStatus {
                    share: share.name.clone(),
                    created: one.created.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
                    path: one.path,
                    used: used.get(&one.name).copied(),
                    inside: inside.remove(one.name.as_bytes()),
                    held: one.held,
                    name: one.name,
                }));
                None
            }
            Err(why) => Some(why.to_string()),
        };
        all.shares.insert(share.name.clone(), refused);
        if !share.snapshot_schedule.rows.is_empty() {
            all.schedules.insert(share.name.clone(), schedule(share));
        }
    }
    Ok(all)
}

/// The paths in the share of the snapshots that clients see, by their names.
fn inside(running: &Running, share: &ShareSettings) -> BTreeMap<Vec<u8>, String> {
    let Ok(volume) = running.volume(share) else { return BTreeMap::new() };
    let place = |path: &[Vec<u8>]| text_view(&path.join(&b'/'));
    let seen = volume.snapshots().into_iter();
    seen.filter_map(|one| Some((one.path.last()?.to_vec(), place(&one.path)))).collect()
}

fn schedule(share: &ShareSettings) -> Vec<PeriodStatus> {
    let (now, zone) = (SystemTime::now(), TimeZone::system());
    let row = |(period, keep): &(snapshots::Period, u32)| PeriodStatus {
        period: period.name(),
        keep: *keep,
        next: period
            .next(now, &zone)
            .and_then(|next| next.duration_since(UNIX_EPOCH).ok())
            .map(|since| since.as_secs()),
    };
    share.snapshot_schedule.rows.iter().map(row).collect()
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

/// Gives a snapshot another name.
pub(super) fn rename(running: &Running, share: &str, name: &str, new: &str) -> Lines {
    let dataset = dataset(running, share)?;
    let command = format!("`fourfold snapshot rename '{share}@{name}' '{new}'`");
    dataset.rename(name, new).map_err(|why| explained(&why, &dataset, &command))?;
    running.look_at_snapshots()?;
    Ok(vec![format!("{share}@{name} is {share}@{new} now")])
}

/// Keeps a snapshot from being removed until the tag is released, or releases it.
pub(super) fn hold(running: &Running, share: &str, name: &str, (tag, is_held): (&str, bool)) -> Lines {
    let dataset = dataset(running, share)?;
    let word = if is_held { "hold" } else { "release" };
    let command = format!("`fourfold snapshot {word} {tag} '{share}@{name}'`");
    let done = if is_held { dataset.hold(name, tag) } else { dataset.release(name, tag) };
    done.map_err(|why| explained(&why, &dataset, &command))?;
    running.look_at_snapshots()?;
    Ok(vec![format!(
        "{share}@{name} is {} by the tag {tag}",
        if is_held { "held" } else { "no longer held" }
    )])
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
