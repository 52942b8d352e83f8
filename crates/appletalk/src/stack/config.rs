//! What a stack is made of: its ports, and whether it routes between them.

use std::fmt;

use crate::address::{Address, HardwareAddress, NetworkRange};
use crate::limits::ZONES_PER_NETWORK;
use crate::name::MacName;

/// The most ports.
pub const MAX_PORTS: usize = 16;

/// Which link a port has: what the bytes of its frames are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// Frames of Ethernet from the destination's address on, without the frame check sequence. This is the own station.
    EtherTalk(HardwareAddress),
    /// Frames of LLAP from the destination's node number on, without the frame check sequence.
    LocalTalk,
}

/// A network that a router seeds: it tells the nodes which network they are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedNetwork {
    /// Its numbers: one for LocalTalk.
    pub range: NetworkRange,
    /// Its zones; the first is the default. One for LocalTalk.
    pub zones: Vec<MacName>,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortConfig {
    /// What status and errors call it: `ethertalk:eth1`.
    pub label: String,
    /// Its link.
    pub link: LinkKind,
    /// The address that it had last time, which is tried first.
    pub hint: Option<Address>,
    /// Of a router: the network that it seeds. A router without it learns the network from another router.
    pub seed: Option<SeedNetwork>,
}

/// A stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackConfig {
    /// Its ports. Their places in this list are their [`PortId`](super::PortId)s.
    pub ports: Vec<PortConfig>,
    /// The zone of this node's names. If a network does not have it, its default zone is used.
    pub zone: Option<MacName>,
    /// Whether datagrams are routed between the ports.
    pub is_router: bool,
    /// From the host's randomness: where the search for a free address begins.
    pub random_seed: u64,
}

/// Why a stack cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// There is no port, or there are more than [`MAX_PORTS`].
    PortCount,
    /// A port has a seed, but the stack is no router.
    SeedWithoutRouter(String),
    /// A number of the range belongs to the startup range.
    ReservedRange(String),
    /// LocalTalk has one number and one zone.
    LocalTalkSeed(String),
    /// A seed has no zone, more than 255, one twice, an empty one, or `*`.
    Zones(String),
    /// Two seeds have a number in common.
    Overlap(String, String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortCount => write!(f, "AppleTalk needs 1 to {MAX_PORTS} links"),
            Self::SeedWithoutRouter(port) => write!(f, "{port} has a seed network, but this is no router"),
            Self::ReservedRange(port) => {
                write!(f, "the seed network of {port} is not within 1 to 65279, which networks can have")
            }
            Self::LocalTalkSeed(port) => {
                write!(f, "{port} is LocalTalk: its seed network is one number and one zone")
            }
            Self::Zones(port) => write!(f, "{port} needs 1 to 255 different zones, each with a name"),
            Self::Overlap(one, other) => {
                write!(f, "the seed networks of {one} and {other} have a number in common")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl StackConfig {
    /// Whether a stack can be made of it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.ports.is_empty() || self.ports.len() > MAX_PORTS {
            return Err(ConfigError::PortCount);
        }
        let seeds = || self.ports.iter().filter_map(|port| Some((port, port.seed.as_ref()?)));
        for (at, (port, seed)) in seeds().enumerate() {
            let label = || port.label.clone();
            if !self.is_router {
                return Err(ConfigError::SeedWithoutRouter(label()));
            }
            check_seed(port, seed)?;
            if let Some((other, _)) = seeds().take(at).find(|(_, other)| other.range.overlaps(seed.range)) {
                return Err(ConfigError::Overlap(other.label.clone(), label()));
            }
        }
        Ok(())
    }
}

fn check_seed(port: &PortConfig, seed: &SeedNetwork) -> Result<(), ConfigError> {
    let label = port.label.clone();
    if NetworkRange::assignable(seed.range.first(), seed.range.last()).is_none() {
        return Err(ConfigError::ReservedRange(label));
    }
    if port.link == LinkKind::LocalTalk && (seed.range.count() != 1 || seed.zones.len() != 1) {
        return Err(ConfigError::LocalTalkSeed(label));
    }
    let is_named = seed.zones.iter().all(|zone| !zone.is_own_zone());
    let is_once = seed.zones.iter().enumerate().all(|(at, zone)| !seed.zones[..at].contains(zone));
    if seed.zones.is_empty() || seed.zones.len() > ZONES_PER_NETWORK || !is_named || !is_once {
        return Err(ConfigError::Zones(label));
    }
    Ok(())
}
