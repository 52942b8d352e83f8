//! The settings as plain data: what the rest of the program reads.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::diagnostic::Diagnostic;
use super::folder::Absence;
use super::kind::{ClientMatch, Port};
use super::lun::LunSettings;
use super::mentions::Mention;

/// Everything that was set, by the settings file and the command line, checked as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The settings file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// `[server]`.
    pub server: ServerSettings,
    /// `[[share]]`, in the order written; shares of the command line come last.
    pub shares: Vec<ShareSettings>,
    /// Shares that are not served now, because of their folders; each has its `absence`.
    pub absent: Vec<ShareSettings>,
    /// `[[user]]` and `--user`.
    pub users: Vec<UserSettings>,
    /// The accounts and groups that the settings file names.
    pub mentions: Vec<Mention>,
    /// What is accepted but worth saying.
    pub notes: Vec<Diagnostic>,
}

/// `[server]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSettings {
    /// The addresses to listen on.
    pub listen: Vec<IpAddr>,
    /// The state folder, absolute.
    pub state: PathBuf,
    /// One port per protocol.
    pub ports: Ports,
    /// SMB clients must sign.
    pub smb_signing_required: bool,
    /// Whether SMB clients encrypt.
    pub smb_encryption: Encryption,
    /// SMB clients may cache listings of folders under leases.
    pub smb_directory_leases: bool,
    /// How people log in over AFP.
    pub afp_logins: Vec<AfpLogin>,
    /// AFP clients may change their account's password.
    pub afp_change_password: bool,
    /// By what AFP clients tell servers apart; `None`: the server's own id.
    pub afp_signature: Option<[u8; 16]>,
    /// What AFP clients show to who logs in.
    pub afp_greeting: Option<String>,
    /// What the names of iSCSI targets begin with; `None`: a name with the server's own id.
    pub iscsi_name: Option<String>,
    /// As which account the server proves itself to initiators.
    pub iscsi_account: Option<String>,
    /// Whether the shares are announced.
    pub bonjour: Bonjour,
    /// The name that is announced; `None`: the host's.
    pub bonjour_name: Option<String>,
    /// The host user that accounts without one of their own act as; `None`: the anonymous user.
    pub default_user: Option<String>,
    /// How log lines look.
    pub log_format: LogFormat,
    /// The least severe level that is logged: `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: String,
    /// The budget of the cache, in bytes.
    pub cache_size: u64,
    /// Most memory for what is on its way to clients and from them, in bytes; `None`: by the memory that there is.
    pub transfer_memory: Option<u64>,
    /// Worker threads; `None` means one per processor.
    pub threads: Option<usize>,
    /// How long after a start only locks held before may be taken again.
    pub grace_period: Duration,
}

/// The ports as they were set. What [`Port::Standard`] becomes is decided when it is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// NFS, MOUNT, NLM and NSM.
    pub nfs: Port,
    /// SMB.
    pub smb: Port,
    /// AFP.
    pub afp: Port,
    /// iSCSI.
    pub iscsi: Port,
    /// Portmap and rpcbind.
    pub portmap: Port,
}

impl Ports {
    /// The setting of one protocol.
    #[must_use]
    pub fn of(&self, protocol: Protocol) -> Port {
        match protocol {
            Protocol::Nfs => self.nfs,
            Protocol::Smb => self.smb,
            Protocol::Afp => self.afp,
            Protocol::Iscsi => self.iscsi,
            Protocol::Portmap => self.portmap,
        }
    }
}

/// Something that listens on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// NFSv3 with MOUNT, NLM and NSM.
    Nfs,
    /// SMB 2 and 3.
    Smb,
    /// AFP over TCP.
    Afp,
    /// iSCSI.
    Iscsi,
    /// Portmap v2, rpcbind v3 and v4.
    Portmap,
}

impl Protocol {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Nfs, Self::Smb, Self::Afp, Self::Iscsi, Self::Portmap];

    /// Those that show shares.
    pub const SERVED: [Self; 4] = [Self::Nfs, Self::Smb, Self::Afp, Self::Iscsi];

    /// The word used in settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Nfs => "nfs",
            Self::Smb => "smb",
            Self::Afp => "afp",
            Self::Iscsi => "iscsi",
            Self::Portmap => "portmap",
        }
    }

    /// The name people read.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Nfs => "NFS",
            Self::Smb => "SMB",
            Self::Afp => "AFP",
            Self::Iscsi => "iSCSI",
            Self::Portmap => "portmap",
        }
    }
}

/// Whether what is said is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// It is not.
    Off,
    /// As the client likes.
    Optional,
    /// It is, or nothing is said.
    Required,
}

/// How people with an account log in over AFP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfpLogin {
    /// DHX2: the password, under a key agreed on.
    Dhx2,
    /// SRP: a proof of the password.
    Srp,
    /// DHX: as DHX2, under a key too short for today.
    Dhx,
    /// The password as it is.
    Cleartext,
    /// A DES challenge.
    Randnum,
    /// Two of them, one each way.
    TwoWayRandnum,
}

impl AfpLogin {
    /// All of them, the better ones first.
    pub const ALL: [Self; 6] =
        [Self::Dhx2, Self::Srp, Self::Dhx, Self::Cleartext, Self::Randnum, Self::TwoWayRandnum];

