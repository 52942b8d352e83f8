//! The routing table of a router, "Inside AppleTalk" chapter 5, "RTMP table initialization and maintenance algorithms".

use std::time::{Duration, Instant};

use crate::address::{Address, NetworkRange};
use crate::limits::ROUTES;
use crate::name::MacName;
use crate::wire::rtmp::{RouterPacket, RoutingTuple};
use crate::zip::ZoneList;

/// How often a router says what it reaches, appendix C, "RTMP parameters".
pub const SEND_INTERVAL: Duration = Duration::from_secs(10);
/// How long what a router said is believed.
pub const VALIDITY: Duration = Duration::from_secs(20);
/// How long a node believes in its router.
pub const ROUTER_LIFE: Duration = Duration::from_secs(50);
/// A network at this distance cannot be reached.
const TOO_FAR: u8 = 16;
/// The most distant network that a router speaks of.
const MAX_TOLD: u8 = 15;

/// How much a route is believed. The validity timer moves it on; a packet of its router makes it good again.
///
/// ```text
///   Good ──20 s──► Suspect ──20 s──► Bad ──20 s──► Worst ──20 s──► removed
///    ▲                │               │ a router says 31: Bad at once; Bad and Worst are told as 31
///    └── confirmed ───┴───────────────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteState {
    /// Confirmed in this period, or a network of an own port.
    Good,
    /// Confirmed in the last one.
    Suspect,
    /// Not used for new datagrams if there is another.
    Bad,
    /// Removed next.
    Worst,
}

/// A network, and the way to it.
#[derive(Debug, Clone)]
pub struct RouteEntry {
    /// The network.
    pub range: NetworkRange,
    /// Whether it is an extended network.
    pub is_extended: bool,
    /// Routers on the way; 0 for the network of an own port.
    pub distance: u8,
    /// The own port that leads there, by its index.
    pub port: usize,
    /// The next router. `None` for the network of an own port.
    pub next: Option<Address>,
    /// How much it is believed.
    pub state: RouteState,
    /// Its zones.
    pub zones: ZoneList,
}

impl RouteEntry {
    fn is_bad(&self) -> bool {
        matches!(self.state, RouteState::Bad | RouteState::Worst)
    }
}

/// A network that can be reached now, or no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteChange {
    /// New.
    Added(NetworkRange),
    /// Gone.
    Lost(NetworkRange),
}

/// All networks that a router knows. No two of them have a number in common.
#[derive(Debug)]
pub struct RoutingTable {
    entries: Vec<RouteEntry>,
    next_validation: Instant,
}

