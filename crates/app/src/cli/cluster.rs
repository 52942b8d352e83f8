//! The command line of `fourfold cluster`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Caution, Where};

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
    /// Make what a new server of the cluster needs
    #[command(
        after_help = "It writes a folder with the files that belong to /etc/fourfold of the new server: its settings, which are those of this
server with another name and address, and with --ca-key its key and its certificate. Nothing is sent anywhere, and etcd is not
asked. The key of the issuer lets its owner add servers: keep it on no server. With the name of this server, its key and its
certificate are made where its settings have them.

Examples:
  fourfold cluster add gate1 --ca-key /root/cluster-ca.key --make-ca       the first server: this one
  fourfold cluster add gate3 --listen 10.0.0.13:7420 --ca-key /root/cluster-ca.key
  fourfold cluster add gate3 --listen 10.0.0.13:7420       without a certificate: make one elsewhere

Exit codes:
  0  the files were made
  1  it was not
  2  the settings were refused"
    )]
    Add(ClusterAdd),
    /// Take a server out of the cluster for good
    #[command(
        after_help = "If it runs, it is drained first. Then what is kept about its name in etcd is removed: the number of its ports of iSCSI, and
records of clients that no server takes over any more. A server that is only lost or stopped for a while needs no removal.

Examples:
  fourfold cluster remove gate2
  fourfold cluster remove gate2 --json | jq .was_drained

Exit codes:
  0  it was removed
  1  it was not, or the cluster knows no such server
  2  the settings were refused"
    )]
    Remove(ClusterRemove),
    /// Show, take or give the settings that all servers have alike
    #[command(
        subcommand,
        after_help = "Servers do that by themselves when the settings have changed at one of them. If they have changed at two, a server says so,
and a person chooses.

Examples:
  fourfold cluster settings show
  fourfold cluster settings take
  fourfold cluster settings give"
    )]
    Settings(ClusterSettingsCommand),
}

/// `fourfold cluster settings …`
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterSettingsCommand {
    /// Print the settings of the cluster, and say in what the settings file differs
    #[command(after_help = "Examples:
  fourfold cluster settings show
  fourfold cluster settings show --json | jq .differing

Exit codes:
  0  etcd answered
  1  it did not, or the settings have no cluster
  2  the settings were refused")]
    Show(ClusterShowSettings),
    /// Write the settings of the cluster into the settings file, which keeps what is of its server alone
    #[command(
        after_help = "The file as it was is kept beside it, with `.previous` at the end of its name. A running server applies the settings.

Examples:
  fourfold cluster settings take
  fourfold cluster settings take --config /etc/fourfold/fourfold.toml

Exit codes:
  0  the file has them
  1  it has not, or the settings have no cluster
  2  the settings were refused"
    )]
    Take(ClusterPlace),
    /// Give the settings of the settings file to all servers of the cluster
    #[command(
        after_help = "Running servers apply them at once. A server that does not run takes them when it starts.

Examples:
  fourfold cluster settings give
  fourfold cluster settings give --config /etc/fourfold/fourfold.toml

Exit codes:
  0  the cluster has them
  1  it has not, or the settings have no cluster
  2  the settings were refused"
    )]
    Give(ClusterPlace),
}

impl ClusterCommand {
    /// The settings that are meant.
    pub(crate) fn place(&self) -> &Where {
        match self {
            Self::Status(ClusterStatus { place, .. })
            | Self::Drain(ClusterDrain { place, .. })
            | Self::Add(ClusterAdd { place, .. })
            | Self::Remove(ClusterRemove { place, .. })
            | Self::Settings(
                ClusterSettingsCommand::Show(ClusterShowSettings { place, .. })
                | ClusterSettingsCommand::Take(ClusterPlace { place, .. })
                | ClusterSettingsCommand::Give(ClusterPlace { place, .. }),
            ) => place,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ClusterPlace {
    #[command(flatten)]
    pub(crate) caution: Caution,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterShowSettings {
    /// A JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterAdd {
    /// The new server's name, which will be in its certificate
    pub(crate) name: String,
    /// The address and port of the new server for the others
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The key of the issuer of the cluster's certificates (`cluster-ca` has the issuer's own), PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_key: Option<PathBuf>,
    /// Make the issuer, too: its certificate where the settings have `cluster-ca`, its key in the file of --ca-key
    #[arg(long, requires = "ca_key")]
    pub(crate) make_ca: bool,
    /// The folder to make [default: the name, in the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// A JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterRemove {
    /// The server's name: `cluster-server` of its settings
    pub(crate) name: String,
    /// How many seconds it may take to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) within: u64,
    #[command(flatten)]
    pub(crate) caution: Caution,
    /// A JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
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
