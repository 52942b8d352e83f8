//! The flags of `fourfold doctor`.

use clap::Args;

use super::Serve;

pub(super) const EXAMPLES: &str = "It examines the kernel, capabilities, limits, memory, clock, ports, firewall and interfaces, and the folders of the
shares. It changes nothing. Run it as root: other users cannot read the firewall, or see who holds a port.

Examples:
  fourfold doctor                            this machine, and the settings file if there is one
  fourfold doctor ~/Share                    the same for this folder
  fourfold doctor --config /etc/fourfold/fourfold.toml --all
  fourfold doctor --json | jq '.[] | select(.level == \"problem\")'

Exit codes:
  0  no problem was found; there may be warnings
  1  a problem was found; each has a line with the command that mends it
  2  the command line was refused";

/// `fourfold doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Show the checks without findings, too
    #[arg(long)]
    pub(crate) all: bool,
    /// A JSON array, for scripts: `level` is problem, warning or fine; `about`, `found`, and `mend` if something is wrong
    #[arg(long)]
    pub(crate) json: bool,
    /// What `fourfold serve` would be started with.
    #[command(flatten)]
    pub(crate) serve: Serve,
}
