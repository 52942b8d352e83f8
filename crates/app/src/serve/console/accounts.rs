//! Accounts as the console shows and changes them: those of `accounts.toml`, as `fourfold user` does.

mod renaming;

use std::path::Path;

use admin::control::Report;
use auth::{
    Account, AccountFile, Basis, Directory, Error, Ids, PasswordRule, Secret, UnixAccounts, second_factor,
};
use web::accounts::{AccountChange, AccountEdit, AccountRights, MoreSecrets};
use web::manage::AccountStatus;

use super::access::GroupNames;
use super::change::Changes;
use crate::people::{accounts, who};
use crate::serve::current::Current;
use crate::serve::running::Running;

/// All accounts, by their names.
pub(super) fn all(current: &Current) -> Vec<AccountStatus> {
    // What cannot be read was reported at the start and at each reload.
    let file = AccountFile::read(&current.settings.server.state).ok();
    let mut groups = GroupNames::of_server(&current.accounts);
    let status = |account| status(account, &current.accounts, file.as_ref(), &mut groups);
    let mut all: Vec<AccountStatus> = current.accounts.accounts().iter().map(status).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

fn status(
    account: &Account,
    accounts: &Directory,
    file: Option<&AccountFile>,
    groups: &mut GroupNames,
) -> AccountStatus {
    let basis = accounts.basis(&account.name).unwrap_or(Basis::Anonymous);
    let record = file.and_then(|file| file.find(&account.name));
    let Ids { uid: set_uid, gid: set_gid } = record.map(|record| record.ids).unwrap_or_default();
    let further = record.map(|record| record.groups.as_slice()).unwrap_or_default();
    AccountStatus {
        name: account.name.clone(),
        uid: account.identity.uid,
        gid: account.identity.gid,
        acts_as: who::acts_as(&account.name, &account.identity, basis, accounts.unix()),
        disabled: account.disabled,
        admin: accounts.is_admin(&account.name),
        groups: groups.of(&account.identity, accounts.unix()),
        further_groups: further.iter().map(|gid| groups.name(*gid, accounts.unix())).collect(),
        own_groups: own_groups(accounts, &account.name),
        set_uid,
        set_gid,
        kept: if record.is_some() { "file" } else { "run" },
        secrets: account.secrets.iter().map(|secret: &Secret| secret.kind().to_owned()).collect(),
    }
}

/// The names of the groups of the server's own that an account is in.
fn own_groups(accounts: &Directory, name: &str) -> Vec<String> {
    accounts.own_groups().iter().filter(|group| group.has(name)).map(|group| group.name.clone()).collect()
}

/// Changes an account in `accounts.toml`, and has the server apply it.
pub(super) fn change(
    running: &Running,
    changes: &Changes,
    change: &AccountChange,
) -> Result<Vec<String>, Vec<String>> {
    let current = running.current();
    let AccountChange { name, what, by } = change;
    check_not_of_run(&current, name, what)?;
    let state = current.settings.server.state.as_path();
    let told = match what {
        AccountEdit::Add { password, more, rights } => {
            let rights = resolved(&current, rights)?;
            check_not_of_system(&current, name, &rights, None)?;
            let host = accounts::host(current.settings.server.default_user.clone());
            check_password(name, password)?;
            edit(state, |file| {
                file.add(name, Ids::default(), password)?;
                keep(file, name, password, *more)?;
                apply(file, name, &rights)?;
                let ids = file.change(name)?.ids;
                accounts::number(file, name, ids, &host).map(drop)
            })?;
            "made"
        }
        AccountEdit::Password { password, more } => {
            check_password(name, password)?;
            edit(state, |file| match more {
                None => file.change_password(name, password),
                Some(more) => {
                    file.set_password(name, password)?;
                    keep(file, name, password, *more)
                }
            })?;
            "has another password"
        }
        AccountEdit::Rights(rights) => {
            let rights = resolved(&current, rights)?;
            let file = AccountFile::read(state).map_err(lines)?;
            let record = file.find(name).ok_or_else(|| lines(Error::Missing(name.clone())))?;
            check_not_of_system(&current, name, &rights, Some(record))?;
            edit(state, |file| apply(file, name, &rights))?;
            "changed"
        }
        AccountEdit::Rename { new, password } => {
            check_password(new, password)?;
            renaming::rename(&current, name, new, password)?;
            tracing::info!(by, account = name, new, change = "renamed", "account changed");
            return renaming::follow(running, changes, (name, new), by);
        }
        AccountEdit::Remove => {
            edit(state, |file| file.remove(name))?;
            second_factor::remove(state, name).map_err(|error| vec![error.to_string()])?;
            "removed"
        }
    };
    tracing::info!(by, account = name, change = told, "account changed");
    let mut all = applied(running, name, told)?;
    if matches!(what, AccountEdit::Add { .. } | AccountEdit::Remove) {
        all.extend(accounts::given_to(&running.current().settings, name));
    }
    Ok(all)
}

/// Has the server apply `accounts.toml`, and says what was done to an account or a group.
pub(super) fn applied(running: &Running, name: &str, told: &str) -> Result<Vec<String>, Vec<String>> {
    let mut all = vec![format!("{name}: {told}")];
    let late = |lines: Vec<String>| {
        let not_yet = format!("{name} is {told} in accounts.toml, and the server has not applied it:");
        [vec![not_yet], lines].concat()
    };
    all.extend(running.reload().map_err(late)?);
    Ok(all)
}

fn check_password(name: &str, password: &str) -> Result<(), Vec<String>> {
    let is_good = PasswordRule.accepts(name, password);
    if is_good {
        Ok(())
    } else {
        Err(vec![format!("the password of {name} is too weak: it needs {PasswordRule}")])
    }
}

fn edit<T>(state: &Path, work: impl FnOnce(&mut AccountFile) -> Result<T, Error>) -> Result<T, Vec<String>> {
    AccountFile::edit(state, work).map_err(lines)
}

fn lines(error: Error) -> Vec<String> {
    vec![error.to_string()]
}

fn keep(file: &mut AccountFile, name: &str, password: &str, more: MoreSecrets) -> Result<(), Error> {
    if more.legacy {
        file.keep_legacy_password(name, password)?;
    }
    if more.chap { file.keep_chap_secret(name, password) } else { Ok(()) }
}

/// Rights with their groups.
struct ResolvedRights<'a> {
    rights: &'a AccountRights,
    groups: Option<ResolvedGroups>,
}

