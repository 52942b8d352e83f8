//! Who may enter a share, and the groups of the accounts.

use std::collections::BTreeMap;

use admin::settings::Who;
use admin::{Protocol, ShareSettings};
use auth::{Account, Basis, Directory, Identity, UnixAccounts};
use vfs::Volume;
use vfs::backend::Found;
use web::access::{Entrant, Entry, GroupStatus};

use super::snapshots::share;
use crate::commands::explain::{self, Answer, User};
use crate::people::{rights, roles, who};
use crate::serve::current::Current;
use crate::serve::running::Running;

/// The accounts that are shown.
const MOST_ACCOUNTS: usize = 1000;

/// The accounts, guests and users of NFS clients, as the share's settings and its folder treat them.
pub(super) fn entrants(running: &Running, name: &str) -> Result<Vec<Entrant>, Vec<String>> {
    let current = running.current();
    let share = share(&current, name)?;
    let volume = running.volume(share).map_err(|error| vec![format!("{error:#}")])?;
    let root = volume.root().map_err(|error| vec![format!("{}: {error}", share.path.display())])?;
    let accounts = current.accounts.accounts().iter().take(MOST_ACCOUNTS);
    let mut all: Vec<Entrant> =
        accounts.map(|account| of_account(account, &current, share, (&volume, &root))).collect();
    all.sort_by(|one, other| one.account.cmp(&other.account));
    all.extend(guests(&current, share, (&volume, &root)));
    all.extend(unnamed(&current, share, (&volume, &root)));
    Ok(all)
}

type Folder<'a> = (&'a Volume, &'a Found);

fn entrant(
    (account, kind, acts_as): (&str, &'static str, String),
    identity: &Identity,
    protocols: Vec<Entry>,
    share: &ShareSettings,
    (volume, root): Folder<'_>,
) -> Entrant {
    let able = rights::ability(volume, root, identity);
    let enters = protocols.iter().any(|entry| entry.may);
    Entrant {
        account: account.into(),
        kind,
        acts_as,
        protocols,
        read: enters && able.read,
        write: enters && able.write && !share.read_only,
    }
}

fn of_account(account: &Account, current: &Current, share: &ShareSettings, folder: Folder<'_>) -> Entrant {
    let user = User::Account(account.clone());
    let entries = entries(&user, share, current, Protocol::users_log_in);
    let basis = current.accounts.basis(&account.name).unwrap_or(Basis::Anonymous);
    let acts_as = who::acts_as(&account.name, &account.identity, basis, current.accounts.unix());
    let who = (account.name.as_str(), "account", acts_as);
    entrant(who, &rights::identity(account), entries, share, folder)
}

/// Whether a user may enter over the protocols that are asked for.
fn entries(user: &User, share: &ShareSettings, current: &Current, asked: fn(Protocol) -> bool) -> Vec<Entry> {
    let answers = explain::protocols(user, share, &current.settings).into_iter();
    let of_each = Protocol::OF_FILES.into_iter().zip(answers).filter(|(protocol, _)| asked(*protocol));
    of_each.map(|(protocol, Answer { may, why, .. })| Entry { protocol: protocol.word(), may, why }).collect()
}

fn guests(current: &Current, share: &ShareSettings, folder: Folder<'_>) -> Option<Entrant> {
    if !share.guests {
        return None;
    }
    let entry = |protocol: Protocol| {
        let may = current.settings.serves(share, protocol);
        let why = if may { "the share admits guests" } else { "the share is not served over it" };
        Entry { protocol: protocol.word(), may, why: why.into() }
    };
    let with_login = Protocol::OF_FILES.into_iter().filter(|protocol| protocol.users_log_in());
    let entries = with_login.map(entry).collect();
    let who = ("", "guests", "nobody: they may do what everybody may".to_owned());
    Some(entrant(who, &Identity::anonymous(), entries, share, folder))
}

/// Users of protocols without a login.
fn unnamed(current: &Current, share: &ShareSettings, folder: Folder<'_>) -> Option<Entrant> {
    let has_no_login = |protocol: &Protocol| !protocol.users_log_in();
    let mut without_login = Protocol::OF_FILES.into_iter().filter(has_no_login);
    let protocol = without_login.find(|protocol| current.settings.serves(share, *protocol))?;
    let person = rights::unnamed(share)?;
    let entries = entries(&User::Number(person.identity.clone()), share, current, |one| !one.users_log_in());
    let who = ("", protocol.word(), "the user that the client machine states".to_owned());
    Some(entrant(who, &person.identity, entries, share, folder))
}

/// The names of groups, each of which the host is asked for once.
pub(super) struct GroupNames(BTreeMap<u32, String>);

impl GroupNames {
    /// Knows the groups of the server's own.
    pub(super) fn of_server(accounts: &Directory) -> Self {
        Self(accounts.own_groups().iter().map(|group| (group.number, group.name.clone())).collect())
    }

    pub(super) fn name(&mut self, gid: u32, unix: &UnixAccounts) -> String {
        let ask = || unix.group_numbered(gid).map_or_else(|| gid.to_string(), |group| group.name);
        self.0.entry(gid).or_insert_with(ask).clone()
    }

    /// The groups of a user, the first one first.
    pub(super) fn of(&mut self, identity: &Identity, unix: &UnixAccounts) -> Vec<String> {
        let mut gids = vec![identity.gid];
        gids.extend(identity.groups.iter().filter(|gid| **gid != identity.gid));
        gids.into_iter().map(|gid| self.name(gid, unix)).collect()
    }
}

/// The groups of the server's own, and those that an account is in or a share names, by their names.
pub(super) fn groups(running: &Running) -> Vec<GroupStatus> {
    let current = running.current();
    let (unix, mut names) = (current.accounts.unix(), GroupNames::of_server(&current.accounts));
    let new = |name: &str, gid| GroupStatus {
        name: name.into(),
        gid,
        own: false,
        accounts: Vec::new(),
        shares: Vec::new(),
    };
    let own = current.accounts.own_groups().iter().map(|group| {
        let (accounts, name) = (group.members.clone(), group.name.clone());
        (name.clone(), GroupStatus { own: true, accounts, ..new(&name, Some(group.number)) })
    });
    let mut all: BTreeMap<String, GroupStatus> = own.collect();
    for account in current.accounts.accounts().iter().take(MOST_ACCOUNTS) {
        for gid in [account.identity.gid].iter().chain(account.identity.groups.iter()) {
            let name = names.name(*gid, unix);
            let group = all.entry(name.clone()).or_insert_with(|| new(&name, Some(*gid)));
            if !group.own && !group.accounts.contains(&account.name) {
                group.accounts.push(account.name.clone());
            }
        }
    }
    for share in &current.settings.shares {
        for name in share.groups.iter().map(String::as_str).chain(with_role(share)) {
            let ask = || new(name, roles::group_number(name, &current.accounts));
            all.entry(name.into()).or_insert_with(ask).shares.push(share.name.clone());
        }
    }
    all.into_values().collect()
}

/// The groups that have a role in a share.
fn with_role(share: &ShareSettings) -> impl Iterator<Item = &str> {
    let entries = share.team.iter().flat_map(|team| &team.entries);
    entries.filter_map(|entry| if let Who::Group(name) = &entry.who { Some(name.as_str()) } else { None })
}
