//! The command line of `fourfold explain`.

use std::path::PathBuf;

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "USER is an account, or the number of a user of NFS. The answer comes from the settings and the disk; a running server adds
who has the file open or locked now. Start it as root: it looks at files that belong to others.

Examples:
  sudo fourfold explain ada /srv/studio/plan.txt
  sudo fourfold explain 1001 /srv/studio                a user of NFS by the number
  sudo fourfold explain ada /srv/studio/plan.txt --json

Exit codes:
  0  it is explained
  1  there is no such user or file, or it is in no share
  2  the settings were refused";

/// `fourfold explain …`
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The account, or the number of a user of NFS
    pub(crate) user: String,
    /// The file or folder, on the server
    pub(crate) path: PathBuf,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
