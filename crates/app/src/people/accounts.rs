//! The accounts of a running server: those of the state folder, combined with the settings and the
//! command line.

use std::collections::HashSet;
use std::path::Path;

use admin::settings::{Mention, MentionRole, Place, Severity};
use admin::{Access, ClientRule, Diagnostic, Settings, ShareSettings};
use auth::{
    AccountFile, Basis, Directory, Grant, Host, HostRule, Identity, Ids, Secret, SharePolicy, UnixAccounts,
    is_same_name,
};

use crate::host::host_names;
use crate::people::{groups, host_accounts, roles, tickets};
use crate::serve::current::Current;

/// Reads all accounts.
pub(crate) fn read(state: &Path, settings: &Settings) -> anyhow::Result<Directory> {
    of(&AccountFile::read(state)?, settings)
}

/// The accounts at the start. Names in the settings that no account has are logged.
pub(crate) fn at_start(state: &Path, settings: &Settings) -> anyhow::Result<Directory> {
    let file = AccountFile::read(state)?;
    unknown(&file, settings).iter().for_each(|note| tracing::warn!("{note}"));
    of(&file, settings)
}

/// The accounts of this file, and those of the settings.
pub(crate) fn of(file: &AccountFile, settings: &Settings) -> anyhow::Result<Directory> {
    let mut directory = Directory::new(file, host(settings.server.default_user.clone()));
    for user in &settings.users {
        directory.set(&user.name, user.ids, user.disabled, user.password.as_deref())?;
        if user.admin {
            directory.set_admin(&user.name);
        }
    }
    Ok(directory)
}

/// The state with the accounts as they are in the state folder now, and lines about it.
pub(crate) fn anew(state: &Path, current: &Current) -> anyhow::Result<(Current, Vec<String>)> {
    let settings = &current.settings;
    let accounts = read(state, settings)?.with_domain(current.accounts.domain().cloned());
    let (accounts, failed) = host_accounts::with(accounts, settings, current.accounts.host_accounts());
    let (kerberos, logons) = (current.kerberos.clone(), current.logons.clone());
    let settings = roles::resolved(settings.clone(), &accounts);
    let current = Current { settings, accounts, kerberos, logons };
    Ok((current, failed.into_iter().collect()))
}

/// The data from which the accounts' identities are determined on this machine.
pub(crate) fn host(default_user: Option<String>) -> Host {
    Host { unix: UnixAccounts::NameService, own: Identity::own(), default_user }
}

/// Gives a new account a Unix number of its own, if the host has no user for it. An account of a server that is not root acts as the
/// server's own user.
pub(crate) fn number(file: &mut AccountFile, name: &str, ids: Ids, host: &Host) -> Result<Ids, auth::Error> {
    match host.identity(name, ids) {
        (_, Basis::Anonymous) if ids.uid.is_none() && ids.gid != Some(u32::MAX) => file.give_number(name),
        _ => Ok(ids),
    }
}

/// The access rules of a share.
pub(crate) fn policy(share: &ShareSettings) -> SharePolicy {
    let rule = |rule: &ClientRule| HostRule {
        hosts: host_names::hosts(&rule.matches),
        grant: match rule.access {
            Access::ReadWrite => Some(Grant::ReadWrite),
            Access::ReadOnly => Some(Grant::ReadOnly),
            Access::None => None,
        },
    };
    SharePolicy {
        read_only: share.read_only,
        guests: share.guests,
        users: share.users.clone(),
        groups: groups::of(share),
        roles: roles::of(share),
        hosts: share.clients.iter().map(rule).collect(),
    }
}

/// The access rules of the targets of a share's LUNs. Who may not change the files of a team folder may not change its disks.
pub(crate) fn policy_of_luns(share: &ShareSettings) -> SharePolicy {
    SharePolicy { roles: roles::of_luns(share), ..policy(share) }
}

