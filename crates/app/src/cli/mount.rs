//! The flags of `fourfold mount`.

use std::path::PathBuf;

use clap::Args;

use super::Login;

pub(super) const EXAMPLES: &str = "Mounts smb://USER@HOST/SHARE, afp://USER@HOST/SHARE or nfs://HOST/EXPORT (?vers=4: version 4), with a folder behind it, on an
empty folder of this machine, until it is unmounted, or Ctrl-C. What Macs keep beside the data are extended attributes of Linux:

  user.com.apple.FinderInfo      type, creator, flags and label, 32 bytes
  user.com.apple.ResourceFork    the resource fork, if it has at most 64 KiB, the most that Linux takes
  user.NAME                      a named stream, or an extended attribute: tags, the comment and what other programs keep

so `cp -a` and `rsync -X` carry them. The resource fork of FOLDER/NAME, of any length, is the file FOLDER/..namedfork/NAME/rsrc,
which listings do not show (macOS calls it FOLDER/NAME/..namedfork/rsrc). The server decides what the account may do. Names and attributes are trusted for a second,
data as long as a file is open. Locks bind programs of this machine, not other clients. If the connection is lost, it is made
again, and files that are open are opened again.

Examples:
  fourfold mount afp://ada@museum/Mac /mnt/museum --password-file secret
  fourfold mount smb://ada@nas/files/projects ~/projects --password-file secret --read-only
  fourfold mount smb://ada@nas/files /mnt/files --all-users &      for all users of this machine
  umount /mnt/files                                                or fusermount3 -u, if you are not root

Exit codes:
  0  it was mounted, and is unmounted
  1  the server cannot be reached, refuses the login, or the folder cannot be mounted on";

/// `fourfold mount`
#[derive(Debug, Args)]
pub(crate) struct MountCommand {
    /// URL of the folder on the server
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Folder of this machine
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Nothing can be changed
    #[arg(long)]
    pub(crate) read_only: bool,
    /// All users of this machine may enter, with the rights of the account (needs root, or user_allow_other in /etc/fuse.conf)
    #[arg(long)]
    pub(crate) all_users: bool,
    /// Sessions with the server: so many operations run at the same time
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u8).range(1..=mount::MAX_SESSIONS as i64))]
    pub(crate) sessions: u8,
    #[command(flatten)]
    pub(crate) login: Login,
}
