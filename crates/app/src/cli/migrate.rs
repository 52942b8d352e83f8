//! The flags of `fourfold migrate`, and how its URLs log in.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "SRC and DST are smb://USER@HOST/SHARE, afp://USER@HOST/SHARE, nfs://HOST/EXPORT (?vers=4: version 4), with a folder behind it,
or a folder of this machine. Copied are data, resource forks, Finder info, comments, tags and other streams, extended attributes,
dates, attributes of DOS and Mac, symbolic links, holes, access control lists, modes and owners: what both protocols can tell. What
one of them cannot is in the report. Each file is read back and compared, unless --no-verify is given. If DST is
a folder that Fourfold serves, name the folder of the share itself: all is written as the server keeps it.

Every further run copies what has changed since, so users may work on until the last one. A run that was stopped or killed goes
on where it was. With a journal, changes that do not change a file's date or length are seen, too.

Examples:
  fourfold migrate smb://ada@old/studio /srv/studio --password-file secret
  fourfold migrate afp://ada@old/Archive /srv/archive --journal archive.journal --limit 08:00-18:00=20M
  fourfold migrate smb://ada@old/studio smb://ada@new/studio --streams 8 --report studio.json
  fourfold migrate smb://ada@old/studio /srv/studio --verify-only      compare all, change nothing
  fourfold migrate smb://ada@old/studio /srv/studio --delete --dry-run  what would be copied and removed?
  fourfold migrate smb://ada@old/studio /srv/studio --delete           the last pass, before users move

Exit codes:
  0  every file is there, with its data; the report may name details that did not survive
  1  files failed or differ, a server cannot be reached, or the copy was stopped
  2  the command line was refused";

/// How the URLs log in.
#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Account of URLs that name none; not for NFS
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File with the password; its first line
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Longest wait for an answer of a server
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

/// `fourfold migrate`
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// URL or folder that files come from
    #[arg(value_name = "SRC")]
    pub(crate) from: String,
    /// URL or folder that they go to; it must exist
    #[arg(value_name = "DST")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) login: Login,
    /// File with the password of the destination, if it is another one
    #[arg(long, value_name = "FILE")]
    pub(crate) to_password_file: Option<PathBuf>,
    /// Files that are copied at the same time
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) streams: u8,
    /// Bytes per second, such as 50M, or 08:00-18:00=20M for a part of the day; may be given several times
    #[arg(long, value_name = "RATE", value_parser = migrate::Limit::parse)]
    pub(crate) limit: Vec<migrate::Limit>,
    /// File with lines SOURCE = DESTINATION: which account of access control lists, and which owner, is which one here. Each is
    /// user:NUMBER, group:NUMBER or a SID; `none` as the destination leaves entries out
    #[arg(long, value_name = "FILE")]
    pub(crate) accounts: Option<PathBuf>,
    /// Note each copied file in this file, and read it in the next run
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Compare all files, and change nothing
    #[arg(long, conflicts_with_all = ["delete", "no_verify", "journal", "dry_run"])]
    pub(crate) verify_only: bool,
    /// Do not read back what was copied
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Remove from the destination what the source does not have
    #[arg(long)]
    pub(crate) delete: bool,
    /// Change nothing, and count what would be copied, overwritten and removed; with -v each file is named
    #[arg(short = 'n', long, conflicts_with_all = ["no_verify", "journal"])]
    pub(crate) dry_run: bool,
    /// Do not ask before --delete removes something
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Write the whole report to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print the report as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
