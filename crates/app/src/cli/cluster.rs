//! The command line of `fourfold cluster`.

use clap::{Args, Subcommand};

use super::Where;

/// `fourfold cluster …`
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show the servers of the cluster
    #[command(
        after_help = "It asks etcd, so it works on a machine whose server does not run. A server is a member, joining, or lost: its
lease has ended, and the others are about to take over.

Examples:
  fourfold cluster status
  fourfold cluster status --json | jq '.[] | select(.state == \"lost\")'

Exit codes:
  0  etcd answered
  1  it did not, or the settings have no cluster
  2  the settings were refused"
    )]
    Status(ClusterStatus),
}

#[derive(Debug, Args)]
pub(crate) struct ClusterStatus {
    /// A JSON list, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
