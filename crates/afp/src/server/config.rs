use std::net::SocketAddr;
use std::sync::Arc;

use auth::{Accounts, Identity, LoginGuard, SharePolicy, UnixAccounts};
use vfs::names::{Folding, Hiding};
use vfs::{Time, Volume};

use super::ids::Changed;
use crate::catalogue::Catalogue;

/// A version of the protocol, Apple Filing Protocol Reference, "AFP Version Strings".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "their numbers")]
pub enum Version {
    V2_1,
    V2_2,
    V2_3,
    V3_0,
    V3_1,
    V3_2,
    V3_3,
    V3_4,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: [Self; 8] =
        [Self::V2_1, Self::V2_2, Self::V2_3, Self::V3_0, Self::V3_1, Self::V3_2, Self::V3_3, Self::V3_4];

    /// What it is called on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2_1 => "AFPVersion 2.1",
            Self::V2_2 => "AFP2.2",
            Self::V2_3 => "AFP2.3",
            Self::V3_0 => "AFPX03",
            Self::V3_1 => "AFP3.1",
            Self::V3_2 => "AFP3.2",
            Self::V3_3 => "AFP3.3",
            Self::V3_4 => "AFP3.4",
        }
    }

    /// The version of this name.
    pub fn of(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name().as_bytes() == name)
    }

    /// Whether it is one of the 3 family: UTF-8 names, 64-bit forks, UNIX privileges.
    pub fn is_3(self) -> bool {
        self >= Self::V3_0
    }
}

/// By which methods people may log in. Guests may where a share lets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names")]
pub struct Logins {
    pub dhx2: bool,
    pub srp: bool,
    /// Older than what is thought safe today, as are all below.
    pub dhx: bool,
    pub randnum: bool,
    pub two_way_randnum: bool,
    pub cleartext: bool,
}

impl Default for Logins {
    fn default() -> Self {
        Self { dhx2: true, srp: true, dhx: false, randnum: false, two_way_randnum: false, cleartext: false }
    }
}

/// Everything a server of this protocol is told. Replaced as a whole when the settings are read again.
#[derive(Clone)]
pub struct Config {
    /// Which server this is, for ever: aliases depend on it.
    pub signature: [u8; 16],
    /// What it is called.
    pub name: String,
    /// What kind of machine it says it is, at most 16 characters.
    pub machine_type: String,
    /// The shares.
    pub shares: Vec<Arc<Share>>,
    /// Who may log in.
    pub accounts: Arc<dyn Accounts>,
    /// Whose the host's numbers are.
    pub unix: Arc<UnixAccounts>,
    /// As whom guests act; `None` when nobody comes in without an account.
    pub guest: Option<Identity>,
    /// How people log in.
    pub logins: Logins,
    /// Limits and logs logins. The same for all protocols, and after other settings.
    pub login_guard: Arc<LoginGuard>,
    /// People may change their passwords; called with the account's name and its new password.
    pub change_password: Option<ChangePassword>,
    /// Shown to who logs in.
    pub greeting: Option<String>,
    /// Where it can be reached.
    pub addresses: Vec<SocketAddr>,
}

/// Changes the password of an account: its name, the new password. Answers whether that went well.
pub type ChangePassword = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

impl Config {
    /// These shares for these people, and of the rest what most sites want.
    pub fn new(shares: Vec<Arc<Share>>, accounts: Arc<dyn Accounts>) -> Self {
        Self {
            signature: [0; 16],
            name: "fourfold".into(),
            machine_type: "Fourfold".into(),
            shares,
            accounts,
            unix: Arc::new(UnixAccounts::NameService),
            guest: None,
            logins: Logins::default(),
            login_guard: Arc::default(),
            change_password: None,
            greeting: None,
            addresses: Vec::new(),
        }
    }
}

/// A volume that clients can open.
pub struct Share {
    /// Its name.
    pub name: String,
    /// The tree.
    pub volume: Arc<Volume>,
    /// The 32-bit numbers of its files.
    pub catalogue: Catalogue,
    /// Which volume this is, for ever: backups depend on it.
    pub uuid: [u8; 16],
    /// When the share was first seen.
    pub created: Time,
    /// What the site decided.
    pub options: ShareOptions,
    /// When clients last changed anything.
    pub(super) changed: Changed,
    /// Which names listings leave out.
    pub(super) hiding: Hiding,
}

/// What the site decided about a share.
#[derive(Debug, Clone, Default)]
pub struct ShareOptions {
    /// Who may use it, and what for.
    pub policy: SharePolicy,
    /// Names that differ only in case are two.
    pub case_sensitive: bool,
    /// Macs may back up to it.
    pub time_machine: bool,
    /// What it claims to have, in bytes, for backups that would fill it otherwise.
    pub size_limit: Option<u64>,
    /// Asked of who opens it.
    pub password: Option<[u8; 8]>,
    /// Names left out of listings: patterns with `*` and `?`.
    pub hide: Vec<String>,
    /// Names that listings show although `hide`, or the server by itself, would leave them out.
    pub show: Vec<String>,
}

impl Share {
    /// A share of this name.
    pub fn new(
        name: impl Into<String>,
        (volume, catalogue): (Arc<Volume>, Catalogue),
        uuid: [u8; 16],
        created: Time,
        options: ShareOptions,
    ) -> Arc<Self> {
        let name = name.into();
        let (changed, hiding) =
            (Changed::default(), Hiding::new(&options.hide, &options.show, options.case_sensitive));
        Arc::new(Self { name, volume, catalogue, uuid, created, options, changed, hiding })
    }

    /// Which differences between names count in it.
    pub(super) fn folding(&self) -> Folding {
        Folding { case_sensitive: self.options.case_sensitive, ..Folding::default() }
    }
}
