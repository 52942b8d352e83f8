//! The settings as plain data for the rest of the program.

use snapshots::Schedule;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use formats::names::Characters;
use namespace::Table;
use serde::{Deserialize, Serialize};

use super::api::ApiSettings;
use super::client_rule::ClientRule;
use super::cluster::ClusterSettings;
use super::diagnostic::Diagnostic;
use super::folder::Absence;
use super::kind::Port;
use super::lun::LunSettings;
use super::mentions::Mention;
use super::nfs_tls::NfsTls;
use super::secret::{Secret, VolumePassword};
use super::told::{AuditScope, ToldSettings};

/// All settings, of the settings file and the command line, checked as a whole.
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
    /// `[[link]]` and `[[site]]`.
    pub links: Table,
    /// The accounts and groups that the settings file names.
    pub mentions: Vec<Mention>,
    /// The settings file has passwords or other secrets.
    pub has_secrets: bool,
    /// Notes about accepted settings.
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
    /// The API over HTTP.
    pub api: ApiSettings,
    /// The audit log, the log of slow operations, and alerts.
    pub told: ToldSettings,
    /// Several servers of one tree; `None`: this server is alone.
    pub cluster: Option<ClusterSettings>,
    /// TLS for clients of NFS.
    pub nfs_tls: NfsTls,
    /// SMB clients must sign.
    pub smb_signing_required: bool,
    /// Whether SMB clients encrypt.
    pub smb_encryption: Encryption,
    /// The oldest dialect that SMB clients may speak, as `3.0.2`.
    pub smb_min_dialect: String,
    /// SMB clients may cache listings of folders under leases.
    pub smb_directory_leases: bool,
    /// The login methods of AFP.
    pub afp_logins: Vec<AfpLogin>,
    /// AFP clients may change their account's password.
    pub afp_change_password: bool,
    /// The signature by which AFP clients distinguish servers; `None`: the server's own id.
    pub afp_signature: Option<[u8; 16]>,
    /// The settings of Ceph; `None`: where its own programs look for them.
    pub ceph_conf: Option<PathBuf>,
    /// The keytab for logins by Kerberos; `None`: there are none.
    pub kerberos_keytab: Option<PathBuf>,
    /// The realms whose users have accounts; empty: those of the keytab.
    pub kerberos_realms: Vec<String>,
    /// The service of PAM with which users of the host log in; `None`: they do not.
    pub pam_service: Option<String>,
    /// The lowest uid of users of the host that may log in.
    pub host_min_uid: u32,
    /// Landlock restricts the server.
    pub confinement: bool,
    /// The folders in which the console and the API may share others.
    pub share_roots: Vec<PathBuf>,
    /// The domain whose users may log in.
    pub domain: Option<auth::DomainOptions>,
    /// A domain controller verifies passwords of its users.
    pub domain_ntlm: bool,
    /// The greeting that AFP clients show after a login.
    pub afp_greeting: Option<String>,
    /// The prefix of the names of iSCSI targets; `None`: a name with the server's own id.
    pub iscsi_name: Option<String>,
    /// The account with which the server authenticates itself to initiators.
    pub iscsi_account: Option<String>,
    /// Whether the shares are announced.
    pub bonjour: Bonjour,
    /// The name that is announced; `None`: the host's.
    pub bonjour_name: Option<String>,
    /// The host user of accounts without a user of their own; `None`: the anonymous user.
    pub default_user: Option<String>,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The least severe level that is logged: `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: String,
    /// The budget of all caches, in bytes; `None`: it depends on the machine's memory.
    pub cache_memory: Option<u64>,
    /// The limit of the cache of listings, in bytes; `None`: a part of the budget.
    pub cache_size: Option<u64>,
    /// The limit of files that are kept open; `None`: a part of the budget.
    pub cache_files: Option<u64>,
    /// The most files that clients may have open at once; `None`: a part of the limit of descriptors.
    pub open_files: Option<u64>,
    /// The limit of kept buffers, in bytes; `None`: a part of the budget.
    pub cache_buffers: Option<u64>,
    /// NFSv3 is served.
    pub nfs_3: bool,
    /// The minor versions of NFSv4 that are served: 0 to 2.
    pub nfs_4: Vec<u32>,
    /// The domain of users' and groups' names over NFSv4; `None`: numbers.
    pub nfs4_domain: Option<String>,
    /// Every file is asked for the ACL that Samba has stored.
    pub samba_acls: bool,
    /// SIDs of Samba and what they are here: [`super::SambaSid`].
    pub samba_sids: Vec<String>,
    /// The most memory for data on the way to and from clients, in bytes; `None`: it depends on the
    /// machine's memory.
    pub transfer_memory: Option<u64>,
    /// Event loops that serve connections; `None` means one per processor.
    pub threads: Option<usize>,
    /// How often the targets of links are checked; `None`: never.
    pub link_check_interval: Option<Duration>,
    /// How long after a start clients may only reclaim earlier locks.
    pub grace_period: Duration,
}

/// The ports in the settings. [`Port::Standard`] is resolved when the port is bound.
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
    /// The port setting of one protocol.
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

/// A service that listens on a port.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
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
    /// All services, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Nfs, Self::Smb, Self::Afp, Self::Iscsi, Self::Portmap];

    /// The services that show shares.
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

    /// The displayed name.
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

/// The use of encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// No encryption.
    Off,
    /// The client decides.
    Optional,
    /// Unencrypted requests are refused.
    Required,
}

/// The login methods of AFP for users with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfpLogin {
    /// DHX2: the password, encrypted with a negotiated key.
    Dhx2,
    /// SRP: a proof of the password.
    Srp,
    /// DHX: like DHX2, but with a key that is too short today.
    Dhx,
    /// The unencrypted password.
    Cleartext,
    /// A DES challenge.
    Randnum,
    /// Two DES challenges, one in each direction.
    TwoWayRandnum,
}

impl AfpLogin {
    /// All methods, the better ones first.
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

    /// What an eavesdropper on the network learns; `None`: nothing.
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
    /// If other machines can reach them.
    Auto,
    /// Always, at least on this machine.
    On,
    /// Never.
    Off,
}

/// The format of log lines.
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
    /// The NFS export `/NAME`; its parts have slashes between them.
    pub name: String,
    /// The folder: absolute, links resolved as far as it is there. For a folder of CephFS it is `cephfs:NAME/FOLDER`
    /// ([`cephfs::Place`]), which no call of the host finds.
    pub path: PathBuf,
    /// The folder has a folder for each account, with its name. SMB and AFP clients see the one of their own account
    /// ([`ShareSettings::home_of`]), NFS clients the whole folder.
    pub homes: bool,
    /// Missing folders of accounts are made.
    pub make_homes: bool,
    /// Other servers serve the folder, too.
    pub shared: bool,
    /// The URL that its files arrive from.
    pub from: Option<Secret>,
    /// The file with the account there.
    pub from_credentials: Option<PathBuf>,
    /// Its place in the order written.
    pub number: usize,
    /// The folder must be the root of a mounted file system.
    pub must_be_mounted: bool,
    /// Why it is not served now.
    pub absence: Option<Absence>,
    /// The folder was given on the command line and does not exist yet: `serve` makes it.
    pub is_missing: bool,
    /// The text that clients show with the name.
    pub comment: String,
    /// The protocols that show it, or its LUNs: of NFS, SMB, AFP and iSCSI.
    pub protocols: Vec<Protocol>,
    /// All changes are refused.
    pub read_only: bool,
    /// Users without an account may enter (SMB and AFP).
    pub guests: bool,
    /// Accounts that may enter; all of them when this and `groups` are empty.
    pub users: Vec<String>,
    /// Groups whose members may enter: of the host or of the domain, or SIDs.
    pub groups: Vec<String>,
    /// Their Unix ids, one for each, once the program has asked for them.
    pub group_ids: Vec<u32>,
    /// SMB clients must encrypt.
    pub encryption_required: bool,
    /// Macs may back up to it.
    pub time_machine: bool,
    /// The size that is reported to Macs for backups, in bytes; `None`: the real size.
    pub time_machine_size: Option<u64>,
    /// Snapshots to keep that are taken after sessions of Time Machine.
    pub time_machine_snapshots: usize,
    /// The id by which Time Machine recognizes it; `None`: the id in the state folder.
    pub volume_id: Option<[u8; 16]>,
    /// The password that AFP clients need to open it.
    pub afp_password: Option<VolumePassword>,
    /// SMB and AFP distinguish `a` and `A`; NFS always does.
    pub case_sensitive: bool,
    /// `._name` is read from, and written to, the file's own Mac metadata.
    pub mac_sidecars: bool,
    /// The layout of Mac metadata, forks and streams that are new.
    pub mac_layout: MacLayout,
    /// New names of SMB and AFP clients get private code points.
    pub private_names: bool,
    /// Characters that SMB clients see as others.
    pub characters: Characters,
    /// What deny modes stand against besides reading and writing.
    pub deny_modes: DenyModes,
    /// A file whose mode has no right to write is shown as read-only and locked.
    pub read_only_by_mode: bool,
    /// What clients that see no forks save by replacing a file keeps the Mac metadata of the file.
    pub safe_save: bool,
    /// A local program that opens a file waits until clients have given back what they cache of it.
    pub local_recall: bool,
    /// Its links of the form `msdfs:` lead clients to other servers: `dfs` is set, or `[[link]]` has some in it.
    pub dfs: bool,
    /// SMB clients may have persistent opens, which go on at another server of the cluster.
    pub continuous: bool,
    /// File systems that are mounted inside the folder are part of the share.
    pub cross_mounts: bool,
    /// Patterns of names that listings leave out.
    pub hide: Vec<String>,
    /// Patterns of names that listings show although they are hidden by `hide` or by default.
    pub show: Vec<String>,
    /// Clients may make device nodes.
    pub device_nodes: bool,
    /// NFS listings show names that are longer than 255 bytes as they are.
    pub nfs_whole_names: bool,
    /// Where clients see the snapshots.
    pub snapshot_folder: SnapshotFolder,
    /// The snapshots that the server takes by itself.
    pub snapshot_schedule: Schedule,
    /// With less free space than this, in bytes, snapshots are removed.
    pub snapshot_floor: Option<u64>,
    /// The dataset of which the share is a replica.
    pub replicate_from: Option<String>,
    /// How often it follows that one by itself.
    pub replicate_schedule: Option<snapshots::Period>,
    /// The most bytes that the files below the folder may take.
    pub quota: Option<u64>,
    /// The operations that the audit log has.
    pub audit: AuditScope,
    /// LUNs that the settings name; those made by `fourfold lun create` are in the state folder.
    pub luns: Vec<LunSettings>,
    /// Rules for NFS clients; the first matching rule decides, and a client without one is refused.
    pub clients: Vec<ClientRule>,
}

impl ShareSettings {
    /// The SMB share and the AFP volume: the name, whose parts have `_` between them.
    #[must_use]
    pub fn flat_name(&self) -> String {
        self.name.replace('/', "_")
    }
}

/// The layout of what is new and has no neighbours that tell one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacLayout {
    /// Of Netatalk 3 and 4.
    Netatalk,
    /// Of Samba's fruit by default.
    Samba,
    /// Of Samba with everything in streams.
    SambaStreams,
}

/// What the deny modes of an open stand against besides reading and writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenyModes {
    /// Removing and renaming by clients of other protocols.
    Strict,
    /// The same, except by the names that NFS clients give open files.
    SillyRename,
    /// Nothing, for those of AFP.
    DataOnly,
}

/// Where clients see the snapshots of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotFolder {
    /// In `.snapshot` and `~snapshot` of each folder, which no listing shows.
    Hidden,
    /// Also in `Snapshots` of the share's folder, which listings show.
    Visible,
    /// Nowhere.
    Off,
}

/// `[[user]]`, or `--user`.
#[derive(Clone, PartialEq, Eq)]
pub struct UserSettings {
    /// The account's name.
    pub name: String,
    /// The uid and gid with which it acts, if they are set.
    pub ids: auth::Ids,
    /// The account may not log in.
    pub disabled: bool,
    /// The account may administer the server over its API.
    pub admin: bool,
    /// The password of `--user`, for this run of the server only. The settings file has no
    /// passwords.
    pub password: Option<String>,
}

impl std::fmt::Debug for UserSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let password = self.password.as_ref().map(|_| "…");
        let Self { name, ids, disabled, admin, .. } = self;
        f.debug_struct("UserSettings")
            .field("name", name)
            .field("ids", ids)
            .field("disabled", disabled)
            .field("admin", admin)
            .field("password", &password)
            .finish()
    }
}
