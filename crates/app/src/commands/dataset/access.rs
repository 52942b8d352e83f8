//! `fourfold share access`: who has which role in a share.

use std::process::ExitCode;

use admin::settings::{Edit, TeamEntry, TeamFolder, Who, list_of};
use admin::{Settings, ShareSettings};
use anyhow::bail;
use auth::{Directory, Role};
use serde::Serialize;

use super::{CommandResult, CurrentSettings, code, create};
use crate::cli::ShareAccess;
use crate::people::{accounts, team, tickets};
use crate::terminal::out;

/// The settings that say who may enter a share without roles.
const WITHOUT_ROLES: [&str; 3] = ["users", "groups", "guests"];

/// Shows who has which role, or changes it.
pub(crate) fn access(asked: &ShareAccess) -> anyhow::Result<ExitCode> {
    code((|| {
        let mut now = CurrentSettings::read(&asked.place)?;
        let before = now.share(&asked.name)?.clone();
        if asked.roles.is_empty() && asked.remove.is_empty() {
            return Ok(show(&before, &now, asked.json)?);
        }
        let team = changed(before.team.clone().unwrap_or_default(), asked)?;
        if team.entries.is_empty() {
            let what =
                format!("no one would have a role in {:?}: give one to somebody else first", asked.name);
            return Err(anyhow::Error::msg(what).into());
        }
        let (mut edit, first) = now.edit_of(&asked.name)?;
        let told = write(&mut edit, &before, &team)?;
        let settings = now.save(edit)?;
        first.keep()?;
        let share = share(&settings, &asked.name);
        let mut said = create::prepared(&asked.name, &settings)?;
        said.extend(told.into_iter().chain(lost(&before, share)));
        said.into_iter().try_for_each(out::done).map_err(anyhow::Error::from)?;
        now.reload()
    })())
}

fn share<'a>(settings: &'a Settings, name: &str) -> Option<&'a ShareSettings> {
    settings.shares.iter().chain(&settings.absent).find(|share| share.name == name)
}

/// The roles after the change. Who gets a role has no other one any more.
fn changed(mut team: TeamFolder, asked: &ShareAccess) -> anyhow::Result<TeamFolder> {
    let parsed = |word: &String| match Who::parse(word) {
        Ok(who) => Ok(who),
        Err(better) => {
            let better = better.map(|better| format!("; write {better}")).unwrap_or_default();
            bail!(
                "{word:?} is neither an account, nor a group such as @studio, nor `everyone` or `guests`{better}"
            )
        }
    };
    let mut given: Vec<TeamEntry> = Vec::new();
    for role in Role::ALL {
        for word in asked.roles.of(role) {
            let who = parsed(word)?;
            if let Some(other) = given.iter().find(|entry| entry.who.is_same(&who)) {
                bail!("{word:?} is given two roles, {} and {role}: give one", other.role);
            }
            given.push(TeamEntry { role, who });
        }
    }
    for word in &asked.remove {
        let who = parsed(word)?;
        if !team.entries.iter().any(|entry| entry.who.is_same(&who)) {
            bail!(
                "{word:?} has no role in the share; `fourfold share access {}` shows those who have one",
                asked.name
            );
        }
        if given.iter().any(|entry| entry.who.is_same(&who)) {
            bail!("{word:?} is given a role and loses it: do one of the two");
        }
        team.entries.retain(|entry| !entry.who.is_same(&who));
    }
    team.entries.retain(|entry| !given.iter().any(|new| new.who.is_same(&entry.who)));
    team.entries.extend(given);
    Ok(team)
}

/// Writes all lists into the share itself, in the place of those that it inherits, and of what counts without roles.
fn write(edit: &mut Edit, before: &ShareSettings, team: &TeamFolder) -> CommandResult<Vec<String>> {
    for role in Role::ALL {
        let people: Vec<String> = team.having(role).map(ToString::to_string).collect();
        match people.is_empty() {
            true => _ = edit.unset(&before.name, list_of(role))?,
            false => edit.set_list(&before.name, list_of(role), &people)?,
        }
    }
    let mut told = Vec::new();
    for key in WITHOUT_ROLES {
        if edit.unset(&before.name, key)? {
            told.push(format!(
                "{}: `{key}` is removed from the settings, as the roles say who may enter",
                before.name
            ));
        }
    }
    Ok(told)
}

