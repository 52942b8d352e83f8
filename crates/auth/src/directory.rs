//! The accounts of a running server, each with its Unix user.

mod table;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use self::table::AccountTable;
use crate::domain::Domain;
use crate::file::{AccountFile, Error, GroupRecord, OWN_NUMBERS, Record};
use crate::host_accounts::HostAccounts;
use crate::identity::{Basis, Host, Identity, Ids};
use crate::secret::{LEGACY, Secret, nt_hash};
use crate::srp::{IdentityHash, Verifier};
use crate::unix::{OwnNumbers, UnixAccounts, UnixGroup, UnixUser};

/// An account, ready to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// The Unix identity with which it acts.
    pub identity: Identity,
    /// The account may not log in.
    pub disabled: bool,
    /// The stored secrets of its password.
    pub secrets: Vec<Secret>,
}

/// Why a login is refused. Peers get the same answer for all reasons; logs have the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub enum Refusal {
    /// There is no such account.
    Unknown,
    /// The account may not log in.
    Disabled,
    /// The password is wrong.
    WrongPassword,
    /// The domain controller that must verify the password does not answer.
    NoController,
    /// The host, which knows the password, does not let the user in.
    ByHost,
}

/// The source of accounts: the server's own file, the host, and a domain.
pub trait Accounts: Send + Sync {
    /// The account with a name. For challenge and response, its [`Account::nt_hash`] is used.
    fn find(&self, name: &str) -> Option<Account>;

    /// The account of a session. It may be a user of the host without an account of this server.
    fn of_session(&self, name: &str) -> Option<Account> {
        self.find(name)
    }

    /// The accounts that are listed: not those of a domain.
    fn all(&self) -> Vec<Account> {
        Vec::new()
    }

    /// The account with a name, for protocols that ignore case: the one with exactly this name,
    /// otherwise the only one that differs only in case.
    fn find_in_any_case(&self, name: &str) -> Option<Account> {
        self.find(name).or_else(|| self.find(&name.to_lowercase()))
    }

    /// Why a refused login was refused, for the log. The peer only learns that the login is wrong.
    fn reason(&self, name: &str) -> Refusal {
        match self.find_in_any_case(name) {
            None => Refusal::Unknown,
            Some(account) if account.disabled => Refusal::Disabled,
            Some(_) => Refusal::WrongPassword,
        }
    }

    /// Whether every account that can log in has a verifier for logins without the password.
    /// Clients choose the method before they name an account, so a method should not be offered if
    /// some accounts cannot use it.
    fn all_have_verifiers(&self) -> bool {
        false
    }

    /// Verifies a password from the peer. It is slow by design: call it where blocking is allowed.
    ///
    /// # Errors
    /// The login is refused.
    fn verify(&self, name: &str, password: &str) -> Result<Account, Refusal>;
}

impl Refusal {
    /// The text for the log.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Unknown => "there is no such account",
            Self::Disabled => "the account is disabled",
            Self::WrongPassword => "the password is wrong",
            Self::NoController => "no domain controller can verify the password",
            Self::ByHost => "it is no account of this server, and is not let in as a user of the host",
        }
    }
}

impl Account {
    /// The NT hash, if the account has one.
    #[must_use]
    pub fn nt_hash(&self) -> Option<&[u8; 16]> {
        self.secrets.iter().find_map(|s| if let Secret::Nt(hash) = s { Some(hash) } else { None })
    }

    /// The verifier for logins without the password, if the account has a stored one.
    #[must_use]
    pub fn verifier(&self) -> Option<&Verifier> {
        self.secrets.iter().find_map(|s| if let Secret::Srp(verifier) = s { Some(&**verifier) } else { None })
    }

    /// What the verifier is derived from, if the password is not stored.
    #[must_use]
    pub fn identity_hash(&self) -> Option<&IdentityHash> {
        self.secrets
            .iter()
            .find_map(|s| if let Secret::IdentityHash(hash) = s { Some(&**hash) } else { None })
    }

    /// Whether the account has a verifier, or one can be derived.
    #[must_use]
    pub fn has_verifier(&self) -> bool {
        self.verifier().is_some() || self.identity_hash().is_some()
    }

    /// The start of the password itself, if it was to be stored.
    #[must_use]
    pub fn legacy(&self) -> Option<&[u8; LEGACY]> {
        self.secrets.iter().find_map(|s| if let Secret::Legacy(bytes) = s { Some(bytes) } else { None })
    }

