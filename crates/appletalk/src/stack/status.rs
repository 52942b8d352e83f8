//! What status shows of a stack.

use std::time::{Duration, Instant};

use crate::address::{Address, NetworkRange};
use crate::name::MacName;
use crate::nbp::OwnName;

use super::Stack;
use super::output::{PortId, SeedConflict};

/// A port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortStatus {
    /// Names it in calls and events.
    pub port: PortId,
    /// Its label in the configuration.
    pub label: String,
    /// Its address, once it has one. On LocalTalk the network is 0 as long as no router has said it.
    pub address: Option<Address>,
    /// Its network, once it is known.
    pub network: Option<NetworkRange>,
    /// The zone of this node there.
    pub zone: Option<MacName>,
    /// The router that an end node uses.
    pub router: Option<Address>,
    /// Whether it can be used.
    pub is_ready: bool,
    /// Whether this router seeds the network.
    pub is_seeded: bool,
    /// Why the network is not seeded although the configuration has a seed, or which other router contests it.
    pub conflict: Option<SeedConflict>,
}

/// A route of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteStatus {
    /// The network.
    pub network: NetworkRange,
    /// Routers on the way; 0 for the network of an own port.
    pub distance: u8,
    /// The port that leads there.
    pub port: PortId,
    /// The next router.
    pub next: Option<Address>,
    /// Its zones, as far as they are known completely.
    pub zones: Vec<MacName>,
}

/// A node that was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardNode {
    /// Its address.
    pub address: Address,
    /// The port on whose link it is.
    pub port: PortId,
    /// How long ago it was heard last.
    pub ago: Duration,
    /// Whether it is a router.
    pub is_router: bool,
}

impl Stack {
    /// The ports.
    #[must_use]
    pub fn ports(&self) -> Vec<PortStatus> {
        let status = |port: &super::Port| PortStatus {
            port: port.id,
            label: port.label.clone(),
            address: port.address(),
            network: port.range,
            zone: port.zone.clone(),
            router: port.router.map(|router| router.address),
            is_ready: port.is_ready(),
            is_seeded: port.is_ready() && port.seed.is_some(),
            conflict: port.conflict.clone(),
        };
        self.ports.iter().map(status).collect()
    }

    /// The routes, by their networks. An end node has none.
    #[must_use]
    pub fn routes(&self) -> Vec<RouteStatus> {
        let entries = self.router.iter().flat_map(|router| router.table.entries());
        let status = |entry: &crate::rtmp::RouteEntry| RouteStatus {
            network: entry.range,
            distance: entry.distance,
            port: self.ports[entry.port].id,
            next: entry.next,
            zones: entry.zones.complete().unwrap_or_default().to_vec(),
        };
        entries.map(status).collect()
    }

    /// All zones that are known: a router's own table, or what an end node's router listed.
    #[must_use]
    pub fn zones(&self) -> Vec<MacName> {
        match &self.router {
            Some(_) => self.table_zones(),
            None => self.survey.zones().to_vec(),
        }
    }

    /// The nodes that were heard, at most 256.
    #[must_use]
    pub fn heard(&self, now: Instant) -> Vec<HeardNode> {
        let node = |(address, entry): (&Address, &super::heard::HeardEntry)| HeardNode {
            address: *address,
            port: self.ports[entry.port].id,
            ago: now.saturating_duration_since(entry.at),
            is_router: entry.is_router,
        };
        self.heard.entries().map(node).collect()
    }

    /// The names of this node, those that are still being checked included.
    #[must_use]
    pub fn names(&self) -> &[OwnName] {
        self.names.names()
    }

    /// How many outputs were dropped because the owner did not take them.
    #[must_use]
    pub fn dropped_outputs(&self) -> u64 {
        self.dropped_outputs
    }
}
