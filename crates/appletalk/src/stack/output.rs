//! What a stack has for its owner: frames, datagrams, events.

use crate::address::{Address, Endpoint, HardwareAddress, NetworkRange};
use crate::name::MacName;
use crate::nbp::{FoundName, LookupId, NameId};
use crate::wire::ddp::Datagram;

/// A port, by its place in [`StackConfig::ports`](super::StackConfig::ports).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u8);

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this frame on the link of the port.
    Frame {
        /// The port.
        port: PortId,
        /// The frame, as [`LinkKind`](super::LinkKind) says.
        bytes: Vec<u8>,
    },
    /// From now on, receive frames to this group of Ethernet, too; it is the zone's.
    Join {
        /// The port.
        port: PortId,
        /// The group.
        group: HardwareAddress,
    },
    /// No longer receive frames to this group.
    Leave {
        /// The port.
        port: PortId,
        /// The group.
        group: HardwareAddress,
    },
    /// A datagram for an open socket. Its destination has the own address, also if it came with a short header; only a
    /// broadcast has node 255.
    Delivered(Datagram),
    /// Something happened.
    Event(StackEvent),
}

/// Something that logs, status or the owner of names want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackEvent {
    /// A port has an address. On LocalTalk its network is 0 until it is known.
    Address {
        /// The port.
        port: PortId,
        /// Its address.
        address: Address,
    },
    /// Every address of the network is taken. The port tries again later.
    NoFreeAddress {
        /// The port.
        port: PortId,
    },
    /// Another node uses the address of this port, too.
    AddressContested {
        /// The port.
        port: PortId,
        /// The address.
        address: Address,
        /// The other station, on EtherTalk.
        hardware: Option<HardwareAddress>,
    },
    /// A port knows its network and its zone, and can be used; without a network there is no router.
    Ready {
        /// The port.
        port: PortId,
        /// Its address.
        address: Address,
        /// Its network.
        network: Option<NetworkRange>,
        /// Its zone.
        zone: Option<MacName>,
    },
    /// No router has been heard for 50 seconds.
    RouterLost {
        /// The port.
        port: PortId,
    },
    /// The network does not have the zone of the settings; its default zone is used.
    ZoneRefused {
        /// The port.
        port: PortId,
        /// The zone of the settings.
        wanted: MacName,
        /// The one that is used.
        used: MacName,
    },
    /// The network of a port is not seeded, because another router has another idea of it. The port learns it from that.
    SeedRefused {
        /// The port.
        port: PortId,
        /// What was heard.
        heard: SeedConflict,
    },
    /// A router on the network of a port has another idea of it than this one, which was there first. It is ignored.
    SeedContested {
        /// The port.
        port: PortId,
        /// What was heard.
        heard: SeedConflict,
    },
    /// A network can be reached now.
    RouteAdded(NetworkRange),
    /// A network can no longer be reached.
    RouteLost(NetworkRange),
    /// A name is registered.
    Registered(NameId),
    /// A name is not registered: another service has it.
    NameTaken {
        /// The registration, which has ended.
        id: NameId,
        /// The other service.
        by: Endpoint,
    },
    /// A lookup ended.
    Found {
        /// The lookup.
        id: LookupId,
        /// What was found, each name once.
        names: Vec<FoundName>,
    },
}

/// What another router said of a network that this one should seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeedConflict {
    /// The network has other numbers.
    Range {
        /// The router.
        by: Address,
        /// Its numbers.
        heard: NetworkRange,
    },
    /// The network has another default zone.
    DefaultZone {
        /// The router.
        by: Address,
        /// Its default zone.
        heard: MacName,
    },
    /// The network has other zones.
    Zones {
        /// The router.
        by: Address,
        /// Zones that it named.
        heard: Vec<MacName>,
    },
    /// The numbers, or some of them, are those of a network elsewhere.
    Elsewhere {
        /// The other network.
        heard: NetworkRange,
        /// The port that leads there.
        port: PortId,
    },
}

impl std::fmt::Display for SeedConflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Range { by, heard } => write!(f, "router {by} says that this is network {heard}"),
            Self::DefaultZone { by, heard } => write!(f, "router {by} says that the default zone is {heard}"),
            Self::Zones { by, heard } => {
                let zones: Vec<String> = heard.iter().map(MacName::to_string).collect();
                write!(f, "router {by} says that the zones are {}", zones.join(", "))
            }
            Self::Elsewhere { heard, port } => {
                write!(f, "network {heard} exists already, behind link {}", port.0 + 1)
            }
        }
    }
}

/// Why a datagram was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendError {
    /// More than 586 bytes of data.
    TooLong,
    /// The source's socket is not open.
    SocketClosed,
    /// The destination is no node, or no socket.
    InvalidDestination,
    /// No port that leads there has an address yet.
    NoAddress,
    /// No router knows the way.
    NoRoute,
}

impl std::fmt::Display for SendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLong => "more than 586 bytes of data",
            Self::SocketClosed => "the source's socket is not open",
            Self::InvalidDestination => "the destination is no node or no socket",
            Self::NoAddress => "no link that leads there has an address yet",
            Self::NoRoute => "no router knows the way",
        })
    }
}

impl std::error::Error for SendError {}

/// Why a socket was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketError {
    /// It is open already, or is one of the stack's own.
    InUse,
    /// 0 or 255.
    Invalid,
    /// Too many are open.
    TooMany,
}

impl std::fmt::Display for SocketError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::InUse => "the socket is open already",
            Self::Invalid => "no socket has the number 0 or 255",
            Self::TooMany => "too many sockets are open",
        })
    }
}

impl std::error::Error for SocketError {}
