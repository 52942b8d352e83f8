//! `fourfold cluster settings`: the settings that all servers have alike, shown, taken and given.

use std::process::ExitCode;

use admin::settings::Edit;
use admin::settings::in_common::{common_part, differing};
use admin::{Arguments, Settings};
use auth::common_text::CommonText;
use cluster::Text;
use serde::Serialize;

use super::of;
use super::settings::{Failure, SettingsOwner, SyncOutcome, sync};
use super::texts::OfSettings;
use crate::cli::ClusterSettingsCommand;
use crate::commands::user::tell_server;
use crate::terminal::{exit, out};

/// What `show --json` prints. Scripts read it: fields may be added, never renamed or removed.
#[derive(Serialize)]
struct SharedSettingsReport {
    /// `None`: no server has given its settings yet.
    text: Option<String>,
    /// The settings in which the settings file differs.
    differing: Vec<String>,
}

pub(super) fn run(
    asked: &ClusterSettingsCommand,
    arguments: &Arguments,
    settings: &Settings,
) -> anyhow::Result<ExitCode> {
    let (cluster, state) = (of(settings)?, &settings.server.state);
    let common = OfSettings(&cluster, Text::Settings);
    let text = || anyhow::Ok(common.read().map_err(anyhow::Error::msg)?.map(|(text, _)| text));
    let (whose, caution, what) = match asked {
        ClusterSettingsCommand::Show(show) => return shown(text()?, arguments, show.json),
        ClusterSettingsCommand::Take(at) => {
            (SettingsOwner::Cluster, &at.caution, "the settings file becomes that of the cluster")
        }
        ClusterSettingsCommand::Give(at) => {
            (SettingsOwner::Here, &at.caution, "the settings of this file become those of all servers")
        }
    };
    let changed = differences(text()?.as_deref(), arguments)?;
    let changed = if changed.is_empty() { "nothing differs".into() } else { changed.join(", ") };
    if !caution.permits_script(&format!("{what}: {changed}"))? {
        return Ok(ExitCode::SUCCESS);
    }
    admin::State::folder(state)?;
    let line = match sync(arguments, state, &common, whose) {
        Ok(SyncOutcome::Nothing) => "the settings file has the settings of the cluster already".to_owned(),
        Ok(SyncOutcome::Given) => {
            "the cluster has the settings of the settings file; its servers take them".to_owned()
        }
        Ok(SyncOutcome::Taken(previous)) => format!(
            "the settings file has the settings of the cluster; as it was before, it is in {}",
            previous.display()
        ),
        Err(Failure::Refused(diagnostics)) => return Ok(exit::refused(&diagnostics)),
        Err(failure) => return Err(failure.into()),
    };
    tell_server(state);
    out::line(line)?;
    Ok(ExitCode::SUCCESS)
}

/// The settings in which the settings file differs from the text of the cluster.
fn differences(text: Option<&str>, arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let (own, _) = Edit::open(arguments)?.texts();
    let own = common_part(&own).map_err(anyhow::Error::msg)?;
    differing(&own, text).map_err(anyhow::Error::msg)
}

fn shown(text: Option<String>, arguments: &Arguments, json: bool) -> anyhow::Result<ExitCode> {
    let differing = differences(text.as_deref(), arguments)?;
    if json {
        out::json(&SharedSettingsReport { text, differing })?;
        return Ok(ExitCode::SUCCESS);
    }
    match text {
        Some(text) => out::print(text)?,
        None => out::line("no server has given its settings to the cluster yet")?,
    }
    if !differing.is_empty() {
        out::error_line(format_args!("the settings file differs in: {}", differing.join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}
