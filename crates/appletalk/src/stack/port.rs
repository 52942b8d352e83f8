//! A port: its link, its address, its network.

use std::time::{Duration, Instant};

use crate::aarp::AddressResolver;
use crate::address::{Address, HardwareAddress, NetworkRange};
use crate::candidates::{AddressCandidates, RandomNumbers};
use crate::llap::NodeAcquisition;
use crate::name::MacName;
use crate::wire::ddp::Datagram;
use crate::wire::llap::{LlapFrame, LlapKind};

use super::config::{LinkKind, PortConfig, SeedNetwork};
use super::output::{PortId, SeedConflict};

/// How the own address on the link is acquired.
#[derive(Debug)]
pub(super) enum LinkState {
    Ether(Box<AddressResolver>),
    Local(NodeAcquisition),
}

/// How far a port is.
///
/// ```text
///   Acquiring ─address─► (end node)            Asking ── answer, or 3 s ──► Ready
///      ▲   │                                      ▲── a router appears ───────┘
///      │   ├──────────► (router with a seed)   Verifying ── 12 s, no conflict ──► Ready
///      │   │                                      └── conflict ──► Waiting
///      │   └──────────► (router without)       Waiting ── another router says the network ──► Ready
///      └── the network is known, and the address is not of it ──┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Acquiring,
    Asking { sent: u8, next: Instant },
    Verifying { until: Instant, next: Instant },
    Waiting { next: Instant },
    Ready,
}

/// How long a router listens for others before it seeds: longer than the 10 seconds in which each of them speaks.
pub(super) const VERIFICATION: Duration = Duration::from_secs(12);

/// Where a datagram goes on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hop {
    /// To a node: the destination, or a router.
    Node(Address),
    /// To all nodes.
    Everyone,
    /// To a station of Ethernet, or to the group of a zone.
    Station(HardwareAddress),
}

/// A router that was heard.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeardRouter {
    pub(super) address: Address,
    pub(super) at: Instant,
}

#[derive(Debug)]
pub(super) struct Port {
    pub(super) id: PortId,
    pub(super) label: String,
    pub(super) kind: LinkKind,
    pub(super) link: LinkState,
    pub(super) phase: Phase,
    /// The network, once it is known.
    pub(super) range: Option<NetworkRange>,
    /// Of an end node: A-ROUTER, chapter 5, "RTMP and nonrouter nodes".
    pub(super) router: Option<HeardRouter>,
    /// The network that this port seeds, or will. `None` after a conflict.
    pub(super) seed: Option<SeedNetwork>,
    /// Whether another router was heard that has the same idea of the network.
    pub(super) has_met_router: bool,
    pub(super) ready_since: Option<Instant>,
    pub(super) conflict: Option<SeedConflict>,
    pub(super) conflict_told: Option<Instant>,
    /// The zone of this node on this network.
    pub(super) zone: Option<MacName>,
    /// The group of the zone, which the link has been told to join.
    pub(super) group: Option<HardwareAddress>,
}

impl Port {
    pub(super) fn new(id: PortId, config: PortConfig, random: &mut RandomNumbers, now: Instant) -> Self {
        let link = match config.link {
            LinkKind::EtherTalk(hardware) => {
                // A hint outside the startup range is tried at once, too: its network may be there still, chapter 4.
                let hinted = config.hint.and_then(|hint| NetworkRange::new(hint.network, hint.network));
                let range = config.seed.as_ref().map(|seed| seed.range).or(hinted);
                let range = range.unwrap_or(NetworkRange::STARTUP);
                let candidates = AddressCandidates::extended(range, config.hint, random);
                LinkState::Ether(Box::new(AddressResolver::new(hardware, candidates, now)))
            }
            LinkKind::LocalTalk => {
                LinkState::Local(NodeAcquisition::new(AddressCandidates::local(config.hint, random), now))
            }
        };
        Self {
            id,
            label: config.label,
            kind: config.link,
            link,
            phase: Phase::Acquiring,
            range: None,
            router: None,
            seed: config.seed,
            has_met_router: false,
            ready_since: None,
            conflict: None,
            conflict_told: None,
            zone: None,
            group: None,
        }
    }

    pub(super) fn is_extended(&self) -> bool {
        matches!(self.kind, LinkKind::EtherTalk(_))
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Whether names can be searched for on the link: also while a router waits for another one to say the network.
    pub(super) fn is_usable(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Waiting { .. })
    }

    /// The own address. On LocalTalk its network is 0 until a router has said it.
    pub(super) fn address(&self) -> Option<Address> {
        match &self.link {
            LinkState::Ether(resolver) => resolver.address(),
            LinkState::Local(acquisition) => {
                Some(Address::new(self.range.map_or(0, NetworkRange::first), acquisition.node()?))
            }
        }
    }

    /// Whether nodes of this network number are on this link: chapter 4, "DDP routing algorithm".
    pub(super) fn is_local(&self, network: u16) -> bool {
        let is_startup = self.is_extended() && NetworkRange::STARTUP.contains(network);
        network == 0 || is_startup || self.range.is_none_or(|range| range.contains(network))
    }

    /// The frames that take a datagram to its next hop. On EtherTalk, it may have to wait for the hop's station.
    pub(super) fn transmit(&mut self, hop: Hop, datagram: &Datagram, now: Instant) -> Vec<Vec<u8>> {
        let own = self.address();
        let is_own_network = |network| network == 0 || own.is_some_and(|own| own.network == network);
        let mut frames = Vec::new();
        match &mut self.link {
            LinkState::Ether(resolver) => {
                let Ok(bytes) = datagram.encode_long() else { return frames };
                match hop {
                    Hop::Node(address) => resolver.send(address, bytes, now, &mut frames),
                    Hop::Everyone => resolver.send_to_station(HardwareAddress::EVERYONE, &bytes, &mut frames),
                    Hop::Station(station) => resolver.send_to_station(station, &bytes, &mut frames),
                }
            }
            LinkState::Local(_) => {
                let Some(own) = own else { return frames };
                let destination = match hop {
                    Hop::Node(address) => address.node,
                    Hop::Everyone | Hop::Station(_) => Address::BROADCAST,
                };
                let to = datagram.destination.address;
                // Chapter 4, "Short and extended headers": only within the network, and not on behalf of another node.
                let is_short = is_own_network(to.network)
                    && is_own_network(datagram.source.address.network)
                    && (to.node, datagram.source.address.node) == (destination, own.node);
                let (kind, data) = match is_short {
                    true => (LlapKind::DDP_SHORT, datagram.encode_short()),
                    false => (LlapKind::DDP_LONG, datagram.encode_long()),
                };
                if let Ok(data) = data {
                    frames.push(LlapFrame { destination, source: own.node, kind, data: &data }.encode());
                }
            }
        }
        frames
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let link = match &self.link {
            LinkState::Ether(resolver) => resolver.deadline(),
            LinkState::Local(acquisition) => acquisition.deadline(),
        };
        let phase = match self.phase {
            Phase::Acquiring | Phase::Ready => None,
            Phase::Asking { next, .. } | Phase::Waiting { next } => Some(next),
            Phase::Verifying { until, next } => Some(until.min(next)),
        };
        let router = self.router.map(|router| router.at + crate::rtmp::ROUTER_LIFE);
        link.into_iter().chain(phase).chain(router).min()
    }
}
