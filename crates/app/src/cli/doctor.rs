//! The flags of `fourfold doctor`.

use clap::Args;

use super::Serve;

pub(super) const EXAMPLES: &str = "It looks at the kernel, limits, memory, clock, ports, firewall and interfaces, and at the folders of the shares. It
changes nothing. Run it as root: other users do not see everything.

Examples:
  fourfold doctor                            this machine, and the settings file if there is one
  fourfold doctor ~/Share                    the same for this folder
  fourfold doctor --config /etc/fourfold/fourfold.toml --all
  fourfold doctor --json | jq '.[] | select(.level == \"problem\")'

Exit codes:
  0  no problem was found; there may be warnings
  1  a problem was found; each has a line with what mends it
  2  the command line was refused";

/// `fourfold doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Show what is as it should be, too
    #[arg(long)]
    pub(crate) all: bool,
    /// Output for scripts
    #[arg(long)]
    pub(crate) json: bool,
    /// What `fourfold serve` would be started with.
    #[command(flatten)]
    pub(crate) serve: Serve,
}
