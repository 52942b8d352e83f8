//! The names and holds of the snapshots, which follow those of the source.
//!
//! A schedule gives the name of a snapshot to the next one. So each snapshot that has a new name gets its first name again, which
//! is made of its identity, before any gets its new one. After a crash the next run finds the first names.

use jiff::Timestamp;
use snapshots::{Dataset, Refusal, Snapshot};
use wire::hex;

use crate::failure::{Failure, Result};
use crate::record::{DestinationSnapshot, Record, first_name};
use crate::wire::Row;

/// Makes names and holds those of the source. Returns sentences about what could not be done.
pub(super) fn follow(
    dataset: &Dataset,
    record: &mut Record,
    rows: &[Row],
    keep: bool,
) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    let row = |kept: &DestinationSnapshot| rows.iter().find(|row| hex::encode(&row.id) == kept.id);
    let is_gone = |kept: &DestinationSnapshot| row(kept).is_none();
    // If the source has none of them, it has lost them, and they are worth more here.
    let is_lost = record.snapshots.iter().all(is_gone);
    for at in (0..record.snapshots.len()).rev() {
        let kept = record.snapshots[at].clone();
        if is_gone(&kept) && gone(dataset, &kept, rows, keep || is_lost, &mut warnings, record, at)? {
            record.snapshots.remove(at);
            record.write(dataset.folder())?;
        }
    }
    let wanted = |kept: &DestinationSnapshot| row(kept).map(|row| row.name.clone());
    for at in 0..record.snapshots.len() {
        let kept = &record.snapshots[at];
        let first = first_name(&kept.id);
        if wanted(kept).is_some_and(|name| name != kept.name) && kept.name != first {
            rename(dataset, record, at, &first)?;
        }
    }
    for at in 0..record.snapshots.len() {
        let Some(name) = wanted(&record.snapshots[at]) else { continue };
        if name != record.snapshots[at].name {
            match rename(dataset, record, at, &name) {
                Err(Failure::Snapshot(why @ Refusal::Exists { .. })) => {
                    warnings.push(format!("{name} of the source stays {}: {why}", record.snapshots[at].name));
                }
                renamed => renamed?,
            }
        }
    }
    for at in 0..record.snapshots.len() {
        let Some(row) = row(&record.snapshots[at]) else { continue };
        hold(dataset, record, at, &row.held)?;
    }
    Ok(warnings)
}

/// The record has both names before the snapshot gets the new one.
fn rename(dataset: &Dataset, record: &mut Record, at: usize, name: &str) -> Result<()> {
    let before = record.snapshots[at].clone();
    let kept = &mut record.snapshots[at];
    kept.was = Some(std::mem::replace(&mut kept.name, name.to_owned()));
    record.write(dataset.folder())?;
    let renamed = dataset.rename(&before.name, name);
    if let Err(Refusal::Exists { .. }) = renamed {
        record.snapshots[at] = before;
        record.write(dataset.folder())?;
    }
    Ok(renamed?)
}

/// A snapshot that the source does not have any more. Returns whether it was removed.
fn gone(
    dataset: &Dataset,
    kept: &DestinationSnapshot,
    rows: &[Row],
    keep: bool,
    warnings: &mut Vec<String>,
    record: &mut Record,
    at: usize,
) -> Result<bool> {
    hold(dataset, record, at, &[])?;
    let snapshot = dataset.snapshot(&kept.name)?;
    if !keep && snapshot.held.is_empty() {
        dataset.remove(&kept.name)?;
        return Ok(true);
    }
    if !keep {
        let tags = snapshot.held.join(", ");
        warnings
            .push(format!("{} stays: the source has removed it, but it is held here ({tags})", kept.name));
    }
    // Its name may be that of another one now.
    if rows.iter().any(|row| row.name == kept.name) {
        rename(dataset, record, at, &dated(&snapshot))?;
    }
    Ok(false)
}

/// `hourly-20261123T013400Z`, as schedules name held snapshots.
fn dated(snapshot: &Snapshot) -> String {
    let base = snapshot.name.split('.').next().unwrap_or(&snapshot.name);
    let time = Timestamp::try_from(snapshot.created).unwrap_or_default();
    format!("{base}-{}", time.strftime("%Y%m%dT%H%M%SZ"))
}

/// Holds a snapshot by these tags of the source, and releases the others of the source. Tags that were set here stay. The
/// record has a tag before it is set, and until it is released.
fn hold(dataset: &Dataset, record: &mut Record, at: usize, tags: &[String]) -> Result<()> {
    let DestinationSnapshot { name, held: before, .. } = record.snapshots[at].clone();
    let there = dataset.snapshot(&name)?.held;
    if before == tags && tags.iter().all(|tag| there.contains(tag)) {
        return Ok(());
    }
    let is_of_source = |tag: &&String| before.contains(tag) || !there.contains(tag);
    let held: Vec<String> = tags.iter().filter(is_of_source).cloned().collect();
    let ended: Vec<String> = before.iter().filter(|tag| !tags.contains(tag)).cloned().collect();
    record.snapshots[at].held = held.iter().chain(&ended).cloned().collect();
    record.write(dataset.folder())?;
    for tag in ended.iter().filter(|tag| there.contains(tag)) {
        dataset.release(&name, tag)?;
    }
    for tag in tags.iter().filter(|tag| !there.contains(tag)) {
        dataset.hold(&name, tag)?;
    }
    record.snapshots[at].held = held;
    record.write(dataset.folder())
}
