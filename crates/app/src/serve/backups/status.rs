//! How the backups of all Macs are, as the command and the console tell it.

use std::collections::{HashMap, HashSet};

use admin::ShareSettings;
use admin::control::{BackupPoint, BackupStatus, Report, SessionStatus, Status};
use jiff::Timestamp;
use vfs::mac::time_machine::MacCheck;
use vfs::names::text_view;
use vfs::{BackupImage, BackupLimits, MacBackup, Volume, backup_stem};
use wire::ClientIp;

use super::name_of;
use crate::serve::current::Current;
use crate::serve::running::Running;
use crate::shares::backups::explain::{BackupFacts, judge};
use crate::shares::backups::points::points;
use crate::shares::backups::{Backups, now};

/// Sessions that are told of a bundle.
const MOST_SESSIONS: usize = 10;

/// The bundles of all shares. In shares without `time-machine` only those of Time Machine count.
pub(super) fn all(running: &Running, backups: &Backups) -> anyhow::Result<Vec<BackupStatus>> {
    let current = running.current();
    let (server, mut all) = (running.status(), Vec::new());
    for share in current.settings.shares.iter().filter(|share| !share.homes) {
        let found = running.volume(share).and_then(|volume| Ok((volume.backup_bundles().all()?, volume)));
        let (bundles, volume) = match found {
            Ok(found) => found,
            Err(_) if !share.time_machine => continue,
            Err(error) => return Err(error.context(share.path.display().to_string())),
        };
        let bundles: Vec<MacBackup> =
            bundles.into_iter().filter(|one| share.time_machine || one.host.is_some()).collect();
        let twins = twins(&bundles);
        for bundle in &bundles {
            let twin = twins.get(&bundle.name).cloned();
            let place = ShareView { current: &current, share, volume: &volume, server: &server };
            all.push(BackupStatus { twin, ..place.status(backups, bundle) });
        }
    }
    Ok(all)
}

/// Bundles of one Mac in a share: each with the other.
fn twins(bundles: &[MacBackup]) -> HashMap<Vec<u8>, String> {
    let mut first: HashMap<&str, &MacBackup> = HashMap::new();
    let mut twins = HashMap::new();
    for bundle in bundles {
        let Some(host) = bundle.host.as_deref() else { continue };
        if let Some(other) = first.get(host) {
            twins.insert(bundle.name.clone(), text_view(&other.name));
            twins.insert(other.name.clone(), text_view(&bundle.name));
        } else {
            first.insert(host, bundle);
        }
    }
    twins
}

/// A share with what the server knows now.
struct ShareView<'a> {
    current: &'a Current,
    share: &'a ShareSettings,
    volume: &'a Volume,
    server: &'a Status,
}

impl ShareView<'_> {
    fn status(&self, backups: &Backups, bundle: &MacBackup) -> BackupStatus {
        let Self { current, share, volume, server } = self;
        let (name, mac) = (name_of(share, bundle), mac(bundle));
        let record = backups.record(&name);
        let policy = share.mac_policy(&mac);
        let own_limit = policy.and_then(|policy| policy.limit);
        let usual = current.settings.server.told.backup;
        let most_age = policy.map_or(usual, |policy| policy.alert_after(usual));
        let completions = completions(bundle);
        let free = self.free(bundle, own_limit);
        let facts = BackupFacts {
            now: now(),
            is_damaged_for_mac: bundle.is_damaged(),
            is_served: share.time_machine,
            is_retired: policy.is_some_and(|policy| policy.retired),
            most_age: most_age.and_then(|age| i64::try_from(age.as_secs()).ok()),
            free,
            completions,
        };
        let verdict = judge(&facts, &record);
        let users: Vec<String> =
            writers(share, volume, bundle, server).into_iter().map(|(who, _)| who).collect();
        let all = points(share, &current.settings.server.state, volume, &bundle.name);
        let points = all.into_iter().map(|point| {
            let verified = record.points.get(point.name());
            BackupPoint {
                taken: point.taken(),
                verified: verified.filter(|point| !point.damaged).map(|point| point.at),
                damaged: verified.is_some_and(|point| point.damaged),
                snapshot: point.name().to_owned(),
            }
        });
        BackupStatus {
            share: share.name.clone(),
            bundle: name.bundle,
            owner: owner(current, bundle.owner),
            model: bundle.model.clone(),
            host: bundle.host.clone(),
            state: verdict.state,
            line: verdict.line,
            advice: verdict.advice,
            completed: facts.completions.last().copied(),
            oldest: facts.completions.first().copied(),
            backups: facts.completions.len(),
            expected: verdict.expected,
            changed: bundle.changed.secs,
            size: bundle.size,
            encrypted: bundle.is_encrypted,
            limit: share.time_machine_size,
            own_limit,
            free,
            growth_per_day: verdict.growth_per_day,
            full_in_s: verdict.full_in_s,
            received: received(&users, &server.sessions),
            users,
            sessions: record.sessions.iter().rev().take(MOST_SESSIONS).cloned().collect(),
            mac_check: bundle.check.map(|check| check_in_a_word(check).to_owned()),
            mac_checked: bundle.check_date.as_deref().and_then(seconds),
            verification: record.verification.clone(),
            points: points.collect(),
            kept: record.kept.clone(),
            alert_days: most_age.map(|age| age.as_secs() / 86_400),
            twin: None,
            mac,
        }
    }

    /// What is left for a Mac: of the disk, of the share's limit, and of its own.
    fn free(&self, bundle: &MacBackup, own: Option<u64>) -> Option<u64> {
        let root = self.volume.root().ok()?;
        let limits = BackupLimits { share: self.share.time_machine_size, macs: Vec::new() };
        let space = self.volume.backup_bundles().space(&vfs::Caller::root(), &root.object, &limits).ok()?;
        let of_own = own.map(|limit| limit.saturating_sub(bundle.size.unwrap_or(0)));
        Some(of_own.map_or(space.available, |left| left.min(space.available)))
    }
}

