//! `accounts.toml` in the state folder: the accounts made with `fourfold user`.

mod error;
mod groups;
mod numbers;
mod renaming;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::durable;
use crate::identity::Ids;
use crate::secret::{Secret, StoredSecret};
use crate::state_file::{FileError, StateFile};

pub use error::Error;
pub use groups::{GroupRecord, MOST_MEMBERS, is_group_name};
pub use numbers::OWN_NUMBERS;

/// The format of a file with groups, and of one without: earlier programs would lose groups.
const WITH_GROUPS: u32 = 2;
const WITHOUT_GROUPS: u32 = 1;

const FILE: StateFile =
    StateFile { format: WITH_GROUPS, if_damaged: ", or move it away and make the accounts anew" };

/// Groups that an account can have in addition to those of its Unix user.
pub const MOST_GROUPS: usize = 64;

/// The accounts on disk, at the time of the read.
#[derive(Debug, Clone)]
pub struct AccountFile {
    path: PathBuf,
    /// In the order of their creation.
    pub accounts: Vec<Record>,
    /// Groups of the server's own, in the order of their creation.
    pub groups: Vec<GroupRecord>,
}

/// One account on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name, which is unique.
    pub name: String,
    /// The uid and gid with which it acts, if they are set.
    pub ids: Ids,
    /// Groups that it has in addition to those of its Unix user.
    pub groups: Vec<u32>,
    /// The account may not log in.
    pub disabled: bool,
    /// The account may administer the server over its API.
    pub admin: bool,
    /// The stored secrets of its password.
    pub secrets: Vec<Secret>,
}

#[derive(Serialize, Deserialize)]
struct StoredAccounts {
    format: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    account: Vec<WrittenRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    group: Vec<GroupRecord>,
}

#[derive(Serialize, Deserialize)]
struct WrittenRecord {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gid: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<u32>,
    #[serde(default)]
    disabled: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    admin: bool,
    #[serde(default)]
    secret: Vec<StoredSecret>,
}

impl AccountFile {
    /// Reads `accounts.toml` of a state folder. A missing file stands for no accounts.
    ///
    /// # Errors
    /// It exists but cannot be read or parsed.
    pub fn read(state: &Path) -> Result<Self, Error> {
        let path = state.join("accounts.toml");
        let written = FILE.read::<StoredAccounts>(&path)?;
        Ok(match written {
            Some(written) => written.file(path),
            None => Self { path, accounts: Vec::new(), groups: Vec::new() },
        })
    }

    /// Reads, changes and writes the accounts under the lock. If `change` fails, nothing is
    /// written.
    ///
    /// # Errors
    /// Those of reading, of `change` and of writing. The old file is then still complete.
    pub fn edit<T>(state: &Path, change: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let _lock = lock(state)?;
        let mut file = Self::read(state)?;
        let result = change(&mut file)?;
        file.write()?;
        Ok(result)
    }

    /// These accounts and groups, for the file at `path`.
    pub(crate) fn of(path: PathBuf, accounts: Vec<Record>, groups: Vec<GroupRecord>) -> Self {
        Self { path, accounts, groups }
    }

