//! The roles that people have in a share: who may read, add, change and share out rights. A share with roles is a team folder.
//!
//! A person has the union of the roles of all entries that mean this person. What a role may do to a file is the tree's
//! business (`vfs`); here is only who has it.

use crate::identity::{ANONYMOUS, Identity};

/// What somebody may do in a team folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Does everything, and says who may do what.
    Owner,
    /// Changes all files, also those of others.
    Editor,
    /// Adds files and folders, and changes and removes its own.
    Contributor,
    /// Reads everything.
    Reader,
    /// Puts files in, and does not see what is there.
    Drop,
}

/// Those who have a role.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Grantee {
    /// An account. A login has it by its name, in any case of letters; a client of a protocol without logins by the number.
    User {
        /// The name of the account.
        name: String,
        /// Its Unix number, if it has one of its own.
        uid: Option<u32>,
    },
    /// The members of a group of this Unix number.
    Group(u32),
    /// All that have logged in, or that the client names: all but guests.
    Everyone,
    /// All, with and without a login.
    Guests,
}

impl Grantee {
    /// Whether it means all people, and no list of them.
    #[must_use]
    pub fn is_everyone(&self) -> bool {
        matches!(self, Self::Everyone | Self::Guests)
    }
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RoleEntry {
    /// What they may do.
    pub role: Role,
    /// Who.
    pub grantee: Grantee,
}

/// The roles of a share. Nobody else may enter it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Roles {
    entries: Vec<RoleEntry>,
    keeps_apart: bool,
}

/// Some of the roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RoleSet(u8);

impl Role {
    /// All of them, the widest first.
    pub const ALL: [Self; 5] = [Self::Owner, Self::Editor, Self::Contributor, Self::Reader, Self::Drop];

    /// Its name in commands and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Editor => "editor",
            Self::Contributor => "contributor",
            Self::Reader => "reader",
            Self::Drop => "drop",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl RoleSet {
    /// No role.
    pub const NONE: Self = Self(0);
    /// Contributors see only what is their own: no role, but a mark of that of contributors.
    const APART: u8 = 0x80;

    /// The same, and this role.
    #[must_use]
    pub fn with(self, role: Role) -> Self {
        Self(self.0 | role.bit())
    }

    /// Whether a role is one of them.
    #[must_use]
    pub fn has(self, role: Role) -> bool {
        self.0 & role.bit() != 0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 & !Self::APART == 0
    }

    /// Whether a contributor sees only what is its own, unless another role shows it more.
    #[must_use]
    pub fn keeps_apart(self) -> bool {
        self.0 & Self::APART != 0
    }

    /// They, the widest first.
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.has(*role))
    }
}

impl FromIterator<Role> for RoleSet {
    fn from_iter<T: IntoIterator<Item = Role>>(roles: T) -> Self {
        roles.into_iter().fold(Self::NONE, Self::with)
    }
}

impl Roles {
    /// Roles by these entries.
    #[must_use]
    pub fn new(entries: Vec<RoleEntry>) -> Self {
        Self { entries, keeps_apart: false }
    }

    /// The same, of a share for backups: its contributors see only what is their own.
    #[must_use]
    pub fn keeping_apart(self, keeps_apart: bool) -> Self {
        Self { keeps_apart, ..self }
    }

    /// Whether its contributors see only what is their own.
    #[must_use]
    pub fn keeps_apart(&self) -> bool {
        self.keeps_apart
    }

    /// These roles, as they are in this share.
    #[must_use]
    pub fn set_of(&self, roles: impl IntoIterator<Item = Role>) -> RoleSet {
        let roles: RoleSet = roles.into_iter().collect();
        let is_apart = self.keeps_apart && roles.has(Role::Contributor);
        if is_apart { RoleSet(roles.0 | RoleSet::APART) } else { roles }
    }

    /// The entries.
    #[must_use]
    pub fn entries(&self) -> &[RoleEntry] {
        &self.entries
    }

    /// The roles of a user. The superuser of the host has all rights and is an owner.
    #[must_use]
    pub fn of(&self, user: &Identity) -> RoleSet {
        if user.is_root() {
            return RoleSet::NONE.with(Role::Owner);
        }
        let account = user.origin.as_ref().and_then(|origin| origin.account.as_deref());
        let logs_in = user.origin.as_ref().is_some_and(|origin| origin.protocol.users_log_in());
        let is_guest = account.is_none() && (logs_in || user.uid == ANONYMOUS);
        self.matching(is_guest, &|group| user.in_group(group), &|name, uid| match account {
            Some(account) => crate::is_same_name(name, account),
            None => uid == Some(user.uid),
        })
    }

    /// The roles of a login, or of a guest (`None`), whose Unix identity does not matter.
    #[must_use]
    pub fn of_login(&self, account: Option<&str>, is_member: &dyn Fn(u32) -> bool) -> RoleSet {
        let is_user = |name: &str, _| account.is_some_and(|account| crate::is_same_name(name, account));
        self.matching(account.is_none(), is_member, &is_user)
    }

