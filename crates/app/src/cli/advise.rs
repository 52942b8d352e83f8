//! The flags of `fourfold advise`.

use std::path::PathBuf;

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "The advice is made of what the server has counted since it began, of the host's memory, and of a load curve:
`fourfold bench --clients 1,5,10,50 --output NAME` measures one. docs/caches.md says how each number is made.

Examples:
  fourfold advise                                     would more memory help? what next?
  fourfold advise --bench monday.jsonl                also: how many users, which video formats
  fourfold advise --bench monday.jsonl --floor 15K    with the floor of Apple's rule of 1993
  fourfold advise --mount                             the best mount command for each client system, with reasons

Exit codes:
  0  it answered
  1  it runs but did not answer, or the file of a measurement cannot be read
  3  no server runs with this state folder";

/// `fourfold advise`
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// Raw data of `fourfold bench --output`; can be given several times
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) bench: Vec<PathBuf>,
    /// Bytes per second that each active user must have
    #[arg(long, value_name = "SIZE", default_value = crate::commands::advise::USUAL_FLOOR)]
    pub(crate) floor: String,
    /// Print the best mount commands instead
    #[arg(long, conflicts_with_all = ["bench", "floor"])]
    pub(crate) mount: bool,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
