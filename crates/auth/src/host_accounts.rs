//! Users of the host's name service that log in without an account of this server's own, with the passwords that the host knows.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use lock::RwLock;
use zeroize::Zeroizing;

use crate::directory::Account;
use crate::identity::{Basis, Host, Ids};
use crate::name::is_account_name;
use crate::ranks;

/// The most users that are known.
const MOST_KNOWN: usize = 100_000;

/// What decides on a login. It asks the name service and the host's verification of passwords, and waits for as long as they do.
pub type Judging = Box<dyn FnOnce() -> Option<Account> + Send>;

/// Verifies passwords of the host's users.
pub trait HostPasswords: Send + Sync {
    /// Decides on a login: runs `judging` on another thread as the server's user, and waits a limited time. `None` also if
    /// there is no verdict in time or too many logins go on; the log has the reason.
    fn judge(&self, user: &str, judging: Judging) -> Option<Account>;

    /// Whether this is the password of a user that may log in now; the log has the reason if it is not. May wait for other
    /// servers without a limit.
    fn verify(&self, user: &str, password: &str) -> bool;
}

/// Who may log in, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRules {
    /// The name of what verifies the passwords.
    pub service: String,
    /// The lowest uid of users that may log in. root never may.
    pub min_uid: u32,
}

/// The users of the host. A user is known once it has logged in, so that its sessions outlast a reload of the settings.
pub struct HostAccounts {
    passwords: Arc<dyn HostPasswords>,
    rules: HostRules,
    host: Host,
    known: RwLock<HashMap<String, Account>, ranks::DomainKnown>,
}

impl HostAccounts {
    /// Without known users.
    #[must_use]
    pub fn new(passwords: Arc<dyn HostPasswords>, rules: HostRules, host: Host) -> Arc<Self> {
        Arc::new(Self { passwords, rules, host, known: RwLock::default() })
    }

    /// Who may log in.
    #[must_use]
    pub fn rules(&self) -> &HostRules {
        &self.rules
    }

    /// The account of a user that has logged in, as it was at its last login.
    #[must_use]
    pub fn account(&self, name: &str) -> Option<Account> {
        self.known.read().get(name).cloned()
    }

    /// The account of a user with this password, who is known from then on, with the ids and groups that the host has for it
    /// now. Waits a limited time.
    #[must_use]
    pub(crate) fn log_in(self: &Arc<Self>, name: &str, password: &str) -> Option<Account> {
        if password.is_empty() || !is_account_name(name) {
            return None;
        }
        let (host, user, password) = (self.clone(), name.to_owned(), Zeroizing::new(password.to_owned()));
        let account = self.passwords.judge(name, Box::new(move || host.judge(&user, &password)))?;
        self.know(account)
    }

    /// Decides on a login. Names that the host does not have take as long as wrong passwords. The system's own users do not: a
    /// module of PAM may lock a user after wrong passwords, and clients must not lock root.
    fn judge(&self, name: &str, password: &str) -> Option<Account> {
        let may_log_in = |uid: u32| uid != 0 && uid >= self.rules.min_uid;
        let user = self.host.unix.user(name);
        if let Some(user) = user.as_ref().filter(|user| user.name != name || !may_log_in(user.uid)) {
            tracing::debug!(
                user = name,
                uid = user.uid,
                host_name = user.name,
                "the settings do not let it in"
            );
            return None;
        }
        if !self.passwords.verify(name, password) {
            return None;
        }
        user?;
        let (identity, basis) = self.host.identity(name, Ids::default());
        let is_user = basis == Basis::HostUser && may_log_in(identity.uid); // the host may have changed meanwhile
        is_user.then(|| Account { name: name.into(), identity, disabled: false, secrets: Vec::new() })
    }

    fn know(&self, account: Account) -> Option<Account> {
        let mut known = self.known.write();
        if known.len() >= MOST_KNOWN && !known.contains_key(&account.name) {
            tracing::warn!(users = MOST_KNOWN, "too many users of the host have logged in");
            return None;
        }
        known.insert(account.name.clone(), account.clone());
        Some(account)
    }
}

