//! A role on a file or folder, in place of the share's.
//!
//! It is stored as two entries, which files and folders inherit: one takes what the role does not give, one gives what it does. The
//! first entry that names a right decides it. So the entries of accounts come first, then those of groups, the widest role before
//! narrower ones, then those of everyone, then those of guests.

use admin::control::RightsReport;
use admin::settings::Who as Named;
use anyhow::{Context, bail};
use auth::{Accounts as _, Role};
use vfs::acl::{AclChange, Entries, Entry, EntryKind, Inherit, Rights, Who, rights_of_role};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller};

use super::effective::has_own_number;
use super::service::{RightsFile, RightsService, Tell};
use super::tree;
use crate::people::groups::NO_GROUP;
use crate::people::roles;

/// The roles that a file or folder can give. Those to add and to put in are the share's.
const BELOW: [Role; 3] = [Role::Owner, Role::Editor, Role::Reader];
const BOTH: Inherit = Inherit::FILES.union(Inherit::FOLDERS);

/// Gives somebody a role there and below, or takes such a role away.
pub(super) fn set(
    service: &RightsService<'_>,
    file: &RightsFile<'_>,
    (who, role): (&str, Option<&str>),
    tell: Tell<'_>,
) -> anyhow::Result<RightsReport> {
    let share = &file.share.name;
    let Some(shared) = file.volume.roles_at(&file.found)? else {
        bail!(
            "{share} is no team folder, so it has no roles: `fourfold set editors=NAMES {share}` makes it one"
        );
    };
    if file.path.is_empty() {
        bail!(
            "the roles of a share are its settings: `fourfold set editors=NAMES {share}`, and so on for owners, contributors, \
             readers and drop"
        );
    }
    tree::require_writable(file.share)?;
    let rights = role.map(|role| rights_of(role, file.is_folder())).transpose()?;
    let meant = meant(service, who)?;
    let acl = file.volume.acl(&file.found)?;
    let set = acl.set_entries();
    let is_own = |entry: &&Entry| !entry.inherit.contains(Inherit::INHERITED);
    let own = set.iter().filter(is_own).cloned();
    let mut list: Vec<Entry> = own.filter(|entry| entry.who != meant).collect();
    let had_some = list.len() < set.iter().filter(is_own).count();
    match rights {
        Some(rights) => list.extend(entries_of(&meant, rights)),
        None if !had_some => {
            bail!("nothing was set for {who} there; `fourfold rights show` says where it comes from")
        }
        None => {}
    }
    in_order(&mut list);
    list.extend(acl.entries.list.iter().filter(|entry| !is_own(entry)).cloned());
    let entries = Entries { list, ..acl.entries.clone() };
    let mut report = tree::changing(service, file, tell, &|| {
        let actor = Actor::new(Caller::root(), Party::client(ClientId::unused()));
        let change = AclChange { entries: Some(entries.clone()), ..AclChange::default() };
        file.volume.set_acl(&actor, &file.found, &change).map(drop)
    })?;
    let has_role = |entry: &auth::RoleEntry| match (&entry.grantee, &meant) {
        (auth::Grantee::User { uid, .. }, Who::User(user)) => *uid == Some(*user),
        (auth::Grantee::Group(gid), Who::Group(group)) => gid == group,
        (auth::Grantee::Everyone | auth::Grantee::Guests, _) => true,
        _ => false,
    };
    let may_enter = shared.entries().iter().any(has_role);
    if role.is_some_and(|role| role != "none") && !may_enter {
        report.notes.push(format!(
            "{who} has no role in {share} by this name, and gets in only by a group with a role"
        ));
    }
    Ok(report)
}

/// What a role gives, as a list can say it.
fn rights_of(role: &str, is_folder: bool) -> anyhow::Result<Rights> {
    if role == "none" {
        return Ok(Rights::NONE);
    }
    let role = BELOW.into_iter().find(|known| known.name() == role);
    let role = role.context("a file or folder gives the roles owner, editor, reader or none; contributor and drop are the share's")?;
    Ok(rights_of_role(role, is_folder))
}

/// The role that entries say.
pub(super) fn role_of(gives: Rights, takes: Rights, is_folder: bool) -> Option<&'static str> {
    if (gives, takes) == (Rights::NONE, Rights::ALL) {
        return Some("none");
    }
    let says = |role: &Role| {
        let rights = rights_of_role(*role, is_folder);
        (gives, takes) == (rights, Rights::ALL.difference(rights))
    };
    BELOW.into_iter().find(says).map(Role::name)
}

