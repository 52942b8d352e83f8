//! The accounts of a Samba server: who they are here, and their take-over with the hashes of their passwords.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use auth::samba::{self, LoginRestriction, SambaAccount};
use auth::{AccountFile, Secret, UnixAccounts};
use serde::Serialize;

use super::share::quoted;

/// The longest database that is read.
const LONGEST: u64 = 256 << 20;
/// The database beside the one of the accounts that has the SIDs of domains.
const SECRETS: &str = "secrets.tdb";

/// What becomes of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fate {
    /// It can be taken over.
    New,
    /// It was taken over now.
    Made,
    /// There is an account of this name, which stays as it is.
    Exists,
    /// It has no password, or needs none: Samba lets nobody in with it, and no account is made.
    NoPassword,
    /// An account has this name in another case of letters.
    ExistsInOtherCase,
    /// It belongs to a computer or a domain.
    Machine,
    /// No account can have this name here.
    BadName,
}

impl Fate {
    fn text(self) -> &'static str {
        match self {
            Self::New => "can be taken over (--import-accounts)",
            Self::Made => "made, with the same password",
            Self::Exists => "there is an account of this name, which stays as it is",
            Self::NoPassword => "has no password: not taken over",
            Self::ExistsInOtherCase => {
                "there is an account whose name differs in case only, which stays as it is: not taken over"
            }
            Self::Machine => "belongs to a computer: not taken over",
            Self::BadName => "no account here can have this name",
        }
    }
}

/// An account, without its secrets.
#[derive(Debug, Serialize)]
pub(super) struct ImportedAccount {
    pub(super) name: String,
    /// Its SID, if the SID of its domain is known.
    pub(super) sid: Option<String>,
    pub(super) disabled: bool,
    /// Why it may not log in, or not always. It is made disabled.
    pub(super) closed: Option<&'static str>,
    /// Whether this host has a Unix user of this name.
    pub(super) unix: bool,
    pub(super) fate: Fate,
}

/// What a database says.
#[derive(Debug, Serialize)]
pub(super) struct PassdbAccounts {
    pub(super) accounts: Vec<ImportedAccount>,
    /// Names of accounts that cannot be read.
    pub(super) unreadable: Vec<String>,
    /// Why SIDs are not known.
    pub(super) no_sids: Option<String>,
}

/// Reads the accounts. With `import`, those that can be are made in this state folder.
pub(super) fn take_over(file: &Path, state: &Path, import: bool) -> anyhow::Result<PassdbAccounts> {
    let damaged = || format!("{} cannot be read", file.display());
    let (accounts, unreadable) = samba::accounts(&read(file)?).with_context(damaged)?;
    let domains = read(&file.with_file_name(SECRETS)).and_then(|bytes| Ok(samba::domains(&bytes)?));
    let (domains, no_sids) = match domains {
        Ok(domains) => (domains, None),
        Err(error) => (Vec::new(), Some(format!("{error:#}"))),
    };
    let known = AccountFile::read(state)?;
    let of = |account: &SambaAccount| ImportedAccount {
        sid: sid(account, &domains),
        disabled: account.closed.is_some(),
        closed: account.closed.map(reason),
        unix: UnixAccounts::NameService.user(&account.name).is_some(),
        fate: fate(account, &known),
        name: account.name.clone(),
    };
    let mut all: Vec<ImportedAccount> = accounts.iter().map(of).collect();
    if import && all.iter().any(|account| account.fate == Fate::New) {
        admin::State::folder(state)?;
        AccountFile::edit(state, |records| {
            for (known, account) in all.iter_mut().zip(&accounts) {
                if let (Fate::New, Some(hash)) = (known.fate, account.nt_hash) {
                    // Two accounts of the database may differ in case only.
                    if records.find_in_any_case(&account.name).is_some() {
                        known.fate = Fate::ExistsInOtherCase;
                        continue;
                    }
                    records.take_over(&account.name, vec![Secret::Nt(hash)], account.closed.is_some())?;
                    known.fate = Fate::Made;
                }
            }
            Ok(())
        })?;
        crate::commands::user::tell_server(state);
    }
    Ok(PassdbAccounts { accounts: all, unreadable, no_sids })
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let why = || format!("{} cannot be read", file.display());
    ensure!(fs::metadata(file).with_context(why)?.len() <= LONGEST, "{} is too long", file.display());
    fs::read(file).with_context(why)
}

