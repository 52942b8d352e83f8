//! From a link to a port that knows its address, its network and its zone; and what changes them later. "Inside AppleTalk"
//! chapter 4, "AppleTalk node address acquisition", chapter 5, "RTMP and nonrouter nodes", chapter 8, "Zone name acquisition".

use std::time::{Duration, Instant};

use crate::address::{Address, NetworkRange};
use crate::candidates::AddressCandidates;
use crate::name::MacName;
use crate::rtmp::{ROUTER_LIFE, RouteChange};
use crate::wire::ddp::DatagramKind;
use crate::wire::rtmp::{RouterPacket, RtmpRequest};
use crate::wire::zip::{NetInfo, ZipMessage};
use crate::zip::zone_group;

use super::config::PortConfig;
use super::output::{Output, PortId, SeedConflict, StackEvent};
use super::port::{HeardRouter, LinkState, Phase, Port, VERIFICATION};
use super::receiving::Arrival;
use super::{Stack, socket};

/// An end node asks three times which network it is in.
const QUESTIONS: u8 = 3;
const QUESTION_INTERVAL: Duration = Duration::from_secs(1);
/// How often a router asks before it seeds, and while it waits for the router that does.
const VERIFY_INTERVAL: Duration = Duration::from_secs(2);
const WAIT_INTERVAL: Duration = Duration::from_secs(10);
/// How often the same trouble of a port is told.
const CONFLICT_INTERVAL: Duration = Duration::from_secs(60);

impl Stack {
    /// The link of a port was away: others may have taken the address meanwhile, and it may be another network. The port begins
    /// anew, and tries the address that it had first. The network of a router's port stays.
    pub fn link_returned(&mut self, port: PortId, now: Instant) {
        let at = usize::from(port.0);
        let Some(port) = self.ports.get_mut(at) else { return };
        let hint = port.address();
        if let (Some(range), true) = (port.range, self.router.is_some()) {
            return self.acquire(at, range, hint, now);
        }
        let group = port.group.take();
        let config = PortConfig { label: port.label.clone(), link: port.kind, hint, seed: port.seed.clone() };
        *port = Port::new(port.id, config, &mut self.random, now);
        let port = port.id;
        group.into_iter().for_each(|group| self.push(Output::Leave { port, group }));
    }

    /// Acquires an address of this network on a port's link: this one, if it is free.
    fn acquire(&mut self, at: usize, range: NetworkRange, hint: Option<Address>, now: Instant) {
        let port = &mut self.ports[at];
        match &mut port.link {
            LinkState::Ether(resolver) => {
                resolver.acquire(AddressCandidates::extended(range, hint, &mut self.random), now);
            }
            LinkState::Local(acquisition) => {
                acquisition.acquire(AddressCandidates::local(hint, &mut self.random), now);
            }
        }
        port.phase = Phase::Acquiring;
    }

    pub(super) fn tick_port(&mut self, at: usize, now: Instant) {
        let mut frames = Vec::new();
        match &mut self.ports[at].link {
            LinkState::Ether(resolver) => {
                let change = resolver.tick(now, &mut frames);
                self.push_frames(at, frames);
                change.into_iter().for_each(|change| self.address_change(at, change, now));
            }
            LinkState::Local(acquisition) => {
                let change = acquisition.tick(now, &mut frames);
                self.push_frames(at, frames);
                change.into_iter().for_each(|change| self.node_change(at, change, now));
            }
        }
        self.tick_phase(at, now);
        let router = self.ports[at].router;
        if router.is_some_and(|router| router.at + ROUTER_LIFE <= now) {
            self.lose_router(at);
        }
    }

    fn tick_phase(&mut self, at: usize, now: Instant) {
        match self.ports[at].phase {
            Phase::Asking { sent, next } if next <= now => {
                if sent >= QUESTIONS {
                    self.become_ready(at, now); // without a router
                } else {
                    self.ports[at].phase = Phase::Asking { sent: sent + 1, next: now + QUESTION_INTERVAL };
                    self.ask_network(at, now);
                }
            }
            Phase::Verifying { until, .. } if until <= now => self.seed(at, now),
            Phase::Verifying { until, next } if next <= now => {
                self.ports[at].phase = Phase::Verifying { until, next: now + VERIFY_INTERVAL };
                self.ask_network(at, now);
                let first = self.ports[at].seed.as_ref().map(|seed| seed.range.first());
                let query = ZipMessage::Query(first.into_iter().collect()).encode();
                self.broadcast(at, socket::ZONES, DatagramKind::ZIP, query, now);
            }
            Phase::Waiting { next } if next <= now => {
                self.ports[at].phase = Phase::Waiting { next: now + WAIT_INTERVAL };
                self.ask_network(at, now);
            }
            _ => {}
        }
    }