    /// The CHAP secret, if it was to be stored.
    #[must_use]
    pub fn chap_secret(&self) -> Option<&[u8]> {
        self.secrets.iter().find_map(|s| if let Secret::Chap(bytes) = s { Some(&**bytes) } else { None })
    }

    /// Whether two states of an account have one password. Other secrets than the NT hash are salted: for one password,
    /// they differ after each start.
    #[must_use]
    pub fn has_same_password(&self, other: &Self) -> bool {
        match (self.nt_hash(), other.nt_hash()) {
            (Some(one), Some(other)) => is_same(one, other),
            _ => self.secrets == other.secrets,
        }
    }

    /// Verifies by the NT hash if there is one, because that takes a microsecond and no memory. A
    /// slow hash protects an account only if a thief of the file finds no quicker one in it.
    /// `LoginLimiter` limits guesses over the network.
    fn knows(&self, password: &str) -> bool {
        match self.nt_hash() {
            Some(hash) => is_same(hash, &nt_hash(password)),
            None => self.secrets.iter().find_map(|secret| secret.verifies(password)).unwrap_or(false),
        }
    }
}

/// Whether a user's session may continue after a change of the accounts: the account still exists
/// and is enabled, acts as the same Unix user, and has the same password.
pub fn may_go_on(name: &str, before: &dyn Accounts, now: &dyn Accounts) -> bool {
    let (Some(before), Some(now)) = (before.of_session(name), now.of_session(name)) else { return false };
    !now.disabled && before.identity == now.identity && before.has_same_password(&now)
}

