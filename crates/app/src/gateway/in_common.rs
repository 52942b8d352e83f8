//! What the servers of a cluster have in common besides the tree: the accounts, and the settings (`settings.rs`).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use admin::control::Report;
use admin::{Arguments, Settings};
use auth::FileError;
use auth::in_common::{SyncReport, sync};
use cluster::{Cluster, Revisions, Text};
use vfs::backend::host::as_ourselves;
use vfs::index::Index;

use super::settings::{self, Failure, SettingsOwner, SyncOutcome};
use super::texts::OfMember;
use crate::people::accounts;
use crate::serve::current::Current;
use crate::serve::running::Running;
use crate::shares::volumes::Volumes;

/// After a failure.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Brings changes of accounts here to the other servers, and those of others here. Waits for etcd.
pub(super) fn accounts(cluster: &Arc<Cluster>, state: &Path) -> Result<SyncReport, auth::Error> {
    sync(state, &OfMember(cluster.clone(), Text::Accounts))
}

/// The volumes of a server that has joined its cluster, if it has one, and the state with the accounts of the cluster.
pub(crate) async fn joined(
    index: Index,
    state: &Path,
    current: Arc<Current>,
    has_witness: bool,
) -> anyhow::Result<(Arc<Volumes>, Arc<Current>)> {
    let volumes = Volumes::of_server(index, state, &current.settings, has_witness).await?;
    let Some(cluster) = volumes.cluster.clone() else { return Ok((volumes, current)) };
    let folder = state.to_owned();
    let synced = match tokio::task::spawn_blocking(move || accounts(&cluster, &folder)).await? {
        Ok(synced) => synced,
        Err(error @ auth::Error::Cluster(_)) => {
            tracing::warn!("{error}; those that this server knows count meanwhile");
            return Ok((volumes, current));
        }
        Err(error) => return Err(error.into()),
    };
    synced.lines.iter().for_each(|line| tracing::warn!("{line}"));
    if !synced.is_changed {
        return Ok((volumes, current));
    }
    let (current, lines) = accounts::anew(state, &current)?;
    lines.iter().for_each(|line| tracing::warn!("{line}"));
    Ok((volumes, Arc::new(current)))
}

/// Gives changes here to the other servers, before the settings and accounts are read again. Returns lines about accounts.
pub(super) fn before_reload(
    cluster: &Arc<Cluster>,
    arguments: &Arguments,
    state: &Path,
) -> Result<Vec<String>, Vec<String>> {
    let lines = match accounts(cluster, state) {
        Ok(synced) => synced.lines,
        Err(error) => vec![format!("{error}; they are changed there when that is possible")],
    };
    // What is refused here is no settings for others. The caller says why.
    if Settings::load(arguments).is_ok() {
        let common = OfMember(cluster.clone(), Text::Settings);
        settings::sync(arguments, state, &common, SettingsOwner::Changed)
            .map_err(|error| vec![format!("{:#}", anyhow::Error::from(error))])?;
    }
    Ok(lines)
}

/// Applies the changes of other servers as they come, as long as this server runs.
pub(crate) fn follow(running: Arc<Running>, volumes: &Volumes, state: PathBuf) {
    let Some(cluster) = volumes.cluster.clone() else { return };
    tokio::spawn(async move {
        let (mut places, mut known, mut is_again) = (cluster.places(), Revisions::default(), false);
        loop {
            let now = places.borrow_and_update().texts;
            let mut is_done = true;
            if (now.accounts, now.settings) != (known.accounts, known.settings) {
                let (running, cluster, state) = (running.clone(), cluster.clone(), state.clone());
                let work =
                    move || as_ourselves(|| adopt((known, now), is_again, (&running, &cluster, &state)));
                is_done = matches!(tokio::task::spawn_blocking(work).await, Ok(Ok(true)));
            }
            is_again = !is_done;
            if is_done {
                known = now;
                if places.changed().await.is_err() {
                    return;
                }
            } else {
                tokio::time::sleep(AGAIN_AFTER).await;
            }
        }
    });
}

/// What applies changes of other servers.
type Here<'a> = (&'a Running, &'a Arc<Cluster>, &'a Path);

/// Has what others have changed count here. False: it is to be tried again (`is_again`), as what is in the files may not be
/// applied.
fn adopt((known, now): (Revisions, Revisions), is_again: bool, here: Here<'_>) -> bool {
    let is_done = now.accounts == known.accounts || adopt_accounts(is_again, here);
    is_done && (now.settings == known.settings || adopt_settings(is_again, here))
}

fn adopt_accounts(is_again: bool, (running, cluster, state): Here<'_>) -> bool {
    let synced = match accounts(cluster, state) {
        Ok(synced) => synced,
        Err(auth::Error::File(error @ (FileError::Newer { .. } | FileError::Damaged { .. }))) => {
            tracing::error!("the accounts stay as they are: {error}");
            return true; // until they change again
        }
        Err(error) => {
            tracing::warn!("{error}");
            return false;
        }
    };
    synced.lines.iter().for_each(|line| tracing::warn!("{line}"));
    if !synced.is_changed && !is_again {
        return true;
    }
    tracing::info!("accounts were changed at another server");
    match running.accounts_again() {
        Ok(lines) => lines.iter().for_each(|line| tracing::warn!("{line}")),
        Err(error) => {
            tracing::error!("the accounts stay as they were: {error:#}");
            return false;
        }
    }
    true
}

fn adopt_settings(is_again: bool, (running, cluster, state): Here<'_>) -> bool {
    let common = OfMember(cluster.clone(), Text::Settings);
    match settings::sync(running.arguments(), state, &common, SettingsOwner::Changed) {
        Ok(SyncOutcome::Nothing | SyncOutcome::Given) if !is_again => true,
        Ok(done) => {
            if let SyncOutcome::Taken(previous) = done {
                tracing::info!(previous = %previous.display(), "the settings were changed at another server");
            }
            match running.reload() {
                Ok(lines) => {
                    lines.iter().for_each(|line| tracing::warn!("{line}"));
                    true
                }
                Err(lines) => {
                    lines.iter().for_each(|line| tracing::error!("{line}"));
                    is_again // etcd may not have answered the first time
                }
            }
        }
        Err(Failure::Other(error)) => {
            tracing::warn!("the settings of the cluster are not known: {error:#}");
            false
        }
        Err(refused) => {
            tracing::error!("the settings stay as they are: {refused}");
            true
        }
    }
}
