//! The flags of `fourfold pool`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{Caution, Where};

/// `fourfold pool …`
#[derive(Debug, Subcommand)]
pub(crate) enum PoolCommand {
    /// Make a file system with snapshots in a file, and mount it
    #[command(
        after_help = "For hosts whose file system makes no snapshots, such as ext4. The pool is a btrfs; the file gets all its blocks at once.
The server mounts its pools when it starts. It needs root, btrfs-progs and a loop device.

Examples:
  fourfold pool create /var/pool.img 100G /srv/pool
  fourfold create studio --path /srv/pool/studio

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused"
    )]
    Create {
        /// The file to make
        file: PathBuf,
        /// Its size, such as 100G
        size: String,
        /// The folder where it is mounted; it is made if it is missing
        folder: PathBuf,
        #[command(flatten)]
        place: Where,
    },
    /// List the pools
    #[command(after_help = "Examples:
  fourfold pool list
  fourfold pool list --json

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    List {
        /// One JSON array, for scripts
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Where,
    },
    /// Mount the pools that are not mounted
    #[command(
        after_help = "The server does this when it starts. The service of systemd does it before: what a server with its own view of the
file systems mounts, other programs do not see.

Examples:
  sudo fourfold pool mount

Exit codes: 0 all are mounted, 1 some are not, 2 the settings or the command line were refused"
    )]
    Mount {
        #[command(flatten)]
        place: Where,
    },
    /// Unmount a pool, and delete its file with all that is in it
    #[command(after_help = "Examples:
  fourfold pool destroy /var/pool.img                  asks before

Exit codes: 0 done, 1 not done, 2 the settings or the command line were refused")]
    Destroy {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        caution: Caution,
        #[command(flatten)]
        place: Where,
    },
}
