//! `fourfold user`: accounts.

use std::path::Path;
use std::process::ExitCode;

use admin::control::{self, AskError};
use admin::{Settings, State};
use auth::{AccountFile, Host, Ids, Record};

use crate::cli::{Named, User, Where};
use crate::{accounts, exit, here, password, who};

/// Changes or lists the accounts of a state folder, whether a server runs with it or not.
pub(crate) fn run(command: &User) -> anyhow::Result<ExitCode> {
    let state = match here::state(place(command))? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        User::Add { named, uid, gid, password_stdin, legacy_password, chap_secret } => {
            let typed = Typed { from_stdin: *password_stdin, legacy: *legacy_password, chap: *chap_secret };
            add(&state, named, Ids { uid: *uid, gid: *gid }, typed)?;
        }
        User::Passwd { named, password_stdin, legacy_password, chap_secret } => {
            let typed = Typed { from_stdin: *password_stdin, legacy: *legacy_password, chap: *chap_secret };
            passwd(&state, named, typed)?;
        }
        User::Remove { named } => remove(&state, named)?,
        User::List { json, state: place } => list(&state, place, *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// How a password comes, and how it is kept.
struct Typed {
    from_stdin: bool,
    /// With the part that the oldest Macs need.
    legacy: bool,
    /// As the secret of CHAP.
    chap: bool,
}

impl Typed {
    /// Keeps what was asked for beside the rest.
    fn keep(&self, file: &mut AccountFile, name: &str, password: &str) -> Result<(), auth::Error> {
        if self.legacy {
            file.keep_legacy_password(name, password)?;
        }
        if self.chap { file.keep_chap_secret(name, password) } else { Ok(()) }
    }
}

fn place(command: &User) -> &Where {
    match command {
        User::Add { named, .. } | User::Passwd { named, .. } | User::Remove { named } => &named.state,
        User::List { state, .. } => state,
    }
}

/// What can be known before the password is typed is said before.
fn add(state: &Path, named: &Named, ids: Ids, typed: Typed) -> anyhow::Result<()> {
    if !auth::is_account_name(&named.name) {
        return Err(auth::Error::BadName(named.name.clone()).into());
    }
    State::folder(state)?;
    if AccountFile::read(state)?.find(&named.name).is_some() {
        return Err(auth::Error::Exists(named.name.clone()).into());
    }
    let password = password::read(&named.name, typed.from_stdin)?;
    AccountFile::edit(state, |file| {
        file.add(&named.name, ids, &password)?;
        typed.keep(file, &named.name, &password)
    })?;
    println!("{}: made; acts as {}", named.name, acts_as(&named.name, ids, &host(&named.state)?));
    tell_server(state);
    Ok(())
}

fn passwd(state: &Path, named: &Named, typed: Typed) -> anyhow::Result<()> {
    require(state, &named.name)?;
    let password = password::read(&named.name, typed.from_stdin)?;
    AccountFile::edit(state, |file| {
        file.set_password(&named.name, &password)?;
        typed.keep(file, &named.name, &password)
    })?;
    println!("{}: has another password", named.name);
    tell_server(state);
    Ok(())
}

fn remove(state: &Path, named: &Named) -> anyhow::Result<()> {
    require(state, &named.name)?;
    AccountFile::edit(state, |file| file.remove(&named.name))?;
    println!("{}: removed", named.name);
    tell_server(state);
    Ok(())
}

fn list(state: &Path, place: &Where, json: bool) -> anyhow::Result<()> {
    let file = AccountFile::read(state)?;
    let host = host(place)?;
    if json {
        let accounts: Vec<serde_json::Value> = file.accounts.iter().map(for_scripts).collect();
        println!("{}", serde_json::to_string_pretty(&accounts)?);
        return Ok(());
    }
    if file.accounts.is_empty() {
        println!("there are no accounts; `fourfold user add NAME` makes one");
    }
    let width = file.accounts.iter().map(|account| account.name.chars().count()).max().unwrap_or(0);
    for account in &file.accounts {
        let disabled = if account.disabled { ", disabled" } else { "" };
        println!(
            "{:<width$}  acts as {}{disabled}",
            account.name,
            acts_as(&account.name, account.ids, &host)
        );
    }
    Ok(())
}

fn for_scripts(account: &Record) -> serde_json::Value {
    let Ids { uid, gid } = account.ids;
    serde_json::json!({ "name": account.name, "uid": uid, "gid": gid, "disabled": account.disabled })
}

fn require(state: &Path, name: &str) -> Result<(), auth::Error> {
    match AccountFile::read(state)?.find(name) {
        Some(_) => Ok(()),
        None => Err(auth::Error::Missing(name.into())),
    }
}

/// What identities are made from here. The settings, if there are any, say who accounts act as by default.
fn host(place: &Where) -> anyhow::Result<Host> {
    let settings = Settings::load(&place.arguments(here::privileged(), here::folder()?));
    Ok(accounts::host(settings.ok().and_then(|settings| settings.server.default_user)))
}

fn acts_as(name: &str, ids: Ids, host: &Host) -> String {
    let (identity, basis) = host.identity(name, ids);
    who::acts_as(name, &identity, basis, &host.unix)
}

/// A running server takes the change over at once; without one there is nothing to tell.
fn tell_server(state: &Path) {
    match control::reload(state) {
        Ok(_) | Err(AskError::NoServer(_)) => {}
        Err(error) => eprintln!("fourfold: the running server has not taken it over yet: {error}"),
    }
}
