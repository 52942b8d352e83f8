//! The flags of `fourfold check`.

use clap::Args;

use super::Serve;

pub(super) const EXAMPLES: &str = "Examples:
  fourfold check                             ./fourfold.toml
  fourfold check --config /etc/fourfold/fourfold.toml
  fourfold check --json                      for scripts and editors
  fourfold check --print                     every setting, and where it comes from
  fourfold check --print ~/Share --read-only  as `fourfold serve` would have it with these flags

Exit codes:
  0  the settings are accepted
  2  they are refused; every line says where, what is wrong, and what to write instead";

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Print every setting as it counts, with where it comes from: default, file and line, or command line
    #[arg(long)]
    pub(crate) print: bool,
    /// One JSON object, for scripts: whether they are accepted, each error and note with its place, the accounts
    #[arg(long, conflicts_with = "print")]
    pub(crate) json: bool,
    /// What `fourfold serve` would be started with.
    #[command(flatten)]
    pub(crate) serve: Serve,
}
