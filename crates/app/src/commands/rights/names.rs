//! Names for the numbers of users and groups in lists and on the disk.

use std::cell::RefCell;
use std::collections::HashMap;

use auth::{ANONYMOUS, Directory, Grantee};
use vfs::acl::Who;

/// The names of users and groups, each of which the host is asked for once.
pub(crate) struct RightsNames<'a> {
    accounts: &'a Directory,
    users: RefCell<HashMap<u32, String>>,
    groups: RefCell<HashMap<u32, String>>,
}

impl<'a> RightsNames<'a> {
    pub(super) fn new(accounts: &'a Directory) -> Self {
        Self { accounts, users: RefCell::default(), groups: RefCell::default() }
    }

    /// The account that acts as this Unix user, else the user; a number if nobody has it.
    pub(super) fn user(&self, uid: u32) -> String {
        if let Some(known) = self.users.borrow().get(&uid) {
            return known.clone();
        }
        let account = || {
            let mut accounts = self.accounts.accounts().iter();
            accounts
                .find(|account| account.identity.uid == uid && uid != ANONYMOUS)
                .map(|one| one.name.clone())
        };
        let name = account()
            .or_else(|| self.accounts.unix().user_numbered(uid).map(|user| user.name))
            .unwrap_or_else(|| format!("uid {uid}"));
        self.users.borrow_mut().insert(uid, name.clone());
        name
    }

    /// A group, as lists of settings write it.
    pub(super) fn group(&self, gid: u32) -> String {
        if let Some(known) = self.groups.borrow().get(&gid) {
            return known.clone();
        }
        let own = || self.accounts.own_groups().iter().find(|group| group.number == gid);
        let name = match own() {
            Some(group) => format!("@{}", group.name),
            None => match self.accounts.site().group_numbered(gid) {
                Some(group) => format!("@{}", group.name),
                None => format!("gid {gid}"),
            },
        };
        self.groups.borrow_mut().insert(gid, name.clone());
        name
    }

    /// Those who have a role.
    pub(super) fn grantee(&self, grantee: &Grantee) -> String {
        match grantee {
            Grantee::User { name, .. } => name.clone(),
            Grantee::Group(gid) => self.group(*gid),
            Grantee::Everyone => "everyone".into(),
            Grantee::Guests => "guests".into(),
        }
    }

    /// The users that an entry means.
    pub(super) fn who(&self, who: &Who) -> String {
        match who {
            Who::User(uid) => self.user(*uid),
            Who::Group(gid) => self.group(*gid),
            Who::Owner | Who::OwnerRights => "owner".into(),
            Who::OwningGroup => "owning group".into(),
            Who::SignedIn => "everyone".into(),
            Who::Everyone => "guests".into(),
            Who::Foreign(sid) => vfs::acl::samba::text_of_sid(sid),
        }
    }
}
