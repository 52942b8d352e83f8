//! What the console asks of a server beyond the control socket: accounts, settings, snapshots, and an overview.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use admin::control::{Advice, PersonAnswer, RightsRequest, RightsStatus};
use auth::kerberos::Kerberos;
use auth::{Account, Refusal};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Entrant, GroupStatus};
use crate::accounts::AccountChange;
use crate::alerts::{AlertDesk, AlertName};
use crate::author::{Author, ChangeResult};
use crate::backups::BackupStatus;
use crate::files::{FileStatus, FolderStatus, Part};
use crate::groups::GroupChange;
use crate::jobs::{BenchmarkStatus, ConversionStatus, JobRequest, NewJob};
use crate::server::ServerControl;
use crate::shares::{HostFolders, NewShare, ShareChange};
use crate::store::FileStore;
use crate::watching::FolderWatch;
use crate::webhooks::{NewWebhook, WebhookStatus};

/// The server, as the console administers it. All methods may block.
pub trait Manage: AlertDesk + ServerControl + FileStore + Send + Sync + 'static {
    /// The account with this name and password.
    ///
    /// # Errors
    /// The login is refused.
    fn verify(&self, name: &str, password: &str) -> Result<Account, Refusal>;

    /// The account with this name, if it is enabled and may administer the server.
    fn administrator(&self, name: &str) -> Option<Account>;

    /// What takes Kerberos tickets; `None`: the server has no keytab.
    fn kerberos(&self) -> Option<Arc<dyn Kerberos>>;

    /// Whether an account may administer the server, also if it is disabled.
    fn may_administer(&self, name: &str) -> bool;

    /// Makes, changes or removes an account, and applies it.
    ///
    /// # Errors
    /// It was not changed, or is not applied yet; the lines have the reasons.
    fn change_account(&self, change: &AccountChange) -> Result<Vec<String>, Vec<String>>;

    /// Makes, changes or removes a group of the server's own, and applies it.
    ///
    /// # Errors
    /// It was not changed, or is not applied yet; the lines have the reasons.
    fn change_group(&self, change: &GroupChange) -> Result<Vec<String>, Vec<String>>;

    /// How the server is, in a few numbers and words.
    fn overview(&self) -> Overview;

    /// How much clients hold now. It is asked often.
    fn holdings(&self) -> Holdings;

    /// All accounts.
    fn accounts(&self) -> Vec<AccountStatus>;

    /// The groups of the server's own, and those that an account is in or a share names.
    fn groups(&self) -> Vec<GroupStatus>;

    /// Who may enter a share.
    ///
    /// # Errors
    /// There is no such share, or its folder cannot be looked at; the lines say so.
    fn access(&self, share: &str) -> Result<Vec<Entrant>, Vec<String>>;

    /// Who may do what with a file or folder of a share.
    ///
    /// # Errors
    /// There is no such share or file, or it cannot be looked at; the lines say so.
    fn rights(&self, share: &str, path: &[u8]) -> Result<RightsStatus, Vec<String>>;

    /// What one person may do with it.
    ///
    /// # Errors
    /// There is no such share, file or person; the lines say so.
    fn rights_of(&self, person: &str, share: &str, path: &[u8]) -> Result<PersonAnswer, Vec<String>>;

    /// A job that looks at rights, or changes them.
    ///
    /// # Errors
    /// It cannot be started; the lines have the reasons.
    fn rights_job(&self, request: RightsRequest) -> Result<NewJob, Vec<String>>;

    /// The settings with their sources.
    ///
    /// # Errors
    /// The settings file is refused; the lines have the reasons.
    fn settings(&self) -> Result<SettingsStatus, Vec<String>>;

    /// Changes a setting in the settings file, and applies it.
    ///
    /// # Errors
    /// The settings would be refused, and the file is as it was; the lines have the reasons.
    fn change(&self, change: &SettingChange) -> ChangeResult;

    /// Takes the newest change of a setting back.
    ///
    /// # Errors
    /// There is none, or the file was changed since; the lines say so.
    fn undo(&self, by: &Author) -> ChangeResult;

    /// Shares a folder of the server, by a change that can be taken back.
    ///
    /// # Errors
    /// It is not shared, and the settings file is as it was; the lines have the reasons.
    fn share(&self, new: &NewShare, by: &Author) -> ChangeResult;

    /// Changes settings of a share in one step, by a change that can be taken back.
    ///
    /// # Errors
    /// They are as they were; the lines have the reasons.
    fn change_share(&self, change: &ShareChange, by: &Author) -> ChangeResult;

    /// The folders in a folder of the server that could be shared over the network; without a path, the places to begin at.
    ///
    /// # Errors
    /// It may not be shared, or cannot be read; the lines have the reasons.
    fn host_folders(&self, path: Option<&str>) -> Result<HostFolders, Vec<String>>;

    /// Ends the sharing of a folder, by a change that can be taken back; with `recursive` also that of the shares below.
    ///
    /// # Errors
    /// It is shared as it was; the lines have the reasons.
    fn unshare(&self, name: &str, recursive: bool, by: &Author) -> ChangeResult;

    /// Gives a share another name, by a change that can be taken back.
    ///
    /// # Errors
    /// It has the old one; the lines have the reasons.
    fn rename_share(&self, name: &str, new: &str, by: &Author) -> ChangeResult;

    /// What a job does.
    ///
    /// # Errors
    /// It cannot be started; the lines have the reasons.
    fn job(&self, request: JobRequest) -> Result<NewJob, Vec<String>>;

    /// The conversions that can be taken back, the newest first.
    ///
    /// # Errors
    /// They cannot be listed; the lines have the reasons.
    fn conversions(&self) -> Result<Vec<ConversionStatus>, Vec<String>>;

    /// The benchmarks that are kept, the newest first.
    ///
    /// # Errors
    /// They cannot be listed; the lines have the reasons.
    fn benchmarks(&self) -> Result<Vec<BenchmarkStatus>, Vec<String>>;

    /// The report of a benchmark, HTML.
    ///
    /// # Errors
    /// No benchmark has this name, or the benchmark cannot be read. The lines have the reasons.
    fn benchmark(&self, name: &str) -> Result<String, Vec<String>>;

    /// The lines of the comparison of two benchmarks.
    ///
    /// # Errors
    /// They cannot be compared; the lines have the reasons.
    fn compare(&self, before: &str, after: &str) -> Result<Vec<String>, Vec<String>>;

    /// What would make the server faster. `floor`: bytes per second that each user must have, as typed. `benchmark`: the
    /// name of one that is kept.
    ///
    /// # Errors
    /// The floor is no speed, or the benchmark cannot be read; the lines have the reasons.
    fn advice(&self, floor: Option<&str>, benchmark: Option<&str>) -> Result<Vec<Advice>, Vec<String>>;

    /// A part of a folder of a share, sorted by name. The path has no `.` and `..`.
    ///
    /// # Errors
    /// It cannot be listed; the lines have the reasons.
    fn folder(&self, share: &str, path: &[u8], part: &Part) -> Result<FolderStatus, Vec<String>>;

    /// A file or folder as every protocol sees it. The path has no `.` and `..`. It is called where a tokio runtime is
    /// entered, and threads may block.
    ///
    /// # Errors
    /// It cannot be read; the lines have the reasons.
    fn file(&self, share: &str, path: &[u8]) -> Result<FileStatus, Vec<String>>;

    /// Watches a folder of a share, which is given as `share/path`, with all below it if `below`.
    ///
    /// # Errors
    /// It cannot be watched; the lines have the reasons.
    fn watch(&self, folder: &str, below: bool) -> Result<FolderWatch, Vec<String>>;

    /// The webhooks.
    fn webhooks(&self) -> Vec<WebhookStatus>;

    /// Makes a webhook, which is kept. It is called where a tokio runtime is entered. The folder has no `.` and `..`.
    ///
    /// # Errors
    /// It cannot be made; the lines have the reasons.
    fn add_webhook(&self, new: NewWebhook) -> Result<WebhookStatus, Vec<String>>;

    /// Removes a webhook.
    ///
    /// # Errors
    /// No webhook has this number. The lines say so.
    fn remove_webhook(&self, id: u64) -> Result<Vec<String>, Vec<String>>;

    /// Sends a message without changes to a webhook. It is called where a tokio runtime is entered.
    ///
    /// # Errors
    /// No webhook has this number, or the program has not accepted the message. The lines say why.
    fn test_webhook(&self, id: u64) -> Result<Vec<String>, Vec<String>>;

    /// The backups of Macs.
    ///
    /// # Errors
    /// They cannot be listed; the lines have the reasons.
    fn backups(&self) -> Result<Vec<BackupStatus>, Vec<String>>;

    /// The snapshots of a share, or of all shares.
    ///
    /// # Errors
    /// They cannot be listed; the lines have the reasons.
    fn snapshots(&self, share: Option<&str>) -> Result<SnapshotsStatus, Vec<String>>;

    /// Takes a snapshot. Without a name, it is named by its time.
    ///
    /// # Errors
    /// It was not taken; the lines have the reasons.
    fn take_snapshot(&self, share: &str, name: Option<&str>) -> Result<Vec<String>, Vec<String>>;

    /// Removes a snapshot.
    ///
    /// # Errors
    /// It was not removed; the lines have the reasons.
    fn remove_snapshot(&self, share: &str, name: &str) -> Result<Vec<String>, Vec<String>>;

    /// Gives a snapshot another name.
    ///
    /// # Errors
    /// It has the old one; the lines have the reasons.
    fn rename_snapshot(&self, share: &str, name: &str, new: &str) -> Result<Vec<String>, Vec<String>>;

    /// Keeps a snapshot until the tag is released.
    ///
    /// # Errors
    /// It is not held by the tag; the lines have the reasons.
    fn hold_snapshot(&self, share: &str, name: &str, tag: &str) -> Result<Vec<String>, Vec<String>>;

    /// Releases a tag of a snapshot.
    ///
    /// # Errors
    /// It was not released; the lines have the reasons.
    fn release_snapshot(&self, share: &str, name: &str, tag: &str) -> Result<Vec<String>, Vec<String>>;
}