/// Compares in a time that does not depend on where the bytes differ.
fn is_same(one: &[u8; 16], other: &[u8; 16]) -> bool {
    one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// The accounts of `accounts.toml`, of the settings and of the command line.
#[derive(Debug, Clone)]
pub struct Directory {
    accounts: AccountTable,
    /// By name: what is set for an account, and the reason of its identity.
    origins: HashMap<String, AccountOrigin>,
    /// The accounts that may administer the server.
    admins: HashSet<String>,
    /// The groups of the server's own.
    groups: Vec<GroupRecord>,
    host: Host,
    domain: Option<Arc<Domain>>,
    host_accounts: Option<Arc<HostAccounts>>,
}

/// What is set for an account.
#[derive(Debug, Clone)]
struct AccountOrigin {
    ids: Ids,
    groups: Vec<u32>,
    basis: Basis,
}

/// Verified if there is no account, so that an unknown name takes as long as a wrong password.
const DECOY: [u8; 16] = [0; 16];

impl Directory {
    /// The accounts of the file, with the identities that the host gives them.
    #[must_use]
    pub fn new(file: &AccountFile, host: Host) -> Self {
        let (origins, admins) = (HashMap::new(), HashSet::new());
        let mut directory = Self {
            accounts: AccountTable::default(),
            origins,
            admins,
            groups: file.groups.clone(),
            host,
            domain: None,
            host_accounts: None,
        };
        for (record, found) in file.accounts.iter().zip(directory.host.identities(&file.accounts)) {
            directory.put_as(record, found);
        }
        // One name is one account: of two that differ in case only, the one that was made first.
        for (_, shadowed) in file.shadowed() {
            directory.put(&Record { disabled: true, ..shadowed.clone() });
        }
        directory
    }

    /// Adds the settings of an account: `ids` and `disabled` override the file; a password (of
    /// `--user`) makes the account for as long as the server runs. If the password is valid as a
    /// CHAP secret, it becomes the secret, too, because it is not stored on disk. Nothing slow is done:
    /// the server starts with thousands of such accounts.
    ///
    /// # Errors
    /// There are no random bytes for a salt.
    pub fn set(&mut self, name: &str, ids: Ids, disabled: bool, password: Option<&str>) -> Result<(), Error> {
        let name = &*self.own_name(name);
        let known = self.accounts.find(name);
        let secrets = match password {
            Some(password) => Secret::of_run(name, password).ok_or(Error::NoRandomness)?,
            None => known.map(|account| account.secrets.clone()).unwrap_or_default(),
        };
        let kept = self.origins.get(name);
        let groups = kept.map(|kept| kept.groups.clone()).unwrap_or_default();
        let kept = kept.map(|kept| kept.ids).unwrap_or_default();
        let ids = Ids { uid: ids.uid.or(kept.uid), gid: ids.gid.or(kept.gid) };
        let disabled = disabled || (password.is_none() && known.is_some_and(|account| account.disabled));
        let admin = self.is_admin(name);
        self.put(&Record { name: name.into(), ids, groups, disabled, admin, secrets });
        Ok(())
    }

    /// Lets an account administer the server, as the settings say.
    pub fn set_admin(&mut self, name: &str) {
        let name = self.own_name(name);
        self.admins.insert(name);
    }

    /// The account with exactly this name, otherwise the only one that differs in case only.
    fn own(&self, name: &str) -> Option<&Account> {
        let mut alike = self.accounts.alike(name);
        self.accounts.find(name).or_else(|| alike.next().filter(|_| alike.next().is_none()))
    }

    /// The name of the account that this is one of, in any case of letters; the same for a new one.
    fn own_name(&self, name: &str) -> String {
        let found = self.accounts.find(name).or_else(|| self.accounts.alike(name).next());
        found.map_or_else(|| name.to_owned(), |account| account.name.clone())
    }

    /// Whether an account may administer the server.
    #[must_use]
    pub fn is_admin(&self, name: &str) -> bool {
        self.admins.contains(name)
    }

    /// Lets users of a domain log in, too. An account of the same name counts first.
    #[must_use]
    pub fn with_domain(self, domain: Option<Arc<Domain>>) -> Self {
        Self { domain, ..self }
    }

    /// Lets users of the host log in with their passwords, too. An account of the same name counts first. Only
    /// [`Accounts::verify`] lets them in: a ticket or a challenge needs an account that [`Accounts::find`] finds.
    #[must_use]
    pub fn with_host_accounts(self, host_accounts: Option<Arc<HostAccounts>>) -> Self {
        Self { host_accounts, ..self }
    }

    /// The users of the host, if they may log in.
    #[must_use]
    pub fn host_accounts(&self) -> Option<&Arc<HostAccounts>> {
        self.host_accounts.as_ref()
    }

    /// The domain whose users may log in.
    #[must_use]
    pub fn domain(&self) -> Option<&Arc<Domain>> {
        self.domain.as_ref()
    }

    /// The users and groups that files may belong to: those of the machine and of the domain, and the server's own.
    #[must_use]
    pub fn site(&self) -> UnixAccounts {
        let source = match &self.domain {
            Some(domain) => UnixAccounts::Domain(domain.clone()),
            None => self.host.unix.clone(),
        };
        source.with_own(self.own_numbers())
    }

    /// The accounts and groups that have numbers which no user of the host has.
    fn own_numbers(&self) -> OwnNumbers {
        let has_own = |account: &&Account| OWN_NUMBERS.contains(&account.identity.uid);
        let user = |account: &Account| {
            let Identity { uid, gid, .. } = account.identity;
            UnixUser { name: account.name.clone(), uid, gid }
        };
        let group = |group: &GroupRecord| UnixGroup {
            name: group.name.clone(),
            gid: group.number,
            members: group.members.clone(),
        };
        OwnNumbers {
            users: self.accounts.all().iter().filter(has_own).map(user).collect(),
            groups: self.groups.iter().map(group).collect(),
        }
    }

    fn of_domain(&self, name: &str) -> Option<Account> {
        let account = self.domain.as_ref()?.account(name)?;
        Some(self.in_own_groups(match self.host.own.is_root() {
            true => account,
            // A server that is not root can act as its own user only.
            false => Account { identity: self.host.own.clone(), ..account },
        }))
    }

    /// All accounts, for status and the console.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        self.accounts.all()
    }

    /// The reason of an account's identity.
    #[must_use]
    pub fn basis(&self, name: &str) -> Option<Basis> {
        self.origins.get(name).map(|origin| origin.basis)
    }

    /// The groups that are set for an account, in addition to those of its Unix user.
    #[must_use]
    pub fn further_groups(&self, name: &str) -> &[u32] {
        self.origins.get(name).map_or(&[], |origin| &origin.groups)
    }

    /// The group of the server's own with a name, in any case of letters.
    #[must_use]
    pub fn own_group(&self, name: &str) -> Option<&GroupRecord> {
        self.groups.iter().find(|group| crate::is_same_name(&group.name, name))
    }

    /// The groups of the server's own.
    #[must_use]
    pub fn own_groups(&self) -> &[GroupRecord] {
        &self.groups
    }

    fn in_own_groups(&self, account: Account) -> Account {
        let further = self.own_groups_of(&account.name);
        Account { identity: account.identity.with_groups(&further), ..account }
    }

    fn own_groups_of(&self, account: &str) -> Vec<u32> {
        self.groups.iter().filter(|group| group.has(account)).map(|group| group.number).collect()
    }

    /// The users and groups of the machine.
    #[must_use]
    pub fn unix(&self) -> &UnixAccounts {
        &self.host.unix
    }

    fn put(&mut self, record: &Record) {
        self.put_as(record, self.host.identity(&record.name, record.ids));
    }

    fn put_as(&mut self, record: &Record, (identity, basis): (Identity, Basis)) {
        // A server that is not root can act as its own user only.
        let identity = match self.host.own.is_root() {
            true => identity.with_groups(&record.groups),
            false => identity,
        };
        // Those of the server's own count for roles, which are by account.
        let identity = identity.with_groups(&self.own_groups_of(&record.name));
        let origin = AccountOrigin { ids: record.ids, groups: record.groups.clone(), basis };
        self.origins.insert(record.name.clone(), origin);
        if record.admin {
            self.admins.insert(record.name.clone());
        }
        let account = Account {
            name: record.name.clone(),
            identity,
            disabled: record.disabled,
            secrets: record.secrets.clone(),
        };
        self.accounts.put(account);
    }
}