/// Lines about those who could enter the share before it had roles, and may have none now.
fn lost(before: &ShareSettings, after: Option<&ShareSettings>) -> Vec<String> {
    let Some(team) = after.and_then(|share| share.team.as_ref()).filter(|_| before.team.is_none()) else {
        return Vec::new();
    };
    let line = |who: &str| format!("{}: {who} may not enter any more, unless a role says so", before.name);
    let has_role = |who: &Who| team.entries.iter().any(|entry| entry.who.is_same(who));
    if team.entries.iter().any(|entry| matches!(entry.who, Who::Everyone | Who::Guests)) {
        return Vec::new();
    }
    if before.users.is_empty() && before.groups.is_empty() {
        return vec![line("everyone else with an account")];
    }
    let users = before.users.iter().map(|name| Who::Account(name.clone()));
    let groups = before.groups.iter().map(|name| Who::Group(name.clone()));
    users.chain(groups).filter(|who| !has_role(who)).map(|who| line(&team::people(&who))).collect()
}

/// One who has a role, for scripts.
#[derive(Serialize)]
struct Row<'a> {
    who: String,
    role: &'a str,
    may: &'a str,
    /// Why the entry gives its role to no one now.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

/// The roles of a share, for scripts.
#[derive(Serialize)]
struct AccessReport<'a> {
    share: &'a str,
    /// Whether the share has roles.
    team: bool,
    /// The share that has the lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    inherited_from: Option<String>,
    access: Vec<Row<'a>>,
}

fn show(share: &ShareSettings, now: &CurrentSettings, json: bool) -> anyhow::Result<()> {
    let settings = &now.settings;
    let accounts = tickets::with_others(accounts::read(&settings.server.state, settings)?, settings)?;
    let entries = share.team.as_ref().map(|team| team.entries.as_slice()).unwrap_or_default();
    let row = |entry: &TeamEntry| Row {
        who: entry.who.to_string(),
        role: entry.role.name(),
        may: team::may(entry.role, share),
        missing: team::missing(&entry.who, &accounts),
    };
    let inherited = now.properties(&share.name).iter().find_map(|property| match &property.source {
        admin::settings::Source::Inherited(from, _) if Role::ALL.map(list_of).contains(&property.name) => {
            Some(from.clone())
        }
        _ => None,
    });
    let access: Vec<Row<'_>> = entries.iter().map(row).collect();
    if json {
        let team = share.team.is_some();
        return out::json(&AccessReport { share: &share.name, team, inherited_from: inherited, access });
    }
    if share.team.is_none() {
        return Ok(out::lines(without_roles(share, &accounts))?);
    }
    let headings = ["WHO", "ROLE", "MAY"].map(str::to_owned);
    let cells = access.iter().map(|row| {
        let note = row.missing.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        [row.who.clone(), row.role.to_owned(), format!("{}{note}", row.may)]
    });
    out::print(out::table(std::iter::once(headings).chain(cells)))?;
    if let Some(from) = inherited {
        out::line(format_args!("inherited from {from}"))?;
    }
    Ok(out::line("no one else may enter")?)
}

/// A share without roles.
fn without_roles(share: &ShareSettings, accounts: &Directory) -> Vec<String> {
    let enters = match (share.guests, share.users.is_empty() && share.groups.is_empty()) {
        (true, _) => "everyone, guests too,".to_owned(),
        (false, true) => "everyone with an account".to_owned(),
        (false, false) => {
            let groups = share.groups.iter().map(|group| format!("members of {group}"));
            share.users.iter().cloned().chain(groups).collect::<Vec<_>>().join(", ")
        }
    };
    let example = accounts.accounts().first().map_or("ada", |account| account.name.as_str());
    vec![
        format!(
            "{}: it has no roles. Over SMB and AFP {enters} may enter, and the modes of the files say what they may do",
            share.name
        ),
        format!("give somebody a role: `fourfold share access {} --editor {example}`", share.name),
    ]
}