/// The names of those of the server's own, and the numbers of those of the host.
struct ResolvedGroups {
    own: Vec<String>,
    of_host: Vec<u32>,
}

fn resolved<'a>(current: &Current, rights: &'a AccountRights) -> Result<ResolvedRights<'a>, Vec<String>> {
    let resolve = |names: &Vec<String>| -> Result<ResolvedGroups, Vec<String>> {
        let mut groups = ResolvedGroups { own: Vec::new(), of_host: Vec::new() };
        for name in names {
            match current.accounts.own_group(name) {
                Some(own) => groups.own.push(own.name.clone()),
                None => groups.of_host.push(number(name, current.accounts.unix())?),
            }
        }
        Ok(groups)
    };
    let groups = rights.groups.as_ref().map(resolve).transpose()?;
    Ok(ResolvedRights { rights, groups })
}

/// The number of a group of the host.
fn number(name: &str, unix: &UnixAccounts) -> Result<u32, Vec<String>> {
    let unknown = || {
        let hint = "write the name of a group of the server, one that `getent group` knows, or a number";
        vec![format!("there is no group {name:?}: {hint}")]
    };
    unix.group(name).map(|group| group.gid).or_else(|| name.parse().ok()).ok_or_else(unknown)
}

fn apply(file: &mut AccountFile, name: &str, new: &ResolvedRights<'_>) -> Result<(), Error> {
    let AccountRights { uid, gid, disabled, admin, .. } = new.rights;
    let account = file.change(name)?;
    account.ids = ids(account.ids, (*uid, *gid));
    account.disabled = disabled.unwrap_or(account.disabled);
    account.admin = admin.unwrap_or(account.admin);
    match &new.groups {
        Some(groups) => {
            file.set_groups(name, groups.of_host.clone())?;
            set_own_groups(file, name, &groups.own)
        }
        None => Ok(()),
    }
}