impl fmt::Debug for HostAccounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostAccounts").field("rules", &self.rules).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::{Accounts, Directory, Refusal, may_go_on};
    use crate::file::AccountFile;
    use crate::identity::Identity;
    use crate::unix::UnixAccounts;

    /// Every user has its name, backwards, as its password. The names that were asked for.
    #[derive(Default)]
    struct Backwards(lock::Mutex<Vec<String>, ranks::KeptLines>);

    impl HostPasswords for Backwards {
        fn judge(&self, _user: &str, judging: Judging) -> Option<Account> {
            judging()
        }

        fn verify(&self, user: &str, password: &str) -> bool {
            self.0.lock().push(user.into());
            user.chars().rev().eq(password.chars())
        }
    }

    fn asked(accounts: &[&str], min_uid: u32) -> (Directory, Arc<Backwards>) {
        let state = tempfile::tempdir().unwrap();
        AccountFile::edit(state.path(), |file| {
            accounts.iter().try_for_each(|name| file.add(name, Ids::default(), "own"))
        })
        .unwrap();
        let unix = UnixAccounts::parse(
            "root:x:0:0::/:\ndaemon:x:1:1::/:\nada:x:1000:1000::/:\nbob:x:1001:1001::/:\n",
            "staff:x:50:ada\n",
        );
        let host = Host { unix, own: Identity::new(0, 0, &[]), default_user: Some("ada".into()) };
        let passwords = Arc::new(Backwards::default());
        let rules = HostRules { service: "test".into(), min_uid };
        let users = HostAccounts::new(passwords.clone(), rules, host.clone());
        (
            Directory::new(&AccountFile::read(state.path()).unwrap(), host).with_host_accounts(Some(users)),
            passwords,
        )
    }

    fn directory(accounts: &[&str]) -> Directory {
        asked(accounts, 1000).0
    }

    #[test]
    fn a_user_of_the_host_logs_in_with_its_password_and_acts_with_its_ids() {
        let directory = directory(&[]);
        assert_eq!(directory.of_session("bob"), None, "it has not logged in");
        for wrong in ["bob!", "", "bobx"] {
            assert_eq!(directory.verify("bob", wrong), Err(Refusal::ByHost));
        }
        assert!(directory.of_session("bob").is_none() && !directory.all_have_verifiers());
        let ada = directory.verify("ada", "ada").unwrap();
        assert_eq!(ada.identity, Identity::new(1000, 1000, &[50]));
        assert_eq!(directory.of_session("ada"), Some(ada));
        assert_eq!(directory.find("ada"), None, "a ticket or a challenge lets it in no further");
    }

    #[test]
    fn a_session_of_a_user_of_the_host_lasts_while_the_settings_let_users_in() {
        let before = directory(&[]);
        before.verify("ada", "ada").unwrap();
        let off = before.clone().with_host_accounts(None);
        assert!(may_go_on("ada", &before, &before.clone()) && !may_go_on("ada", &before, &off));
        assert!(!may_go_on("ada", &before, &directory(&[])), "by other rules");
    }

    #[test]
    fn neither_root_nor_users_of_the_system_nor_unknown_ones_may_log_in() {
        for min_uid in [0, 1, 1000] {
            let (directory, passwords) = asked(&[], min_uid);
            for (name, password) in
                [("root", "toor"), ("eve", "eve"), ("", ""), ("-ada", "ada-"), ("Ada", "adA")]
            {
                assert_eq!(directory.verify(name, password), Err(Refusal::ByHost), "{name}");
            }
            assert_eq!(*passwords.0.lock(), ["eve", "Ada"], "guesses do not lock root");
            assert_eq!(directory.verify("daemon", "nomead").is_ok(), min_uid < 1000, "{min_uid}");
        }
    }

    #[test]
    fn an_account_of_the_server_counts_first() {
        let mut directory = directory(&["ada"]);
        assert!(directory.verify("ada", "own").is_ok());
        assert_eq!(directory.verify("ada", "ada"), Err(Refusal::WrongPassword));
        // One without a password only says more of a user of the host.
        directory.set("bob", Ids { uid: Some(7), gid: None }, false, None).unwrap();
        assert_eq!(directory.verify("bob", "bob").unwrap().identity.uid, 7);
        directory.set("bob", Ids::default(), true, None).unwrap();
        assert_eq!(directory.verify("bob", "bob"), Err(Refusal::Disabled));
        // The host does not have these, or does not let them in.
        for (name, password) in [("eve", "eve"), ("root", "toor")] {
            directory.set(name, Ids::default(), false, None).unwrap();
            assert_eq!(directory.verify(name, password), Err(Refusal::ByHost));
        }
    }
}