    /// Whether two files say the same, wherever they are.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.accounts == other.accounts && self.groups == other.groups
    }

    /// The same, read from this text. `path` is for messages.
    pub(crate) fn parse(path: PathBuf, text: &str) -> Result<Self, Error> {
        let written = FILE.parse::<StoredAccounts>(&path, text)?;
        Ok(written.file(path))
    }

    /// The account with a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Record> {
        self.accounts.iter().find(|account| account.name == name)
    }

    /// The account with a name, in any case of letters.
    #[must_use]
    pub fn find_in_any_case(&self, name: &str) -> Option<&Record> {
        self.find(name)
            .or_else(|| self.accounts.iter().find(|account| crate::is_same_name(&account.name, name)))
    }

    /// The accounts whose names differ from that of an earlier one in case only, each after the earlier one. Earlier versions made such.
    #[must_use]
    pub fn shadowed(&self) -> Vec<(&Record, &Record)> {
        let mut first: HashMap<String, &Record> = HashMap::new();
        let mut shadowed = Vec::new();
        for account in &self.accounts {
            match first.entry(crate::account_key(&account.name)) {
                Entry::Occupied(first) => shadowed.push((*first.get(), account)),
                Entry::Vacant(free) => {
                    free.insert(account);
                }
            }
        }
        shadowed
    }

    /// Adds an account.
    ///
    /// # Errors
    /// The name is used, in any case of letters, or not allowed, or the password is empty.
    pub fn add(&mut self, name: &str, ids: Ids, password: &str) -> Result<(), Error> {
        if !crate::is_account_name(name) {
            return Err(Error::BadName(name.into()));
        }
        if let Some(known) = self.find_in_any_case(name) {
            return Err(Error::Exists(known.name.clone()));
        }
        let secrets = secrets(name, password)?;
        let name = name.into();
        self.accounts.push(Record { name, ids, groups: Vec::new(), disabled: false, admin: false, secrets });
        Ok(())
    }

    /// Adds an account with the secrets that another server has stored.
    ///
    /// # Errors
    /// The name is used, in any case of letters, or not allowed.
    pub fn take_over(&mut self, name: &str, secrets: Vec<Secret>, disabled: bool) -> Result<(), Error> {
        if !crate::is_account_name(name) {
            return Err(Error::BadName(name.into()));
        }
        if let Some(known) = self.find_in_any_case(name) {
            return Err(Error::Exists(known.name.clone()));
        }
        let (name, ids) = (name.into(), Ids::default());
        self.accounts.push(Record { name, ids, groups: Vec::new(), disabled, admin: false, secrets });
        Ok(())
    }

    /// Says whether an account may administer the server over its API.
    ///
    /// # Errors
    /// There is no such account.
    pub fn set_admin(&mut self, name: &str, admin: bool) -> Result<(), Error> {
        self.change(name)?.admin = admin;
        Ok(())
    }

    /// An account, to change it.
    ///
    /// # Errors
    /// There is no such account.
    pub fn change(&mut self, name: &str) -> Result<&mut Record, Error> {
        self.accounts.iter_mut().find(|a| a.name == name).ok_or_else(|| Error::Missing(name.into()))
    }

    /// Gives an account these groups in addition to those of its Unix user.
    ///
    /// # Errors
    /// There is no such account, or there are too many groups.
    pub fn set_groups(&mut self, name: &str, mut groups: Vec<u32>) -> Result<(), Error> {
        groups.sort_unstable();
        groups.dedup();
        if groups.len() > MOST_GROUPS || groups.contains(&u32::MAX) {
            return Err(Error::Groups);
        }
        self.change(name)?.groups = groups;
        Ok(())
    }

    /// Sets an account's password.
    ///
    /// # Errors
    /// There is no such account, or the password is empty.
    pub fn set_password(&mut self, name: &str, password: &str) -> Result<(), Error> {
        let fresh = secrets(name, password)?;
        let account = self.accounts.iter_mut().find(|a| a.name == name);
        account.ok_or_else(|| Error::Missing(name.into()))?.secrets = fresh;
        Ok(())
    }

    /// As [`Self::set_password`], for the account's user. The administrator's choice remains: if
    /// the old Macs' part of the password or the CHAP secret was stored, the new one is stored,
    /// too.
    ///
    /// # Errors
    /// There is no such account, or the password is empty, or it is not valid for what must be
    /// stored.
    pub fn change_password(&mut self, name: &str, password: &str) -> Result<(), Error> {
        let has = |kind: fn(&Secret) -> bool| {
            self.find(name).is_some_and(|account| account.secrets.iter().any(kind))
        };
        let legacy = has(|secret| matches!(secret, Secret::Legacy(_)));
        let chap = has(|secret| matches!(secret, Secret::Chap(_)));
        self.set_password(name, password)?;
        if legacy {
            self.keep_legacy_password(name, password)?;
        }
        if chap { self.keep_chap_secret(name, password) } else { Ok(()) }
    }

    /// Stores, in addition, the part of the password that Macs before Mac OS 8.6 need: its start,
    /// unencrypted.
    ///
    /// # Errors
    /// There is no such account, or those Macs cannot type the password.
    pub fn keep_legacy_password(&mut self, name: &str, password: &str) -> Result<(), Error> {
        self.keep(name, Secret::legacy(password).ok_or(Error::NotMacRoman)?)
    }

    /// Stores, in addition, the unencrypted password as the CHAP secret, for iSCSI logins.
    ///
    /// # Errors
    /// There is no such account, or the password is too short or too long.
    pub fn keep_chap_secret(&mut self, name: &str, password: &str) -> Result<(), Error> {
        self.keep(name, Secret::chap(password).ok_or(Error::NotChapSecret)?)
    }

    /// Replaces another secret of its kind.
    fn keep(&mut self, name: &str, secret: Secret) -> Result<(), Error> {
        let account = self.accounts.iter_mut().find(|a| a.name == name);
        let secrets = &mut account.ok_or_else(|| Error::Missing(name.into()))?.secrets;
        secrets.retain(|other| std::mem::discriminant(other) != std::mem::discriminant(&secret));
        secrets.push(secret);
        Ok(())
    }

    /// Removes an account.
    ///
    /// # Errors
    /// There is no such account.
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        let at =
            self.accounts.iter().position(|a| a.name == name).ok_or_else(|| Error::Missing(name.into()))?;
        self.accounts.remove(at);
        self.leave_groups(name);
        Ok(())
    }

    /// The accounts as `accounts.toml` has them.
    pub(crate) fn text(&self) -> Result<String, Error> {
        Ok(FILE.text(&self.path, &self.written())?)
    }

    pub(crate) fn write(&self) -> Result<(), Error> {
        Ok(FILE.write(&self.path, &self.written())?)
    }

    fn written(&self) -> StoredAccounts {
        StoredAccounts {
            format: if self.groups.is_empty() { WITHOUT_GROUPS } else { WITH_GROUPS },
            account: self.accounts.iter().map(WrittenRecord::from).collect(),
            group: self.groups.clone(),
        }
    }
}

