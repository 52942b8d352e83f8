//! The flags of `fourfold adopt`.

use std::path::PathBuf;

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "Fourfold serves such a folder as it is: nothing is rewritten until a client changes a file, and a file stays in the
layout that it has. Without --convert this command changes nothing. It prints what it found and, as a settings file, what serves
the same. Without DIR it looks at the folders that the other server's files name.

Nothing gets wider: what limits access there is translated, or the share is left out of the settings. The report names every setting
with its line and what became of it. --accept LIMIT serves such a share without that limit.

--convert gives everything below DIR one layout. What is on the disk of a file is saved in a journal in the state folder before the
file changes, so the state folder needs as much space as all that moves. Sums of all streams and forks are compared; if one differs, the
file gets its former layout again. A run that was cut off is continued by the next one. --undo takes everything back, byte for byte.
A running server does this itself, beside its clients, as a job of its API or console: this command is refused then.

Examples:
  fourfold adopt /srv/studio                          which layouts are there? is anything damaged?
  fourfold adopt --smb-conf /etc/samba/smb.conf       the settings for all shares of Samba
  fourfold adopt --smb-conf /etc/samba/smb.conf --accept create-mask --accept Films:veto-files
  fourfold adopt --passdb /var/lib/samba/private/passdb.tdb --import-accounts
  fourfold adopt --afp-conf /etc/netatalk/afp.conf --exports /etc/exports
  fourfold adopt /srv/studio --settings > fourfold.toml
  fourfold adopt /srv/studio --json | jq .layouts     for scripts
  fourfold adopt /srv/studio --convert --dry-run      how many files would change, and which have copies that differ
  fourfold adopt /srv/studio --convert --to netatalk
  fourfold adopt --undo /var/lib/fourfold/adopt/2026-11-24-101500-studio.journal

Exit codes:
  0  it was looked at; what is damaged or cannot be translated is said. With --convert and --undo: all was done
  1  a folder or a file could not be read, a share is not in the settings because a limit of the other server cannot be kept, or some
     files stay as they are; the message says which
  2  the command line was refused";

/// `fourfold adopt`
#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// Folder that another server has served
    #[arg(value_name = "DIR", required_unless_present_any = ["smb_conf", "passdb", "afp_conf", "exports", "undo"])]
    pub(crate) folder: Option<PathBuf>,
    /// Settings of Samba
    #[arg(long, value_name = "FILE")]
    pub(crate) smb_conf: Option<PathBuf>,
    /// Accounts of Samba (passdb.tdb), with their SIDs if secrets.tdb is beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) passdb: Option<PathBuf>,
    /// Make these accounts here, with the same passwords. Accounts that are here stay as they are
    #[arg(long, requires = "passdb")]
    pub(crate) import_accounts: bool,
    /// Settings of Netatalk 3 or 4
    #[arg(long, value_name = "FILE")]
    pub(crate) afp_conf: Option<PathBuf>,
    /// The exports of Linux's NFS server
    #[arg(long, value_name = "FILE")]
    pub(crate) exports: Option<PathBuf>,
    /// Print the settings only, with comments about what they cannot say
    #[arg(long, conflicts_with = "json")]
    pub(crate) settings: bool,
    /// Serve a share although this limit of the other server is not kept: the word of the report, for all shares, or SHARE:LIMIT
    #[arg(long, value_name = "LIMIT")]
    pub(crate) accept: Vec<String>,
    /// Give everything below DIR one layout
    #[arg(long, requires = "folder", conflicts_with_all = ["smb_conf", "passdb", "afp_conf", "exports", "settings"])]
    pub(crate) convert: bool,
    /// The layout: netatalk, samba or samba-streams, as in the setting `mac-layout`
    #[arg(long, value_name = "LAYOUT", requires = "convert", default_value = "netatalk")]
    pub(crate) to: String,
    /// Of copies that differ, the one that clients see counts, and the others go; without this such files stay as they are
    #[arg(long, requires = "convert")]
    pub(crate) shown_counts: bool,
    /// Change nothing, and tell what would change
    #[arg(short = 'n', long, requires = "convert")]
    pub(crate) dry_run: bool,
    /// Take back what a journal says
    #[arg(long, value_name = "FILE", conflicts_with_all = ["folder", "convert", "smb_conf", "passdb", "afp_conf", "exports", "settings"])]
    pub(crate) undo: Option<PathBuf>,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
