//! The ports of a target when several servers have it.
//!
//! A port is a target port of SPC-4, the only one of its target port group, and a portal group of
//! RFC 7143. All three have the same number. A server that is alone has one port, [`MAIN_PORT`], at
//! all of its addresses. In a cluster, the virtual addresses are the port [`MAIN_PORT`], which moves
//! between the servers, and each server has a port of its own at its other addresses.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

/// The number of the port of a server that is alone, and of the one at the virtual addresses of a
/// cluster.
pub const MAIN_PORT: u16 = 1;

/// A port of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetPort {
    /// Its number.
    pub number: u16,
    /// Whether blocks can be read and written through it.
    pub access: AccessState,
}

/// The asymmetric access state of a port, SPC-4 5.16.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessState {
    /// Active and optimised.
    Active,
    /// Standby: the unit can be found and identified, and its blocks are not accessible.
    Standby,
}

/// Where an initiator that logs in finds the target's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// At this address.
    Here,
    /// At this address, in a moment: this server is about to begin to serve them.
    Soon,
    /// At another address, where the initiator has to log in.
    Elsewhere(SocketAddr),
}

/// The answer of another server, once it is there.
pub type RelayFuture<'a> = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + 'a>>;

/// What a server knows of the ports of its targets at other servers.
pub trait Paths: Send + Sync {
    /// The number of the port at this address of the server.
    fn port(&self, local: IpAddr) -> u16;

    /// The addresses of a target, for an initiator that is connected to this local address; each
    /// with the number of its port.
    fn portals(&self, target: &str, local: SocketAddr) -> Vec<(SocketAddr, u16)>;

    /// All ports of a target, by ascending numbers.
    fn ports(&self, target: &str) -> Vec<TargetPort>;

    /// Where an initiator that has connected to this local address finds the units of a target.
    fn way(&self, target: &str, local: IpAddr) -> Way;

    /// Has the server that serves the unit with this NAA identifier execute a command
    /// ([`LogicalUnit::relayed`](super::LogicalUnit::relayed)), and returns its answer. `None`: there is no answer in time, and
    /// the command may have been executed.
    fn relay<'a>(&'a self, target: &'a str, naa: u64, command: Vec<u8>) -> RelayFuture<'a>;

    /// Has all other servers raise unit attentions ([`LogicalUnit::attend`](super::LogicalUnit::attend)). Does not wait.
    fn tell(&self, naa: u64, attentions: Vec<u8>);
}