fn fate(account: &SambaAccount, known: &AccountFile) -> Fate {
    match account {
        _ if account.is_machine => Fate::Machine,
        _ if !auth::is_account_name(&account.name) => Fate::BadName,
        _ if known.find(&account.name).is_some() => Fate::Exists,
        _ if known.find_in_any_case(&account.name).is_some() => Fate::ExistsInOtherCase,
        _ if account.nt_hash.is_none() || account.closed == Some(LoginRestriction::NoPassword) => {
            Fate::NoPassword
        }
        _ => Fate::New,
    }
}

/// Why an account stays closed, for people.
fn reason(closed: LoginRestriction) -> &'static str {
    match closed {
        LoginRestriction::NoPassword => "it has no password there",
        LoginRestriction::Disabled => "it is disabled there",
        LoginRestriction::Locked => "it is locked there",
        LoginRestriction::Expires => "it ends at a date there, and accounts here have no such date",
        LoginRestriction::MustChange => "its password must be changed first",
        LoginRestriction::Workstations => "it may log in from some computers only there",
        LoginRestriction::Hours => "it may log in at some hours only there",
    }
}

/// The SID of an account, by that of its domain. If no domain has the name that the account says, the only one counts.
fn sid(account: &SambaAccount, domains: &[(String, String)]) -> Option<String> {
    let named = domains.iter().find(|(name, _)| name.eq_ignore_ascii_case(&account.domain));
    let is_only = domains.iter().all(|(_, sid)| domains.first().is_some_and(|(_, first)| first == sid));
    let (_, domain) = named.or_else(|| domains.first().filter(|_| is_only))?;
    Some(format!("{domain}-{}", account.rid))
}

impl PassdbAccounts {
    /// The setting that says who the accounts' SIDs are. A name is one of the host, so only its users are in it.
    pub(super) fn setting(&self) -> Option<(&'static str, String)> {
        let people = self.accounts.iter().filter(|account| account.unix && account.fate != Fate::Machine);
        let sids = people.filter_map(|account| account.sid.as_ref().map(|sid| (sid, &account.name)));
        let sids: Vec<String> = sids.map(|(sid, name)| quoted(&format!("{sid}=user:{name}"))).collect();
        (!sids.is_empty()).then(|| ("samba-sids", format!("[{}]", sids.join(", "))))
    }

    /// For people.
    pub(super) fn text(&self, file: &Path) -> String {
        let mut text = format!("{}: {} accounts\n", file.display(), self.accounts.len());
        let rows = self.accounts.iter().map(|account| {
            let mut what = account.fate.text().to_owned();
            if let Some(closed) = account.closed.filter(|_| account.fate != Fate::NoPassword) {
                what.push_str(&format!("; disabled: {closed}"));
            }
            if !account.unix && !matches!(account.fate, Fate::Machine | Fate::BadName) {
                what.push_str("; this host has no user of this name: `fourfold user modify --uid` says as which it acts");
            }
            [format!("  {}", account.name), what]
        });
        text.push_str(&crate::terminal::out::table(rows));
        for name in &self.unreadable {
            text.push_str(&format!("  {name}: its record is damaged\n"));
        }
        if let Some(why) = &self.no_sids {
            text.push_str(&format!("  SIDs of these accounts are not known: {why}\n"));
        }
        let is_closed = |account: &ImportedAccount| account.closed.is_some() && account.fate == Fate::Made;
        if self.accounts.iter().any(is_closed) {
            text.push_str("  disabled accounts log in after `fourfold user modify NAME --disabled off`\n");
        }
        if self.accounts.iter().any(|account| account.fate == Fate::Made) {
            text.push_str(
                "  they log in with their passwords over SMB, and over AFP with DHX2 and older methods. `fourfold user passwd` sets a \
                 password again: then SRP over AFP works, too\n",
            );
        }
        text
    }
}

/// A file of accounts, and whether they are taken over.
pub(super) fn asked(adopt: &crate::cli::Adopt) -> anyhow::Result<Option<(PathBuf, PassdbAccounts)>> {
    let Some(file) = &adopt.passdb else { return Ok(None) };
    let state = match crate::host::here::state(&adopt.place)? {
        Ok(state) => state,
        Err(diagnostics) => {
            anyhow::bail!("{}", diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
    };
    Ok(Some((file.clone(), take_over(file, &state, adopt.import_accounts)?)))
}
