//! The settings that all servers of a cluster have alike: a text in etcd, and the same in the settings file of each server. What
//! both had when they were last the same is in the state folder, so it is known what has changed where.

use std::path::{Path, PathBuf};

use admin::settings::in_common::{Before, Todo, common_part, joined, todo};
use admin::settings::{Edit, EditError, Place, Severity};
use admin::{Arguments, Diagnostic, Settings};
use auth::common_text::{CommonText, Last, TRIES};
use auth::durable;
use cluster::Text;

use super::texts::OfSettings;

/// What both had last, in the state folder.
const LAST: &str = "settings.cluster";
/// What the settings file was before it took those of the cluster, beside it.
const PREVIOUS: &str = "previous";
/// Whose settings count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingsOwner {
    /// Those that have changed.
    Changed,
    /// Those of the settings file.
    Here,
    /// Those of the cluster.
    Cluster,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SyncOutcome {
    /// Both are as they were.
    Nothing,
    /// The cluster has those of the settings file.
    Given,
    /// The settings file has those of the cluster. The one before is kept in this file.
    Taken(PathBuf),
}

/// Why settings here and those of the cluster do not become the same.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A person has to choose.
    #[error(
        "the settings file and the settings of the cluster were both changed, and differ in: {}; `fourfold cluster settings take` \
         takes those of the cluster, `fourfold cluster settings give` gives those of the file to all servers",
        .0.join(", ")
    )]
    Choose(Vec<String>),
    /// Those of the cluster are refused here.
    #[error("the settings of the cluster are refused here: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Diagnostic>),
    /// etcd or a file cannot be used.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

/// Makes the settings file and the settings of the cluster the same. The settings of the file were accepted before.
pub(crate) fn sync(
    arguments: &Arguments,
    state: &Path,
    common: &dyn CommonText,
    whose: SettingsOwner,
) -> Result<SyncOutcome, Failure> {
    let _lock = durable::lock(&state.join("settings.lock")).map_err(anyhow::Error::from)?;
    let (file, cluster) = (state.join(LAST), common.cluster());
    let last = Last::read(&file, cluster);
    let remember = |there: String, here: String| {
        Last::new(cluster, there, here).write(&file).map_err(anyhow::Error::from)
    };
    for _ in 0..TRIES {
        let edit = Edit::open(arguments).map_err(failure)?;
        let (text, _) = edit.texts();
        let here = common_part(&text).map_err(anyhow::Error::msg)?;
        let found = common.read().map_err(anyhow::Error::msg)?;
        let (there, revision) = found.map_or((None, 0), |(text, revision)| (Some(text), revision));
        let before = last.as_ref().map(|last| Before { here: last.here(), there: last.there() });
        let todo = match whose {
            SettingsOwner::Changed => todo(&here, there.as_deref(), before).map_err(anyhow::Error::msg)?,
            SettingsOwner::Here => Todo::Give,
            SettingsOwner::Cluster => Todo::Take,
        };
        match (todo, there) {
            (Todo::Choose(keys), _) => return Err(Failure::Choose(keys)),
            (Todo::Nothing, _) => return Ok(SyncOutcome::Nothing),
            (Todo::Give, _) => {
                if common.swap(revision, &here).map_err(anyhow::Error::msg)? {
                    remember(here.clone(), here)?;
                    return Ok(SyncOutcome::Given);
                }
            }
            (Todo::Take, None) => {
                return Err(anyhow::anyhow!(
                    "the cluster has no settings yet: the first server gives its own"
                )
                .into());
            }
            (Todo::Take, Some(there)) => {
                let taken = take(edit, arguments, &there)?;
                let here = common_part(&taken.text).map_err(anyhow::Error::msg)?;
                remember(there, here)?;
                return Ok(taken.previous.map_or(SyncOutcome::Nothing, SyncOutcome::Taken));
            }
        }
    }
    Err(anyhow::anyhow!("other servers change the settings of the cluster all the time").into())
}

struct AdoptedSettings {
    text: String,
    /// `None`: the file was so already.
    previous: Option<PathBuf>,
}

fn take(mut edit: Edit, arguments: &Arguments, there: &str) -> Result<AdoptedSettings, Failure> {
    let (before, _) = edit.texts();
    let text = joined(&before, there).map_err(anyhow::Error::msg)?;
    if text == before {
        return Ok(AdoptedSettings { text, previous: None });
    }
    let mut previous = edit.path().as_os_str().to_owned();
    previous.push(format!(".{PREVIOUS}"));
    let previous = PathBuf::from(previous);
    edit.replace_all(&text).map_err(failure)?;
    // Before the file changes: it may have what a person has written a minute ago.
    let kept = durable::replace(&previous, before.as_bytes());
    kept.map_err(|error| anyhow::anyhow!("{} cannot be written: {error}", previous.display()))?;
    edit.save(arguments).map_err(failure)?;
    Ok(AdoptedSettings { text, previous: Some(previous) })
}

fn failure(error: EditError) -> Failure {
    match error {
        EditError::Refused(diagnostics) => Failure::Refused(diagnostics),
        EditError::Failed(text) => Failure::Other(anyhow::Error::msg(text)),
    }
}

/// The settings of a server that starts, after its file and the settings of the cluster were made the same.
///
/// # Errors
/// Both have changed, or those of the cluster are refused here.
pub(crate) fn at_start(arguments: &Arguments, settings: Settings) -> Result<Settings, Vec<Diagnostic>> {
    let Some(cluster) = &settings.server.cluster else { return Ok(settings) };
    let common = OfSettings(cluster, Text::Settings);
    match sync(arguments, &settings.server.state, &common, SettingsOwner::Changed) {
        Ok(SyncOutcome::Nothing) => Ok(settings),
        Ok(SyncOutcome::Given) => {
            tracing::info!("the other servers of the cluster get the settings of this one");
            Ok(settings)
        }
        Ok(SyncOutcome::Taken(previous)) => {
            tracing::warn!(previous = %previous.display(), "the settings were changed at another server of the cluster: they count here, too");
            Settings::load(arguments)
        }
        Err(Failure::Other(error)) => {
            tracing::warn!("the settings of the cluster are not known: {error:#}");
            Ok(settings)
        }
        Err(failure @ Failure::Choose(_)) => Err(vec![Diagnostic {
            severity: Severity::Error,
            place: Place::Default,
            what: failure.to_string(),
            instead: "docs/cluster.md describes the settings that all servers have alike".to_owned(),
        }]),
        Err(Failure::Refused(diagnostics)) => Err(diagnostics),
    }
}

#[cfg(test)]
mod tests;
