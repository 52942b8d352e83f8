//! AARP on a port of EtherTalk: the own address, and the stations of others. "Inside AppleTalk" chapters 2 and 3.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::address::{Address, HardwareAddress};
use crate::candidates::AddressCandidates;
use crate::limits::{AARP_ENTRIES, AARP_UNRESOLVED, AARP_WAITING, BEST_ROUTERS};
use crate::wire::aarp::{AarpFunction, AarpPacket};
use crate::wire::elap::{ElapContent, ElapFrame};

/// Chapter 3, "AARP specifics for ELAP and TLAP".
const PROBE_INTERVAL: Duration = Duration::from_millis(200);
const PROBES: u8 = 10;
/// Left to implementations, chapter 3.
const REQUEST_INTERVAL: Duration = Duration::from_millis(250);
const REQUESTS: u8 = 8;
/// How long a mapping is used without being confirmed.
const ENTRY_LIFE: Duration = Duration::from_secs(60);
/// Chapter 4, "Optional best router forwarding algorithm".
const BEST_ROUTER_LIFE: Duration = Duration::from_secs(40);
/// How long to wait if every address is taken.
const RETRY: Duration = Duration::from_secs(30);

/// The own address of a port.
///
/// ```text
///              10 probes, each 200 ms, no answer
///   Probing ─────────────────────────────────────► Owned: answers requests and probes for it
///    ▲   │ an answer, or a probe of another station for the same address: the next candidate
///    ├───┘
///    │   │ no candidate is left
///    │   ▼
///    └─ Exhausted (30 s, then all again)
/// ```
#[derive(Debug)]
enum Ownership {
    Probing { address: Address, sent: u8, next: Instant },
    Exhausted { until: Instant },
    Owned(Address),
}

/// What happened to the own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressChange {
    /// It is ours now.
    Acquired(Address),
    /// All are taken; the port tries again later.
    Exhausted,
    /// Another station uses ours, too.
    Contested(Address, HardwareAddress),
}

#[derive(Debug)]
struct Mapping {
    hardware: HardwareAddress,
    at: Instant,
}

/// Datagrams that wait until the station of their address is known.
#[derive(Debug)]
struct Unresolved {
    datagrams: VecDeque<Vec<u8>>,
    sent: u8,
    next: Instant,
}

/// The address mapping table of a port, and its own address.
#[derive(Debug)]
pub struct AddressResolver {
    hardware: HardwareAddress,
    ownership: Ownership,
    candidates: AddressCandidates,
    all_candidates: AddressCandidates,
    mappings: BTreeMap<Address, Mapping>,
    unresolved: BTreeMap<Address, Unresolved>,
    /// Routers to other networks, by the numbers of these.
    best_routers: BTreeMap<u16, Mapping>,
}

impl AddressResolver {
    /// Begins to probe for the first candidate at the next [`Self::tick`].
    #[must_use]
    pub fn new(hardware: HardwareAddress, candidates: AddressCandidates, now: Instant) -> Self {
        Self {
            hardware,
            ownership: Ownership::Exhausted { until: now },
            candidates: candidates.clone(),
            all_candidates: candidates,
            mappings: BTreeMap::new(),
            unresolved: BTreeMap::new(),
            best_routers: BTreeMap::new(),
        }
    }

    /// Gives up the own address and probes for one of these, from the next [`Self::tick`] on.
    pub fn acquire(&mut self, candidates: AddressCandidates, now: Instant) {
        self.candidates = candidates.clone();
        self.all_candidates = candidates;
        self.ownership = Ownership::Exhausted { until: now };
        self.unresolved.clear();
    }

    /// The own address, if it has been acquired.
    #[must_use]
    pub fn address(&self) -> Option<Address> {
        match self.ownership {
            Ownership::Owned(address) => Some(address),
            Ownership::Probing { .. } | Ownership::Exhausted { .. } => None,
        }
    }

