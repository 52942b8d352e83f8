//! The requests about backups of Macs, and their answers. Scripts read the answers: fields may be added, never renamed or
//! removed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The backups of a Mac: a bundle in a share.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct BackupName {
    /// The share.
    pub share: String,
    /// The name of the bundle, with its ending. Bytes that are not UTF-8 are shown as in other requests about files.
    pub bundle: String,
}

/// A request about backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum BackupsRequest {
    /// How all of them are.
    List,
    /// Verifies a bundle, or one of its restore points.
    Verify {
        /// Which.
        name: BackupName,
        /// The snapshot; `None`: the bundle as it is now.
        #[serde(default)]
        snapshot: Option<String>,
    },
    /// Puts a bundle back to a restore point, and keeps what was there.
    RollBack {
        /// Which.
        name: BackupName,
        /// The snapshot; `None`: the newest that verifies.
        #[serde(default)]
        snapshot: Option<String>,
        /// Nothing is changed: it only says to which one.
        #[serde(default)]
        dry_run: bool,
    },
    /// Removes what rollbacks and moves of this bundle have kept.
    Discard {
        /// Which.
        name: BackupName,
    },
    /// Gives a bundle the name of another Mac.
    Rename {
        /// Which.
        name: BackupName,
        /// The name of the Mac.
        to: String,
    },
    /// Moves a bundle into another share. The old one is kept by another name.
    Move {
        /// Which.
        name: BackupName,
        /// The other share.
        to: String,
    },
}

/// The answer to a request about backups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackupsAnswer {
    /// To [`BackupsRequest::List`].
    List(Vec<BackupStatus>),
    /// To [`BackupsRequest::Verify`].
    Verified(BackupVerification),
    /// To the others: what was done.
    Done(Vec<String>),
}

/// How the backups of a Mac are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackupState {
    /// The Mac, or the server, has found the bundle damaged.
    Damaged,
    /// A Mac writes into it now.
    BackingUp,
    /// The connection to the Mac is lost, and its files are kept open for it.
    Interrupted,
    /// No backup has been completed.
    Incomplete,
    /// The newest backup is older than it should be.
    Overdue,
    /// The last attempt came to no end. The newest backup is not too old yet.
    Stopped,
    /// All is well.
    Good,
    /// The Mac backs up no longer: its backups stay.
    Retired,
    /// It lies in a share without `time-machine`.
    NotServed,
}

/// Why a session ended, as far as the server sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionEnd {
    /// A backup was completed.
    Completed,
    /// The Mac has closed the bundle in order without a completed backup: somebody has stopped it there, or it was not ready.
    Cancelled,
    /// The Mac sleeps: it has said so, or it had gone away without a farewell before, and had come back for its open files.
    Slept,
    /// The connection ended without a farewell: the Mac sleeps, was shut down, or left the network.
    Lost,
    /// The disk of the share was full.
    DiskFull,
    /// The Mac, or all of them, may not take more.
    Limit,
    /// Files of the bundle belong to another user, so the Mac may not change them.
    Permission,
    /// The server was stopped.
    ServerStopped,
}

/// A session of a Mac with its bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupSession {
    /// When it began, in seconds since 1970.
    pub began: i64,
    /// When it ended; `None`: it goes on.
    pub ended: Option<i64>,
    /// How it ended.
    pub end: Option<SessionEnd>,
    /// The account and the address.
    pub by: String,
    /// By how many bytes the bundle has grown.
    pub grown: i64,
    /// Seconds of it in which the Mac was away: asleep, or out of the network.
    #[serde(default)]
    pub away_s: i64,
}

/// A verification, or how far it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct BackupVerification {
    /// When it began, in seconds since 1970.
    pub began: i64,
    /// When it ended; `None`: it goes on, or will go on.
    pub ended: Option<i64>,
    /// Bytes that were read,
    pub done: u64,
    /// of so many.
    pub total: u64,
    /// Bands that are what their checksums say.
    pub whole: u64,
    /// Bands that had no checksum to compare with. They have one now.
    pub learned: u64,
    /// What is wrong.
    pub problems: Vec<BackupProblem>,
    /// How far the file systems in the image were checked, in words; `None`: they were not looked at.
    pub inside: Option<String>,
}

impl BackupVerification {
    /// Whether backups may be lost.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.problems.iter().any(|problem| problem.damage)
    }
}

/// Something that is wrong with a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupProblem {
    /// A word for it, such as `band-rotten`.
    pub kind: String,
    /// What is wrong.
    pub text: String,
    /// Backups may be lost by it.
    pub damage: bool,
}

/// A restore point: a snapshot of the share that has the bundle, or a point of the journal of replaced bands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupPoint {
    /// The name of the snapshot, or of the point.
    pub snapshot: String,
    /// When it was taken, in seconds since 1970.
    pub taken: i64,
    /// When it was verified last, and found whole.
    pub verified: Option<i64>,
    /// It was verified, and is damaged.
    pub damaged: bool,
}

/// The backups of a Mac.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BackupStatus {
    /// The share.
    pub share: String,
    /// The name of the bundle without its ending: usually that of the Mac.
    pub mac: String,
    /// The name of the bundle.
    pub bundle: String,
    /// The account that the bundle belongs to, or the number of the Unix user.
    pub owner: String,
    /// The model of the Mac, as it says.
    pub model: Option<String>,
    /// The hardware UUID of the Mac, by which it knows its bundle again.
    pub host: Option<String>,
    /// How it is.
    pub state: BackupState,
    /// Whether the Mac is safe, and why not, in one sentence.
    pub line: String,
    /// What to do, if there is something.
    pub advice: Option<String>,
    /// When the newest backup was completed, in seconds since 1970, as the Mac says; `None` before the first backup.
    pub completed: Option<i64>,
    /// When the oldest that is still told was completed.
    pub oldest: Option<i64>,
    /// How many backups the bundle tells of.
    pub backups: usize,
    /// When the next backup is expected.
    pub expected: Option<i64>,
    /// When the bundle was last changed, in seconds since 1970.
    pub changed: i64,
    /// Bytes of its bands; `None`: the bundle is not complete.
    pub size: Option<u64>,
    /// The image is encrypted: the server cannot look into it. `None`: it is not known.
    pub encrypted: Option<bool>,
    /// The space of the share for all backups,
    pub limit: Option<u64>,
    /// and for this Mac.
    pub own_limit: Option<u64>,
    /// What of it is left, or of the disk.
    pub free: Option<u64>,
    /// Bytes by which it grows in a day, over the last weeks.
    pub growth_per_day: Option<i64>,
    /// Seconds until there is no room, if it goes on like this. The Mac then removes its oldest backups.
    pub full_in_s: Option<u64>,
    /// Who has it open for writing.
    pub users: Vec<String>,
    /// Bytes that they have sent in their sessions. Its growth is the speed of the backup.
    pub received: u64,
    /// The newest sessions, the newest first.
    pub sessions: Vec<BackupSession>,
    /// What the Mac has found when it checked the bundle last: `whole`, `damaged` or `unchecked`.
    pub mac_check: Option<String>,
    /// When that was, in seconds since 1970.
    pub mac_checked: Option<i64>,
    /// The last verification by the server.
    pub verification: Option<BackupVerification>,
    /// The snapshots of the share that have the bundle, the newest first.
    pub points: Vec<BackupPoint>,
    /// The folders that rollbacks and moves have kept.
    pub kept: Vec<String>,
    /// How many days old the newest backup may become before an alert; `None` without alerts.
    pub alert_days: Option<u64>,
    /// Another bundle of the share is of the same Mac.
    pub twin: Option<String>,
}
