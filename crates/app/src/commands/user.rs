//! `fourfold user`: accounts.

use std::path::Path;
use std::process::ExitCode;

use admin::control::{self, AskError};
use admin::{Settings, State};
use anyhow::Context as _;
use auth::{AccountFile, Host, Ids, Record, Secret, is_same_name, second_factor};

use crate::cli::{AccountArgs, Caution, PasswordArgs, User, UserRights, Where};
use crate::host::here;
use crate::people::{accounts, who};
use crate::terminal::asking::patiently;
use crate::terminal::password::Source;
use crate::terminal::{exit, out, password};

/// Makes an account with what accounts have by default. Asks for its password.
pub(crate) fn make(named: &AccountArgs) -> anyhow::Result<ExitCode> {
    let state = match here::state(&named.state)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    add(&state, named, (Ids { uid: None, gid: None }, Vec::new(), false), &PasswordArgs::default())?;
    Ok(ExitCode::SUCCESS)
}

/// Changes or lists the accounts of a state folder, with or without a running server.
pub(crate) fn run(command: &User) -> anyhow::Result<ExitCode> {
    let state = match here::state(place(command))? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        User::Add { named, uid, gid, password, groups, admin } => {
            let groups = numbers(groups)?;
            add(&state, named, (Ids { uid: *uid, gid: *gid }, groups, *admin), password)?;
        }
        User::Modify { named, rights } => modify(&state, named, rights)?,
        User::Passwd { named, password } => passwd(&state, named, password)?,
        User::Remove { named, caution } => remove(&state, named, caution)?,
        User::ResetFactor { named, caution } => reset_factor(&state, named, caution)?,
        User::List { json, state: place } => list(&state, place, *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The numbers of groups of the host.
fn numbers(names: &[String]) -> anyhow::Result<Vec<u32>> {
    let unix = auth::UnixAccounts::NameService;
    let number = |name: &String| {
        let known = unix.group(name).map(|group| group.gid).or_else(|| name.parse().ok());
        known.with_context(|| {
            format!("this host has no group {name:?}; write a name that `getent group` knows, or a number")
        })
    };
    names.iter().filter(|name| !name.is_empty()).map(number).collect()
}

impl PasswordArgs {
    fn source(&self) -> Source<'_> {
        Source::new(self.password_stdin, self.password_file.as_deref())
    }

    /// Stores the additional secrets.
    fn keep(&self, file: &mut AccountFile, name: &str, password: &str) -> Result<(), auth::Error> {
        if self.legacy_password {
            file.keep_legacy_password(name, password)?;
        }
        if self.chap_secret { file.keep_chap_secret(name, password) } else { Ok(()) }
    }
}

fn place(command: &User) -> &Where {
    match command {
        User::Add { named, .. }
        | User::Modify { named, .. }
        | User::Passwd { named, .. }
        | User::ResetFactor { named, .. }
        | User::Remove { named, .. } => &named.state,
        User::List { state, .. } => state,
    }
}

/// Reports all errors that do not need the password before it is typed.
fn add(
    state: &Path,
    named: &AccountArgs,
    (ids, groups, admin): (Ids, Vec<u32>, bool),
    input: &PasswordArgs,
) -> anyhow::Result<()> {
    if !auth::is_account_name(&named.name) {
        return Err(auth::Error::BadName(named.name.clone()).into());
    }
    State::folder(state)?;
    if let Some(known) = AccountFile::read(state)?.find_in_any_case(&named.name) {
        return Err(auth::Error::Exists(known.name.clone()).into());
    }
    let password = password::read(&named.name, input.source())?;
    let host = host(&named.state)?;
    let ids = AccountFile::edit(state, |file| {
        file.add(&named.name, ids, &password)?;
        file.set_admin(&named.name, admin)?;
        file.set_groups(&named.name, groups)?;
        input.keep(file, &named.name, &password)?;
        accounts::number(file, &named.name, ids, &host)
    })?;
    let acts_as = acts_as(&named.name, ids, &host);
    tell_server(state);
    out::done(format_args!("{}: made in {}; acts as {acts_as}", named.name, state.display()))?;
    say_given(named, "")
}

/// Says what the settings give to the name of an account that was made or removed.
fn say_given(named: &AccountArgs, then: &str) -> anyhow::Result<()> {
    if let Ok(settings) = Settings::load(&here::of_server(&named.state)?) {
        for given in accounts::given_to(&settings, &named.name) {
            out::done(format_args!("{given}{then}"))?;
        }
    }
    Ok(())
}

fn modify(state: &Path, named: &AccountArgs, rights: &UserRights) -> anyhow::Result<()> {
    let AccountArgs { name, .. } = named;
    let groups = rights.groups.as_deref().map(numbers).transpose()?;
    AccountFile::edit(state, |file| {
        let account = file.change(name)?;
        account.ids = Ids { uid: rights.uid.or(account.ids.uid), gid: rights.gid.or(account.ids.gid) };
        account.disabled = rights.disabled.as_deref().map_or(account.disabled, |word| word == "on");
        account.admin = rights.admin.as_deref().map_or(account.admin, |word| word == "on");
        groups.map_or(Ok(()), |groups| file.set_groups(name, groups))
    })?;
    tell_server(state);
    if let Some(word) = &rights.admin {
        let may = if word == "on" { "may" } else { "may not" };
        out::done(format_args!("{name}: {may} administer the server"))?;
    }
    if let Some(word) = &rights.disabled {
        let may = if word == "on" { "may not" } else { "may" };
        out::done(format_args!("{name}: {may} log in"))?;
    }
    if rights.uid.is_some() || rights.gid.is_some() || rights.groups.is_some() {
        let ids = AccountFile::read(state)?.find(name).map(|account| account.ids).unwrap_or_default();
        out::done(format_args!("{name}: acts as {}", acts_as(name, ids, &host(&named.state)?)))?;
    }
    Ok(())
}

fn passwd(state: &Path, named: &AccountArgs, input: &PasswordArgs) -> anyhow::Result<()> {
    require(state, &named.name)?;
    let password = password::read(&named.name, input.source())?;
    AccountFile::edit(state, |file| {
        file.set_password(&named.name, &password)?;
        input.keep(file, &named.name, &password)
    })?;
    tell_server(state);
    Ok(out::done(format_args!("{}: has another password", named.name))?)
}

fn remove(state: &Path, named: &AccountArgs, caution: &Caution) -> anyhow::Result<()> {
    require(state, &named.name)?;
    if !caution.permits_script(&format!(
        "the account {} is removed, with its password; its files stay",
        named.name
    ))? {
        return Ok(());
    }
    AccountFile::edit(state, |file| file.remove(&named.name))?;
    second_factor::remove(state, &named.name)?;
    tell_server(state);
    out::done(format_args!("{}: removed", named.name))?;
    say_given(named, ", and a later account of this name gets it: take the name out")
}

/// The account need not be one of `accounts.toml`: users of the host and of a domain have second factors, too.
fn reset_factor(state: &Path, named: &AccountArgs, caution: &Caution) -> anyhow::Result<()> {
    let name = &named.name;
    if !second_factor::accounts(state)?.iter().any(|known| is_same_name(known, name)) {
        anyhow::bail!("{name} has no second factor");
    }
    let after = "logs in to the console with the password alone, or sets up another factor first if `admin-second-factor` requires one";
    if !caution.permits_script(&format!("{name} then {after}"))? {
        return Ok(());
    }
    second_factor::remove(state, name)?;
    Ok(out::done(format_args!("{name}: has no second factor now, and {after}"))?)
}

fn list(state: &Path, place: &Where, json: bool) -> anyhow::Result<()> {
    let file = AccountFile::read(state)?;
    let factors = second_factor::accounts(state)?;
    let has_factor = |account: &Record| factors.iter().any(|name| is_same_name(name, &account.name));
    let host = host(place)?;
    if json {
        let accounts: Vec<serde_json::Value> =
            file.accounts.iter().map(|account| for_scripts(account, has_factor(account))).collect();
        return out::json(&accounts);
    }
    if file.accounts.is_empty() {
        out::line("there are no accounts; `fourfold user add NAME` makes one")?;
    }
    let width = file.accounts.iter().map(|account| account.name.chars().count()).max().unwrap_or(0);
    for account in &file.accounts {
        let disabled = if account.disabled { ", disabled" } else { "" };
        let admin = if account.admin { ", administrator" } else { "" };
        let factor = if has_factor(account) { ", second factor" } else { "" };
        let (acts_as, kept) = (acts_as(&account.name, account.ids, &host), kept(account));
        out::line(format_args!(
            "{:<width$}  acts as {acts_as}{disabled}{admin}{factor}; kept: {kept}",
            account.name
        ))?;
    }
    Ok(())
}

fn for_scripts(account: &Record, has_factor: bool) -> serde_json::Value {
    let secrets: Vec<&str> = account.secrets.iter().map(Secret::kind).collect();
    let Ids { uid, gid } = account.ids;
    serde_json::json!({
        "name": account.name, "uid": uid, "gid": gid, "disabled": account.disabled,
        "admin": account.admin, "groups": account.groups, "secrets": secrets, "second_factor": has_factor
    })
}

/// The stored secrets of an account's password, which determine its logins.
fn kept(account: &Record) -> String {
    let names = account.secrets.iter().map(|secret| match secret {
        Secret::Argon2(_) => "slow hash",
        Secret::Nt(_) => "NT hash (SMB)",
        Secret::Srp(_) | Secret::IdentityHash(_) => "SRP verifier (AFP)",
        Secret::Legacy(_) => "legacy password (old Macs)",
        Secret::Chap(_) => "CHAP secret (iSCSI)",
        Secret::Unknown(_) => "a secret of a later version",
    });
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "no password".into() } else { names.join(", ") }
}

fn require(state: &Path, name: &str) -> Result<(), auth::Error> {
    match AccountFile::read(state)?.find(name) {
        Some(_) => Ok(()),
        None => Err(auth::Error::Missing(name.into())),
    }
}

/// The data for identities on this machine. The settings, if there are any, determine the default
/// user of accounts.
fn host(place: &Where) -> anyhow::Result<Host> {
    let settings = Settings::load(&here::of_server(place)?);
    Ok(accounts::host(settings.ok().and_then(|settings| settings.server.default_user)))
}

fn acts_as(name: &str, ids: Ids, host: &Host) -> String {
    let (identity, basis) = host.identity(name, ids);
    who::acts_as(name, &identity, basis, &host.unix)
}

/// Makes a running server apply the change at once; without one it does nothing.
pub(crate) fn tell_server(state: &Path) {
    match patiently(|_| control::reload(state)) {
        Ok(_) | Err(AskError::NoServer(_)) => {}
        Err(error) => {
            out::error_line(format_args!("fourfold: the running server has not taken it over yet: {error}"));
        }
    }
}
