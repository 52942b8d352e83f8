//! The roles that shares give, with the Unix numbers of their people: of accounts, and of groups of the server's own, the host and the
//! domain. Those of a domain are known as soon as the directory has listed them, so they are looked up again and again.

use std::sync::Arc;

use admin::settings::{TeamEntry, TeamFolder, Who};
use admin::{Settings, ShareSettings};
use auth::{
    ANONYMOUS, Accounts as _, Basis, Directory, Domain, Grantee, Role, RoleEntry, Roles, UnixAccounts,
};

use crate::people::groups::{self, NO_GROUP};

/// The roles of a share; `None`: it is no team folder. An unknown name gives a role to no one.
pub(crate) fn of(share: &ShareSettings) -> Option<Arc<Roles>> {
    share.roles.clone().or_else(|| Some(Arc::new(with_numbers(share, share.team.as_ref()?, None))))
}

/// Those roles that suffice for a disk of the share: its blocks are changed as a whole.
pub(crate) fn of_luns(share: &ShareSettings) -> Option<Arc<Roles>> {
    let is_enough = |entry: &&RoleEntry| matches!(entry.role, Role::Owner | Role::Editor);
    let roles = of(share)?;
    Some(Arc::new(Roles::new(roles.entries().iter().filter(is_enough).cloned().collect())))
}

/// The settings with the roles of all team folders.
pub(crate) fn resolved(mut settings: Settings, accounts: &Directory) -> Settings {
    for share in settings.shares.iter_mut().chain(&mut settings.absent) {
        let roles = share.team.as_ref().map(|team| Arc::new(with_numbers(share, team, Some(accounts))));
        share.roles = roles;
    }
    settings
}

/// The number of a group, of the server's own, of the host or of the domain; `None` if it is not known.
pub(crate) fn group_number(name: &str, accounts: &Directory) -> Option<u32> {
    match accounts.own_group(name) {
        Some(group) => Some(group.number),
        None => groups::number(name, &accounts.site()),
    }
}

/// Looks again for people and groups of the domain. The others are as at the last reload. Asks no other machine.
pub(crate) fn again(share: &ShareSettings, domain: &Domain) -> Option<Arc<Roles>> {
    let (team, before) = (share.team.as_ref()?, share.roles.as_ref()?);
    let entry = |(entry, known): (&TeamEntry, &RoleEntry)| {
        let grantee = match &entry.who {
            Who::Group(name) if groups::is_of_domain(name) => {
                Grantee::Group(groups::number_in(domain, name).unwrap_or(NO_GROUP))
            }
            Who::Account(name) if groups::is_of_domain(name) => match domain.account(name) {
                Some(account) => Grantee::User { name: account.name, uid: Some(account.identity.uid) },
                None => Grantee::User { name: name.clone(), uid: None },
            },
            _ => known.grantee.clone(),
        };
        RoleEntry { role: entry.role, grantee }
    };
    let now = Roles::new(team.entries.iter().zip(before.entries()).map(entry).collect());
    let now = now.keeping_apart(before.keeps_apart());
    (now != **before).then(|| Arc::new(now))
}

/// Macs back up to a share for Time Machine: there each of its contributors sees only its own backups.
fn with_numbers(share: &ShareSettings, team: &TeamFolder, accounts: Option<&Directory>) -> Roles {
    resolve(team, accounts).keeping_apart(share.time_machine)
}

fn resolve(team: &TeamFolder, accounts: Option<&Directory>) -> Roles {
    let group = |name: &str| match accounts {
        Some(accounts) => group_number(name, accounts),
        None => groups::number(name, &UnixAccounts::NameService),
    };
    let grantee = |who: &Who| match who {
        Who::Everyone => Grantee::Everyone,
        Who::Guests => Grantee::Guests,
        Who::Group(name) => Grantee::Group(group(name).unwrap_or(NO_GROUP)),
        Who::Account(name) => account(name, accounts),
    };
    let entry = |entry: &TeamEntry| RoleEntry { role: entry.role, grantee: grantee(&entry.who) };
    Roles::new(team.entries.iter().map(entry).collect())
}

