//! The settings of the AFP server, as one value that a reload replaces.

use std::net::SocketAddr;
use std::sync::Arc;

use auth::kerberos::Kerberos;
use auth::{Accounts, DomainLogon, Identity, LoginGuard, SharePolicy, UnixAccounts};
use namespace::Namespace;
use vfs::names::{Folding, Hiding};
use vfs::{Caller, Time, Volume};

use crate::catalogue::Catalogue;
use crate::server::volumes::ids::LastChangeTime;
pub use crate::wire::Version;

/// The allowed login methods. Guests may log in if a share allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names")]
pub struct LoginMethods {
    pub dhx2: bool,
    pub srp: bool,
    /// Weak by today's standards, like all below.
    pub dhx: bool,
    pub randnum: bool,
    pub two_way_randnum: bool,
    pub cleartext: bool,
}

impl Default for LoginMethods {
    fn default() -> Self {
        Self { dhx2: true, srp: true, dhx: false, randnum: false, two_way_randnum: false, cleartext: false }
    }
}

/// All settings of the AFP server. A reload replaces the whole value.
#[derive(Clone)]
pub struct Config {
    /// The permanent identity of the server: aliases depend on it.
    pub signature: [u8; 16],
    /// The name of the server.
    pub name: String,
    /// The machine type that the server reports, at most 16 characters.
    pub machine_type: String,
    /// The shares.
    pub shares: Vec<Arc<Share>>,
    /// Shares of homes, in which each user sees a volume of its own.
    pub homes: Vec<HomesShare>,
    /// The accounts.
    pub accounts: Arc<dyn Accounts>,
    /// Takes Kerberos tickets; `None` if the server has no keytab.
    pub kerberos: Option<Arc<dyn Kerberos>>,
    /// Has passwords of users of a domain verified; `None` if the server does not do that.
    pub domain: Option<Arc<dyn DomainLogon>>,
    /// The principals by which clients get a ticket: `afpserver/HOST@REALM`.
    pub principals: Vec<String>,
    /// The users and groups of the host's numbers.
    pub unix: Arc<UnixAccounts>,
    /// The identity of guests; `None` if logins need an account.
    pub guest: Option<Identity>,
    /// The login methods.
    pub logins: LoginMethods,
    /// Limits and logs logins. It is shared by all protocols, and survives a reload.
    pub login_guard: Arc<LoginGuard>,
    /// Changes the password of an account; `None` if users may not change passwords.
    pub change_password: Option<ChangePassword>,
    /// The greeting that users see after the login.
    pub greeting: Option<String>,
    /// The server's addresses.
    pub addresses: Vec<SocketAddr>,
}

/// Changes the password of an account. The arguments are its name and the new password. Answers
/// whether the change succeeded.
pub type ChangePassword = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

impl Config {
    /// These shares and accounts, and common values for all other settings.
    pub fn new(shares: Vec<Arc<Share>>, accounts: Arc<dyn Accounts>) -> Self {
        Self {
            signature: [0; 16],
            name: "fourfold".into(),
            machine_type: "Fourfold".into(),
            shares,
            homes: Vec::new(),
            accounts,
            kerberos: None,
            domain: None,
            principals: Vec::new(),
            unix: Arc::new(UnixAccounts::NameService),
            guest: None,
            logins: LoginMethods::default(),
            login_guard: Arc::default(),
            change_password: None,
            greeting: None,
            addresses: Vec::new(),
        }
    }
}

/// A share of homes.
#[derive(Clone)]
pub struct HomesShare {
    /// Its name.
    pub name: String,
    /// Clients need a password to open a home.
    pub has_password: bool,
    /// Which users have a home.
    pub policy: SharePolicy,
    /// All its settings as text. When they change, open homes are closed.
    pub settings: String,
    /// Opens homes.
    pub opener: Arc<dyn OpenHome>,
}

/// Opens homes.
pub trait OpenHome: Send + Sync {
    /// The home of an account as a share with this name, for commands that act as `caller`. `None`: it has none, and the log has
    /// the reason. Waits for disks.
    fn open(&self, account: &str, caller: &Caller, name: &str) -> Option<Arc<Share>>;
}

/// A volume that clients can open.
pub struct Share {
    /// Its name.
    pub name: String,
    /// The volume in `vfs`.
    pub volume: Arc<Volume>,
    /// The 32-bit numbers of its files.
    pub catalogue: Catalogue,
    /// The permanent identity of the volume: backups depend on it.
    pub uuid: [u8; 16],
    /// When the share was first seen.
    pub created: Time,
    /// The settings of the share.
    pub options: ShareOptions,
    /// The time of the clients' last change.
    pub(super) changed: LastChangeTime,
    /// The names that listings leave out.
    pub(super) hiding: Hiding,
}

/// The settings of a share.
#[derive(Debug, Clone, Default)]
pub struct ShareOptions {
    /// The users that may use it, and their rights.
    pub policy: SharePolicy,
    /// Names that differ only in case are different.
    pub case_sensitive: bool,
    /// Macs may back up to it.
    pub time_machine: bool,
    /// The sizes that it reports: otherwise backups would fill the volume.
    pub size_limits: vfs::BackupLimits,
    /// The password that a client needs to open it.
    pub password: Option<[u8; 8]>,
    /// Patterns with `*` and `?` of names that listings leave out.
    pub hide: Vec<String>,
    /// Names that listings show although `hide`, or the server by default, would leave them out.
    pub show: Vec<String>,
    /// Where its links lead clients; `None`: they are ordinary symbolic links.
    pub links: Option<Arc<Namespace>>,
    /// It is the home of a user: the name of its share of homes.
    pub home_in: Option<String>,
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
            (LastChangeTime::default(), Hiding::new(&options.hide, &options.show, options.case_sensitive));
        Arc::new(Self { name, volume, catalogue, uuid, created, options, changed, hiding })
    }

    /// Which names count as equal in it.
    pub(super) fn folding(&self) -> Folding {
        Folding { case_sensitive: self.options.case_sensitive, ..Folding::default() }
    }
}
