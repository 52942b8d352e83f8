//! The command line of `fourfold cluster`.

use clap::{Args, Subcommand};

use super::Where;

/// `fourfold cluster …`
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show the servers of the cluster, and which of them has which virtual address
    #[command(
        after_help = "It asks etcd, so it works on a machine whose server does not run. A server is a member, joining, or lost: its
lease has ended, and the others are about to take over. Virtual addresses that no server has are in the last line.

Examples:
  fourfold cluster status
  fourfold cluster status --json | jq '.[] | select(.state == \"lost\")'
  fourfold cluster status --json | jq -r '.[] | select(.virtual_addresses[] == \"10.0.0.50\").name'

Exit codes:
  0  etcd answered
  1  it did not, or the settings have no cluster
  2  the settings were refused"
    )]
    Status(ClusterStatus),
    /// Stop a server of the cluster, and let the others take over
    #[command(
        after_help = "It works from any machine with the settings of the cluster. The server stops in order: it tells Macs, ends the sessions of
Windows clients, and gives its virtual addresses away. Clients connect again and go on at the other servers; clients
of NFS reclaim what they have open and locked. The command ends when the server has left. Start the server to have
it back.

Examples:
  fourfold cluster drain gate2
  fourfold cluster drain gate2 --within 300

Exit codes:
  0  the server has left the cluster
  1  it has not, is not a member, or is the only one
  2  the settings were refused"
    )]
    Drain(ClusterDrain),
}

#[derive(Debug, Args)]
pub(crate) struct ClusterDrain {
    /// The server's name: `cluster-server` of its settings
    pub(crate) name: String,
    /// How many seconds it may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) within: u64,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterStatus {
    /// A JSON list, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