fn check_in_a_word(check: MacCheck) -> &'static str {
    match check {
        MacCheck::Unchecked => "unchecked",
        MacCheck::Whole => "whole",
        MacCheck::Damaged => "damaged",
        MacCheck::Other(_) => "unknown",
    }
}

fn owner(current: &Current, uid: u32) -> String {
    current.accounts.unix().user_numbered(uid).map_or_else(|| uid.to_string(), |user| user.name.clone())
}

/// The name of a bundle without its ending.
pub(super) fn mac(bundle: &MacBackup) -> String {
    text_view(backup_stem(&bundle.name).unwrap_or(&bundle.name))
}

/// When backups were completed, the oldest first.
pub(super) fn completions(bundle: &MacBackup) -> Vec<i64> {
    bundle.completions.iter().filter_map(|text| seconds(text)).collect()
}

fn seconds(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// Who has files of the bundle open for writing, and whether there is a connection.
pub(super) fn writers(
    share: &ShareSettings,
    volume: &Volume,
    bundle: &MacBackup,
    server: &Status,
) -> Vec<(String, bool)> {
    let is_of_share =
        |open: &&admin::control::OpenStatus| open.share == share.name && open.access.contains('w');
    let mut writing = server.opens.iter().filter(is_of_share).peekable();
    if writing.peek().is_none() {
        return Vec::new();
    }
    let files = BackupImage::open(volume, &bundle.name).and_then(|bundle| bundle.files()).unwrap_or_default();
    let inodes: HashSet<u64> = files.iter().map(|file| file.inode).collect();
    let connected: HashSet<String> = server.sessions.iter().map(label).collect();
    let mut writers: Vec<(String, bool)> = writing
        .filter(|open| inodes.contains(&open.inode))
        .map(|open| (open.owner.clone(), connected.contains(&open.owner)))
        .collect();
    writers.sort();
    writers.dedup();
    writers
}

/// Whether one of them has said that it sleeps.
pub(super) fn sleeps(writers: &[(String, bool)], server: &Status) -> bool {
    let asleep = server.sessions.iter().filter(|session| session.asleep).map(label);
    asleep.into_iter().any(|one| writers.iter().any(|(who, _)| *who == one))
}

/// How an open is labelled that a session has.
fn label(session: &SessionStatus) -> String {
    format!("{} at {}", session.user.as_deref().unwrap_or_default(), ClientIp(session.peer.ip()))
}

fn received(users: &[String], sessions: &[SessionStatus]) -> u64 {
    sessions.iter().filter(|one| users.contains(&label(one))).map(|one| one.bytes_in).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(name: &str, host: Option<&str>) -> MacBackup {
        MacBackup {
            name: name.as_bytes().to_vec(),
            owner: 1000,
            size: None,
            band_size: None,
            changed: vfs::Time::default(),
            completions: vec!["2026-11-22T20:11:05Z".into(), "no time".into()],
            check: None,
            check_date: None,
            model: None,
            host: host.map(str::to_owned),
            is_encrypted: None,
        }
    }

    #[test]
    fn two_bundles_of_one_mac_name_each_other() {
        let all = [
            bundle("a.sparsebundle", Some("x")),
            bundle("b.sparsebundle", Some("y")),
            bundle("a 2.sparsebundle", Some("x")),
            bundle("c.sparsebundle", None),
        ];
        let twins = twins(&all);
        assert_eq!(twins[&b"a.sparsebundle".to_vec()], "a 2.sparsebundle");
        assert_eq!(twins[&b"a 2.sparsebundle".to_vec()], "a.sparsebundle");
        assert_eq!(twins.len(), 2);
    }

    #[test]
    fn times_that_are_none_are_left_out() {
        assert_eq!(completions(&bundle("a.sparsebundle", None)), [1_795_378_265]);
        assert_eq!(mac(&bundle("Ada's Mac.sparsebundle", None)), "Ada's Mac");
    }
}