impl RoutingTable {
    /// Without a route.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self { entries: Vec::new(), next_validation: now + VALIDITY }
    }

    /// The routes, by their networks.
    #[must_use]
    pub fn entries(&self) -> &[RouteEntry] {
        &self.entries
    }

    /// The route to a network's number.
    #[must_use]
    pub fn find(&self, network: u16) -> Option<&RouteEntry> {
        self.entries.iter().find(|entry| entry.range.contains(network))
    }

    /// The same, to change its zones.
    pub fn find_mut(&mut self, network: u16) -> Option<&mut RouteEntry> {
        self.entries.iter_mut().find(|entry| entry.range.contains(network))
    }

    /// The route to the network of an own port.
    #[must_use]
    pub fn of_port(&self, port: usize) -> Option<&RouteEntry> {
        self.entries.iter().find(|entry| entry.port == port && entry.distance == 0)
    }

    /// A route, learned through another port, whose network has a number in common with `range`.
    #[must_use]
    pub fn overlapping(&self, range: NetworkRange, port: usize) -> Option<&RouteEntry> {
        self.entries.iter().find(|entry| entry.range.overlaps(range) && entry.port != port)
    }

    /// The network of an own port became known. What was known of it and of overlapping networks is replaced.
    pub fn attach(&mut self, port: usize, range: NetworkRange, is_extended: bool, zones: &[MacName]) {
        self.entries.retain(|entry| match entry.distance {
            0 => entry.port != port,
            _ => !entry.range.overlaps(range),
        });
        let zones = if zones.is_empty() { ZoneList::default() } else { ZoneList::whole(zones) };
        let state = RouteState::Good;
        self.insert(RouteEntry { range, is_extended, distance: 0, port, next: None, state, zones });
    }

    fn insert(&mut self, entry: RouteEntry) {
        let at = self.entries.partition_point(|other| other.range < entry.range);
        self.entries.insert(at, entry);
    }

    /// An RTMP Data packet arrived at an own port whose network is known.
    pub fn receive(&mut self, packet: &RouterPacket, port: usize) -> Vec<RouteChange> {
        packet.tuples.iter().filter_map(|tuple| self.consider(*tuple, packet.sender, port)).collect()
    }

    /// "RTMP Data packet received through port P". Numbers of the startup range belong to no network.
    fn consider(&mut self, tuple: RoutingTuple, sender: Address, port: usize) -> Option<RouteChange> {
        let range = NetworkRange::assignable(tuple.range.first(), tuple.range.last())?;
        if let Some(at) = self.entries.iter().position(|entry| entry.range == range) {
            return self.update(at, tuple, sender, port);
        }
        let overlaps = self.entries.iter().any(|entry| entry.range.overlaps(range));
        if overlaps || tuple.distance >= MAX_TOLD || self.entries.len() >= ROUTES {
            return None;
        }
        self.insert(RouteEntry {
            range,
            is_extended: tuple.is_extended,
            distance: tuple.distance + 1,
            port,
            next: Some(sender),
            state: RouteState::Good,
            zones: ZoneList::default(),
        });
        Some(RouteChange::Added(range))
    }

    /// "Update-the-Entry".
    fn update(
        &mut self,
        at: usize,
        tuple: RoutingTuple,
        sender: Address,
        port: usize,
    ) -> Option<RouteChange> {
        let entry = &mut self.entries[at];
        let is_near = tuple.distance < MAX_TOLD;
        let is_its_router = entry.next == Some(sender) && entry.port == port;
        if entry.distance == 0 {
            return None;
        }
        if is_near && (entry.is_bad() || entry.distance > tuple.distance) {
            entry.distance = tuple.distance + 1;
            entry.next = Some(sender);
            entry.port = port;
            entry.state = RouteState::Good;
        } else if is_its_router && tuple.distance == RoutingTuple::UNREACHABLE {
            entry.state = if entry.state == RouteState::Worst { RouteState::Worst } else { RouteState::Bad };
        } else if is_its_router {
            entry.distance = tuple.distance.saturating_add(1);
            entry.state = RouteState::Good;
            if entry.distance >= TOO_FAR {
                return Some(RouteChange::Lost(self.entries.remove(at).range));
            }
        }
        None
    }

    /// "Validity timer expires", if it has.
    pub fn tick(&mut self, now: Instant) -> Vec<RouteChange> {
        if self.next_validation > now {
            return Vec::new();
        }
        self.next_validation = now + VALIDITY;
        let mut lost = Vec::new();
        self.entries.retain_mut(|entry| {
            let next = match entry.state {
                RouteState::Good if entry.distance == 0 => Some(RouteState::Good),
                RouteState::Good => Some(RouteState::Suspect),
                RouteState::Suspect => Some(RouteState::Bad),
                RouteState::Bad => Some(RouteState::Worst),
                RouteState::Worst => None,
            };
            match next {
                Some(state) => entry.state = state,
                None => lost.push(RouteChange::Lost(entry.range)),
            }
            next.is_some()
        });
        lost
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.next_validation
    }

    /// "Copy-in-tuples": what is told to the network of a port. With split horizon, nothing that the port itself leads to.
    #[must_use]
    pub fn tuples(&self, port: usize, has_split_horizon: bool) -> Vec<RoutingTuple> {
        let is_told = |entry: &&RouteEntry| !has_split_horizon || entry.port != port;
        let tuple = |entry: &RouteEntry| {
            let distance = if entry.is_bad() { RoutingTuple::UNREACHABLE } else { entry.distance };
            RoutingTuple { range: entry.range, is_extended: entry.is_extended, distance }
        };
        let is_near =
            |tuple: &RoutingTuple| tuple.distance < MAX_TOLD || tuple.distance == RoutingTuple::UNREACHABLE;
        self.entries.iter().filter(is_told).map(tuple).filter(is_near).collect()
    }
}

#[cfg(test)]
mod tests;
