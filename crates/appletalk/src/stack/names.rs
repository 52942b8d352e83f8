//! NBP: this node's names, and the searches that a router spreads. "Inside AppleTalk" chapter 7, and chapter 8, "NBP routing
//! in IRs".

use std::time::Instant;

use crate::address::{Address, Endpoint};
use crate::limits::Rate;
use crate::name::{EntityName, MacName};
use crate::nbp::{LookupRequest, NameOutcome};
use crate::wire::ddp::{Datagram, DatagramKind};
use crate::wire::nbp::{NbpFunction, NbpPacket, NbpTuple};
use crate::zip::zone_group;

use super::output::StackEvent;
use super::port::{Hop, Port};
use super::receiving::Arrival;
use super::{Stack, socket};

/// Networks that are searched on behalf of one node: a zone with many networks makes many packets of one.
pub(super) const SPREAD_RATE: Rate = Rate { burst: 1_024, per_second: 128 };

/// A search that came to this node, or begins here.
#[derive(Debug, Clone)]
struct Search {
    /// The port that it came through.
    at: usize,
    id: u8,
    /// Where answers go, and which names are wanted.
    tuple: NbpTuple,
    /// How many bytes all answers of this node may have.
    budget: usize,
}

impl Search {
    fn packet(&self, function: NbpFunction) -> Vec<u8> {
        NbpPacket { function, id: self.id, tuples: vec![self.tuple.clone()] }.encode()
    }
}

impl Stack {
    pub(super) fn tick_names(&mut self, now: Instant) {
        if !self.ports.iter().any(Port::is_usable) {
            return;
        }
        let (requests, outcomes) = self.names.tick(now);
        requests.into_iter().for_each(|request| self.search(request, now));
        for outcome in outcomes {
            self.event(match outcome {
                NameOutcome::Registered(id) => StackEvent::Registered(id),
                NameOutcome::Taken { id, by } => StackEvent::NameTaken { id, by },
                NameOutcome::Found { id, names } => StackEvent::Found { id, names },
            });
        }
    }

    pub(super) fn name_packet(&mut self, arrival: &Arrival, now: Instant) {
        let Ok(packet) = NbpPacket::decode(&arrival.datagram.payload) else { return };
        if packet.function == NbpFunction::REPLY {
            let own: Vec<Address> = self.ports.iter().filter_map(Port::address).collect();
            return self.names.receive_reply(&packet, |address| own.contains(&address), now);
        }
        let [tuple] = &packet.tuples[..] else { return };
        let at = arrival.at;
        let mut tuple = tuple.clone();
        if tuple.endpoint.address.network == 0 {
            tuple.endpoint.address.network = self.ports[at].address().map_or(0, |own| own.network);
        }
        // Answers go where the tuple says: never to more than one node, and not too often.
        let asker = tuple.endpoint;
        let is_fit = asker.address.is_unicast() && !matches!(asker.socket, 0 | 255);
        if !is_fit || !self.answers.may_answer(asker.address, now) {
            return;
        }
        let search = Search { at, id: packet.id, tuple, budget: arrival.answer_budget() };
        match packet.function {
            NbpFunction::LOOKUP if self.is_in_zone(at, &search.tuple.name.zone) => self.answer(&search, now),
            // A search is for one router: by broadcast, each of them would spread it.
            NbpFunction::BROADCAST_REQUEST if self.router.is_some() && !arrival.is_broadcast => {
                self.spread(search, now);
            }
            NbpFunction::FORWARD_REQUEST if self.router.is_some() && !arrival.is_broadcast => {
                let network = arrival.datagram.destination.address.network;
                self.spread_on_network(network, &search, now);
            }
            _ => {}
        }
    }

    /// Whether a lookup in this zone concerns the names of this node. Chapter 7, "Name lookup on an internet": on LocalTalk,
    /// an end node need not know its zone.
    fn is_in_zone(&self, at: usize, zone: &MacName) -> bool {
        let own = match self.router {
            Some(_) => self.home().map(|(_, zone)| zone),
            None if self.ports[at].is_extended() => self.ports[at].zone.clone(),
            None => return true,
        };
        zone.is_own_zone() || own.as_ref() == Some(zone)
    }

