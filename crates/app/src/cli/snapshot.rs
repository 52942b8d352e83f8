//! The flags of `fourfold snapshot`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Caution, Where};

/// `fourfold snapshot …`
#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Take a snapshot of a share
    #[command(
        after_help = "The share's folder must be a btrfs subvolume, a ZFS dataset, or a folder on XFS or btrfs, of which all files are cloned.
Clients find the snapshot within some seconds: see `snapshot-folder` in docs/settings.md.

Examples:
  fourfold snapshot create studio@before-the-move
  fourfold snapshot create studio                      named after the time

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused"
    )]
    Create(SnapshotArgs),
    /// List the snapshots
    #[command(after_help = "Examples:
  fourfold snapshot list                               of every share
  fourfold snapshot list studio --json                 of one share, for scripts

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    List(ListSnapshots),
    /// Show what changed since a snapshot, or between two
    #[command(after_help = "Examples:
  fourfold snapshot diff studio@monday                 since then
  fourfold snapshot diff studio@monday tuesday         between two of them
  fourfold snapshot diff studio@monday --json          for scripts

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    Diff(Diff),
    /// Bring back a file or folder as it was
    #[command(
        after_help = "PATH is relative to the share's folder, as `fourfold snapshot diff` shows it; `.` is the whole share. A file comes back
with its forks, streams, Mac metadata, rights and dates. Of a folder, each file that differs comes back, and other files stay
unless --delete is given. A client that has an old file open keeps it until it closes it. A file that a client has open and
denies others to replace is refused. After an interruption, the same command goes on. At a terminal it says first what it
will overwrite and remove, and asks.

Examples:
  fourfold snapshot restore studio@monday 'reports/May.doc'
  fourfold snapshot restore studio@monday 'reports/May.doc' --beside    as 'reports/May (monday).doc'
  fourfold snapshot restore studio@monday reports --dry-run             what would change?
  fourfold snapshot restore studio@monday reports --delete              exactly as it was
  fourfold snapshot restore studio@monday reports --to 'reports of monday'

Exit codes: 0 done, 1 not done, or something in the folder was refused, 2 the settings or the command line were refused"
    )]
    Restore(Restore),
    /// Keep the schedules of all shares until the standard input ends; `fourfold serve` starts this by itself
    #[command(after_help = "Examples:
  fourfold snapshot keep < /dev/null                   look once at what is due

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    Keep(Where),
    /// Remove a snapshot
    #[command(after_help = "A held snapshot is not removed: see `fourfold snapshot release`.

Examples:
  fourfold snapshot remove studio@before-the-move

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    Remove(RemoveSnapshot),
    /// Give a snapshot another name
    #[command(after_help = "Examples:
  fourfold snapshot rename studio@monday first-version

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    Rename(SnapshotRenameArgs),
    /// Keep a snapshot from being removed
    #[command(after_help = "A snapshot can be held several times, each time by another tag.

Examples:
  fourfold snapshot hold legal studio@monday

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    Hold(HoldArgs),
    /// End a hold
    #[command(after_help = "Examples:
  fourfold snapshot release legal studio@monday

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    Release(HoldArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    /// The share and the name of the snapshot, as SHARE@NAME
    pub(crate) snapshot: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveSnapshot {
    #[command(flatten)]
    pub(crate) named: SnapshotArgs,
    #[command(flatten)]
    pub(crate) caution: Caution,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The share and the name of the older snapshot, as SHARE@NAME
    pub(crate) snapshot: String,
    /// The newer snapshot; by default the share as it is now
    pub(crate) newer: Option<String>,
    /// One JSON array, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The share and the name of the snapshot, as SHARE@NAME
    pub(crate) snapshot: String,
    /// The file or folder, relative to the share's folder
    pub(crate) path: PathBuf,
    /// Restore it to this path of the share, and replace what is there
    #[arg(long, value_name = "PATH", conflicts_with = "beside")]
    pub(crate) to: Option<PathBuf>,
    /// Restore it beside what is there now, with the name of the snapshot in its name
    #[arg(long)]
    pub(crate) beside: bool,
    /// Remove what the folder has and the snapshot does not
    #[arg(long)]
    pub(crate) delete: bool,
    #[command(flatten)]
    pub(crate) caution: Caution,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotRenameArgs {
    /// The share and the name of the snapshot, as SHARE@NAME
    pub(crate) snapshot: String,
    /// Its new name
    pub(crate) new: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct HoldArgs {
    /// The tag of the hold
    pub(crate) tag: String,
    /// The share and the name of the snapshot, as SHARE@NAME
    pub(crate) snapshot: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ListSnapshots {
    /// A share; by default all of them
    pub(crate) share: Option<String>,
    /// One JSON array, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
