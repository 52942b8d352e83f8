//! The flags of `fourfold backups`.

use clap::{Args, Subcommand};

use super::browse::{BROWSE, CP, POINTS};
use super::{BackupPoints, BrowseBackup, Caution, CopyBackup, Where};

pub(super) const EXAMPLES: &str = "MAC is the name of a bundle in a share with `time-machine`, with or without its ending: usually the name of the Mac. If two
shares have one of this name, write SHARE/MAC. A restore point is a snapshot of the share (see `time-machine-snapshots`
in docs/settings.md), or made by the server itself (`time-machine-journal`). docs/time-machine.md says what each state means, and what to do.";

/// `fourfold backups …`
#[derive(Debug, Subcommand)]
pub(crate) enum BackupsCommand {
    /// Say in one line for each Mac whether it is safe
    #[command(after_help = "Examples:
  fourfold backups list
  fourfold backups list --json | jq -r '.[] | select(.state == \"overdue\").mac'

Exit codes: 0 all Macs are safe, 1 one is not, 2 the settings or the command line were refused, 3 no server runs")]
    List(ListBackups),
    /// Show all that is known of the backups of a Mac
    #[command(after_help = "Examples:
  fourfold backups show \"Ada's Mac\"
  fourfold backups show tm/ada --json                  for scripts

Exit codes: 0 the Mac is safe, 1 it is not, 2 the settings or the command line were refused, 3 no server runs")]
    Show(ShowBackup),
    /// Say how large the share is to this Mac
    #[command(
        after_help = "The share reports the size to the user that the bundle belongs to, over SMB and AFP. A Mac that finds no room removes its
oldest backups. Give each Mac an account of its own: Macs with one account have one limit, the sum of theirs.

Examples:
  fourfold backups limit \"Ada's Mac\" 800G
  fourfold backups limit \"Ada's Mac\" none              only that of the share

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused, 3 no server runs"
    )]
    Limit(LimitBackup),
    /// Say after how long without a backup there is an alert
    #[command(after_help = "Examples:
  fourfold backups alert \"Ada's Mac\" 30d
  fourfold backups alert \"Ada's Mac\" never
  fourfold backups alert \"Ada's Mac\" usual             as `alert-backup` says

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused, 3 no server runs")]
    Alert(AlertBackup),
    /// A Mac backs up no longer: its backups stay, and no alert expects others
    #[command(after_help = "Examples:
  fourfold backups retire \"Old Mac\"

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused, 3 no server runs")]
    Retire(NamedBackup),
    /// A Mac that was retired backs up again
    #[command(after_help = "Examples:
  fourfold backups keep \"Old Mac\"

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused, 3 no server runs")]
    Keep(NamedBackup),
    /// Read all of a backup, and compare it with its checksums
    #[command(
        after_help = "The property lists must be whole and agree, each band must be in its place and have the content that it had when it was closed
last. It is found in encrypted backups, too. Bands that have no checksum yet get one. A server does this by itself every
`time-machine-verify`, while no Mac backs up.

Examples:
  fourfold backups verify \"Ada's Mac\"
  fourfold backups verify \"Ada's Mac\" --point time-machine-20261123T013400Z

Exit codes: 0 it is whole, 1 it is damaged or could not be read, 2 the settings or the command line were refused, 3 no server runs"
    )]
    Verify(VerifyBackup),
    /// Put damaged backups back to the last restore point that verifies
    #[command(
        after_help = "Do this when the Mac says that it must create a new backup, before it does. The newest restore point is verified, then the one
before it, until one is whole. Its files are made beside the damaged ones, and the two change places; the Mac goes on with
its next backup. What was damaged is kept until `fourfold backups discard`.

Examples:
  fourfold backups rollback \"Ada's Mac\"
  fourfold backups rollback \"Ada's Mac\" --dry-run      to which point?
  fourfold backups rollback \"Ada's Mac\" --to time-machine-20261123T013400Z --yes

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused, 3 no server runs"
    )]
    Rollback(RollBackBackup),
    /// Remove what rollbacks have kept
    #[command(after_help = "Examples:
  fourfold backups discard \"Ada's Mac\"

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused, 3 no server runs")]
    Discard(DiscardBackup),
    /// Rename the backups of a Mac after a new Mac that has inherited them
    #[command(
        after_help = "The bundle gets the name of the new Mac, and its limit, alert, sessions and checksums go along. A Mac that inherits backups
knows them by what it writes into the bundle, not by the name. No Mac may back up into it meanwhile.

Examples:
  fourfold backups rename \"Ada's Mac\" \"Ada's new Mac\"

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused, 3 no server runs"
    )]
    Rename(RenameBackup),
    /// Move the backups of a Mac to another share
    #[command(
        after_help = "The old bundle is kept by a name that Macs do not know. Choose the other share in Time Machine on the Mac afterwards.

Examples:
  fourfold backups move \"Ada's Mac\" tm2

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused, 3 no server runs"
    )]
    Move(MoveBackup),
    /// List the times from which files can be got back
    #[command(after_help = POINTS)]
    Points(BackupPoints),
    /// Serve the files in backups, or in any disk image, to one person
    #[command(after_help = BROWSE)]
    Browse(BrowseBackup),
    /// Copy files out of backups, or out of any disk image
    #[command(after_help = CP)]
    Cp(CopyBackup),
}

#[derive(Debug, Args)]
pub(crate) struct ListBackups {
    /// One JSON array, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct NamedBackup {
    /// The Mac, as MAC or SHARE/MAC
    pub(crate) mac: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ShowBackup {
    #[command(flatten)]
    pub(crate) named: NamedBackup,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LimitBackup {
    /// The Mac, as MAC or SHARE/MAC
    pub(crate) mac: String,
    /// The size, or none
    pub(crate) size: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct AlertBackup {
    /// The Mac, as MAC or SHARE/MAC
    pub(crate) mac: String,
    /// A time such as 14d, never, or usual
    pub(crate) after: String,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyBackup {
    #[command(flatten)]
    pub(crate) named: NamedBackup,
    /// The backups as they were at this restore point
    #[arg(long, value_name = "POINT")]
    pub(crate) point: Option<String>,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RollBackBackup {
    #[command(flatten)]
    pub(crate) named: NamedBackup,
    /// To this restore point, if it verifies
    #[arg(long, value_name = "POINT")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) caution: Caution,
}

#[derive(Debug, Args)]
pub(crate) struct DiscardBackup {
    #[command(flatten)]
    pub(crate) named: NamedBackup,
    #[command(flatten)]
    pub(crate) caution: Caution,
}

#[derive(Debug, Args)]
pub(crate) struct RenameBackup {
    /// The Mac, as MAC or SHARE/MAC
    pub(crate) mac: String,
    /// The name of the new Mac
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) caution: Caution,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct MoveBackup {
    /// The Mac, as MAC or SHARE/MAC
    pub(crate) mac: String,
    /// The other share
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) caution: Caution,
    #[command(flatten)]
    pub(crate) place: Where,
}