impl StoredAccounts {
    fn file(self, path: PathBuf) -> AccountFile {
        let accounts = self.account.into_iter().map(Record::from).collect();
        AccountFile { path, accounts, groups: self.group }
    }
}

impl From<&Record> for WrittenRecord {
    fn from(record: &Record) -> Self {
        let secret = record.secrets.iter().map(Secret::store).collect();
        let Ids { uid, gid } = record.ids;
        let Record { name, groups, disabled, admin, .. } = record;
        let (name, groups) = (name.clone(), groups.clone());
        Self { name, uid, gid, groups, disabled: *disabled, admin: *admin, secret }
    }
}

impl From<WrittenRecord> for Record {
    fn from(written: WrittenRecord) -> Self {
        let secrets = written.secret.iter().cloned().map(Secret::load).collect();
        let ids = Ids { uid: written.uid, gid: written.gid };
        let WrittenRecord { name, mut groups, disabled, admin, .. } = written;
        groups.truncate(MOST_GROUPS);
        Self { name, ids, groups, disabled, admin, secrets }
    }
}

fn secrets(name: &str, password: &str) -> Result<Vec<Secret>, Error> {
    if password.is_empty() {
        return Err(Error::EmptyPassword);
    }
    Secret::all_of(name, password).ok_or(Error::NoRandomness)
}

