//! `fourfold group`: groups of the server's own.

use std::path::Path;
use std::process::ExitCode;

use admin::settings::Who;
use admin::{Settings, State};
use anyhow::bail;
use auth::{AccountFile, GroupRecord, UnixAccounts};

use super::user::tell_server;
use crate::cli::{Caution, GroupArgs, GroupCommand, Where};
use crate::host::here;
use crate::people::groups;
use crate::terminal::{exit, out};

/// Changes or lists the groups of a state folder, with or without a running server.
pub(crate) fn run(command: &GroupCommand) -> anyhow::Result<ExitCode> {
    let place = match command {
        GroupCommand::Add { named, .. }
        | GroupCommand::Modify { named, .. }
        | GroupCommand::Remove { named, .. } => &named.state,
        GroupCommand::List { state, .. } => state,
    };
    let state = match here::state(place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        GroupCommand::Add { named, accounts } => add(&state, named, accounts)?,
        GroupCommand::Modify { named, add, remove } => modify(&state, named, add, remove)?,
        GroupCommand::Remove { named, caution } => remove(&state, named, caution)?,
        GroupCommand::List { json, .. } => list(&state, *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn add(state: &Path, named: &GroupArgs, accounts: &[String]) -> anyhow::Result<()> {
    let GroupArgs { name, state: place } = named;
    if let Some(group) = UnixAccounts::NameService.group(name) {
        bail!("this host has a group {name:?} (gid {}): `@{name}` means it already", group.gid);
    }
    State::folder(state)?;
    check_accounts(state, place, accounts)?;
    let number = AccountFile::edit(state, |file| file.add_group(name, accounts.to_vec()))?;
    tell_server(state);
    Ok(out::done(format_args!("{name}: made, with gid {number}; {}", members(accounts)))?)
}

fn modify(state: &Path, named: &GroupArgs, added: &[String], removed: &[String]) -> anyhow::Result<()> {
    check_accounts(state, &named.state, added)?;
    let group = AccountFile::edit(state, |file| {
        file.change_members(&named.name, added, removed)?;
        Ok(file.find_group(&named.name).cloned())
    })?;
    tell_server(state);
    let now = group.map(|group| group.members).unwrap_or_default();
    Ok(out::done(format_args!("{}: {}", named.name, members(&now)))?)
}

fn remove(state: &Path, named: &GroupArgs, caution: &Caution) -> anyhow::Result<()> {
    let name = &named.name;
    if AccountFile::read(state)?.find_group(name).is_some()
        && !caution
            .permits_script(&format!("the group {name} is removed, with its roles; its accounts stay"))?
    {
        return Ok(());
    }
    AccountFile::edit(state, |file| file.remove_group(name))?;
    tell_server(state);
    out::done(format_args!("{name}: removed"))?;
    for share in shares_of(&named.state, name)? {
        out::line(format_args!(
            "{share}: its role for @{name} is for no one now; `fourfold share access {share} --remove @{name}` takes it away"
        ))?;
    }
    Ok(())
}

/// The shares in which a group has a role.
fn shares_of(place: &Where, group: &str) -> anyhow::Result<Vec<String>> {
    let Ok(settings) = Settings::load(&here::of_server(place)?) else { return Ok(Vec::new()) }; // other commands say why
    let group = Who::Group(group.to_owned());
    let has_role = |share: &&admin::ShareSettings| {
        share.team.as_ref().is_some_and(|team| team.entries.iter().any(|entry| entry.who == group))
    };
    Ok(settings.shares.iter().filter(has_role).map(|share| share.name.clone()).collect())
}

fn list(state: &Path, json: bool) -> anyhow::Result<()> {
    let file = AccountFile::read(state)?;
    if json {
        let group = |group: &GroupRecord| serde_json::json!({ "name": group.name, "gid": group.number, "accounts": group.members });
        return out::json(&file.groups.iter().map(group).collect::<Vec<_>>());
    }
    if file.groups.is_empty() {
        out::line("there are no groups; `fourfold group add NAME ACCOUNT…` makes one")?;
    }
    let width = file.groups.iter().map(|group| group.name.chars().count()).max().unwrap_or(0);
    for GroupRecord { name, number, members: accounts } in &file.groups {
        out::line(format_args!("{name:<width$}  gid {number}; {}", members(accounts)))?;
    }
    Ok(())
}

fn members(accounts: &[String]) -> String {
    match accounts {
        [] => "no members".into(),
        accounts => format!("members: {}", accounts.join(", ")),
    }
}

/// A mistyped name must not wait for somebody who makes an account of it.
fn check_accounts(state: &Path, place: &Where, names: &[String]) -> anyhow::Result<()> {
    let file = AccountFile::read(state)?;
    let settings = Settings::load(&here::of_server(place)?).ok();
    let is_set = |name: &str| {
        let users = settings.iter().flat_map(|settings| &settings.users);
        users.clone().any(|user| auth::is_same_name(&user.name, name))
    };
    let has_pam = settings.as_ref().is_some_and(|settings| settings.server.pam_service.is_some());
    let is_of_host = |name: &str| has_pam && UnixAccounts::NameService.user(name).is_some();
    let is_known = |name: &str| {
        file.find_in_any_case(name).is_some()
            || groups::is_of_domain(name)
            || is_set(name)
            || is_of_host(name)
    };
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(auth::Error::Missing(name.clone()).into()),
        None => Ok(()),
    }
}
