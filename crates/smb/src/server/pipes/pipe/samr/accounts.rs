//! The users, groups and aliases of a domain.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::handles::AccountDomain;
use crate::server::pipes::pipe::names::{builtin, own_domain};
use crate::server::pipes::pipe::{LocalAccount, PipeHost};
use crate::wire::rpc::lsarpc::NameUse;
use crate::wire::rpc::samr::UserInfo;
use crate::wire::security::Sid;
use crate::wire::security::well_known::{self, Unix};

/// The one group of the server's own domain, MS-DTYP 2.4.2.4: Windows without a domain has it for all users.
pub(super) const NONE: u32 = 513;
const NONE_NAME: &str = "None";
/// The comment of it.
const NONE_COMMENT: &str = "Ordinary users";
const ADMINISTRATORS: u32 = 544;
const USERS: u32 = 545;

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SamrUser {
    pub(super) rid: u32,
    pub(super) name: String,
    account: LocalAccount,
}

/// A group or an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SamrGroup {
    pub(super) rid: u32,
    pub(super) name: String,
    pub(super) comment: &'static str,
}

/// The accounts of one domain, sorted by number.
pub(super) struct SamrAccounts<'a> {
    host: &'a dyn PipeHost,
    domain: AccountDomain,
    own: Sid,
    /// Those of the server's own domain.
    users: Vec<SamrUser>,
}

impl<'a> SamrAccounts<'a> {
    pub(super) fn of(host: &'a dyn PipeHost, domain: AccountDomain) -> Self {
        // Accounts that act as one Unix user are one user here: ACLs cannot tell them apart.
        let mut users = BTreeMap::new();
        for account in host.accounts() {
            if let Some(rid) = Unix::User(account.uid).rid() {
                users.entry(rid).or_insert_with(|| SamrUser { rid, name: account.name.clone(), account });
            }
        }
        let users = users.into_values().collect();
        Self { host, domain, own: own_domain(host).sid, users }
    }

    pub(super) fn users(&self) -> &[SamrUser] {
        if self.domain == AccountDomain::Own { &self.users } else { &[] }
    }

    pub(super) fn user(&self, rid: u32) -> Option<&SamrUser> {
        self.users().iter().find(|user| user.rid == rid)
    }

    pub(super) fn groups(&self) -> Vec<SamrGroup> {
        match self.domain {
            AccountDomain::Own => {
                vec![SamrGroup { rid: NONE, name: NONE_NAME.into(), comment: NONE_COMMENT }]
            }
            AccountDomain::Builtin => Vec::new(),
        }
    }

    pub(super) fn group(&self, rid: u32) -> Option<SamrGroup> {
        self.groups().into_iter().find(|group| group.rid == rid)
    }

    /// Groups of Unix of which an account is a member, and that have a name.
    pub(super) fn aliases(&self) -> Vec<SamrGroup> {
        let group = |rid, name: &str| SamrGroup { rid, name: name.into(), comment: "" };
        if self.domain == AccountDomain::Builtin {
            return builtin().map(|(rid, name)| group(rid, name)).collect();
        }
        let mut gids: Vec<u32> = self.users.iter().flat_map(|user| user.account.groups.clone()).collect();
        gids.sort_unstable();
        gids.dedup();
        let named = |gid: u32| Some(group(Unix::Group(gid).rid()?, &self.host.group(gid)?));
        gids.into_iter().filter_map(named).collect()
    }

    pub(super) fn alias(&self, rid: u32) -> Option<SamrGroup> {
        self.aliases().into_iter().find(|alias| alias.rid == rid)
    }

    /// The members of the group `rid`.
    pub(super) fn members_of_group(&self) -> Vec<u32> {
        self.users().iter().map(|user| user.rid).collect()
    }

    /// The members of an alias.
    pub(super) fn members(&self, rid: u32) -> Vec<Sid> {
        if self.domain == AccountDomain::Builtin && rid == USERS {
            return vec![well_known::AUTHENTICATED_USERS];
        }
        let members = self.users.iter().filter(|user| self.is_member(user, rid));
        members.filter_map(|user| self.own.with_rid(user.rid)).collect()
    }

    fn is_member(&self, user: &SamrUser, alias: u32) -> bool {
        match (self.domain, alias) {
            (AccountDomain::Builtin, ADMINISTRATORS) => user.account.uid == 0,
            (AccountDomain::Builtin, _) => alias == USERS,
            (AccountDomain::Own, _) => match Unix::of_rid(alias) {
                Some(Unix::Group(gid)) => user.account.groups.contains(&gid),
                _ => false,
            },
        }
    }

    /// The aliases of which one of these SIDs is a member.
    pub(super) fn memberships(&self, sids: &[Sid]) -> Vec<u32> {
        let sids: HashSet<Sid> = sids.iter().copied().collect();
        let is_meant = |user: &&SamrUser| {
            let own = self.own.with_rid(user.rid);
            sids.contains(&Unix::User(user.account.uid).sid()) || own.is_some_and(|own| sids.contains(&own))
        };
        let users: Vec<&SamrUser> = self.users.iter().filter(is_meant).collect();
        let of_one = |alias: &SamrGroup| users.iter().any(|user| self.is_member(user, alias.rid));
        self.aliases().into_iter().filter(of_one).map(|alias| alias.rid).collect()
    }

    /// The number and the kind of each name, which is in lower case. A client may ask for a thousand names in one call.
    pub(super) fn by_name(&self) -> HashMap<String, (u32, NameUse)> {
        let groups = self.groups_from_last();
        let mut by_name: HashMap<_, _> =
            groups.map(|(group, kind)| (group.name.to_lowercase(), (group.rid, kind))).collect();
        // Also the names of accounts that are not listed, as they act as the user of another.
        let accounts = if self.domain == AccountDomain::Own { self.host.accounts() } else { Vec::new() };
        by_name.extend(accounts.into_iter().rev().filter_map(|account| {
            let rid = Unix::User(account.uid).rid()?;
            Some((account.name.to_lowercase(), (rid, NameUse::User)))
        }));
        by_name
    }

    /// The name and the kind of each number.
    pub(super) fn by_number(&self) -> HashMap<u32, (String, NameUse)> {
        let groups = self.groups_from_last();
        let mut by_number: HashMap<_, _> =
            groups.map(|(group, kind)| (group.rid, (group.name, kind))).collect();
        by_number.extend(self.users().iter().map(|user| (user.rid, (user.name.clone(), NameUse::User))));
        by_number
    }

    /// All groups and aliases, the last one first: where two have one name, the first one counts.
    fn groups_from_last(&self) -> impl Iterator<Item = (SamrGroup, NameUse)> {
        let groups = self.groups().into_iter().map(|group| (group, NameUse::Group));
        groups.chain(self.aliases().into_iter().map(|alias| (alias, NameUse::Alias))).rev()
    }

    /// The SID of a number, whether or not it is in use, MS-SAMR 3.1.5.13.6.
    pub(super) fn sid(&self, rid: u32) -> Option<Sid> {
        let domain = if self.domain == AccountDomain::Own { self.own } else { well_known::BUILTIN };
        domain.with_rid(rid)
    }
}

impl SamrUser {
    /// The bits of its account.
    pub(super) fn control(&self) -> u32 {
        let disabled = if self.account.disabled { UserInfo::DISABLED } else { 0 };
        UserInfo::NORMAL | UserInfo::KEEPS_PASSWORD | disabled
    }
}
