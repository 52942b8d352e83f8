//! A person whose rights count: an account that can log in, a guest, or a user of NFS by the number.

use admin::ShareSettings;
use auth::{Account, Accounts as _, Identity};

use crate::people::accounts::policy;
use crate::people::roles;
use crate::serve::current::Current;

/// The most accounts that are looked at.
const MOST_ACCOUNTS: usize = 1000;

/// An account that can log in, or guests.
pub(crate) struct RightsPerson {
    /// The account; `None`: guests.
    pub(crate) account: Option<String>,
    pub(crate) identity: Identity,
}

impl RightsPerson {
    pub(crate) fn of(account: &Account) -> Self {
        let identity = account.identity.clone().of_session(Some(&account.name));
        Self { account: Some(account.name.clone()), identity }
    }

    pub(crate) fn guests() -> Self {
        Self { account: None, identity: Identity::anonymous().of_session(None) }
    }

    /// The account with this name, guests, or a user of NFS by the number.
    pub(crate) fn named(name: &str, current: &Current) -> Option<Self> {
        if name == "guests" {
            return Some(Self::guests());
        }
        match (current.accounts.find_in_any_case(name), name.parse()) {
            (Some(account), _) => Some(Self::of(&account)),
            (None, Ok(uid)) => Some(Self::numbered(uid, current)),
            (None, Err(_)) => None,
        }
    }

    /// Whether the share lets the person in. Users of the host and of NFS have no account that a share could name.
    pub(crate) fn enters(&self, share: &ShareSettings) -> bool {
        let has_role = || roles::of(share).is_some_and(|roles| !roles.of(&self.identity).is_empty());
        self.identity.is_numbered() || self.may_enter(share) || has_role()
    }

    /// A user of NFS, by the number and the groups that this machine knows.
    pub(crate) fn numbered(uid: u32, current: &Current) -> Self {
        let unix = current.accounts.unix();
        let user = unix.user_numbered(uid);
        let is_it = |account: &&Account| user.as_ref().is_some_and(|user| account.name == user.name);
        let identity = match (current.accounts.accounts().iter().find(is_it), &user) {
            (Some(account), _) => account.identity.clone(),
            (None, Some(user)) => Identity::new(uid, user.gid, &unix.groups_of(user)),
            (None, None) => Identity::new(uid, uid, &[]),
        };
        Self { account: None, identity: identity.of_numbered_call() }
    }

    /// All that can log in, and guests.
    pub(crate) fn all(current: &Current) -> Vec<Self> {
        let can_log_in = |account: &&Account| !account.disabled && !account.secrets.is_empty();
        let accounts = current.accounts.accounts().iter().filter(can_log_in).take(MOST_ACCOUNTS);
        accounts.map(Self::of).chain([Self::guests()]).collect()
    }

    /// The account, or `guests`.
    pub(crate) fn name(&self) -> &str {
        self.account.as_deref().unwrap_or("guests")
    }

    /// Whether the share names the account, or one of its groups, among those that may enter.
    pub(crate) fn may_enter(&self, share: &ShareSettings) -> bool {
        policy(share).admits(self.account.as_deref(), &|group| self.identity.in_group(group))
    }
}