    /// Asks routers which network this is: on EtherTalk by GetNetInfo, which names the zone, too; a router also by RTMP.
    fn ask_network(&mut self, at: usize, now: Instant) {
        let port = &self.ports[at];
        if port.is_extended() {
            let seeded = port.seed.as_ref().and_then(|seed| seed.zones.first());
            let zone = seeded.or(self.wanted_zone.as_ref()).cloned().unwrap_or_default();
            let question = ZipMessage::GetNetInfo(zone).encode();
            self.broadcast(at, socket::ZONES, DatagramKind::ZIP, question, now);
        }
        if !self.ports[at].is_extended() || self.router.is_some() {
            let question = vec![RtmpRequest::NETWORK.0];
            self.broadcast(at, socket::RTMP, DatagramKind::RTMP_REQUEST, question, now);
        }
    }

    pub(super) fn address_acquired(&mut self, at: usize, address: Address, now: Instant) {
        let is_same = |other: usize| other != at && self.ports[other].address() == Some(address);
        if (0..self.ports.len()).any(is_same) {
            return self.try_another_address(at, now); // an address says which port is meant
        }
        let id = self.ports[at].id;
        self.event(StackEvent::Address { port: id, address });
        let is_router = self.router.is_some();
        let port = &mut self.ports[at];
        match port.range {
            Some(_) if is_router => self.activate(at, now),
            Some(_) => self.become_ready(at, now),
            None if is_router && port.seed.is_some() => {
                port.phase = Phase::Verifying { until: now + VERIFICATION, next: now };
            }
            None if is_router => port.phase = Phase::Waiting { next: now },
            None => port.phase = Phase::Asking { sent: 0, next: now },
        }
        self.tick_phase(at, now);
    }

    fn try_another_address(&mut self, at: usize, now: Instant) {
        let port = &self.ports[at];
        let range = port.range.or(port.seed.as_ref().map(|seed| seed.range)).unwrap_or(NetworkRange::STARTUP);
        self.acquire(at, range, None, now);
    }

    /// An end node's port, or a router's whose network is known, can be used. Names that were registered before may exist
    /// in its network or zone.
    fn become_ready(&mut self, at: usize, now: Instant) {
        self.names.check_again(now);
        let port = &mut self.ports[at];
        port.phase = Phase::Ready;
        if let Some(address) = port.address() {
            let (network, zone) = (port.range, port.zone.clone());
            let port = port.id;
            self.event(StackEvent::Ready { port, address, network, zone });
        }
    }

    /// The network of a port became known. If its address is not of it, it needs another one first.
    fn adopt(&mut self, at: usize, range: NetworkRange, now: Instant) {
        let avoid = self.ports[at].address();
        self.heard.forget_unknown(at);
        let port = &mut self.ports[at];
        port.range = Some(range);
        if let LinkState::Ether(resolver) = &mut port.link
            && avoid.is_none_or(|address| !range.contains(address.network))
        {
            let candidates = AddressCandidates::extended(range, None, &mut self.random);
            resolver.acquire(candidates, now);
            port.phase = Phase::Acquiring;
            return self.tick_port(at, now);
        }
        match self.router {
            Some(_) => self.activate(at, now),
            None => self.become_ready(at, now),
        }
    }

    /// A router's port takes part in routing: its network is known, and its address is of it.
    fn activate(&mut self, at: usize, now: Instant) {
        let port = &self.ports[at];
        let (Some(range), Some(router)) = (port.range, &mut self.router) else { return };
        let zones = port.seed.as_ref().map(|seed| seed.zones.clone()).unwrap_or_default();
        router.table.attach(at, range, port.is_extended(), &zones);
        (router.next_send, router.next_query) = (now, now);
        self.event(StackEvent::RouteAdded(range));
        self.settle_router_zone(at);
        self.ports[at].ready_since = Some(now);
        self.become_ready(at, now);
    }