    /// A guest is no member of any group, and the group of guests gives nobody a role.
    fn matching(
        &self,
        is_guest: bool,
        is_member: &dyn Fn(u32) -> bool,
        is_user: &dyn Fn(&str, Option<u32>) -> bool,
    ) -> RoleSet {
        let is_meant = |entry: &&RoleEntry| match &entry.grantee {
            Grantee::Guests => true,
            _ if is_guest => false,
            Grantee::Everyone => true,
            Grantee::Group(group) => *group != ANONYMOUS && is_member(*group),
            Grantee::User { name, uid } => is_user(name, *uid),
        };
        self.set_of(self.entries.iter().filter(is_meant).map(|entry| entry.role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(entries: Vec<(Role, Grantee)>) -> Roles {
        Roles::new(entries.into_iter().map(|(role, grantee)| RoleEntry { role, grantee }).collect())
    }

    fn user(name: &str, uid: Option<u32>) -> Grantee {
        Grantee::User { name: name.into(), uid }
    }

    fn login(uid: u32, account: Option<&str>) -> Identity {
        Identity::new(uid, uid, &[50]).of_session(account)
    }

    fn set(roles: &[Role]) -> RoleSet {
        roles.iter().copied().collect()
    }

    #[test]
    fn a_login_has_roles_by_its_name_and_not_by_its_number() {
        let roles =
            roles(vec![(Role::Editor, user("Ada", Some(1000))), (Role::Reader, user("bob", Some(7)))]);
        assert_eq!(roles.of(&login(7, Some("aDA"))), set(&[Role::Editor]));
        assert_eq!(roles.of(&login(1000, Some("bob"))), set(&[Role::Reader]));
        assert_eq!(roles.of(&login(1000, Some("eve"))), RoleSet::NONE);
        assert_eq!(roles.of_login(Some("ADA"), &|_| false), set(&[Role::Editor]));
    }

    #[test]
    fn without_a_login_the_number_counts_but_never_the_anonymous() {
        let roles =
            roles(vec![(Role::Editor, user("ada", Some(1000))), (Role::Owner, user("x", Some(65_534)))]);
        assert_eq!(roles.of(&Identity::new(1000, 1, &[])), set(&[Role::Editor]));
        let by_nfs = Identity::new(1000, 1, &[]).of_numbered_call();
        assert_eq!(roles.of(&by_nfs), set(&[Role::Editor]));
        assert_eq!(roles.of(&Identity::anonymous()), RoleSet::NONE);
        assert_eq!(roles.of(&Identity::new(1001, 1, &[])), RoleSet::NONE);
    }

    #[test]
    fn a_user_without_a_number_is_nobody_for_nfs() {
        let roles = roles(vec![(Role::Editor, user("ada", None))]);
        assert_eq!(roles.of(&Identity::new(1000, 1, &[])), RoleSet::NONE);
        assert_eq!(roles.of(&login(1000, Some("ada"))), set(&[Role::Editor]));
    }

    #[test]
    fn several_entries_add_up() {
        let roles = roles(vec![
            (Role::Drop, Grantee::Guests),
            (Role::Reader, Grantee::Everyone),
            (Role::Contributor, Grantee::Group(50)),
        ]);
        assert_eq!(roles.of(&login(7, Some("ada"))), set(&[Role::Contributor, Role::Reader, Role::Drop]));
        assert_eq!(roles.of(&Identity::new(8, 8, &[])), set(&[Role::Reader, Role::Drop]));
        assert_eq!(roles.of(&Identity::anonymous()), set(&[Role::Drop]));
    }

    #[test]
    fn a_guest_is_in_no_group_whoever_it_acts_as() {
        let all = vec![(Role::Editor, Grantee::Group(50)), (Role::Reader, Grantee::Everyone)];
        assert_eq!(roles(all.clone()).of(&login(1000, None)), RoleSet::NONE);
        assert_eq!(roles(all).of_login(None, &|_| true), RoleSet::NONE);
        let nogroup = roles(vec![(Role::Editor, Grantee::Group(ANONYMOUS))]);
        assert_eq!(nogroup.of(&login(ANONYMOUS, Some("ada"))), RoleSet::NONE);
    }

    #[test]
    fn contributors_are_kept_apart_only_where_the_share_says_so() {
        let entries = vec![(Role::Contributor, user("ada", None)), (Role::Reader, user("bob", None))];
        let (plain, apart) = (roles(entries.clone()), roles(entries).keeping_apart(true));
        let of = |roles: &Roles, name| roles.of_login(Some(name), &|_| false);
        assert!(of(&apart, "ada").keeps_apart() && !of(&plain, "ada").keeps_apart());
        assert!(!of(&apart, "bob").keeps_apart());
        assert!(of(&apart, "eve").is_empty() && !of(&apart, "eve").keeps_apart());
        assert_eq!(of(&apart, "ada").iter().collect::<Vec<_>>(), [Role::Contributor]);
    }

    #[test]
    fn roles_are_found_by_their_names() {
        assert!(Role::ALL.into_iter().all(|role| Role::named(role.name()) == Some(role)));
        assert_eq!(Role::named("boss"), None);
    }
}
