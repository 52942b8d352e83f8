//! The backups of Macs, for the console: how they are, and what counts for each.

use admin::control::{BackupStatus, BackupsAnswer, BackupsRequest, Report};
use web::author::{Author, ChangeResult};
use web::backups::PolicyChange;

use super::change::{self, Changes};
use crate::commands::backups::policy;
use crate::serve::running::Running;

/// The bundles of all shares.
pub(super) fn status(running: &Running) -> Result<Vec<BackupStatus>, Vec<String>> {
    match running.backups(BackupsRequest::List, &|_| true)? {
        BackupsAnswer::List(all) => Ok(all),
        BackupsAnswer::Verified(_) | BackupsAnswer::Done(_) => Ok(Vec::new()),
    }
}

/// Changes what counts for one Mac, in the settings.
pub(super) fn change(
    running: &Running,
    changes: &Changes,
    asked: &PolicyChange,
    by: &Author,
) -> ChangeResult {
    let PolicyChange { share: name, mac, limit, alert, retired } = asked;
    let current = running.current();
    let share = current.settings.shares.iter().find(|share| share.name == *name);
    let share = share.ok_or_else(|| vec![format!("there is no share {name:?}")])?;
    policy::check(share, mac).map_err(|error| vec![format!("{error:#}")])?;
    let (limit, alert) =
        (limit.as_deref().map(policy::limit).transpose(), alert.as_deref().map(policy::alert).transpose());
    let (limit, alert) =
        limit.and_then(|limit| Ok((limit, alert?))).map_err(|error| vec![format!("{error:#}")])?;
    let value = share.with_mac_policy(mac, |policy| {
        policy.limit = limit.unwrap_or(policy.limit);
        policy.alert = alert.unwrap_or(policy.alert);
        policy.retired = retired.unwrap_or(policy.retired);
    });
    let what = format!("{name}: backups of {mac}");
    change::edited(running, changes, (by, &what), |edit| {
        change::assign(running, edit, (name, policy::KEY), value.as_deref())
    })
}
