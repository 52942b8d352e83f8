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
  fourfold advise --memory 32M --reserve 4M,16M --clients 10 --files 10000
                                                      Apple's rules of 1993, for its own example

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
    /// Bytes per second that each active user must have; by default 1MB, with --memory the 15K of 1993
    #[arg(long, value_name = "SIZE")]
    pub(crate) floor: Option<String>,
    /// Apply Apple's rules of 1993 to a machine with this memory, which need not be there; K = 1,000
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["bench", "mount"])]
    pub(crate) memory: Option<String>,
    /// What the system and its environment need of the memory
    #[arg(long, value_name = "SIZE", value_delimiter = ',', requires = "memory")]
    pub(crate) reserve: Vec<String>,
    /// Active users of that machine
    #[arg(long, value_name = "NUMBER", requires = "memory")]
    pub(crate) clients: Option<u64>,
    /// Files and folders that they use
    #[arg(long, value_name = "NUMBER", requires = "memory")]
    pub(crate) files: Option<u64>,
    /// Sets of colour icons
    #[arg(long, value_name = "NUMBER", requires = "memory")]
    pub(crate) icons: Option<u64>,
    /// Bytes per second of all clients together; by default the 850K that were measured in 1993
    #[arg(long, value_name = "SIZE", requires = "memory")]
    pub(crate) speed: Option<String>,
    /// Print the best mount commands instead
    #[arg(long, conflicts_with_all = ["bench", "floor"])]
    pub(crate) mount: bool,
    /// One JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
