//! Addresses that a node tries, until one is free: each of a range once, from a random one on.

use crate::address::{Address, NetworkRange};

/// Numbers that are hard to guess, but only for spreading nodes over addresses: nothing secret depends on them. The same seed
/// gives the same numbers, so that tests can be repeated.
#[derive(Debug, Clone)]
pub struct RandomNumbers(u64);

impl RandomNumbers {
    /// From a seed of the host's randomness.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // Seeds that are near each other begin far apart.
        Self((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        (mixed % u64::from(bound.max(1))) as u32
    }
}

/// Each node of each network, once.
#[derive(Debug, Clone)]
pub struct AddressCandidates {
    first: Option<Address>,
    networks: (u16, u32),
    nodes: (u8, u32),
    start: (u32, u32),
    /// Two nodes that met at one address go on to different ones: a random step, which has no factor in common with the
    /// count of nodes.
    stride: u32,
    next: u32,
}

impl AddressCandidates {
    /// Of an EtherTalk network: nodes 1 to 253, "Inside AppleTalk" chapter 3, "AARP specifics". `hint` comes first, if it is
    /// one of them.
    pub fn extended(range: NetworkRange, hint: Option<Address>, random: &mut RandomNumbers) -> Self {
        Self::new((range.first(), range.count()), (1, 253), hint, random)
    }

    /// Of LocalTalk, as a server: nodes 128 to 254, chapter 1, "Node IDs". The network is 0.
    pub fn local(hint: Option<Address>, random: &mut RandomNumbers) -> Self {
        let hint = hint.map(|hint| Address::new(0, hint.node));
        Self::new((0, 1), (128, 127), hint, random)
    }

    fn new(
        networks: (u16, u32),
        nodes: (u8, u32),
        hint: Option<Address>,
        random: &mut RandomNumbers,
    ) -> Self {
        let start = (random.below(networks.1), random.below(nodes.1));
        let is_within = |hint: &Address| {
            let network = hint.network.checked_sub(networks.0).map(u32::from);
            let node = hint.node.checked_sub(nodes.0).map(u32::from);
            network.is_some_and(|at| at < networks.1) && node.is_some_and(|at| at < nodes.1)
        };
        let mut stride = 1 + random.below(nodes.1 - 1);
        while has_common_factor(stride, nodes.1) {
            stride = 1 + random.below(nodes.1 - 1);
        }
        Self { first: hint.filter(is_within), networks, nodes, start, stride, next: 0 }
    }
}

fn has_common_factor(mut one: u32, mut other: u32) -> bool {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one != 1
}

impl Iterator for AddressCandidates {
    type Item = Address;

    fn next(&mut self) -> Option<Address> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let (network_at, node_at) = (self.next / self.nodes.1, self.next % self.nodes.1);
        if network_at >= self.networks.1 {
            return None;
        }
        self.next += 1;
        let network = self.networks.0 + ((self.start.0 + network_at) % self.networks.1) as u16;
        let node = self.nodes.0 + ((self.start.1 + node_at * self.stride) % self.nodes.1) as u8;
        Some(Address::new(network, node))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_node_of_a_range_is_tried_once() {
        let mut random = RandomNumbers::new(7);
        let range = NetworkRange::new(3, 5).unwrap();
        let tried: Vec<Address> = AddressCandidates::extended(range, None, &mut random).collect();
        assert_eq!(tried.len(), 3 * 253);
        assert_eq!(tried.iter().collect::<BTreeSet<_>>().len(), 3 * 253);
        assert!(tried.iter().all(|at| range.contains(at.network) && (1..=253).contains(&at.node)));
    }

    #[test]
    fn a_server_on_localtalk_takes_128_to_254() {
        let mut random = RandomNumbers::new(7);
        let tried: BTreeSet<u8> = AddressCandidates::local(None, &mut random).map(|at| at.node).collect();
        assert!(tried.into_iter().eq(128..=254));
    }

    #[test]
    fn the_last_address_is_tried_first_if_it_is_one_of_the_range() {
        let mut random = RandomNumbers::new(7);
        let range = NetworkRange::new(3, 5).unwrap();
        let mut first = |hint| AddressCandidates::extended(range, Some(hint), &mut random).next();
        assert_eq!(first(Address::new(4, 9)), Some(Address::new(4, 9)));
        assert_ne!(first(Address::new(4, 254)), Some(Address::new(4, 254)));
        assert_ne!(first(Address::new(6, 9)), Some(Address::new(6, 9)));
    }

    #[test]
    fn the_startup_range_does_not_overflow() {
        let mut random = RandomNumbers::new(u64::MAX);
        let last = AddressCandidates::extended(NetworkRange::STARTUP, None, &mut random).last();
        assert!(last.is_some_and(|at| at.network >= 0xff00 && at.network < 0xffff));
    }
}
