//! Addresses: of nodes, of sockets, of networks, of Ethernet's hardware. "Inside AppleTalk" chapters 3 and 4.

use std::fmt;

/// The address of a node: the number of its network, and its number in it. Chapter 4, "Special DDP node IDs".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address {
    /// 1 to 65,534; 0 is the network that the frame is on, as long as its number is not known.
    pub network: u16,
    /// 1 to 254 (1 to 253 on EtherTalk); see [`Address::ANY_ROUTER`] and [`Address::BROADCAST`].
    pub node: u8,
}

impl Address {
    /// The node number that any router of the network answers to.
    pub const ANY_ROUTER: u8 = 0;
    /// The node number of all nodes.
    pub const BROADCAST: u8 = 255;
    /// All nodes of the link that the frame is on.
    pub const EVERYONE: Self = Self { network: 0, node: Self::BROADCAST };

    /// A node of a network.
    #[must_use]
    pub const fn new(network: u16, node: u8) -> Self {
        Self { network, node }
    }

    /// Whether it is one node, and no group of nodes.
    #[must_use]
    pub fn is_unicast(self) -> bool {
        !matches!(self.node, Self::ANY_ROUTER | Self::BROADCAST)
    }

    /// Whether both can be the same node. A network of 0 is equal to each, chapter 4, "Network number equivalence": every
    /// client of DDP has to compare addresses so. A node that has learned its network's number from a router answers with it,
    /// although it was asked without.
    #[must_use]
    pub fn is_equivalent(self, other: Self) -> bool {
        let is_same_network = self.network == other.network || self.network == 0 || other.network == 0;
        is_same_network && self.node == other.node
    }
}

/// `65280.12`, as AppleTalk's tools write it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.network, self.node)
    }
}

/// A socket of a node: an internet socket address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Endpoint {
    /// The node.
    pub address: Address,
    /// 1 to 254: up to 127 assigned by the specification, from 128 on dynamically. Appendix C, "DDP parameters".
    pub socket: u8,
}

impl Endpoint {
    /// A socket of a node.
    #[must_use]
    pub const fn new(address: Address, socket: u8) -> Self {
        Self { address, socket }
    }

    /// Whether both can be the same socket, as [`Address::is_equivalent`].
    #[must_use]
    pub fn is_equivalent(self, other: Self) -> bool {
        self.socket == other.socket && self.address.is_equivalent(other.address)
    }
}

/// `65280.12:128`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.address, self.socket)
    }
}

/// The numbers of a network: one of LocalTalk has one, an extended network (EtherTalk) has a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkRange {
    first: u16,
    last: u16,
}

impl NetworkRange {
    /// The numbers that nodes use until they know their network's, chapter 4, "Node address acquisition on extended networks".
    pub const STARTUP: Self = Self { first: 0xff00, last: 0xfffe };

    /// From `first` to `last`, both included. `None` if it is empty, or has 0, which means unknown, or 65,535.
    #[must_use]
    pub const fn new(first: u16, last: u16) -> Option<Self> {
        if first == 0 || last == u16::MAX || first > last { None } else { Some(Self { first, last }) }
    }

    /// As [`Self::new`], without numbers of the startup range: those that a router may give to a network.
    #[must_use]
    pub fn assignable(first: u16, last: u16) -> Option<Self> {
        Self::new(first, last).filter(|range| range.last < Self::STARTUP.first)
    }

    /// The first number, by which ZIP names a network.
    #[must_use]
    pub const fn first(self) -> u16 {
        self.first
    }

    /// The last number.
    #[must_use]
    pub const fn last(self) -> u16 {
        self.last
    }

    /// Whether the number is one of them.
    #[must_use]
    pub const fn contains(self, network: u16) -> bool {
        self.first <= network && network <= self.last
    }

    /// Whether a number is in both.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// How many numbers.
    #[must_use]
    pub fn count(self) -> u32 {
        u32::from(self.last - self.first) + 1
    }
}

/// `3-5`, or `7` for a range of one.
impl fmt::Display for NetworkRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// An address of Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HardwareAddress(pub [u8; 6]);

impl HardwareAddress {
    /// All AppleTalk nodes of an Ethernet, chapter 3, figure 3-4.
    pub const EVERYONE: Self = Self([0x09, 0x00, 0x07, 0xff, 0xff, 0xff]);
    /// How many multicast addresses zones share, figure 3-4.
    pub const ZONE_GROUPS: u16 = 253;

    /// A multicast address of zones by its index, figure 3-4.
    #[must_use]
    pub fn zone_group(index: u16) -> Self {
        Self([0x09, 0x00, 0x07, 0x00, 0x00, (index % Self::ZONE_GROUPS) as u8])
    }

    /// Whether it is the group of all AppleTalk nodes, or of a zone.
    #[must_use]
    pub fn is_appletalk_group(self) -> bool {
        let is_zone = self.0.starts_with(&[0x09, 0x00, 0x07, 0x00, 0x00]);
        self == Self::EVERYONE || is_zone && u16::from(self.0[5]) < Self::ZONE_GROUPS
    }

    /// Whether it is a group of stations.
    #[must_use]
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }
}

/// `09:00:07:ff:ff:ff`.
impl fmt::Display for HardwareAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_zero_is_equivalent_to_every_network() {
        let node = |network| Address::new(network, 7);
        assert!(node(0).is_equivalent(node(9)) && node(9).is_equivalent(node(0)));
        assert!(!node(8).is_equivalent(node(9)));
        assert!(!node(9).is_equivalent(Address::new(9, 8)));
        let socket = |network, socket| Endpoint::new(node(network), socket);
        assert!(socket(0, 2).is_equivalent(socket(9, 2)) && !socket(0, 2).is_equivalent(socket(9, 3)));
    }

    #[test]
    fn a_range_has_no_reserved_network() {
        assert_eq!(NetworkRange::new(0, 5), None);
        assert_eq!(NetworkRange::new(5, 65_535), None);
        assert_eq!(NetworkRange::new(6, 5), None);
        assert_eq!(NetworkRange::assignable(0xfe00, 0xff00), None);
        assert!(NetworkRange::assignable(1, 0xfeff).is_some());
    }

    #[test]
    fn ranges_overlap_in_a_common_network_only() {
        let range = |first, last| NetworkRange::new(first, last).unwrap();
        assert!(range(3, 5).overlaps(range(5, 9)) && range(5, 9).overlaps(range(3, 5)));
        assert!(range(3, 9).overlaps(range(5, 6)) && !range(3, 5).overlaps(range(6, 9)));
        assert_eq!((range(3, 5).to_string(), range(7, 7).to_string()), ("3-5".into(), "7".into()));
    }
}
