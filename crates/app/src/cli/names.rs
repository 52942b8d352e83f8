//! The flags of `fourfold names`.

use std::path::PathBuf;

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "Without --fix nothing is changed: the command prints each name that will hurt some client, why, and the name that
--fix would give it. A fix renames the file together with its ._name. It is written to the journal first, so that --undo takes
it back. No file is replaced: two names that would become one get a number.

Characters that Windows forbids are shown to Windows as other characters, and cause no harm there. They are replaced only with
--windows.

Examples:
  fourfold names studio                                   the share of the running server, or of the settings
  fourfold names /srv/studio                              what is wrong, and what --fix would do
  fourfold names /srv/studio --fix --journal fixed.jsonl  rename
  fourfold names --undo fixed.jsonl                       and back

Exit codes:
  0  it was looked at, or renamed, or taken back
  1  a folder could not be read, or a file could not be renamed; the message says which
  2  the command line was refused";

/// `fourfold names`
#[derive(Debug, Args)]
pub(crate) struct Names {
    /// Folder or share to look at, with everything below it
    #[arg(value_name = "DIR|SHARE", required_unless_present = "undo")]
    pub(crate) folder: Option<PathBuf>,
    /// Rename, and write each change to the journal
    #[arg(long, requires = "journal")]
    pub(crate) fix: bool,
    /// Change nothing; so it is without --fix, too
    #[arg(short = 'n', long, conflicts_with_all = ["fix", "undo"])]
    pub(crate) dry_run: bool,
    /// Also replace characters that Windows forbids, by `_`
    #[arg(long)]
    pub(crate) windows: bool,
    /// The file to which the changes are written; it must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Take back the changes of a journal
    #[arg(long, value_name = "FILE", conflicts_with_all = ["folder", "fix", "windows", "journal"])]
    pub(crate) undo: Option<PathBuf>,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
