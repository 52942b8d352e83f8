//! The flags of `fourfold backups points`, `browse` and `cp`.

use std::path::PathBuf;

use clap::Args;

use super::Where;

pub(super) const POINTS: &str = "Lists the snapshots of the share that have the backups of a Mac, the newest first; with --inside also the backups that the Mac
has in its disk image. A disk image of another kind is SHARE/PATH.

Examples:
  fourfold backups points                              of every Mac
  fourfold backups points \"Ada's Mac\"
  fourfold backups points \"Ada's Mac\" --inside          asks for the passphrase of an encrypted one

Exit codes: 0 they were listed, 1 the image cannot be read, 2 the settings or the command line were refused";
pub(super) const BROWSE: &str = "Serves the files in the backups of a Mac, or in any disk image of a share, as a hidden share that only one person sees: the
owner of the image, or the account of --for. The person needs the right to read the image. Nothing can be changed. It ends
after its time, with --end, or when the server stops. The passphrase of an encrypted image is asked, and is not stored.

Examples:
  fourfold backups browse \"Ada's Mac\"
  fourfold backups browse \"Ada's Mac@time-machine-20261127T201105Z\" --hours 2
  fourfold backups browse Files/old/Disk.dmg --for grace
  fourfold backups browse --list
  fourfold backups browse --end \"Adas Mac$\"

Exit codes: 0 done, 1 the image cannot be read, or no server runs, 2 the settings or the command line were refused";
pub(super) const CP: &str = "Copies files and folders out of the backups of a Mac, or out of any disk image of a share, with resource forks, Finder
information, dates and extended attributes. It reads with the rights of the user who runs it, and needs no server. What
cannot be read is named, and the rest is copied.

Examples:
  fourfold backups cp \"Ada's Mac:/Users/ada/Documents/May.pages\" .
  fourfold backups cp \"Ada's Mac@monday:/Users/ada\" /srv/rescued
  fourfold backups cp Files/old/Disk.dmg:/ ./disk          all of it

Exit codes: 0 all was copied, 1 something was not, 2 the settings or the command line were refused";

#[derive(Debug, Args)]
pub(crate) struct BackupPoints {
    /// A Mac or another disk image; by default every Mac
    pub(crate) mac: Option<String>,
    /// Also what is in the disk image
    #[arg(long, requires = "mac")]
    pub(crate) inside: bool,
    /// The passphrase is the first line of standard input
    #[arg(long)]
    pub(crate) passphrase_stdin: bool,
    /// One JSON array, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct BrowseBackup {
    /// A Mac or another disk image, with @SNAPSHOT for an earlier time
    #[arg(required_unless_present_any = ["list", "end"])]
    pub(crate) mac: Option<String>,
    /// The account that sees it; by default the owner of the image
    #[arg(long = "for", value_name = "ACCOUNT")]
    pub(crate) account: Option<String>,
    /// How long it is served
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=168))]
    pub(crate) hours: u32,
    /// Show what is served
    #[arg(long, conflicts_with_all = ["mac", "end"])]
    pub(crate) list: bool,
    /// End the serving of this hidden share
    #[arg(long, value_name = "NAME", conflicts_with = "mac")]
    pub(crate) end: Option<String>,
    /// The passphrase is the first line of standard input
    #[arg(long)]
    pub(crate) passphrase_stdin: bool,
    /// One JSON array, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct CopyBackup {
    /// What to copy, as MAC:/PATH or MAC@SNAPSHOT:/PATH
    #[arg(value_name = "MAC:/PATH")]
    pub(crate) from: String,
    /// A folder, or the new name in one
    #[arg(value_name = "DEST")]
    pub(crate) to: PathBuf,
    /// Replace files that are there and differ
    #[arg(long)]
    pub(crate) replace: bool,
    /// The passphrase is the first line of standard input
    #[arg(long)]
    pub(crate) passphrase_stdin: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