    /// The port of a router on whose network its names are, and their zone: that of the settings, if one has it.
    fn home(&self) -> Option<(usize, MacName)> {
        let ready = || self.ports.iter().enumerate().filter(|(_, port)| port.is_ready());
        let zoned = || ready().filter_map(|(at, port)| Some((at, port.zone.clone()?)));
        zoned().find(|(_, zone)| self.wanted_zone.as_ref() == Some(zone)).or_else(|| zoned().next())
    }

    /// Sends the names that a search asks for, as many as the budget allows.
    fn answer(&mut self, search: &Search, now: Instant) {
        let home = if self.router.is_some() { self.home() } else { None };
        let (at, zone) = match home {
            Some((at, zone)) => (at, Some(zone)),
            None => (search.at, self.ports[search.at].zone.clone()),
        };
        let Some(own) = self.ports[at].address() else { return };
        let zone = zone.or_else(|| MacName::new(b"*")).unwrap_or_default();
        let tuple = |name: &crate::nbp::OwnName| NbpTuple {
            endpoint: Endpoint::new(own, name.socket),
            enumerator: name.enumerator,
            name: EntityName { zone: zone.clone(), ..name.name.clone() },
        };
        let tuples: Vec<NbpTuple> = self.names.matching(&search.tuple.name).map(tuple).collect();
        let mut budget = search.budget;
        for tuples in packed(tuples) {
            let payload = NbpPacket { function: NbpFunction::REPLY, id: search.id, tuples }.encode();
            let source = Endpoint::new(own, socket::NAMES);
            let destination = search.tuple.endpoint;
            let reply = Datagram { destination, source, hops: 0, kind: DatagramKind::NBP, payload };
            let Some(left) = budget.checked_sub(reply.long_length()) else { return };
            budget = left;
            self.send_through(search.at, reply, now);
        }
    }

    /// A BrRq, chapter 8, "Generating FwdReq packets": each network of the zone is searched.
    fn spread(&mut self, mut search: Search, now: Instant) {
        if search.tuple.name.zone.is_own_zone() {
            if self.ports[search.at].is_extended() {
                return; // nodes there have to name their zone
            }
            match self.port_zones(search.at).into_iter().next() {
                Some(zone) => search.tuple.name.zone = zone,
                None => {
                    self.look_up_on(search.at, &search, now);
                    return self.answer(&search, now);
                }
            }
        }
        let zone = search.tuple.name.zone.clone();
        let entries = self.router.iter().flat_map(|router| router.table.entries());
        let networks = entries.filter(|entry| entry.zones.has(&zone));
        let networks: Vec<_> = networks.map(|at| (at.range.first(), at.port, at.distance)).collect();
        let asker = search.tuple.endpoint.address;
        for (network, port, distance) in networks {
            if !self.spreads.may_answer(asker, now) {
                break;
            }
            match distance {
                0 => self.look_up_on(port, &search, now),
                _ => self.forward_search(network, port, &search, now),
            }
        }
        if self.home().is_some_and(|(_, home)| home == zone) {
            self.answer(&search, now);
        }
    }

    fn forward_search(&mut self, network: u16, port: usize, search: &Search, now: Instant) {
        let Some(own) = self.ports[port].address() else { return };
        let destination = Endpoint::new(Address::new(network, Address::ANY_ROUTER), socket::NAMES);
        let source = Endpoint::new(own, socket::NAMES);
        let payload = search.packet(NbpFunction::FORWARD_REQUEST);
        let datagram = Datagram { destination, source, hops: 0, kind: DatagramKind::NBP, payload };
        let _lost = self.originate_from(Some(port), datagram, now); // the asking node repeats it
    }

    /// A FwdReq, chapter 8, "Converting FwdReqs to LkUps".
    fn spread_on_network(&mut self, network: u16, search: &Search, now: Instant) {
        let table = self.router.as_ref().map(|router| &router.table);
        let entry = table.and_then(|table| table.find(network)).filter(|entry| entry.distance == 0);
        let Some(port) = entry.map(|entry| entry.port) else { return };
        self.look_up_on(port, search, now);
        if self.home().is_some_and(|(at, zone)| at == port && zone == search.tuple.name.zone) {
            self.answer(search, now);
        }
    }

