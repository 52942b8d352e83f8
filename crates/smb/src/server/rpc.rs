//! Remote procedure calls over TCP: the witness service (MS-SWN), by which clients hear that a server of the cluster is lost, and
//! the endpoint mapper (C706 appendix O), by which they find it.
//!
//! ```text
//! conn ─► connection.rs ─► association.rs ─────────────────► mapper.rs
//!         a task for each   login.rs: NTLM and Kerberos   └─► witness.rs ─► registrations.rs ◄── Rpc::adopt
//! ```
//!
//! A server of a cluster is a witness for the others: its clients register at another server, which it must outlive.

mod association;
pub(in crate::server) mod bound;
mod connection;
mod login;
mod mapper;
mod protection;
mod registrations;
#[cfg(test)]
mod tests;
mod witness;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use self::registrations::Registrations;
use super::service::Service;
pub use connection::serve;

/// A server of the cluster, as the others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterNode {
    /// Its name in the cluster.
    pub name: String,
    /// Its number: another one after each start.
    pub number: u16,
    /// The addresses at which clients reach it: the virtual ones that it has now, then its own.
    pub addresses: Vec<IpAddr>,
    /// It is a witness.
    pub is_witness: bool,
    /// It is about to stop: its clients are to use others.
    pub is_leaving: bool,
}

/// The ports of a server.
#[derive(Debug, Clone, Copy)]
pub struct RpcPorts {
    /// Of the endpoint mapper.
    pub mapper: u16,
    /// Of the witness service.
    pub witness: u16,
}

/// What a port serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// The endpoint mapper.
    Mapper,
    /// The witness service.
    Witness,
}

/// What all connections share.
pub struct Rpc {
    service: Arc<Service>,
    ports: RpcPorts,
    registrations: Arc<Registrations>,
}

impl Rpc {
    /// A server of these ports. `me`: its name in the cluster. It has the accounts and shares of `service`.
    pub fn new(service: Arc<Service>, ports: RpcPorts, me: String) -> Arc<Self> {
        Arc::new(Self { service, ports, registrations: Arc::new(Registrations::new(me)) })
    }

    /// The servers of the cluster, whenever they change. Tells registered clients what it means for them.
    pub fn adopt(&self, nodes: Vec<ClusterNode>) {
        self.registrations.adopt(nodes, Instant::now());
    }

    /// How many registrations of clients there are.
    pub fn registered(&self) -> usize {
        self.registrations.count()
    }
}
