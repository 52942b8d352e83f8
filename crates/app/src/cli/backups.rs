//! The flags of `fourfold backups`.

use clap::Subcommand;

use super::browse::{BROWSE, CP, POINTS};
use super::{BackupPoints, BrowseBackup, CopyBackup};

/// `fourfold backups …`
#[derive(Debug, Subcommand)]
pub(crate) enum BackupsCommand {
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