fn entries_of(who: &Who, rights: Rights) -> impl Iterator<Item = Entry> + use<> {
    let both = [Entry::deny(who.clone(), Rights::ALL.difference(rights)), Entry::allow(who.clone(), rights)];
    both.into_iter().filter(|entry| entry.rights != Rights::NONE).map(|entry| entry.inherited_by(BOTH))
}

/// Accounts, groups, everyone, guests; of groups the one first from which least is taken.
fn in_order(list: &mut [Entry]) {
    let taken_from = |who: &Who| {
        let denied = list.iter().filter(|entry| entry.who == *who && entry.kind == EntryKind::Deny);
        denied.fold(0, |all, entry| all | entry.rights.0).count_ones()
    };
    let taken: Vec<(Who, u32)> =
        list.iter().map(|entry| (entry.who.clone(), taken_from(&entry.who))).collect();
    list.sort_by_key(|entry| {
        let class = match entry.who {
            Who::Owner | Who::OwnerRights | Who::User(_) => 0,
            Who::Group(_) | Who::OwningGroup | Who::Foreign(_) => 1,
            Who::SignedIn => 2,
            Who::Everyone => 3,
        };
        (class, taken.iter().find(|(who, _)| *who == entry.who).map_or(0, |(_, count)| *count))
    });
}

/// The users that a word means, as an entry can name them.
fn meant(service: &RightsService<'_>, word: &str) -> anyhow::Result<Who> {
    let accounts = &service.current.accounts;
    match Named::parse(word) {
        Ok(Named::Everyone) => Ok(Who::SignedIn),
        Ok(Named::Guests) => Ok(Who::Everyone),
        Ok(Named::Group(name)) => {
            let number = roles::group_number(&name, accounts).filter(|number| *number != NO_GROUP);
            let number = number.with_context(|| format!("there is no group {name:?}"))?;
            Ok(Who::Group(number))
        }
        Ok(Named::Account(name)) => {
            let account = accounts
                .find_in_any_case(&name)
                .with_context(|| format!("there is no account {name:?}; `fourfold user list` shows all"))?;
            if !has_own_number(&account, service.current) {
                bail!(
                    "{name} has no Unix number of its own, by which a list could name it: `fourfold user modify {name} --uid NUMBER`"
                );
            }
            Ok(Who::User(account.identity.uid))
        }
        Err(Some(better)) => bail!("{word:?} means nobody; perhaps {better}"),
        Err(None) => bail!("{word:?} means nobody: write an account, @group, everyone or guests"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(given: &[(Who, &str)]) -> Vec<Entry> {
        let mut list: Vec<Entry> =
            given.iter().flat_map(|(who, role)| entries_of(who, rights_of(role, true).unwrap())).collect();
        in_order(&mut list);
        list
    }

    fn first(list: &[Entry], who: &Who) -> usize {
        list.iter().position(|entry| entry.who == *who).unwrap()
    }

    #[test]
    fn a_persons_own_role_comes_before_those_of_groups_and_of_all() {
        let (ada, studio) = (Who::User(1000), Who::Group(50));
        let list = list(&[
            (Who::Everyone, "none"),
            (Who::SignedIn, "none"),
            (studio.clone(), "reader"),
            (ada.clone(), "editor"),
        ]);
        let places = [&ada, &studio, &Who::SignedIn, &Who::Everyone].map(|who| first(&list, who));
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn of_two_groups_the_wider_role_comes_first() {
        let list = list(&[(Who::Group(50), "none"), (Who::Group(51), "reader"), (Who::Group(52), "editor")]);
        let places = [52, 51, 50].map(|group| first(&list, &Who::Group(group)));
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn what_a_role_takes_comes_before_what_it_gives_and_says_the_role() {
        for role in ["editor", "reader", "none", "owner"] {
            let list = list(&[(Who::User(1000), role)]);
            assert!(
                list.windows(2).all(|two| two[0].kind == EntryKind::Deny && two[1].kind == EntryKind::Allow)
            );
            let of = |kind| {
                list.iter()
                    .filter(|entry| entry.kind == kind)
                    .fold(Rights::NONE, |all, entry| all.union(entry.rights))
            };
            assert_eq!(role_of(of(EntryKind::Allow), of(EntryKind::Deny), true), Some(role));
        }
    }

    #[test]
    fn roles_of_the_share_are_no_roles_of_a_folder() {
        assert!(rights_of("contributor", true).is_err());
        assert!(rights_of("drop", true).is_err());
    }
}