    /// The word used in settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Dhx2 => "dhx2",
            Self::Srp => "srp",
            Self::Dhx => "dhx",
            Self::Cleartext => "cleartext",
            Self::Randnum => "randnum",
            Self::TwoWayRandnum => "2-way-randnum",
        }
    }

    /// What somebody who listens on the network gets from it; `None`: nothing.
    #[must_use]
    pub fn gives_away(self) -> Option<&'static str> {
        match self {
            Self::Dhx2 | Self::Srp => None,
            Self::Dhx => Some("who listens on the network can compute the key, and read the password"),
            Self::Cleartext => Some("who listens on the network reads the password"),
            Self::Randnum | Self::TwoWayRandnum => {
                Some("who listens on the network finds the first eight characters of the password in hours")
            }
        }
    }
}

/// Whether the shares are announced by Bonjour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bonjour {
    /// Where other machines can reach them.
    Auto,
    /// They are, on this machine at least.
    On,
    /// They are not.
    Off,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// `[[share]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareSettings {
    /// The NFS export `/NAME`, the SMB share and the AFP volume NAME.
    pub name: String,
    /// The folder: absolute, links resolved as far as it is there.
    pub path: PathBuf,
    /// Its place in the order written.
    pub number: usize,
    /// The folder must be the root of a mounted file system.
    pub must_be_mounted: bool,
    /// Why it is not served now.
    pub absence: Option<Absence>,
    /// The folder was given on the command line and does not exist yet: `serve` makes it.
    pub is_missing: bool,
    /// What clients show beside the name.
    pub comment: String,
    /// The protocols that show it, or its LUNs: of NFS, SMB, AFP and iSCSI.
    pub protocols: Vec<Protocol>,
    /// Nobody may change anything.
    pub read_only: bool,
    /// People without an account may enter (SMB and AFP).
    pub guests: bool,
    /// Accounts that may enter; all of them when this and `groups` are empty.
    pub users: Vec<String>,
    /// Unix groups whose members may enter.
    pub groups: Vec<String>,
    /// SMB clients must encrypt.
    pub encryption_required: bool,
    /// Macs may back up to it.
    pub time_machine: bool,
    /// How large it is said to be to those that do, in bytes; `None`: as large as it is.
    pub time_machine_size: Option<u64>,
    /// By what Time Machine remembers it; `None`: what the state folder has.
    pub volume_id: Option<[u8; 16]>,
    /// What AFP clients are asked when they open it.
    pub afp_password: Option<[u8; 8]>,
    /// SMB and AFP tell `a` from `A`; NFS always does.
    pub case_sensitive: bool,
    /// `._name` is answered from, and absorbed into, the file's own Mac metadata.
    pub mac_sidecars: bool,
    /// File systems that are mounted inside the folder are part of the share.
    pub cross_mounts: bool,
    /// Patterns of names that listings leave out.
    pub hide: Vec<String>,
    /// Patterns of names that listings show although they are hidden by `hide` or by default.
    pub show: Vec<String>,
    /// Clients may make device nodes.
    pub device_nodes: bool,
    /// LUNs that the settings name; those made by `fourfold lun create` are in the state folder.
    pub luns: Vec<LunSettings>,
    /// Rules for NFS clients; the first that matches decides, and a client that none matches is refused.
    pub clients: Vec<ClientRule>,
}

/// `[[share.client]]`: what one NFS client, or one network of them, may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRule {
    /// Whom the rule is about: any of these.
    pub matches: Vec<ClientMatch>,
    /// Read and write, read, or nothing.
    pub access: Access,
    /// Which users act as the anonymous one.
    pub squash: Squash,
    /// The anonymous user.
    pub anon_uid: u32,
    /// Its group.
    pub anon_gid: u32,
    /// The client must use a source port below 1024.
    pub secure: bool,
}

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and write.
    ReadWrite,
    /// Read.
    ReadOnly,
    /// Nothing: it is refused.
    None,
}

/// Which users of a client act as the anonymous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Squash {
    /// Uid 0 and gid 0.
    Root,
    /// Everyone.
    All,
    /// Nobody.
    None,
}

/// `[[user]]`, or `--user`.
#[derive(Clone, PartialEq, Eq)]
pub struct UserSettings {
    /// The account's name.
    pub name: String,
    /// The uid and gid it acts as, where they are set.
    pub ids: auth::Ids,
    /// May not log in.
    pub disabled: bool,
    /// The password given with `--user`, for this run of the server only. The settings file holds no passwords.
    pub password: Option<String>,
}

impl std::fmt::Debug for UserSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let password = self.password.as_ref().map(|_| "…");
        let Self { name, ids, disabled, .. } = self;
        f.debug_struct("UserSettings")
            .field("name", name)
            .field("ids", ids)
            .field("disabled", disabled)
            .field("password", &password)
            .finish()
    }
}

impl ShareSettings {
    /// The first rule that matches a client's address. `None` is a refusal.
    #[must_use]
    pub fn rule_for(&self, client: SocketAddr) -> Option<&ClientRule> {
        self.clients.iter().find(|rule| rule.matches.iter().any(|m| m.matches(client.ip())))
    }
}

impl ClientRule {
    /// The networks that it is about; none for every host.
    #[must_use]
    pub fn networks(&self) -> Vec<IpNet> {
        let network = |of: &ClientMatch| match of {
            ClientMatch::Any => None,
            ClientMatch::Net(net) => Some(*net),
        };
        self.matches.iter().map(network).collect::<Option<_>>().unwrap_or_default()
    }

    /// The rule of a share that has none: anybody may read and write, root is squashed.
    #[must_use]
    pub fn everyone() -> Self {
        super::build::rule(&super::section::Section::empty(super::Table::Client))
    }
}