/// The accounts and groups in the settings that neither this file nor the host has, with their places.
pub(crate) fn unknown(file: &AccountFile, settings: &Settings) -> Vec<Diagnostic> {
    let site = tickets::site(settings);
    let with_password = settings.users.iter().filter(|user| user.password.is_some());
    let with_password: HashSet<String> = with_password.map(|user| auth::account_key(&user.name)).collect();
    let typed = |name: &str| with_password.contains(&auth::account_key(name));
    let stored: HashSet<String> = file.accounts.iter().map(|one| auth::account_key(&one.name)).collect();
    let is_of_host =
        |name: &str| settings.server.pam_service.is_some() && UnixAccounts::NameService.user(name).is_some();
    let known = |name: &str| typed(name) || stored.contains(&auth::account_key(name)) || is_of_host(name);
    let proves = |name: &str| {
        let is_chap = |secret: &Secret| matches!(secret, Secret::Chap(_));
        typed(name) || file.find(name).is_some_and(|account| account.secrets.iter().any(is_chap))
    };
    let note = |mention: &Mention| {
        let name = &mention.name;
        let (what, instead) = match &mention.role {
            MentionRole::Account if !known(name) => (
                format!("the account {name:?} has no password, so nobody can log in with it"),
                "`fourfold user add` sets one",
            ),
            MentionRole::Server if !proves(name) => (
                format!("there is no account {name:?} with a CHAP secret"),
                "`fourfold user add --chap-secret` makes one",
            ),
            MentionRole::User(share) if !known(name) => (
                format!("there is no account {name:?}, so it opens the share {share:?} to no one"),
                "`fourfold user add` makes one",
            ),
            MentionRole::Group(share)
                if file.find_group(name).is_none() && groups::number(name, &site).is_none() =>
            {
                groups::unknown(name, share, settings)
            }
            _ => return None,
        };
        let (severity, place) = (Severity::Note, mention.place.clone());
        Some(Diagnostic { severity, place, what, instead: instead.into() })
    };
    let shadowed = file.shadowed();
    let shadowed = shadowed.iter().map(|(first, other)| Diagnostic {
        severity: Severity::Note,
        place: Place::Default,
        what: format!(
            "the account {:?} differs from {:?} in case only, so it cannot log in",
            other.name, first.name
        ),
        instead: format!("`fourfold user remove {}`, and make one with another name", other.name),
    });
    shadowed.chain(settings.mentions.iter().filter_map(note)).collect()
}

/// What the settings give to an account of this name, a line each with its place. An account that is made gets it. When an account
/// is removed, it stays for the next one of this name.
pub(crate) fn given_to<'a>(settings: &'a Settings, name: &'a str) -> impl Iterator<Item = String> + 'a {
    settings.mentions.iter().filter(move |one| is_same_name(&one.name, name)).filter_map(move |one| {
        let given = match &one.role {
            MentionRole::User(share) => format!("a role in the share {share:?}"),
            MentionRole::Server => "the login of the iSCSI target".into(),
            MentionRole::Account | MentionRole::Group(_) => return None,
        };
        Some(format!("{}: the settings give {name} {given}", one.place))
    })
}

#[cfg(test)]
mod tests {
    use auth::Accounts;

    use super::*;

    #[test]
    fn roles_in_shares_are_given_to_a_name() {
        let (share, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = format!(
            "[[share]]\nname = \"films\"\npath = {:?}\neditors = [\"ada\"]\nreaders = [\"@ben\"]\n",
            share.path()
        );
        let file = state.path().join("settings.toml");
        std::fs::write(&file, text).unwrap();
        let mut arguments = admin::Arguments::new(false, state.path().into());
        arguments.config = Some(file);
        let settings = Settings::load(&arguments).unwrap();
        let given: Vec<String> = given_to(&settings, "Ada").collect();
        assert!(
            matches!(&given[..], [one] if one.contains(":4:") && one.ends_with("a role in the share \"films\"")),
            "{given:?}"
        );
        assert_eq!(given_to(&settings, "ben").count(), 0, "a group is another name");
    }

    #[test]
    fn an_account_without_a_host_user_is_nobody_under_root_and_else_the_server() {
        let (share, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let arguments = admin::Arguments {
            shares: vec![share.path().into()],
            users: vec!["no-such-unix-user:secret".into()],
            ..admin::Arguments::new(false, state.path().into())
        };
        let directory = read(state.path(), &Settings::load(&arguments).unwrap()).unwrap();
        let account = directory.verify("no-such-unix-user", "secret").unwrap();
        let expected = if Identity::own().is_root() { Identity::anonymous() } else { Identity::own() };
        assert_eq!(account.identity, expected);
        assert!(directory.verify("no-such-unix-user", "Secret").is_err());
    }
}