/// How much clients hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Holdings {
    /// The connections of each protocol.
    pub connections: BTreeMap<String, usize>,
    /// Open files.
    pub opens: usize,
    /// Locked ranges.
    pub locks: usize,
    /// Leases.
    pub leases: usize,
}

/// A server in a few numbers and words.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct Overview {
    /// The server's name.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// What needs attention, the most important first. Empty: all is well.
    pub notes: Vec<Note>,
    /// How much clients hold.
    pub holdings: Holdings,
    /// The shares with their space.
    pub shares: Vec<SpaceStatus>,
    /// Bytes of memory of the process; `None`: unknown.
    pub memory: Option<u64>,
}

/// Something that needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Note {
    /// How urgent it is.
    pub level: Level,
    /// What it is.
    pub text: String,
    /// What to do.
    pub hint: String,
    /// The alert that says it, if it is one.
    pub alert: Option<AlertName>,
    /// Somebody has made the alert quiet.
    pub quiet: bool,
}

/// How urgent a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Clients are affected.
    Problem,
    /// Clients will be affected.
    Warning,
    /// A hint.
    Hint,
}

/// The space of a share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct SpaceStatus {
    /// The share.
    pub share: String,
    /// Its folder.
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// Bytes of its file system; `None`: unknown.
    pub size: Option<u64>,
    /// Bytes that files may still take there.
    pub available: Option<u64>,
    /// The limit of the share in bytes, if it has one.
    pub quota: Option<u64>,
    /// The number of its file system: shares with one number have their space in common.
    pub disk: Option<u64>,
    /// Bytes by which it grows in a day, by a line through the last 30 days; `None`: less than a day is known.
    pub growth_per_day: Option<i64>,
    /// Seconds until it is full, if it goes on to grow as fast; `None`: in more than ten years, or not known.
    pub full_in_s: Option<u64>,
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccountStatus {
    /// Its name.
    pub name: String,
    /// The Unix user with which it acts.
    pub uid: u32,
    /// The first group.
    pub gid: u32,
    /// The same in words.
    pub acts_as: String,
    /// It may not log in.
    pub disabled: bool,
    /// It may administer the server.
    pub admin: bool,
    /// Its Unix groups.
    pub groups: Vec<String>,
    /// Those of them that it has in addition to the groups of its Unix user.
    pub further_groups: Vec<String>,
    /// Those of them that are the server's own.
    pub own_groups: Vec<String>,
    /// The Unix user that is set for it; `None`: the one of the same name.
    pub set_uid: Option<u32>,
    /// The first group that is set for it; `None`: that of the Unix user.
    pub set_gid: Option<u32>,
    /// Its place: `file` (`accounts.toml`, where it can be changed), or `run` (the command line or the settings file).
    pub kept: &'static str,
    /// The kinds of its stored secrets: `argon2`, `nt-hash`, `srp`, `legacy`, `chap`.
    pub secrets: Vec<String>,
}