    /// A packet of AARP arrived. Frames to send are appended to `frames`.
    pub fn receive(
        &mut self,
        packet: &AarpPacket,
        now: Instant,
        frames: &mut Vec<Vec<u8>>,
    ) -> Option<AddressChange> {
        if packet.source_hardware == self.hardware || packet.source_hardware.is_multicast() {
            return None;
        }
        match packet.function {
            AarpFunction::REQUEST => {
                self.learn(packet.source, packet.source_hardware, now, frames);
                self.defend(packet, frames);
            }
            AarpFunction::PROBE => {
                // Chapter 2, "AMT entry aging": the address may get another station. A probe's own mapping is tentative.
                self.mappings.remove(&packet.target);
                self.give_way(packet.target, now, frames);
                self.defend(packet, frames);
            }
            AarpFunction::RESPONSE => {
                self.give_way(packet.source, now, frames);
                self.learn(packet.source, packet.source_hardware, now, frames);
            }
            _ => {}
        }
        let is_contested = packet.function != AarpFunction::PROBE && self.address() == Some(packet.source);
        is_contested.then_some(AddressChange::Contested(packet.source, packet.source_hardware))
    }

    /// Answers a request or a probe for the own address. While it probes, it does not answer: chapter 2, "Dynamic protocol
    /// address assignment".
    fn defend(&self, packet: &AarpPacket, frames: &mut Vec<Vec<u8>>) {
        if self.address() == Some(packet.target) {
            let response = AarpPacket {
                function: AarpFunction::RESPONSE,
                source_hardware: self.hardware,
                source: packet.target,
                target_hardware: packet.source_hardware,
                target: packet.source,
            };
            frames.push(self.frame(packet.source_hardware, &response));
        }
    }

    /// Another station has or wants the address that is being probed for.
    fn give_way(&mut self, taken: Address, now: Instant, frames: &mut Vec<Vec<u8>>) {
        if matches!(self.ownership, Ownership::Probing { address, .. } if address == taken) {
            self.probe_next(now, frames);
        }
    }

    fn probe_next(&mut self, now: Instant, frames: &mut Vec<Vec<u8>>) {
        let mappings = &self.mappings;
        match self.candidates.find(|candidate| !mappings.contains_key(candidate)) {
            Some(address) => {
                self.ownership = Ownership::Probing { address, sent: 1, next: now + PROBE_INTERVAL };
                frames.push(self.probe(address));
            }
            None => {
                self.candidates = self.all_candidates.clone();
                self.mappings.clear();
                self.ownership = Ownership::Exhausted { until: now + RETRY };
            }
        }
    }

    /// The station of an address became known, by a packet of AARP or a datagram of it: chapter 2, "Gleaning address
    /// information". What waited for it is sent.
    pub fn learn(
        &mut self,
        address: Address,
        hardware: HardwareAddress,
        now: Instant,
        frames: &mut Vec<Vec<u8>>,
    ) {
        let is_own = self.address() == Some(address);
        if !address.is_unicast() || address.network == 0 || hardware.is_multicast() || is_own {
            return;
        }
        if self.mappings.len() >= AARP_ENTRIES && !self.mappings.contains_key(&address) {
            let oldest = self.mappings.iter().min_by_key(|(_, mapping)| mapping.at).map(|(at, _)| *at);
            oldest.map(|at| self.mappings.remove(&at));
        }
        self.mappings.insert(address, Mapping { hardware, at: now });
        if let Some(unresolved) = self.unresolved.remove(&address) {
            let frame = |datagram: Vec<u8>| self.datagram_frame(hardware, &datagram);
            frames.extend(unresolved.datagrams.into_iter().map(frame));
        }
    }

    /// Sends an encoded datagram to a node of this link: at once if its station is known, else when it answers. After 2
    /// seconds without an answer it is lost, as a datagram may be.
    pub fn send(&mut self, to: Address, datagram: Vec<u8>, now: Instant, frames: &mut Vec<Vec<u8>>) {
        let is_alive = |mapping: &&Mapping| now.saturating_duration_since(mapping.at) < ENTRY_LIFE;
        if let Some(mapping) = self.mappings.get(&to).filter(is_alive) {
            frames.push(self.datagram_frame(mapping.hardware, &datagram));
            return;
        }
        self.mappings.remove(&to);
        if let Some(unresolved) = self.unresolved.get_mut(&to) {
            if unresolved.datagrams.len() < AARP_WAITING {
                unresolved.datagrams.push_back(datagram);
            }
        } else if self.unresolved.len() < AARP_UNRESOLVED {
            let datagrams = VecDeque::from([datagram]);
            self.unresolved.insert(to, Unresolved { datagrams, sent: 1, next: now + REQUEST_INTERVAL });
            frames.extend(self.request(to));
        }
    }

