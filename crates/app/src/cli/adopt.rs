//! The flags of `fourfold adopt`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "Fourfold serves such a folder as it is: nothing is rewritten until a client changes a file, and a file stays in the
layout that it has. This command changes nothing. It prints what it found and, as a settings file, what serves the same.
Without DIR it looks at the folders that the other server's files name.

Examples:
  fourfold adopt /srv/studio                          which layouts are there? is anything damaged?
  fourfold adopt --smb-conf /etc/samba/smb.conf       the settings for all shares of Samba
  fourfold adopt --afp-conf /etc/netatalk/afp.conf --exports /etc/exports
  fourfold adopt /srv/studio --settings > fourfold.toml
  fourfold adopt /srv/studio --json | jq .layouts     for scripts

Exit codes:
  0  it was looked at; what is damaged or cannot be translated is said
  1  a folder or a file could not be read
  2  the command line was refused";

/// `fourfold adopt`
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// Folder that another server has served
    #[arg(value_name = "DIR", required_unless_present_any = ["smb_conf", "afp_conf", "exports"])]
    pub(crate) folder: Option<PathBuf>,
    /// Settings of Samba
    #[arg(long, value_name = "FILE")]
    pub(crate) smb_conf: Option<PathBuf>,
    /// Settings of Netatalk 3 or 4
    #[arg(long, value_name = "FILE")]
    pub(crate) afp_conf: Option<PathBuf>,
    /// The exports of Linux's NFS server
    #[arg(long, value_name = "FILE")]
    pub(crate) exports: Option<PathBuf>,
    /// Print the settings only, with comments about what they cannot say
    #[arg(long, conflicts_with = "json")]
    pub(crate) settings: bool,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
}