/// The account is in these groups of the server's own, and in no others.
fn set_own_groups(file: &mut AccountFile, name: &str, wanted: &[String]) -> Result<(), Error> {
    let account = [name.to_owned()];
    let groups: Vec<(String, bool)> =
        file.groups.iter().map(|group| (group.name.clone(), group.has(name))).collect();
    for (group, is_in) in groups {
        match (is_in, wanted.contains(&group)) {
            (false, true) => file.change_members(&group, &account, &[])?,
            (true, false) => file.change_members(&group, &[], &account)?,
            _ => {}
        }
    }
    Ok(())
}

fn ids(before: Ids, (uid, gid): (Option<Option<u32>>, Option<Option<u32>>)) -> Ids {
    Ids { uid: uid.unwrap_or(before.uid), gid: gid.unwrap_or(before.gid) }
}

/// Over the network, no account comes to act as a user of the system or with a group of it. What it had before it keeps, and
/// the groups that the host gives its user count as those of the host.
fn check_not_of_system(
    current: &Current,
    name: &str,
    new: &ResolvedRights<'_>,
    record: Option<&auth::Record>,
) -> Result<(), Vec<String>> {
    let host = accounts::host(current.settings.server.default_user.clone());
    if !host.own.is_root() {
        return Ok(()); // it acts as the server's own user, whatever is set
    }
    let lowest = current.settings.server.host_min_uid;
    let before = record.map(|record| record.ids).unwrap_or_default();
    let ids = ids(before, (new.rights.uid, new.rights.gid));
    let (identity, _) = host.identity(name, ids);
    let (was, _) = host.identity(name, before);
    let had = |group: u32| record.is_some_and(|record| record.groups.contains(&group) || was.in_group(group));
    let gains_user = identity.uid < lowest && !(record.is_some() && was.uid == identity.uid);
    let given = new.groups.iter().flat_map(|groups| &groups.of_host).chain(ids.gid.as_ref()).copied();
    let gains_group =
        given.clone().any(|group| group < lowest && !had(group)) || identity.in_group(0) && !had(0);
    if gains_user || gains_group {
        let hint = "only `fourfold user` on the server does that";
        return Err(vec![format!(
            "{name} would act as a user of the system, or with a group of it (numbers below {lowest}): {hint}"
        )]);
    }
    Ok(())
}

/// What the command line and the settings file set does not change with `accounts.toml`.
fn check_not_of_run(current: &Current, name: &str, what: &AccountEdit) -> Result<(), Vec<String>> {
    let Some(user) = current.settings.users.iter().find(|user| user.name == *name) else { return Ok(()) };
    let elsewhere =
        |what: &str, place: &str| Err(vec![format!("{what} of {name} is set {place}: change it there")]);
    if user.password.is_some() {
        return elsewhere("the password", "by the command line or the environment of the server");
    }
    let file = "in the settings file";
    let (AccountEdit::Rights(rights) | AccountEdit::Add { rights, .. }) = what else { return Ok(()) };
    match user {
        user if rights.uid.flatten().is_some() && user.ids.uid.is_some() => elsewhere("the uid", file),
        user if rights.gid.flatten().is_some() && user.ids.gid.is_some() => elsewhere("the gid", file),
        user if rights.disabled == Some(false) && user.disabled => elsewhere("`disabled`", file),
        user if rights.admin == Some(false) && user.admin => elsewhere("`admin`", file),
        _ => Ok(()),
    }
}
