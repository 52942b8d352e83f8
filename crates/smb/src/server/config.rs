//! The settings of the SMB server, as one value that a reload replaces.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use auth::kerberos::Kerberos;
use auth::{Accounts, DomainLogon, Identity, LoginGuard, SharePolicy, UnixAccounts};
use namespace::Namespace;
use vfs::names::{Characters, Folding, windows_view};
use vfs::{Caller, Volume};
use wire::Sid;

use crate::wire::security::well_known;

/// A version of the protocol, MS-SMB2 2.2.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "their numbers")]
pub enum Dialect {
    V2_0_2,
    V2_1,
    V3_0,
    V3_0_2,
    V3_1_1,
}

impl Dialect {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] = [Self::V2_0_2, Self::V2_1, Self::V3_0, Self::V3_0_2, Self::V3_1_1];

    /// Its number on the wire.
    pub fn number(self) -> u16 {
        match self {
            Self::V2_0_2 => 0x0202,
            Self::V2_1 => 0x0210,
            Self::V3_0 => 0x0300,
            Self::V3_0_2 => 0x0302,
            Self::V3_1_1 => 0x0311,
        }
    }

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2_0_2 => "2.0.2",
            Self::V2_1 => "2.1",
            Self::V3_0 => "3.0",
            Self::V3_0_2 => "3.0.2",
            Self::V3_1_1 => "3.1.1",
        }
    }

    /// The dialect of this number.
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.number() == number)
    }

    /// Whether a request may cost more than one credit.
    pub fn has_large_mtu(self) -> bool {
        self > Self::V2_0_2
    }

    /// Whether the data of an error come in contexts.
    pub fn has_error_contexts(self) -> bool {
        self >= Self::V3_1_1
    }

    /// Whether it is one of the 3 family.
    pub fn is_v3(self) -> bool {
        self >= Self::V3_0
    }
}

/// All settings of the SMB server. Replaced as a whole when the settings are read again.
#[derive(Clone)]
pub struct Config {
    /// The server's own number, the same over restarts.
    pub guid: [u8; 16],
    /// Its NetBIOS-style name. Only its first 15 characters are shown where NetBIOS limits it.
    pub name: String,
    /// The description of the server in lists of servers.
    pub comment: String,
    /// The shares, without `IPC$`.
    pub shares: Vec<Arc<Share>>,
    /// Shares of homes, in which each user sees a folder of its own.
    pub homes: Vec<HomesShare>,
    /// The accounts that may log in.
    pub accounts: Arc<dyn Accounts>,
    /// Takes Kerberos tickets; `None` if the server has no keytab.
    pub kerberos: Option<Arc<dyn Kerberos>>,
    /// Has passwords of users of a domain verified; `None` if the server does not do that.
    pub domain: Option<Arc<dyn DomainLogon>>,
    /// The names of the host's uids and gids.
    pub unix: Arc<UnixAccounts>,
    /// How the server treats users without an account.
    pub guests: Guests,
    /// The rate limit and the log of logins. All protocols share it, and it outlives a change of
    /// settings.
    pub login_guard: Arc<LoginGuard>,
    /// Requests of users with an account must be signed.
    pub require_signing: bool,
    /// Whether messages are encrypted.
    pub encryption: EncryptionPolicy,
    /// Clients may cache listings of folders under leases.
    pub directory_leases: bool,
    /// Clients that ask for the POSIX extensions get them.
    pub posix: bool,
    /// The oldest dialect spoken.
    pub oldest: Dialect,
    /// The newest dialect spoken.
    pub newest: Dialect,
    /// How long a login lasts; `None` is until the session ends.
    pub session_lifetime: Option<Duration>,
    /// Where links lead clients. All protocols share it, and it outlives a change of settings.
    pub namespace: Arc<Namespace>,
    /// The addresses that the server listens on. Empty: all addresses of the host.
    pub listens_on: Vec<IpAddr>,
    /// What icon a Mac shows for this server.
    pub model: String,
}

impl Config {
    /// The SID of the domain of the server's own accounts: S-1-5-21 and three numbers that stay.
    pub(in crate::server) fn own_domain(&self) -> Sid {
        well_known::own_domain(&self.guid)
    }

