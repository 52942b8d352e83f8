//! Several servers of one tree. At each moment one of them has the state of a file: its opens,
//! locks, leases (`coherence::state`). This crate knows which, moves states on demand, and takes the
//! states of a server that is lost, after that server has stopped to answer.
//!
//! ```text
//! coherence::state ──Port──► Node ──frames──► connections (TLS) ──► other servers
//!                        ▲
//!                      View ◄── Membership ──► etcd
//! ```
//!
//! [`Node`] is a state machine without a clock or I/O; [`Cluster`] runs it. docs/design/cluster.md has the
//! protocol, what holds at each moment, and what happens on each loss.

mod addresses;
pub mod administered;
mod common;
pub mod drain;
pub mod etcd;
mod evictions;
pub mod fence;
pub mod membership;
mod node;
mod port;
mod ranks;
mod records;
mod running;
mod seen;
#[cfg(test)]
mod simulation;
mod sums;
pub mod tls;
mod trees;
pub mod wire;

pub use addresses::Address;
pub use common::{ShareIdentity, Text};
pub use evictions::{NoStores, Stores};
pub use fence::Fence;
pub use node::{
    Below, CompletedRemoval, Effect, MAX_CALL, MAX_NOTE, MOST_CALLS, MOST_KEPT, MessageRefusal, Node,
    NodeCounts, OpenRecord, Removing, View,
};
pub use port::StatePort;
pub use records::{ClusterRecord, RecordKind};
pub use running::{
    Answering, CallError, Cluster, ClusterConfig, ClusterStatus, Counting, Grace, LostRecords,
    PeerRequestHandler, StartError, Topology, UnitPlaces,
};
pub use seen::Revisions;
pub use sums::{Elsewhere, Sums};
pub use trees::Trees;
