//! The backups of Macs, for the console.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

use admin::ShareSettings;
use admin::control::{Report, SessionStatus, Status};
use jiff::Timestamp;
use vfs::MacBackup;
use vfs::names::text_view;
use web::backups::{BackupState, BackupStatus};
use wire::ClientIp;

use crate::serve::running::Running;
use crate::shares::keeper::is_in_bundle;

/// The bundles in the shares with `time-machine`.
pub(super) fn status(running: &Running) -> Result<Vec<BackupStatus>, Vec<String>> {
    let current = running.current();
    let server = running.status();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let oldest = current.settings.server.told.backup.map(|age| now.saturating_sub(age.as_secs() as i64));
    let mut all = Vec::new();
    for share in current.settings.shares.iter().filter(|share| share.time_machine) {
        let failed = |error: String| vec![format!("{}: {error}", share.path.display())];
        let volume = running.volume(share).map_err(|error| failed(format!("{error:#}")))?;
        let bundles = volume.mac_backups().map_err(|error| failed(error.to_string()))?;
        let limit = share.time_machine_size;
        let root = volume.root().map_err(|error| failed(error.to_string()))?;
        let space = volume.backup_space(&root.object, limit.unwrap_or(u64::MAX)).ok();
        let free = space.map(|space| space.available);
        all.extend(bundles.into_iter().map(|bundle| {
            let users = users(share, &bundle, &server);
            told(share, &bundle, (limit, free), (users, &server.sessions), oldest)
        }));
    }
    Ok(all)
}

/// Who has a file of the bundle open for writing.
fn users(share: &ShareSettings, bundle: &MacBackup, server: &Status) -> Vec<String> {
    let path = share.path.join(OsStr::from_bytes(&bundle.name));
    let writing = server.opens.iter().filter(|open| open.access.contains('w') && is_in_bundle(&path, open));
    let mut users: Vec<String> = writing.map(|open| open.owner.clone()).collect();
    users.sort();
    users.dedup();
    users
}

fn told(
    share: &ShareSettings,
    bundle: &MacBackup,
    (limit, free): (Option<u64>, Option<u64>),
    (users, sessions): (Vec<String>, &[SessionStatus]),
    oldest: Option<i64>,
) -> BackupStatus {
    let completed = bundle.completed.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
    let completed = completed.map(Timestamp::as_second);
    let name = text_view(&bundle.name);
    let owner = |one: &SessionStatus| {
        format!("{} at {}", one.user.as_deref().unwrap_or_default(), ClientIp(one.peer.ip()))
    };
    BackupStatus {
        share: share.name.clone(),
        mac: name.rsplit_once('.').map_or(name.clone(), |(mac, _)| mac.to_owned()),
        model: bundle.model.clone(),
        state: state(bundle.is_damaged, completed, !users.is_empty(), oldest),
        completed,
        changed: bundle.changed.secs,
        size: bundle.size,
        limit,
        free,
        received: sessions.iter().filter(|one| users.contains(&owner(one))).map(|one| one.bytes_in).sum(),
        users,
    }
}

/// A backup that was completed before `oldest` is overdue, as the alert is about it.
fn state(is_damaged: bool, completed: Option<i64>, is_written: bool, oldest: Option<i64>) -> BackupState {
    match completed {
        _ if is_damaged => BackupState::Damaged,
        _ if is_written => BackupState::BackingUp,
        None => BackupState::Incomplete,
        Some(completed) if oldest.is_some_and(|oldest| completed < oldest) => BackupState::Overdue,
        Some(_) => BackupState::Good,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_overdue_at_its_limit_and_damage_comes_first() {
        let oldest = 1_800_000_000;
        let state =
            |is_damaged, completed, is_written| state(is_damaged, completed, is_written, Some(oldest));
        assert_eq!(state(false, Some(oldest), false), BackupState::Good);
        assert_eq!(state(false, Some(oldest - 1), false), BackupState::Overdue);
        assert_eq!(state(false, Some(oldest - 1), true), BackupState::BackingUp);
        assert_eq!(state(false, None, false), BackupState::Incomplete);
        assert_eq!(state(true, Some(oldest), true), BackupState::Damaged);
        assert_eq!(super::state(false, Some(0), false, None), BackupState::Good, "the alert is off");
    }
}