impl Accounts for Directory {
    fn all(&self) -> Vec<Account> {
        self.accounts.all().to_vec()
    }

    fn find(&self, name: &str) -> Option<Account> {
        self.own(name).cloned().or_else(|| self.of_domain(name))
    }

    fn of_session(&self, name: &str) -> Option<Account> {
        let of_host = || self.host_accounts.as_ref()?.account(name);
        self.find(name).or_else(|| of_host().map(|account| self.in_own_groups(account)))
    }

    fn find_in_any_case(&self, name: &str) -> Option<Account> {
        self.find(name)
    }

    fn all_have_verifiers(&self) -> bool {
        self.host_accounts.is_none() && self.accounts.have_verifiers()
    }

    fn reason(&self, name: &str) -> Refusal {
        let own = self.own(name);
        match (own, self.find_in_any_case(name)) {
            (Some(account), _) if account.disabled => Refusal::Disabled,
            (Some(account), _) if !account.secrets.is_empty() => Refusal::WrongPassword,
            _ if self.host_accounts.is_some() => Refusal::ByHost,
            (_, None) => Refusal::Unknown,
            (_, Some(account)) if account.disabled => Refusal::Disabled,
            _ => Refusal::WrongPassword,
        }
    }

    fn verify(&self, name: &str, password: &str) -> Result<Account, Refusal> {
        let own = self.own(name);
        if let Some(host) =
            self.host_accounts.as_ref().filter(|_| own.is_none_or(|own| own.secrets.is_empty()))
        {
            // PAM tells case apart: the user of the host is the one with the account's name.
            let of_host = own.map_or(name, |own| &own.name);
            let of_host = host.log_in(of_host, password).ok_or(Refusal::ByHost)?;
            return match own {
                Some(own) if own.disabled => Err(Refusal::Disabled),
                Some(own) => Ok(own.clone()),
                None => Ok(self.in_own_groups(of_host)),
            };
        }
        let Some(account) = self.find(name) else {
            let _ = is_same(&DECOY, &nt_hash(password));
            return Err(Refusal::Unknown);
        };
        if !account.knows(password) {
            return Err(Refusal::WrongPassword);
        }
        if account.disabled { Err(Refusal::Disabled) } else { Ok(account) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSET: Ids = Ids { uid: None, gid: None };

    fn directory() -> Directory {
        let state = tempfile::tempdir().unwrap();
        AccountFile::edit(state.path(), |file| {
            file.add("ada", UNSET, "one")?;
            file.add("grace", Ids { uid: Some(1001), gid: None }, "two")?;
            file.add("nobody-here", UNSET, "three")
        })
        .unwrap();
        let unix = UnixAccounts::parse(
            "ada:x:1000:1000::/:\nhopper:x:1001:50::/:\nserver:x:7:7::/:\n",
            "staff:x:50:ada\n",
        );
        let own = Identity::new(7, 7, &[8]);
        let host = Host { unix, own, default_user: None };
        Directory::new(&AccountFile::read(state.path()).unwrap(), host)
    }

    #[test]
    fn an_account_acts_as_its_uid_else_the_same_named_unix_account_else_the_server() {
        let directory = directory();
        let identity = |name: &str| directory.find(name).unwrap().identity;
        assert_eq!(identity("ada"), Identity::new(1000, 1000, &[50]));
        assert_eq!(identity("grace"), Identity::new(1001, 50, &[]));
        assert_eq!(identity("nobody-here"), Identity::new(7, 7, &[8]));
    }

    #[test]
    fn members_of_a_group_of_the_server_have_its_number_whoever_the_server_is() {
        for own in [0, 7] {
            let state = tempfile::tempdir().unwrap();
            let number = AccountFile::edit(state.path(), |file| {
                file.add("ada", UNSET, "one")?;
                file.add("bob", UNSET, "two")?;
                file.add_group("studio", vec!["ADA".into()])
            });
            let (number, unix) = (number.unwrap(), UnixAccounts::parse("ada:x:1000:1000::/:\n", ""));
            let host = Host { unix, own: Identity::new(own, own, &[]), default_user: None };
            let directory = Directory::new(&AccountFile::read(state.path()).unwrap(), host);
            let is_member = |name: &str| directory.find(name).unwrap().identity.in_group(number);
            assert!(is_member("ada") && !is_member("bob"));
            assert_eq!(directory.own_group("Studio").unwrap().number, number);
        }
    }

    #[test]
    fn of_two_names_that_differ_in_case_only_the_first_logs_in() {
        let record = |name: &str, password: &str| Record {
            name: name.into(),
            ids: UNSET,
            groups: Vec::new(),
            disabled: false,
            admin: false,
            secrets: Secret::all_of(name, password).unwrap(),
        };
        let accounts = vec![record("ada", "one"), record("ADA", "two")];
        let host =
            Host { unix: UnixAccounts::parse("", ""), own: Identity::new(7, 7, &[]), default_user: None };
        let mut directory =
            Directory::new(&AccountFile::of("accounts.toml".into(), accounts, Vec::new()), host);
        assert!(directory.verify("ada", "one").is_ok());
        assert_eq!(directory.verify("ADA", "two").unwrap_err(), Refusal::Disabled);
        assert!(directory.find_in_any_case("ADA").unwrap().disabled);
        // The settings speak of the account, however they write it.
        directory.set("Ada", UNSET, true, None).unwrap();
        assert_eq!(directory.verify("ada", "one").unwrap_err(), Refusal::Disabled);
        assert_eq!(directory.accounts().len(), 2);
    }

    #[test]
    fn an_account_has_its_further_groups_if_the_server_is_root() {
        for (own, expected) in [(0, &[50, 5000][..]), (7, &[50])] {
            let state = tempfile::tempdir().unwrap();
            AccountFile::edit(state.path(), |file| {
                file.add("ada", UNSET, "one")?;
                assert!(file.set_groups("ada", vec![1; crate::MOST_GROUPS + 1]).is_ok(), "one group");
                assert!(file.set_groups("ada", (0..=crate::MOST_GROUPS as u32).collect()).is_err());
                assert!(file.set_groups("ada", vec![u32::MAX]).is_err());
                file.set_groups("ada", vec![5000, 50, 1000, 5000])
            })
            .unwrap();
            let unix = UnixAccounts::parse("ada:x:1000:1000::/:\n", "staff:x:50:ada\n");
            let host = Host { unix, own: Identity::new(own, own, &[]), default_user: None };
            let mut directory = Directory::new(&AccountFile::read(state.path()).unwrap(), host);
            directory.set("ada", UNSET, false, None).unwrap();
            assert_eq!(directory.find("ada").unwrap().identity, Identity::new(1000, 1000, expected));
            assert_eq!(directory.further_groups("ada"), [50, 1000, 5000]);
        }
    }

    #[test]
    fn a_login_needs_the_right_password_of_an_account_that_is_not_disabled() {
        let mut directory = directory();
        assert_eq!(directory.verify("ada", "one").unwrap().identity.uid, 1000);
        assert_eq!(directory.verify("ada", "two"), Err(Refusal::WrongPassword));
        assert_eq!(directory.verify("ADA", "one").unwrap().name, "ada");
        assert_eq!(directory.verify("Ada Lovelace", "one"), Err(Refusal::Unknown));
        directory.set("ada", UNSET, true, None).unwrap();
        assert_eq!(directory.verify("ada", "one"), Err(Refusal::Disabled));
        assert_eq!(directory.verify("ada", "two"), Err(Refusal::WrongPassword));
    }

    #[test]
    fn a_name_in_another_case_finds_an_account_that_is_the_only_one() {
        let mut directory = directory();
        assert_eq!(directory.find_in_any_case("ADA").unwrap().name, "ada");
        // The settings speak of the same account.
        directory.set("Ada", UNSET, false, None).unwrap();
        assert_eq!(directory.find_in_any_case("Ada").unwrap().name, "ada");
        assert_eq!(directory.find("aDA").unwrap().name, "ada");
        assert_eq!(directory.find_in_any_case("nobody"), None);
    }

    #[test]
    fn the_file_and_the_settings_name_administrators() {
        let mut directory = directory();
        assert!(!directory.is_admin("ada"));
        let record = |admin| Record {
            name: "ada".into(),
            ids: UNSET,
            groups: vec![],
            disabled: false,
            admin,
            secrets: vec![],
        };
        directory.put(&record(true));
        directory.set("ada", UNSET, false, Some("typed")).unwrap();
        directory.set_admin("grace");
        assert!(directory.is_admin("ada") && directory.is_admin("grace") && !directory.is_admin("Ada"));
    }

    #[test]
    fn settings_win_over_the_file_and_an_account_without_a_password_cannot_log_in() {
        let mut directory = directory();
        directory.set("grace", Ids { uid: Some(4242), gid: None }, false, None).unwrap();
        assert_eq!(directory.verify("grace", "two").unwrap().identity, Identity::new(4242, 65534, &[]));
        directory.set("ada", UNSET, false, Some("typed")).unwrap();
        assert!(directory.verify("ada", "typed").is_ok() && directory.verify("ada", "one").is_err());
        directory.set("new", UNSET, false, None).unwrap();
        assert_eq!(directory.verify("new", ""), Err(Refusal::WrongPassword));
        assert_eq!(*directory.find("ada").unwrap().nt_hash().unwrap(), crate::nt_hash("typed"));
    }

    #[test]
    fn what_the_settings_leave_unsaid_does_not_become_a_uid_that_was_set() {
        let mut directory = directory();
        directory.set("nobody-here", UNSET, false, Some("typed")).unwrap();
        assert_eq!(directory.basis("nobody-here"), Some(Basis::Server));
        directory.set("grace", Ids { uid: None, gid: Some(8) }, false, None).unwrap();
        let grace = directory.find("grace").unwrap().identity;
        assert_eq!((grace.uid, grace.gid, directory.basis("grace")), (1001, 8, Some(Basis::Set)));
    }

    #[test]
    fn a_password_of_the_command_line_is_the_secret_of_chap_too_if_it_is_long_enough() {
        let mut directory = directory();
        directory.set("typed", UNSET, false, Some("twelve bytes")).unwrap();
        assert_eq!(directory.find("typed").unwrap().chap_secret(), Some(&b"twelve bytes"[..]));
        directory.set("typed", UNSET, false, Some("too short")).unwrap();
        assert_eq!(directory.find("typed").unwrap().chap_secret(), None);
        assert_eq!(directory.find("ada").unwrap().chap_secret(), None);
    }

    #[test]
    fn verifiers_are_offered_only_when_all_who_can_log_in_have_one() {
        let mut directory = directory();
        assert!(directory.all_have_verifiers());
        directory.set("new", UNSET, false, None).unwrap(); // without a password
        assert!(directory.all_have_verifiers());
        let old = Secret::slow("four").unwrap();
        directory.put(&Record {
            name: "old".into(),
            ids: UNSET,
            groups: Vec::new(),
            disabled: false,
            admin: false,
            secrets: vec![old],
        });
        assert!(!directory.all_have_verifiers());
        directory.set("old", UNSET, true, None).unwrap();
        assert!(directory.all_have_verifiers());
    }

    #[test]
    fn a_login_lasts_while_account_password_and_user_are_unchanged() {
        let now = |change: &dyn Fn(&mut Vec<Account>)| {
            let (mut now, mut all) = (directory(), directory().all());
            change(&mut all);
            now.accounts = AccountTable::default();
            all.into_iter().for_each(|account| now.accounts.put(account));
            may_go_on("ada", &directory(), &now)
        };
        assert!(now(&|_| ()), "salts differ after each start");
        assert!(now(&|all| all.retain(|account| account.name == "ada")));
        assert!(!now(&|all| all.retain(|account| account.name != "ada")));
        assert!(!now(&|all| all.iter_mut().for_each(|account| account.disabled = true)));
        assert!(!now(&|all| all.iter_mut().for_each(|account| account.identity.uid += 1)));
        let other = || vec![Secret::Nt(nt_hash("another one"))];
        assert!(!now(&|all| all.iter_mut().for_each(|account| account.secrets = other())));
    }
}