/// An account by the name that its sessions have, and by its number if no other account acts with it by default. A user of the
/// host without an account can come by NFS.
fn account(name: &str, accounts: Option<&Directory>) -> Grantee {
    let found = accounts.and_then(|accounts| accounts.find(name));
    let is_own_number = |name: &str| match accounts.and_then(|accounts| accounts.basis(name)) {
        Some(Basis::DefaultUser | Basis::Anonymous | Basis::Server) => false,
        Some(Basis::Set | Basis::HostUser) | None => true,
    };
    match (found, accounts) {
        (Some(found), _) => {
            let uid = Some(found.identity.uid).filter(|uid| *uid != ANONYMOUS && is_own_number(&found.name));
            Grantee::User { uid: uid.filter(|_| acts_as_others()), name: found.name }
        }
        (None, Some(accounts)) => {
            let user = accounts.unix().user(name).filter(|_| acts_as_others());
            Grantee::User {
                name: name.into(),
                uid: user.map(|user| user.uid).filter(|uid| *uid != ANONYMOUS),
            }
        }
        (None, None) => Grantee::User { name: name.into(), uid: None },
    }
}

/// A server that is not root acts as its own user for all accounts: nobody has a number of their own.
fn acts_as_others() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use auth::{AccountFile, Host, Identity, Ids};

    use super::*;

    const GROUPS: &str = "staff:x:50:\nboth:x:51:\n";

    fn directory(state: &std::path::Path, default_user: Option<&str>) -> Directory {
        AccountFile::edit(state, |file| {
            file.add("Ada", Ids { uid: Some(1000), gid: None }, "secret")?;
            file.add("grace", Ids::default(), "secret")?;
            file.add_group("studio", vec!["ada".into()])?;
            file.add_group("both", Vec::new())
        })
        .unwrap();
        let unix = UnixAccounts::parse("bob:x:1001:1001::/:\nmany:x:1002:1002::/:\n", GROUPS);
        let host = Host { unix, own: Identity::root(), default_user: default_user.map(str::to_owned) };
        Directory::new(&AccountFile::read(state).unwrap(), host)
    }

    fn roles(words: &[&str], accounts: &Directory) -> Vec<Grantee> {
        let entry = |word: &&str| TeamEntry { role: Role::Editor, who: Who::parse(word).unwrap() };
        let team = TeamFolder { entries: words.iter().map(entry).collect() };
        resolve(&team, Some(accounts)).entries().iter().map(|entry| entry.grantee.clone()).collect()
    }

    fn user(name: &str, uid: Option<u32>) -> Grantee {
        Grantee::User { name: name.into(), uid: uid.filter(|_| acts_as_others()) }
    }

    #[test]
    fn an_account_has_its_role_by_its_own_name_and_number() {
        let state = tempfile::tempdir().unwrap();
        let accounts = directory(state.path(), None);
        assert_eq!(roles(&["ADA"], &accounts), [user("Ada", Some(1000))]);
        assert_eq!(roles(&["bob"], &accounts), [user("bob", Some(1001))], "a user of the host comes by NFS");
        assert_eq!(roles(&["eve"], &accounts), [user("eve", None)]);
    }

    #[test]
    fn a_number_that_several_accounts_have_is_no_ones() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(roles(&["grace"], &directory(state.path(), None)), [user("grace", None)], "nobody");
        let other = tempfile::tempdir().unwrap();
        assert_eq!(roles(&["grace"], &directory(other.path(), Some("many"))), [user("grace", None)]);
    }

    #[test]
    fn a_group_of_the_server_counts_before_one_of_the_host_and_an_unknown_one_not_at_all() {
        let state = tempfile::tempdir().unwrap();
        let accounts = directory(state.path(), None);
        let number = |name: &str| Grantee::Group(accounts.own_group(name).unwrap().number);
        let expected = [number("studio"), Grantee::Group(50), number("both"), Grantee::Group(NO_GROUP)];
        assert_eq!(roles(&["@studio", "@staff", "@both", "@gone"], &accounts), expected);
    }

    #[test]
    fn a_share_for_time_machine_keeps_its_contributors_apart() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let keeps_apart = |more: &str| {
            let text = format!("[[share]]\nname = \"A\"\npath = \"a\"\ncontributors = [\"ada\"]\n{more}\n");
            std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
            let settings = Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap();
            of(&settings.shares[0]).unwrap().keeps_apart()
        };
        assert!(keeps_apart("time-machine = true") && !keeps_apart(""));
    }

    #[test]
    fn disks_are_for_owners_and_editors() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = "[[share]]\nname = \"A\"\npath = \"a\"\nowners = [\"ada\"]\nreaders = [\"everyone\"]\ndrop = [\"guests\"]\n";
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let settings = Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap();
        let of_luns = of_luns(&settings.shares[0]).unwrap();
        assert_eq!(of_luns.entries().len(), 1);
        assert!(!of_luns.of_login(Some("ADA"), &|_| false).is_empty());
        assert!(of_luns.of_login(Some("bob"), &|_| true).is_empty());
    }
}
