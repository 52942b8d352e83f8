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
    share.roles.clone().or_else(|| share.team.as_ref().map(|team| Arc::new(with_numbers(team, None))))
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
        share.roles = share.team.as_ref().map(|team| Arc::new(with_numbers(team, Some(accounts))));
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
    (now != **before).then(|| Arc::new(now))
}

fn with_numbers(team: &TeamFolder, accounts: Option<&Directory>) -> Roles {
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
