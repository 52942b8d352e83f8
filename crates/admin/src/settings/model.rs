//! The settings as plain data for the rest of the program.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use auth::Roles;
use formats::names::Characters;
use namespace::Table;
use snapshots::Schedule;

use super::appletalk::AppleTalkSettings;
use super::classic::ClassicRules;
use super::client_rule::ClientRule;
use super::diagnostic::Diagnostic;
use super::folder::Absence;
use super::lun::LunSettings;
use super::mac_policy::MacPolicy;
use super::mentions::Mention;
use super::port::Port;
use super::protocol::HostAudience;
use super::protocol::Protocol;
use super::secret::{Secret, VolumePassword};
use super::server::ServerSettings;
use super::team::TeamFolder;
use super::told::AuditScope;

/// All settings, of the settings file and the command line, checked as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The settings file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// `[server]`.
    pub server: ServerSettings,
    /// `[appletalk]`; `None`: there is no AppleTalk.
    pub appletalk: Option<AppleTalkSettings>,
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

impl Settings {
    /// Whether a share is served over a protocol: the protocol shows the share, and is on.
    #[must_use]
    pub fn serves(&self, share: &ShareSettings, protocol: Protocol) -> bool {
        share.protocols.contains(&protocol) && self.server.ports.of(protocol) != Port::Off
    }

    /// The hosts that get a share without a login. `None`: no protocol that serves hosts without a login shows the share.
    #[must_use]
    pub fn audience(&self, share: &ShareSettings) -> Option<HostAudience> {
        let mut served = Protocol::OF_FILES.into_iter().filter(|protocol| self.serves(share, *protocol));
        served.any(|protocol| !protocol.users_log_in()).then(|| self.server.audience(share))
    }
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
    /// The roles that it gives, if it is a team folder: then `users` and `groups` are empty, and `guests` is true if guests have a role.
    pub team: Option<TeamFolder>,
    /// The same with Unix ids, once the program has asked for them.
    pub roles: Option<Arc<Roles>>,
    /// SMB clients must encrypt.
    pub encryption_required: bool,
    /// Macs may back up to it.
    pub time_machine: bool,
    /// The size that is reported to Macs for backups, in bytes; `None`: the real size.
    pub time_machine_size: Option<u64>,
    /// Snapshots to keep that are taken after sessions of Time Machine.
    pub time_machine_snapshots: usize,
    /// Sessions of Time Machine that can be undone by the journal of replaced bands.
    pub time_machine_journal: usize,
    /// What counts for single Macs.
    pub time_machine_macs: Vec<MacPolicy>,
    /// How often the backups are verified, and whether their bands have checksums; `None`: never.
    pub time_machine_verify: Option<Duration>,
    /// The id by which Time Machine recognizes it; `None`: the id in the state folder.
    pub volume_id: Option<[u8; 16]>,
    /// The password that AFP clients need to open it.
    pub volume_password: Option<VolumePassword>,
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
    /// How far ahead the host reads its files.
    pub read_ahead: ReadAhead,
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
    /// What searches find.
    pub search: SearchScope,
    /// Clients may make device nodes.
    pub device_nodes: bool,
    /// NFS listings show names that are longer than 255 bytes as they are.
    pub whole_names: bool,
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
    /// How long what is removed at the console stays in the share's bin; `None`: it is gone at once.
    pub bin: Option<Duration>,
    /// The operations that the audit log has.
    pub audit: AuditScope,
    /// LUNs that the settings name; those made by `fourfold lun create` are in the state folder.
    pub luns: Vec<LunSettings>,
    /// The user that all users act as, and the owner and mode of new files.
    pub classic: ClassicRules,
    /// Rules for hosts; the first matching rule decides, and a host without one is refused. Without rules every host may
    /// enter where users log in; for NFS, `ServerSettings::audience` decides.
    pub clients: Vec<ClientRule>,
}

impl ShareSettings {
    /// What counts for a Mac, by the name of its bundle without the ending.
    #[must_use]
    pub fn mac_policy(&self, mac: &str) -> Option<&MacPolicy> {
        self.time_machine_macs.iter().find(|policy| policy.mac == mac)
    }

    /// How many sessions of Time Machine the journal of replaced bands can undo. Other servers that serve the share would not
    /// write into it.
    #[must_use]
    pub fn undoable_sessions(&self, is_in_cluster: bool) -> usize {
        let is_alone = !is_in_cluster && !self.shared && !self.is_in_store();
        if self.time_machine && !self.read_only && is_alone { self.time_machine_journal } else { 0 }
    }

    /// The Macs with a limit of their own.
    #[must_use]
    pub fn mac_limits(&self) -> Vec<(String, u64)> {
        self.time_machine_macs.iter().filter_map(|policy| Some((policy.mac.clone(), policy.limit?))).collect()
    }

    /// The value of `time-machine-macs` after a change of what counts for one Mac; `None`: nothing counts for any.
    #[must_use]
    pub fn with_mac_policy(&self, mac: &str, change: impl FnOnce(&mut MacPolicy)) -> Option<String> {
        let mut all = self.time_machine_macs.clone();
        let at = all.iter().position(|policy| policy.mac == mac).unwrap_or_else(|| {
            all.push(MacPolicy { mac: mac.to_owned(), ..MacPolicy::default() });
            all.len() - 1
        });
        change(&mut all[at]);
        let texts: Vec<String> =
            all.iter().filter(|policy| !policy.is_usual()).map(ToString::to_string).collect();
        (!texts.is_empty()).then(|| texts.join(","))
    }

    /// Whether people without an account may enter.
    #[must_use]
    pub fn is_open_to_guests(&self) -> bool {
        self.guests
    }

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

/// How far ahead the host reads files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAhead {
    /// As it does by itself.
    Normal,
    /// Twice as far.
    Double,
    /// Nothing.
    Off,
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

/// What an index of a share has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchScope {
    /// The share has no index.
    Off,
    /// Names and metadata.
    Names,
    /// Also the words of contents.
    Contents,
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