/// The settings.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct SettingsStatus {
    /// The settings file; `None`: the server was started without one, so that settings cannot be changed.
    #[schema(value_type = Option<String>)]
    pub file: Option<PathBuf>,
    /// Each setting.
    pub settings: Vec<SettingStatus>,
    /// The subjects of settings, in their order.
    pub subjects: Vec<&'static str>,
    /// The changes that can be taken back, the newest first.
    pub changes: Vec<ChangeStatus>,
}

/// A setting as it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SettingStatus {
    /// The share; `None`: a setting of the server.
    pub share: Option<String>,
    /// The key in the settings file.
    pub key: String,
    /// The value as `fourfold set` takes it; `None`: it is not set and has no default.
    pub value: Option<String>,
    /// `local`, `inherited`, `default`, or `run`: the command line or the environment of the server sets it.
    pub source: &'static str,
    /// The share that it is inherited from.
    pub inherited_from: Option<String>,
    /// Where it is set.
    pub place: Option<String>,
    /// A change is applied at once; otherwise it counts from the next start.
    pub live: bool,
    /// A change over the network needs: `operator` (a token or a session), `limit` (the same to the value in `limit`, else a
    /// password), `administrator` (the own password), or `host` (it is changed on the server only).
    pub authority: &'static str,
    /// The value that needs no password, for `limit`.
    pub limit: Option<&'static str>,
    /// What it is about: one of the subjects, or empty.
    pub subject: &'static str,
    /// One line about it.
    pub brief: &'static str,
    /// What it expects.
    pub expects: String,
    /// What counts if it is not set.
    pub otherwise: String,
    /// The words to choose from; empty: other values.
    pub words: Vec<&'static str>,
}

