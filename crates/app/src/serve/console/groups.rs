//! Groups of the server's own as the console changes them: those of `accounts.toml`, as `fourfold group` does.

use auth::{AccountFile, Error, is_same_name};
use web::groups::{GroupChange, GroupEdit};

use crate::serve::current::Current;
use crate::serve::running::Running;

/// Changes a group in `accounts.toml`, and has the server apply it.
pub(super) fn change(running: &Running, change: &GroupChange) -> Result<Vec<String>, Vec<String>> {
    let current = running.current();
    let GroupChange { name, what, by } = change;
    if let GroupEdit::Add(accounts) | GroupEdit::Accounts(accounts) = what {
        check_known(&current, accounts)?;
    }
    let edit = |file: &mut AccountFile| match what {
        GroupEdit::Add(accounts) => file.add_group(name, accounts.clone()).map(drop),
        GroupEdit::Accounts(accounts) => set_accounts(file, name, accounts),
        GroupEdit::Remove => file.remove_group(name),
    };
    AccountFile::edit(&current.settings.server.state, edit).map_err(|error| vec![error.to_string()])?;
    let told = match what {
        GroupEdit::Add(_) => "made",
        GroupEdit::Accounts(_) => "changed",
        GroupEdit::Remove => "removed",
    };
    tracing::info!(by, group = name, change = told, "group changed");
    super::accounts::applied(running, name, told)
}

/// Refuses names of which the server knows no account.
fn check_known(current: &Current, accounts: &[String]) -> Result<(), Vec<String>> {
    use auth::Accounts;
    let unknown: Vec<&str> = accounts
        .iter()
        .map(String::as_str)
        .filter(|name| current.accounts.find_in_any_case(name).is_none())
        .collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(vec![format!("there is no account {}; make it first", unknown.join(", "))]),
    }
}

/// The group has these accounts, and no others.
fn set_accounts(file: &mut AccountFile, name: &str, accounts: &[String]) -> Result<(), Error> {
    let group = file.find_group(name).ok_or_else(|| Error::MissingGroup(name.into()))?;
    let is_left = |member: &&String| !accounts.iter().any(|account| is_same_name(account, member));
    let left: Vec<String> = group.members.iter().filter(is_left).cloned().collect();
    file.change_members(name, accounts, &left)
}
