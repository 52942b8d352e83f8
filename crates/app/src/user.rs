//! `fourfold user`: accounts.

use std::path::Path;
use std::process::ExitCode;

use admin::State;
use admin::control::{self, AskError};
use auth::{AccountFile, Record, UnixAccounts};

use crate::cli::{Named, User, Where};
use crate::{exit, here, password};

/// Changes or lists the accounts of a state folder, whether a server runs with it or not.
pub(crate) fn run(command: &User) -> anyhow::Result<ExitCode> {
    let state = match here::state(place(command))? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        User::Add { named, uid, password_stdin, legacy_password, chap_secret } => {
            let typed = Typed { from_stdin: *password_stdin, legacy: *legacy_password, chap: *chap_secret };
            add(&state, named, *uid, typed)?;
        }
        User::Passwd { named, password_stdin, legacy_password, chap_secret } => {
            let typed = Typed { from_stdin: *password_stdin, legacy: *legacy_password, chap: *chap_secret };
            passwd(&state, named, typed)?;
        }
        User::Remove { named } => remove(&state, named)?,
        User::List { json, .. } => list(&state, *json)?,
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
fn add(state: &Path, named: &Named, uid: Option<u32>, typed: Typed) -> anyhow::Result<()> {
    if !auth::is_account_name(&named.name) {
        return Err(auth::Error::BadName(named.name.clone()).into());
    }
    State::folder(state)?;
    if AccountFile::read(state)?.find(&named.name).is_some() {
        return Err(auth::Error::Exists(named.name.clone()).into());
    }
    let password = password::read(&named.name, typed.from_stdin)?;
    AccountFile::edit(state, |file| {
        file.add(&named.name, uid, &password)?;
        typed.keep(file, &named.name, &password)
    })?;
    println!("{}: made; acts as {}", named.name, acts_as(&named.name, uid, &UnixAccounts::system()));
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

fn list(state: &Path, json: bool) -> anyhow::Result<()> {
    let file = AccountFile::read(state)?;
    let unix = UnixAccounts::system();
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
            acts_as(&account.name, account.uid, &unix)
        );
    }
    Ok(())
}

fn for_scripts(account: &Record) -> serde_json::Value {
    serde_json::json!({ "name": account.name, "uid": account.uid, "disabled": account.disabled })
}

fn require(state: &Path, name: &str) -> Result<(), auth::Error> {
    match AccountFile::read(state)?.find(name) {
        Some(_) => Ok(()),
        None => Err(auth::Error::Missing(name.into())),
    }
}

fn acts_as(name: &str, uid: Option<u32>, unix: &UnixAccounts) -> String {
    let user = match uid {
        Some(uid) => unix.user_numbered(uid),
        None => unix.user(name),
    };
    match (user, uid) {
        (Some(user), _) => format!("the Unix user {} (uid {})", user.name, user.uid),
        (None, Some(uid)) => format!("uid {uid}, which no Unix user of this machine has"),
        (None, None) => "the user the server runs as, since no Unix user has this name".into(),
    }
}

/// A running server takes the change over at once; without one there is nothing to tell.
fn tell_server(state: &Path) {
    match control::reload(state) {
        Ok(_) | Err(AskError::NoServer(_)) => {}
        Err(error) => eprintln!("fourfold: the running server has not taken it over yet: {error}"),
    }
}
