//! The flags of `fourfold scrub`.

use std::ffi::OsString;

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "Without --repair nothing is changed: the command says what is wrong, where, what it means, and what mends it. --repair
mends what can be mended without losing data. What may be the only copy of something is never removed: it is moved to
.fourfold-lost at the root of the share, which clients do not see. What only a person can decide stays, and is reported.

It looks at resource forks (._name), Mac metadata, the store of large streams, ACLs and locks, and for a whole share also at its
LUNs and the count of its quota; without arguments, at all shares, and at the ids of files in the state folder. A running server
does the work, and clients go on meanwhile. Without one the command does it.

Examples:
  fourfold scrub                             all shares, and the state folder
  fourfold scrub Music --repair              one share, and mend it
  fourfold scrub /srv/studio/2024            a folder, in a share or not
  fourfold scrub --json | jq '.reports[].findings[].kind'

Exit codes:
  0  nothing is wrong, or all of it was mended
  1  something is wrong and was not mended
  2  something could not be looked at, or the settings or the command line were refused";

/// `fourfold scrub`
#[derive(Debug, Args)]
pub(crate) struct Scrub {
    /// Shares by their names, or folders: a folder begins with / or .
    #[arg(value_name = "SHARE or FOLDER")]
    pub(crate) places: Vec<OsString>,
    /// Mend what can be mended without losing data
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) repair: bool,
    /// Change nothing; so it is without --repair, too
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