/// Held while the accounts change. The system releases it when the process ends, for any reason.
pub(crate) fn lock(state: &Path) -> Result<File, Error> {
    let path = state.join("accounts.lock");
    Ok(durable::lock(&path).map_err(FileError::io(&path))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn accounts_are_read_as_they_were_written() {
        let state = folder();
        AccountFile::edit(state.path(), |file| {
            file.add("ada", Ids { uid: Some(1000), gid: Some(50) }, "one")?;
            file.add("grace", Ids::default(), "two")
        })
        .unwrap();
        let first = AccountFile::read(state.path()).unwrap();
        AccountFile::edit(state.path(), |_| Ok(())).unwrap();
        let second = AccountFile::read(state.path()).unwrap();
        assert_eq!(first.accounts, second.accounts);
        assert_eq!(second.find("ada").unwrap().ids, Ids { uid: Some(1000), gid: Some(50) });
        assert_eq!(second.find("grace").unwrap().secrets[0].verifies("two"), Some(true));
        let text = std::fs::read_to_string(state.path().join("accounts.toml")).unwrap();
        assert!(text.starts_with("format = 1\n"), "{text}");
        assert!(!text.contains("\"one\"") && !text.contains("\"two\""));
    }

    #[test]
    fn an_administrator_stays_one_until_told_otherwise() {
        let state = folder();
        AccountFile::edit(state.path(), |file| {
            file.add("ada", Ids::default(), "one")?;
            file.add("grace", Ids::default(), "two")?;
            file.set_admin("ada", true)
        })
        .unwrap();
        let admins = || {
            let file = AccountFile::read(state.path()).unwrap();
            file.accounts.iter().map(|account| account.admin).collect::<Vec<_>>()
        };
        assert_eq!(admins(), [true, false]);
        AccountFile::edit(state.path(), |file| file.set_password("ada", "three")).unwrap();
        assert_eq!(admins(), [true, false]);
        AccountFile::edit(state.path(), |file| file.set_admin("ada", false)).unwrap();
        assert_eq!(admins(), [false, false]);
        let missing = AccountFile::edit(state.path(), |file| file.set_admin("bob", true));
        assert!(matches!(missing, Err(Error::Missing(_))));
    }

    #[test]
    fn the_old_macs_part_of_a_password_is_kept_only_when_asked_for() {
        let has = |file: &AccountFile| {
            let secrets = &file.find("ada").unwrap().secrets;
            secrets.iter().any(|secret| matches!(secret, Secret::Legacy(_)))
        };
        let mut file = AccountFile::of(PathBuf::new(), Vec::new(), Vec::new());
        file.add("ada", Ids::default(), "one").unwrap();
        file.change_password("ada", "two").unwrap();
        assert!(!has(&file));
        file.keep_legacy_password("ada", "two").unwrap();
        file.change_password("ada", "three").unwrap();
        assert!(has(&file) && file.find("ada").unwrap().secrets.contains(&Secret::legacy("three").unwrap()));
        assert!(matches!(file.change_password("ada", "✓"), Err(Error::NotMacRoman)));
        file.set_password("ada", "four").unwrap();
        assert!(!has(&file));
    }

    #[test]
    fn a_secret_of_chap_is_kept_only_when_asked_for_and_follows_the_password() {
        let mut file = AccountFile::of(PathBuf::new(), Vec::new(), Vec::new());
        file.add("ada", Ids::default(), "the first secret").unwrap();
        let secrets = |file: &AccountFile| -> Vec<Secret> {
            let all = file.find("ada").unwrap().secrets.iter();
            all.filter(|secret| matches!(secret, Secret::Chap(_))).cloned().collect()
        };
        assert!(secrets(&file).is_empty());
        file.keep_chap_secret("ada", "the first secret").unwrap();
        file.keep_chap_secret("ada", "the second secret").unwrap();
        assert!(secrets(&file) == [Secret::Chap(b"the second secret".to_vec())]);
        file.change_password("ada", "the third secret").unwrap();
        assert!(secrets(&file) == [Secret::Chap(b"the third secret".to_vec())]);
        let short = file.keep_chap_secret("ada", "too short").unwrap_err().to_string();
        assert!(short.contains("12 to 255 bytes") && short.contains("--chap-secret"), "{short}");
        assert!(matches!(file.keep_chap_secret("bob", "the first secret"), Err(Error::Missing(_))));
    }

    #[test]
    fn two_names_that_differ_in_case_only_are_not_both_made() {
        let mut file = AccountFile::of(PathBuf::new(), Vec::new(), Vec::new());
        file.add("Ädä", Ids::default(), "one").unwrap();
        for made in [file.add("äDÄ", Ids::default(), "two"), file.take_over("ÄDÄ", Vec::new(), false)] {
            assert!(matches!(made, Err(Error::Exists(name)) if name == "Ädä"));
        }
        assert!(file.shadowed().is_empty());
    }

    #[test]
    fn a_write_cut_off_by_a_crash_leaves_the_accounts_as_they_were() {
        let state = folder();
        AccountFile::edit(state.path(), |file| file.add("ada", Ids::default(), "one")).unwrap();
        let whole = std::fs::read(state.path().join("accounts.toml")).unwrap();
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            std::fs::write(state.path().join("accounts.toml.new"), &whole[..cut]).unwrap();
            assert_eq!(AccountFile::read(state.path()).unwrap().accounts.len(), 1);
        }
        AccountFile::edit(state.path(), |file| file.add("grace", Ids::default(), "two")).unwrap();
        assert_eq!(AccountFile::read(state.path()).unwrap().accounts.len(), 2);
    }

    #[test]
    fn a_change_that_fails_writes_nothing() {
        let state = folder();
        let failed = AccountFile::edit(state.path(), |file| {
            file.add("ada", Ids::default(), "one")?;
            file.add("ada", Ids::default(), "two")
        });
        assert!(matches!(failed, Err(Error::Exists(name)) if name == "ada"));
        assert!(AccountFile::read(state.path()).unwrap().accounts.is_empty());
    }

    #[test]
    fn a_later_format_and_a_damaged_file_are_refused_and_not_overwritten() {
        let state = folder();
        let path = state.path().join("accounts.toml");
        for (text, expected) in [
            ("format = 3\nother = {}\n", "has format 3"),
            ("format = 1\n[[acc", "is damaged"),
            ("[[account]]\nname = \"ada\"\n", "is damaged (it does not say its format)"),
            ("format = -1\n", "is damaged (it does not say its format)"),
            ("format = 1\nformat = 1\n", "is damaged (line 2: `format` is here a second time)"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error =
                AccountFile::edit(state.path(), |file| file.add("ada", Ids::default(), "x")).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_said_with_what_to_do() {
        let mut file = AccountFile::of(PathBuf::new(), Vec::new(), Vec::new());
        assert_eq!(
            file.remove("ada").unwrap_err().to_string(),
            "there is no account \"ada\"; `fourfold user list` shows them, `fourfold user add` makes one"
        );
        assert!(matches!(file.set_password("ada", "x"), Err(Error::Missing(_))));
        assert!(matches!(file.add("a:b", Ids::default(), "x"), Err(Error::BadName(_))));
        assert!(matches!(file.add("ada", Ids::default(), ""), Err(Error::EmptyPassword)));
    }
}
