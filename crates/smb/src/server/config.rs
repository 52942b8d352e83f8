use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use auth::{Accounts, Identity, LoginGuard, SharePolicy, UnixAccounts};
use vfs::Volume;

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

    /// Whether requests may cost more than one credit.
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

/// Everything a server of this protocol is told. Replaced as a whole when the settings are read again.
#[derive(Clone)]
pub struct Config {
    /// The server's own number, the same over restarts.
    pub guid: [u8; 16],
    /// Its NetBIOS-style name: at most 15 characters are shown where that matters.
    pub name: String,
    /// What it says of itself in lists of servers.
    pub comment: String,
    /// The shares, without `IPC$`.
    pub shares: Vec<Arc<Share>>,
    /// Who may log in.
    pub accounts: Arc<dyn Accounts>,
    /// Whose the host's numbers are.
    pub unix: Arc<UnixAccounts>,
    /// Who comes in without an account.
    pub guests: Guests,
    /// Limits and logs logins. The same for all protocols, and after other settings.
    pub login_guard: Arc<LoginGuard>,
    /// Requests of people with an account must be signed.
    pub require_signing: bool,
    /// Whether what is said is encrypted.
    pub encryption: Encryption,
    /// Clients may cache listings of folders under leases.
    pub directory_leases: bool,
    /// The oldest dialect spoken.
    pub oldest: Dialect,
    /// The newest dialect spoken.
    pub newest: Dialect,
    /// How long a login lasts; `None` is until the session ends.
    pub session_lifetime: Option<Duration>,
    /// The addresses that it listens on; none: all that the host has.
    pub listens_on: Vec<IpAddr>,
    /// What icon a Mac shows for this server.
    pub model: String,
}

impl Config {
    /// These shares for these people, and of the rest what most sites want.
    pub fn new(shares: Vec<Arc<Share>>, accounts: Arc<dyn Accounts>) -> Self {
        Self {
            guid: [0; 16],
            name: "fourfold".into(),
            comment: String::new(),
            shares,
            accounts,
            unix: Arc::new(UnixAccounts::NameService),
            guests: Guests::default(),
            login_guard: Arc::default(),
            require_signing: false,
            encryption: Encryption::Optional,
            directory_leases: true,
            oldest: Dialect::V2_0_2,
            newest: Dialect::V3_1_1,
            session_lifetime: None,
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

/// Whether what is said is encrypted. A share can require it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// It is not.
    Off,
    /// As the client likes.
    #[default]
    Optional,
    /// It is, or nothing is said but what a login needs.
    Required,
}

/// Whom the server lets in without an account, and as whom they act.
#[derive(Debug, Clone, Default)]
pub struct Guests {
    /// As whom; `None` when nobody.
    pub identity: Option<Identity>,
    /// A user name that nobody has makes a guest, as "map to guest = bad user" does.
    pub unknown_users: bool,
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
    /// Who may use it, and what for.
    pub policy: SharePolicy,
    /// Names that differ only in case are two.
    pub case_sensitive: bool,
    /// Nothing of it is said in the clear.
    pub require_encryption: bool,
    /// Macs may back up to it.
    pub time_machine: bool,
    /// What it claims to have, in bytes, for backups that would fill it otherwise.
    pub size_limit: Option<u64>,
    /// Not in lists.
    pub hidden: bool,
    /// Names left out of listings: patterns with `*` and `?`.
    pub hide: Vec<String>,
    /// Names that listings show although `hide`, or the server by itself, would leave them out.
    pub show: Vec<String>,
}

impl Share {
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