    /// No other router objected: the network gets the numbers and zones of the settings. Before, routers behind other ports have had
    /// the time to tell what they reach. If a router of this network confirmed its numbers, the same numbers behind another
    /// port are another way to it.
    fn seed(&mut self, at: usize, now: Instant) {
        let Some(seed) = self.ports[at].seed.clone() else { return };
        let others = self.ports.iter().filter(|port| port.has_met_router || port.seed.is_none());
        let told = others.filter_map(|port| Some(port.ready_since? + VERIFICATION)).max();
        if let Some(until) = told.filter(|told| *told > now) {
            self.ports[at].phase = Phase::Verifying { until, next: now };
            return self.tick_phase(at, now);
        }
        let table = self.router.as_ref().map(|router| &router.table);
        let is_confirmed = self.ports[at].has_met_router;
        let elsewhere = table.and_then(|table| table.overlapping(seed.range, at)).filter(|_| !is_confirmed);
        match elsewhere.map(|entry| (entry.range, entry.port)) {
            Some((heard, port)) => {
                let port = self.ports[port].id;
                self.refuse_seed(at, SeedConflict::Elsewhere { heard, port }, now);
            }
            None => self.adopt(at, seed.range, now),
        }
    }

    /// Chapter 5, "Initialization": if a conflict is discovered, the seed is not used.
    fn refuse_seed(&mut self, at: usize, heard: SeedConflict, now: Instant) {
        let port = &mut self.ports[at];
        port.seed = None;
        port.conflict = Some(heard.clone());
        port.phase = Phase::Waiting { next: now + WAIT_INTERVAL };
        let port = port.id;
        self.event(StackEvent::SeedRefused { port, heard });
    }

    /// Whether a trouble of this port may be told again.
    pub(super) fn may_tell_conflict(&mut self, at: usize, now: Instant) -> bool {
        let told = &mut self.ports[at].conflict_told;
        let may = told.is_none_or(|told| told + CONFLICT_INTERVAL <= now);
        *told = if may { Some(now) } else { *told };
        may
    }

    fn contest(&mut self, at: usize, heard: SeedConflict, now: Instant) {
        if self.may_tell_conflict(at, now) {
            let port = &mut self.ports[at];
            port.conflict = Some(heard.clone());
            let port = port.id;
            self.event(StackEvent::SeedContested { port, heard });
        }
    }

    /// An RTMP Data or Response packet of a router on the link.
    pub(super) fn router_packet(&mut self, arrival: &Arrival, now: Instant) {
        let datagram = &arrival.datagram;
        let Ok(packet) = RouterPacket::decode(&datagram.payload) else { return };
        let is_genuine = packet.sender.is_equivalent(datagram.source.address) && datagram.hops == 0;
        let port = &self.ports[arrival.at];
        let range = match (port.is_extended(), packet.range) {
            (true, Some(range)) => NetworkRange::assignable(range.first(), range.last()),
            (false, None) => NetworkRange::assignable(packet.sender.network, packet.sender.network),
            _ => None,
        };
        if let Some(range) = range.filter(|_| is_genuine) {
            match self.router {
                Some(_) => self.router_met(arrival.at, range, &packet, now),
                None => self.router_heard(arrival.at, range, packet.sender, now),
            }
        }
    }

    /// The RTMP stub of an end node, chapter 5, "RTMP and nonrouter nodes".
    fn router_heard(&mut self, at: usize, range: NetworkRange, address: Address, now: Instant) {
        let port = &mut self.ports[at];
        if !port.is_extended() {
            let is_new = port.range != Some(range) || port.router.is_none();
            if port.range.is_none() {
                self.heard.forget_unknown(at); // they have a network from now on
            }
            port.range = Some(range);
            port.router = Some(HeardRouter { address, at: now });
            if is_new && port.phase != Phase::Acquiring {
                self.become_ready(at, now);
                self.begin_survey(at, now);
            }
        } else if port.range == Some(range) {
            port.router = Some(HeardRouter { address, at: now });
        } else if port.range.is_none() && port.phase == Phase::Ready {
            port.phase = Phase::Asking { sent: 0, next: now }; // a router appeared: GetNetInfo brings the rest
            self.tick_phase(at, now);
        }
    }

    /// A router heard another one.
    fn router_met(&mut self, at: usize, range: NetworkRange, packet: &RouterPacket, now: Instant) {
        let by = packet.sender;
        let port = &mut self.ports[at];
        let expected = port.range.or(port.seed.as_ref().map(|seed| seed.range));
        port.has_met_router |= expected.is_none_or(|expected| expected == range);
        match port.phase {
            Phase::Verifying { .. } if port.seed.as_ref().is_some_and(|seed| seed.range != range) => {
                self.refuse_seed(at, SeedConflict::Range { by, heard: range }, now);
                self.adopt(at, range, now);
            }
            Phase::Waiting { .. } => self.adopt(at, range, now),
            Phase::Ready if port.range == Some(range) => self.learn_routes(at, packet, now),
            Phase::Ready => self.contest(at, SeedConflict::Range { by, heard: range }, now),
            Phase::Verifying { .. } | Phase::Acquiring | Phase::Asking { .. } => {}
        }
    }

