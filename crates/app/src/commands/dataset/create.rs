//! `fourfold create`: a share, its folder, and who may do what in it.

use std::path::Path;
use std::process::ExitCode;

use admin::Settings;
use admin::settings::list_of;
use anyhow::Context;
use auth::Role;
use snapshots::Dataset;

use super::{CommandError, CommandResult, CurrentSettings, FirstFile, assignment, code, folder};
use crate::cli::CreateShare;
use crate::host::here;
use crate::people::{accounts, rights, roles, team, tickets};
use crate::shares;
use crate::terminal::out;

/// Makes a share and its folder.
pub(crate) fn create(asked: &CreateShare) -> anyhow::Result<ExitCode> {
    code(make(asked))
}

fn make(asked: &CreateShare) -> CommandResult<()> {
    let mut arguments = here::of_server(&asked.place)?;
    let first = FirstFile::make(&mut arguments)?;
    let now = CurrentSettings::of(arguments)?;
    if now.names().any(|name| name == asked.name) {
        return Err(anyhow::anyhow!("there is a share {:?} already", asked.name).into());
    }
    let mut edit = now.edit()?;
    edit.add(&asked.name, asked.path.as_deref())?;
    for property in &asked.properties {
        let (key, value) = assignment(property)?;
        edit.set(&asked.name, key, value)?;
    }
    for role in Role::ALL {
        let people = asked.roles.of(role);
        if !people.is_empty() {
            edit.set_list(&asked.name, list_of(role), people)?;
        }
    }
    let made = match (&asked.path, asked.name.rsplit_once('/')) {
        (Some(path), _) => folder::make(of_all_homes(&edit.folder().join(path)), None)?,
        (None, Some((above, last))) => {
            let above = &now.share(above)?.path;
            folder::make(&above.join(last), Dataset::find(above).ok().as_ref())?
        }
        (None, None) => {
            let what = format!("{:?} needs a folder: add --path DIR", asked.name);
            return Err(anyhow::Error::msg(what).into());
        }
    };
    let settings = match now.save(edit) {
        Ok(settings) => settings,
        Err(error) => {
            made.undo();
            return Err(error);
        }
    };
    let lines = match prepared(&asked.name, &settings) {
        Ok(lines) => lines,
        Err(error) => {
            let mut edit = now.edit()?;
            edit.remove(&asked.name)?;
            now.save(edit)?;
            made.undo();
            return Err(error.into());
        }
    };
    first.keep()?;
    lines.into_iter().try_for_each(out::done).map_err(anyhow::Error::from)?;
    now.reload()?;
    check_usable(&asked.name, &settings)
}

/// The folder of a share: that of all homes, if each user has a folder in it.
fn of_all_homes(path: &Path) -> &Path {
    if path.ends_with("%U") { path.parent().unwrap_or(path) } else { path }
}

/// Prepares the folder of a share for those who have a role in it, and says who may do what.
pub(super) fn prepared(name: &str, settings: &Settings) -> anyhow::Result<Vec<String>> {
    let Some(share) = settings.shares.iter().find(|share| share.name == name) else { return Ok(Vec::new()) };
    let Some(team) = &share.team else { return Ok(Vec::new()) };
    let accounts = tickets::with_others(accounts::read(&settings.server.state, settings)?, settings)?;
    let resolved = roles::resolved(settings.clone(), &accounts);
    let share = resolved.shares.iter().find(|share| share.name == name).context("the share is gone")?;
    let preparation = shares::team::prepare_closed(share)?;
    let mut lines = team::lines(share, team, &accounts);
    lines.extend(shares::team::line(share, preparation));
    Ok(lines)
}

/// Fails for a share without roles whose folder its accounts cannot use: the share is there, and the text says what is missing.
fn check_usable(name: &str, settings: &Settings) -> CommandResult<()> {
    let Some(share) = settings.shares.iter().find(|share| share.name == name) else { return Ok(()) };
    if share.team.is_some() || share.homes || share.is_in_store() {
        return Ok(());
    }
    let accounts = accounts::read(&settings.server.state, settings)?;
    match rights::of_accounts(share, settings, &accounts).map_err(CommandError::Failed)? {
        Some(why) => Err(anyhow::Error::msg(why).into()),
        None => Ok(()),
    }
}
