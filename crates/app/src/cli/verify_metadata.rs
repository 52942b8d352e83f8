//! The flags of `fourfold verify-metadata`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "The URLs name one folder of one server by several protocols: smb://USER@HOST/SHARE, afp://USER@HOST/SHARE,
nfs://HOST/EXPORT (version 3), nfs://HOST/EXPORT?vers=4.2 (or 4.1). Every kind of metadata is written by each protocol to a file
of its own, and read by each: Finder info, forks, comments, tags, dates, attributes of DOS, locks, modes, access control lists,
streams, names, links. The grid says what is kept, changed (with both values), lost, refused, and what a protocol cannot tell.
Over NFS version 4, Mac metadata is written to and read from named attributes; over version 3, and on servers without named
attributes, from ._ files, as Macs do it. Entries of ACLs are about the Unix user 12345, which needs no account.

The command works in a folder of its own, fourfold-verify-…, which it removes. It touches no other file.

Examples:
  fourfold verify-metadata smb://ada@nas/files afp://ada@nas/files nfs://nas/files --password-file secret
  fourfold verify-metadata smb://ada@nas/files nfs://nas/srv/files nfs://nas/srv/files?vers=4.2 --output grid.html
  fourfold verify-metadata smb://ada@nas/files --json | jq '.rows[] | select(.refused)'

Exit codes:
  0  the grid was made, whatever it says
  1  a server cannot be reached, refuses the login, or the URLs are not of one folder
  2  the command line was refused";

/// `fourfold verify-metadata`
#[derive(Debug, Args)]
pub(crate) struct VerifyMetadata {
    /// URLs of one folder
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    /// Account of URLs that name none; not for NFS
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File with the password; its first line
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Longest wait for an answer of the server
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the grid to this file, too: a page if it ends in .html, else Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