/// A change that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChangeStatus {
    /// Seconds since 1970.
    pub at: u64,
    /// The account or the token that made it.
    pub by: String,
    /// What it was, in words.
    pub what: String,
}

/// A change of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// The share; `None`: a setting of the server.
    pub share: Option<String>,
    /// The key in the settings file.
    pub key: String,
    /// The value as it was typed; `None`: it is removed, so that it is inherited or counts by default.
    pub value: Option<String>,
    /// Who changes it.
    pub by: Author,
}

/// The snapshots of shares.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct SnapshotsStatus {
    /// The snapshots, by share, the oldest first.
    pub snapshots: Vec<SnapshotStatus>,
    /// Each share, and why it cannot have snapshots; `None`: it can.
    pub shares: BTreeMap<String, Option<String>>,
    /// The schedules of the shares that have one.
    pub schedules: BTreeMap<String, Vec<PeriodStatus>>,
}

/// A row of a share's schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PeriodStatus {
    /// `hourly`, `daily`, `nightly`, `weekly` or `monthly`.
    pub period: &'static str,
    /// So many are kept.
    pub keep: u32,
    /// When the next one is due, in seconds since 1970.
    pub next: Option<u64>,
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SnapshotStatus {
    /// Its share.
    pub share: String,
    /// Its name.
    pub name: String,
    /// Seconds since 1970.
    pub created: u64,
    /// Its folder.
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// Its path in the share, by which `GET /v1/files` lists it; `None`: clients do not see it.
    pub inside: Option<String>,
    /// Bytes that its removal alone would free; `None`: the host does not know.
    pub used: Option<u64>,
    /// The tags that hold it.
    pub held: Vec<String>,
}
