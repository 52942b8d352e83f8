//! The flags of `fourfold status`.

use clap::Args;

use super::Where;

pub(super) const EXAMPLES: &str = "Examples:
  fourfold status                            the server of this folder, or, for root, of this machine
  fourfold status --all                      with how clients connect, open files, locks and leases
  fourfold status --watch                    what clients do now; q ends, ? shows the keys
  fourfold status --json | jq '.sessions'    for scripts
  fourfold status --state /srv/.fourfold     the server with that state folder

Exit codes:
  0  it answered
  1  it runs but did not answer
  3  no server runs with this state folder";

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// One JSON object, for scripts; with --watch one in each line
    #[arg(long)]
    pub(crate) json: bool,
    /// Show everything: addresses, how clients connect, open files, locks, leases, AppleTalk
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    pub(crate) all: bool,
    /// Show what clients do in a second, and what is slow, again and again, every so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", require_equals = true,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) watch: Option<u64>,
    #[command(flatten)]
    pub(crate) state: Where,
}