    /// Sends an encoded datagram to a station, or to a group of them.
    pub fn send_to_station(&self, to: HardwareAddress, datagram: &[u8], frames: &mut Vec<Vec<u8>>) {
        frames.push(self.datagram_frame(to, datagram));
    }

    /// A datagram of another network arrived from this station: the last router on its way, which is the best one back.
    /// Chapter 4, "Optional best router forwarding algorithm".
    pub fn learn_router(&mut self, network: u16, station: HardwareAddress, now: Instant) {
        if self.best_routers.len() >= BEST_ROUTERS && !self.best_routers.contains_key(&network) {
            let oldest = self.best_routers.iter().min_by_key(|(_, mapping)| mapping.at).map(|(at, _)| *at);
            oldest.map(|at| self.best_routers.remove(&at));
        }
        self.best_routers.insert(network, Mapping { hardware: station, at: now });
    }

    /// The station of the best router to a network, if one was heard in the last 40 seconds.
    #[must_use]
    pub fn best_router(&self, network: u16, now: Instant) -> Option<HardwareAddress> {
        let is_alive = |mapping: &&Mapping| now.saturating_duration_since(mapping.at) < BEST_ROUTER_LIFE;
        self.best_routers.get(&network).filter(is_alive).map(|mapping| mapping.hardware)
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant, frames: &mut Vec<Vec<u8>>) -> Option<AddressChange> {
        self.repeat_requests(now, frames);
        match self.ownership {
            Ownership::Probing { address, sent, next } if next <= now => {
                if sent >= PROBES {
                    self.ownership = Ownership::Owned(address);
                    return Some(AddressChange::Acquired(address));
                }
                self.ownership = Ownership::Probing { address, sent: sent + 1, next: now + PROBE_INTERVAL };
                frames.push(self.probe(address));
                None
            }
            Ownership::Exhausted { until } if until <= now => {
                self.probe_next(now, frames);
                let is_exhausted = matches!(self.ownership, Ownership::Exhausted { .. });
                is_exhausted.then_some(AddressChange::Exhausted)
            }
            Ownership::Probing { .. } | Ownership::Exhausted { .. } | Ownership::Owned(_) => None,
        }
    }

    fn repeat_requests(&mut self, now: Instant, frames: &mut Vec<Vec<u8>>) {
        self.unresolved.retain(|_, unresolved| unresolved.next > now || unresolved.sent < REQUESTS);
        let mut due = Vec::new();
        for (address, unresolved) in self.unresolved.iter_mut().filter(|(_, one)| one.next <= now) {
            unresolved.sent += 1;
            unresolved.next = now + REQUEST_INTERVAL;
            due.push(*address);
        }
        frames.extend(due.into_iter().filter_map(|address| self.request(address)));
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let own = match self.ownership {
            Ownership::Probing { next, .. } => Some(next),
            Ownership::Exhausted { until } => Some(until),
            Ownership::Owned(_) => None,
        };
        own.into_iter().chain(self.unresolved.values().map(|unresolved| unresolved.next)).min()
    }

    fn probe(&self, address: Address) -> Vec<u8> {
        self.question(AarpFunction::PROBE, address, address)
    }

    fn request(&self, wanted: Address) -> Option<Vec<u8>> {
        Some(self.question(AarpFunction::REQUEST, self.address()?, wanted))
    }

    fn question(&self, function: AarpFunction, source: Address, target: Address) -> Vec<u8> {
        let unknown = HardwareAddress([0; 6]);
        let packet =
            AarpPacket { function, source_hardware: self.hardware, source, target_hardware: unknown, target };
        self.frame(HardwareAddress::EVERYONE, &packet)
    }

    fn frame(&self, destination: HardwareAddress, packet: &AarpPacket) -> Vec<u8> {
        let content = packet.encode();
        ElapFrame { destination, source: self.hardware, content: ElapContent::Aarp(&content) }.encode()
    }

    fn datagram_frame(&self, destination: HardwareAddress, datagram: &[u8]) -> Vec<u8> {
        ElapFrame { destination, source: self.hardware, content: ElapContent::Datagram(datagram) }.encode()
    }
}

#[cfg(test)]
mod tests;
