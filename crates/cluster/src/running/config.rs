//! What a server of a cluster is told by its settings.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::Address;
use crate::etcd::Endpoints;
use crate::membership::Member;
use crate::tls::CertificateFiles;

/// The settings of a server in a cluster.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// Where etcd is.
    pub etcd: Endpoints,
    /// The name of the cluster.
    pub cluster: String,
    /// The name of this server, which is in its certificate.
    pub name: String,
    /// Where other servers connect.
    pub listen: SocketAddr,
    /// The certificate of this server.
    pub files: CertificateFiles,
    /// The virtual addresses of the cluster. None: this server takes none.
    pub addresses: Vec<Address>,
    /// What gives them to this host and takes them away. `None`: the server does.
    pub address_command: Option<PathBuf>,
    /// The own addresses of this server, at which clients reach it.
    pub own: Vec<IpAddr>,
    /// This server is a witness for clients of others.
    pub witness: bool,
    /// Where initiators of iSCSI reach this server, at addresses that are not virtual.
    pub portals: Vec<SocketAddr>,
    /// How long clients of a lost server may reclaim what they held. Zero: they may not.
    pub grace: Duration,
}

impl ClusterConfig {
    /// The member that this server is, without its number and stores.
    pub(super) fn member(&self, address: String, port: u16) -> Member {
        Member {
            number: 0,
            name: self.name.clone(),
            address,
            addresses: !self.addresses.is_empty(),
            own: self.own.clone(),
            witness: self.witness,
            stores: String::new(),
            port,
            portals: self.portals.clone(),
        }
    }
}
