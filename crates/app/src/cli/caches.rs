//! The flags of `fourfold caches`.

use clap::{Args, Subcommand};

use super::Where;

pub(super) const EXAMPLES: &str = "docs/caches.md explains the columns.

Examples:
  fourfold caches                            limits, hit ratios, and what other sizes would do
  fourfold caches --watch                    the same, every 2 seconds
  fourfold caches --json | jq '.caches[] | {name, hit_ratio}'
  fourfold caches set directory=64M          in the running server

Exit codes:
  0  it answered
  1  it runs but did not answer
  3  no server runs with this state folder";

const SET: &str =
    "All limits are set, or none. They count at once, and until the server stops or the setting changes.

Examples:
  fourfold caches set directory=64M
  fourfold caches set directory=1.5G files=20000 --keep    in the settings file, too; its comments stay

Exit codes:
  0  they are set
  1  the server runs but did not answer, or the settings file cannot be written
  2  a limit was refused; the message says what is allowed
  3  no server runs with this state folder";

/// `fourfold caches …`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Caches {
    #[command(subcommand)]
    pub(crate) command: Option<CachesCommand>,
    /// One JSON object, for scripts; with --watch one in each line
    #[arg(long)]
    pub(crate) json: bool,
    /// Show them again and again, every so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", require_equals = true,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) watch: Option<u64>,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CachesCommand {
    /// Change limits in the running server
    #[command(after_help = SET)]
    Set(SetCaches),
}

#[derive(Debug, Args)]
pub(crate) struct SetCaches {
    /// Caches with their limits: directory and buffers take a size, files a number
    #[arg(required = true, value_name = "CACHE=LIMIT")]
    pub(crate) limits: Vec<String>,
    /// Write them into the settings file, too
    #[arg(long)]
    pub(crate) keep: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
