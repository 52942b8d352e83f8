//! The flags of `ls`, `cat`, `cp` and `rm`.

use std::path::PathBuf;

use clap::Args;

use super::{Caution, Login};

pub(super) const LS: &str = "Examples:
  fourfold ls smb://ada@nas/files --password-file secret
  fourfold ls -l nfs://nas/files/projects
  fourfold ls --json afp://ada@nas/files | jq '.[].name'

Exit codes:
  0  it was listed
  1  the server cannot be reached, refuses the login, or has no such folder";
pub(super) const CAT: &str = "Examples:
  fourfold cat nfs://nas/files/notes.txt
  fourfold cat --fork afp://ada@nas/files/Icon > icon.rsrc     its resource fork

Exit codes:
  0  all of it was printed
  1  the server cannot be reached, refuses the login, or has no such file";
pub(super) const CP: &str = "Copies with forks, Finder info, streams, dates and attributes, as far as both protocols can tell, and reads back what it copied.
A folder is copied with all that is in it. What is there already, with the same length and date, is left alone.

Examples:
  fourfold cp smb://ada@nas/files/report.doc .
  fourfold cp ~/Fonts afp://ada@museum/Mac                     a folder with its resource forks
  fourfold cp afp://ada@old/Mac/Games smb://ada@nas/files      from one server to another
  fourfold cp ~/Fonts smb://ada@nas/files --dry-run            what would be copied and overwritten?

Exit codes:
  0  every file is there, with its data
  1  files failed, or a server cannot be reached";
pub(super) const RM: &str = "Examples:
  fourfold rm smb://ada@nas/files/old.doc
  fourfold rm -r nfs://nas/files/old                           asks first, at a terminal
  fourfold rm -r nfs://nas/files/old --dry-run -v              what would be removed?

Exit codes:
  0  all were removed
  1  one was not, or the answer was no";

/// `fourfold ls`
#[derive(Debug, Args)]
pub(crate) struct ListFolder {
    /// URL or folder
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// With kind, length and date
    #[arg(short, long)]
    pub(crate) long: bool,
    /// A JSON array, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) login: Login,
}

/// `fourfold cat`
#[derive(Debug, Args)]
pub(crate) struct Cat {
    /// URL or path of a file
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Print its resource fork
    #[arg(long)]
    pub(crate) fork: bool,
    #[command(flatten)]
    pub(crate) login: Login,
}

/// `fourfold cp`
#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// URLs or paths of files and folders, then the folder that they go to
    #[arg(value_name = "URL", num_args = 2.., required = true)]
    pub(crate) urls: Vec<String>,
    /// Do not read back what was copied
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Change nothing, and count what would be copied and overwritten; with -v each file is named
    #[arg(short = 'n', long, conflicts_with = "no_verify")]
    pub(crate) dry_run: bool,
    /// Print a JSON array with a report for each folder that files come from
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) login: Login,
    /// File with the password of the destination, if it is another one
    #[arg(long, value_name = "FILE")]
    pub(crate) to_password_file: Option<PathBuf>,
}

/// `fourfold rm`
#[derive(Debug, Args)]
pub(crate) struct RemoveFiles {
    /// URLs or paths of files and folders
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    /// Folders with all that is in them
    #[arg(short, long)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(crate) caution: Caution,
    #[command(flatten)]
    pub(crate) login: Login,
}