    /// A LkUp to all nodes of a zone on a port's link.
    fn look_up_on(&mut self, at: usize, search: &Search, now: Instant) {
        let Some(own) = self.ports[at].address() else { return };
        let zone = &search.tuple.name.zone;
        let is_grouped = self.ports[at].is_extended() && !zone.is_own_zone();
        let hop = if is_grouped { Hop::Station(zone_group(zone)) } else { Hop::Everyone };
        let datagram = Datagram {
            destination: Endpoint::new(Address::EVERYONE, socket::NAMES),
            source: Endpoint::new(own, socket::NAMES),
            hops: 0,
            kind: DatagramKind::NBP,
            payload: search.packet(NbpFunction::LOOKUP),
        };
        self.transmit(at, hop, &datagram, now);
    }

    /// Sends a search of this node.
    fn search(&mut self, request: LookupRequest, now: Instant) {
        if let Some(node) = request.node {
            return self.ask_node(node, request, now);
        }
        let home = if self.router.is_some() { self.home() } else { None };
        match home {
            Some((at, zone)) => {
                let mut name = request.name;
                name.zone = if name.zone.is_own_zone() { zone } else { name.zone };
                if let Some(search) = self.own_search(at, request.packet_id, name) {
                    self.spread(search, now);
                }
            }
            None => {
                for at in (0..self.ports.len()).filter(|at| self.ports[*at].is_usable()).collect::<Vec<_>>() {
                    self.search_on(at, request.clone(), now);
                }
            }
        }
    }

    fn own_search(&self, at: usize, id: u8, name: EntityName) -> Option<Search> {
        let endpoint = Endpoint::new(self.ports[at].address()?, socket::NAMES);
        Some(Search { at, id, tuple: NbpTuple { endpoint, enumerator: 0, name }, budget: usize::MAX })
    }

    /// An end node asks its router, or, without one, the nodes of the link.
    fn search_on(&mut self, at: usize, request: LookupRequest, now: Instant) {
        let port = &self.ports[at];
        let mut name = request.name;
        let router = port.router.map(|router| router.address);
        let own_zone = port.zone.clone().filter(|_| router.is_some() && port.is_extended());
        name.zone = if name.zone.is_own_zone() { own_zone.unwrap_or(name.zone) } else { name.zone };
        let Some(search) = self.own_search(at, request.packet_id, name) else { return };
        let Some(router) = router else { return self.look_up_on(at, &search, now) };
        let datagram = Datagram {
            destination: Endpoint::new(router, socket::NAMES),
            source: search.tuple.endpoint,
            hops: 0,
            kind: DatagramKind::NBP,
            payload: search.packet(NbpFunction::BROADCAST_REQUEST),
        };
        self.send_through(at, datagram, now);
    }

    /// Chapter 7, "Name confirmation".
    fn ask_node(&mut self, node: Address, request: LookupRequest, now: Instant) {
        let Ok((at, _)) = self.way(node, None, now) else { return };
        let Some(search) = self.own_search(at, request.packet_id, request.name) else { return };
        let datagram = Datagram {
            destination: Endpoint::new(node, socket::NAMES),
            source: search.tuple.endpoint,
            hops: 0,
            kind: DatagramKind::NBP,
            payload: search.packet(NbpFunction::LOOKUP),
        };
        let _lost = self.originate_from(Some(at), datagram, now); // it is sent again
    }
}

/// Tuples in packets that fit into datagrams.
fn packed(tuples: Vec<NbpTuple>) -> Vec<Vec<NbpTuple>> {
    let mut packets: Vec<Vec<NbpTuple>> = Vec::new();
    let mut room = 0;
    for tuple in tuples {
        let length = tuple.byte_len();
        let is_full = packets.last().is_none_or(|packet| packet.len() >= NbpPacket::MAX_TUPLES);
        if is_full || length > room {
            packets.push(Vec::new());
            room = Datagram::MAX_PAYLOAD - NbpPacket::HEADER;
        }
        room -= length;
        packets.last_mut().expect("one was pushed when there was no room").push(tuple);
    }
    packets
}