    /// A configuration with these shares and accounts, and usual values for the rest.
    pub fn new(shares: Vec<Arc<Share>>, accounts: Arc<dyn Accounts>) -> Self {
        Self {
            guid: [0; 16],
            name: "fourfold".into(),
            comment: String::new(),
            shares,
            homes: Vec::new(),
            accounts,
            kerberos: None,
            domain: None,
            unix: Arc::new(UnixAccounts::NameService),
            guests: Guests::default(),
            login_guard: Arc::default(),
            require_signing: false,
            encryption: EncryptionPolicy::Optional,
            directory_leases: true,
            posix: true,
            oldest: Dialect::V2_0_2,
            newest: Dialect::V3_1_1,
            session_lifetime: None,
            namespace: Arc::default(),
            listens_on: Vec::new(),
            model: "MacSamba".into(),
        }
    }
}

impl Config {
    /// The share of this name, in any case of letters.
    pub(super) fn share(&self, name: &str) -> Option<&Arc<Share>> {
        let name = name.to_lowercase();
        self.shares.iter().find(|share| share.name.to_lowercase() == name)
    }
}

/// Whether messages are encrypted. A share can also require it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncryptionPolicy {
    /// The server never encrypts.
    Off,
    /// The client decides.
    #[default]
    Optional,
    /// Every message is encrypted, except those that a login needs.
    Required,
}

/// Which users the server lets in without an account, and which identity they act as.
#[derive(Debug, Clone, Default)]
pub struct Guests {
    /// The identity of guests. `None`: no guests.
    pub identity: Option<Identity>,
    /// A user name that no account has makes a guest, as "map to guest = bad user" does.
    pub unknown_users: bool,
}

/// A share of homes.
#[derive(Clone)]
pub struct HomesShare {
    /// Its name.
    pub name: String,
    /// What clients see beside the name.
    pub comment: String,
    /// Which users have a home.
    pub policy: SharePolicy,
    /// All its settings as text. When they change, the connections to homes end.
    pub settings: String,
    /// Opens homes.
    pub opener: Arc<dyn OpenHome>,
}

/// Opens homes.
pub trait OpenHome: Send + Sync {
    /// The home of an account as a share with this name, for requests that act as `caller`. `None`: it has none, and the log has
    /// the reason. Waits for disks.
    fn open(&self, account: &str, caller: &Caller, name: &str) -> Option<Arc<Share>>;
}

/// One thing that clients connect to.
pub struct Share {
    /// Its name; case does not matter.
    pub name: String,
    /// What it is for, as shown in lists.
    pub comment: String,
    /// What it is.
    pub kind: ShareKind,
    /// What the site decided.
    pub options: ShareOptions,
}

/// What a share is.
pub enum ShareKind {
    /// A folder.
    Disk {
        /// The tree.
        volume: Arc<Volume>,
        /// Its serial number, stable over restarts.
        serial: u64,
        /// When the share was first seen.
        created: vfs::Time,
    },
    /// `IPC$`: named pipes.
    Pipes,
}

/// What the site decided about a share.
#[derive(Debug, Clone, Default)]
pub struct ShareOptions {
    /// Which users may use it, and what for.
    pub policy: SharePolicy,
    /// Names that differ only in case are different names.
    pub case_sensitive: bool,
    /// All messages about it must be encrypted.
    pub require_encryption: bool,
    /// Macs may back up to it.
    pub time_machine: bool,
    /// The sizes that it reports: they limit backups that would otherwise fill the file system.
    pub size_limits: vfs::BackupLimits,
    /// It is a namespace: its links lead clients to other servers.
    pub dfs: bool,
    /// Other servers have it, too, and tell clients when this one is lost (MS-SWN).
    pub witnessed: bool,
    /// It is continuously available: clients may have persistent opens. Share.IsCA, MS-SMB2 3.3.1.6.
    pub continuous: bool,
    /// Lists of shares leave it out.
    pub hidden: bool,
    /// Names left out of listings: patterns with `*` and `?`.
    pub hide: Vec<String>,
    /// Names that listings show although `hide`, or the server by itself, would leave them out.
    pub show: Vec<String>,
    /// Characters of names that clients see as others.
    pub characters: Characters,
    /// It is the home of a user: the name of its share of homes.
    pub home_in: Option<String>,
}

impl Share {
    /// How names are compared.
    pub(super) fn folding(&self) -> Folding {
        Folding { case_sensitive: self.options.case_sensitive, ..Folding::default() }
    }

    /// A stored name as clients see it.
    pub(super) fn shown(&self, stored: &[u8]) -> Vec<u16> {
        self.options.characters.shown(windows_view(stored))
    }

    /// The share that every server has.
    pub fn pipes() -> Arc<Self> {
        Arc::new(Self {
            name: "IPC$".into(),
            comment: "IPC".into(),
            kind: ShareKind::Pipes,
            options: ShareOptions {
                policy: SharePolicy::for_guests(),
                hidden: true,
                ..ShareOptions::default()
            },
        })
    }
}