    fn learn_routes(&mut self, at: usize, packet: &RouterPacket, now: Instant) {
        let Some(router) = &mut self.router else { return };
        let changes = router.table.receive(packet, at);
        if changes.iter().any(|change| matches!(change, RouteChange::Added(_))) {
            router.next_query = now; // their zones are asked for at once
        }
        self.tell_routes(changes);
    }

    /// A GetNetInfo reply.
    pub(super) fn net_info(&mut self, arrival: &Arrival, info: NetInfo, now: Instant) {
        let (at, by) = (arrival.at, arrival.datagram.source.address);
        let range = NetworkRange::assignable(info.first, info.last);
        let Some(range) = range.filter(|_| arrival.datagram.hops == 0) else { return };
        match (&self.router, self.ports[at].phase) {
            (None, Phase::Asking { .. }) if self.ports[at].is_extended() => {
                self.ports[at].router = Some(HeardRouter { address: by, at: now });
                self.take_zone(at, &info);
                self.adopt(at, range, now);
                self.begin_survey(at, now);
            }
            (Some(_), Phase::Verifying { .. }) => self.verify(at, range, &info, by, now),
            (Some(_), Phase::Waiting { .. }) => self.adopt(at, range, now),
            (Some(_), Phase::Ready) if self.ports[at].seed.is_none() => {
                self.learn_default_zone(at, range, &info)
            }
            _ => {}
        }
    }

    /// The zone of an end node, chapter 8, "Verifying a saved zone name".
    fn take_zone(&mut self, at: usize, info: &NetInfo) {
        let zone = info.default_zone.clone().unwrap_or_else(|| info.zone.clone());
        if zone.is_own_zone() {
            return;
        }
        if let Some(wanted) = self.wanted_zone.clone().filter(|wanted| *wanted != zone) {
            let (port, used) = (self.ports[at].id, zone.clone());
            self.event(StackEvent::ZoneRefused { port, wanted, used });
        }
        self.set_zone(at, zone);
    }

    /// This node is in the zone from now on, and hears lookups for it.
    pub(super) fn set_zone(&mut self, at: usize, zone: MacName) {
        let port = &mut self.ports[at];
        let group = port.is_extended().then(|| zone_group(&zone));
        port.zone = Some(zone);
        let (id, old) = (port.id, std::mem::replace(&mut port.group, group));
        if old != group {
            old.into_iter().for_each(|group| self.push(Output::Leave { port: id, group }));
            group.into_iter().for_each(|group| self.push(Output::Join { port: id, group }));
        }
    }

    /// Another router answered a question about the network that this one is going to seed.
    fn verify(&mut self, at: usize, range: NetworkRange, info: &NetInfo, by: Address, now: Instant) {
        let Some(seed) = &self.ports[at].seed else { return };
        let default_zone = info.default_zone.as_ref().filter(|zone| seed.zones.first() != Some(*zone));
        let heard = match default_zone {
            _ if range != seed.range => SeedConflict::Range { by, heard: range },
            Some(zone) => SeedConflict::DefaultZone { by, heard: zone.clone() },
            None => return,
        };
        self.refuse_seed(at, heard, now);
        self.adopt(at, range, now);
    }

    /// A ZIP reply named zones of the network that this router is going to seed. `count` is how many it has in all.
    pub(super) fn verify_zones(
        &mut self,
        at: usize,
        by: Address,
        network: u16,
        count: usize,
        zones: &[MacName],
        now: Instant,
    ) {
        let seed = self.ports[at].seed.as_ref().filter(|seed| seed.range.first() == network);
        let Some(seed) = seed else { return };
        let is_same = count == seed.zones.len() && zones.iter().all(|zone| seed.zones.contains(zone));
        if !is_same && matches!(self.ports[at].phase, Phase::Verifying { .. }) {
            let range = seed.range;
            self.refuse_seed(at, SeedConflict::Zones { by, heard: zones.to_vec() }, now);
            self.adopt(at, range, now);
        }
    }

    /// Chapter 5, "Nodes on extended networks": the stub reverts to its initial state. On LocalTalk the number stays.
    fn lose_router(&mut self, at: usize) {
        let port = &mut self.ports[at];
        port.router = None;
        let id = port.id;
        if port.is_extended() {
            port.range = None;
            port.zone = None;
            let group = port.group.take();
            group.into_iter().for_each(|group| self.push(Output::Leave { port: id, group }));
        }
        self.event(StackEvent::RouterLost { port: id });
    }
}
