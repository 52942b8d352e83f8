//! ZIP in a router and in an end node. "Inside AppleTalk" chapter 8.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::address::{Address, Endpoint, NetworkRange};
use crate::limits::{Rate, ZONES};
use crate::name::MacName;
use crate::wire::atp::MAX_DATA;
use crate::wire::ddp::{Datagram, DatagramKind};
use crate::wire::zip::{NetInfo, ZipMessage, ZoneListKind, ZoneListReply, ZoneListRequest};
use crate::zip::{self, QUERY_INTERVAL, zone_group};

use super::receiving::Arrival;
use super::{Stack, socket};

/// Whole lists to one asker: a router asks for each network once in 10 seconds.
pub(super) const LIST_RATE: Rate = Rate { burst: 64, per_second: 2 };
/// Networks that a query asks for at once.
const QUERIED: usize = 64;
/// How often an end node asks for the list of all zones, and how long it waits for a part.
const SURVEY_INTERVAL: Duration = Duration::from_secs(300);
const SURVEY_TIMEOUT: Duration = Duration::from_secs(2);
const SURVEY_TRIES: u8 = 3;

/// What an end node knows of all zones: it asks its router for one part after the other, and again every 5 minutes. On
/// LocalTalk it asks for its own zone first.
#[derive(Debug, Default)]
pub(super) struct ZoneSurvey {
    zones: Vec<MacName>,
    collected: Vec<MacName>,
    port: usize,
    kind: ZoneListKind,
    transaction: u16,
    /// The first zone of the part that is asked for, from 1 on.
    start: u16,
    tries: u8,
    next: Option<Instant>,
}

impl ZoneSurvey {
    pub(super) fn zones(&self) -> &[MacName] {
        &self.zones
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next
    }

    fn restart(&mut self, next: Instant) {
        self.collected.clear();
        (self.start, self.tries, self.next) = (1, 0, Some(next));
    }
}

impl Stack {
    pub(super) fn zip_message(&mut self, arrival: &Arrival, now: Instant) {
        let Ok(message) = ZipMessage::decode(&arrival.datagram.payload) else { return };
        match message {
            ZipMessage::Query(networks) => self.zone_query(arrival, &networks, now),
            ZipMessage::Reply(zones) => self.zone_reply(arrival, None, zones, now),
            ZipMessage::ExtendedReply { count, zones } => self.zone_reply(arrival, Some(count), zones, now),
            ZipMessage::GetNetInfo(zone) => self.answer_net_info(arrival, zone, now),
            ZipMessage::NetInfo(info) => self.net_info(arrival, info, now),
            ZipMessage::Notify { old, new, .. } => {
                let is_ours = self.ports[arrival.at].zone.as_ref() == Some(&old);
                if self.router.is_none() && is_ours && !new.is_own_zone() {
                    self.set_zone(arrival.at, new);
                }
            }
        }
    }

    /// "Zone information socket: ZIP Queries and Replies". A router of this link may ask by broadcast, as the
    /// specification wants; the list is limited by its asker's rate and not by the length of the question.
    fn zone_query(&mut self, arrival: &Arrival, networks: &[u16], now: Instant) {
        let Some(router) = &self.router else { return };
        let known = |network: &u16| {
            let entry = router.table.find(*network)?;
            Some((entry.range.first(), entry.zones.complete()?.to_vec()))
        };
        let lists: BTreeMap<u16, Vec<MacName>> = networks.iter().filter_map(known).collect();
        let is_of_link = self.ports[arrival.at].is_local(arrival.datagram.source.address.network);
        if arrival.is_broadcast && !is_of_link {
            return;
        }
        for (network, zones) in lists {
            if !self.zone_answers.may_answer(arrival.datagram.source.address, now) {
                return;
            }
            for message in zip::replies(network, &zones) {
                self.reply(arrival, DatagramKind::ZIP, message.encode(), now);
            }
        }
    }

    /// A part (`count` says of how many zones), or whole lists, of networks that this router asked for.
    fn zone_reply(&mut self, arrival: &Arrival, count: Option<u8>, zones: Vec<(u16, MacName)>, now: Instant) {
        let mut lists: BTreeMap<u16, Vec<MacName>> = BTreeMap::new();
        zones.into_iter().for_each(|(network, zone)| lists.entry(network).or_default().push(zone));
        let by = arrival.datagram.source.address;
        for (network, zones) in lists {
            let in_all = count.map_or(zones.len(), usize::from);
            self.verify_zones(arrival.at, by, network, in_all, &zones, now);
            let is_room = self.table_zones().len() + zones.len() <= ZONES + usize::from(u8::MAX);
            let Some(router) = &mut self.router else { return };
            let Some(entry) = router.table.find_mut(network).filter(|entry| entry.port == arrival.at) else {
                continue;
            };
            if !is_room || entry.range.first() != network {
                continue;
            }
            match count {
                Some(count) => entry.zones.learn_part(count, zones),
                None => entry.zones.learn_all(zones),
            }
            let is_own = entry.distance == 0 && entry.zones.complete().is_some();
            if is_own {
                self.settle_router_zone(arrival.at);
                self.ask_default_zone(arrival.at, now);
            }
        }
    }

    /// "A router having a NIL zone list": which zone is the default, it asks with an empty zone.
    fn ask_default_zone(&mut self, at: usize, now: Instant) {
        let is_asked = self.ports[at].is_extended() && self.ports[at].seed.is_none();
        if is_asked {
            let question = ZipMessage::GetNetInfo(MacName::default()).encode();
            self.broadcast(at, socket::ZONES, DatagramKind::ZIP, question, now);
        }
    }

    pub(super) fn learn_default_zone(&mut self, at: usize, range: NetworkRange, info: &NetInfo) {
        let Some(zone) = info.default_zone.as_ref().filter(|_| self.ports[at].range == Some(range)) else {
            return;
        };
        let table = self.router.as_mut().map(|router| &mut router.table);
        if let Some(entry) = table.and_then(|table| table.find_mut(range.first())) {
            entry.zones.set_default(zone);
        }
        self.settle_router_zone(at);
    }

    /// The zone of this router on a port's network: that of the settings, or the default.
    pub(super) fn settle_router_zone(&mut self, at: usize) {
        let zones = self.port_zones(at);
        let wanted = self.wanted_zone.as_ref().filter(|wanted| zones.contains(wanted));
        let zone = wanted.or(zones.first()).cloned();
        zone.into_iter().for_each(|zone| self.set_zone(at, zone));
    }

    /// The zones of a port's network, the default first, as a router knows them.
    pub(super) fn port_zones(&self, at: usize) -> Vec<MacName> {
        let table = self.router.as_ref().map(|router| &router.table);
        let entry = table.and_then(|table| table.of_port(at));
        entry.and_then(|entry| entry.zones.complete()).unwrap_or_default().to_vec()
    }

    /// All zones of a router's table, each once, at most 256.
    pub(super) fn table_zones(&self) -> Vec<MacName> {
        let mut zones: BTreeMap<Vec<u8>, MacName> = BTreeMap::new();
        for entry in self.router.iter().flat_map(|router| router.table.entries()) {
            for zone in entry.zones.complete().unwrap_or_default() {
                if zones.len() < ZONES {
                    zones.entry(zone.folded()).or_insert_with(|| zone.clone());
                }
            }
        }
        zones.into_values().collect()
    }

    /// "ZIT maintenance": asks for the zones of each network whose list is not complete.
    pub(super) fn query_zones(&mut self, now: Instant) {
        let Some(router) = &mut self.router else { return };
        router.next_query = now + QUERY_INTERVAL;
        let mut queries: BTreeMap<(usize, Option<Address>), Vec<u16>> = BTreeMap::new();
        for entry in router.table.entries().iter().filter(|entry| entry.zones.complete().is_none()) {
            queries.entry((entry.port, entry.next)).or_default().push(entry.range.first());
        }
        for ((at, next), networks) in queries {
            for networks in networks.chunks(QUERIED) {
                let query = ZipMessage::Query(networks.to_vec()).encode();
                match next {
                    Some(next) => self.ask_zones(at, next, DatagramKind::ZIP, query, now),
                    None => self.broadcast(at, socket::ZONES, DatagramKind::ZIP, query, now),
                }
            }
        }
    }

    /// Sends a question to the zone information socket of a router on a port's link.
    fn ask_zones(&mut self, at: usize, router: Address, kind: DatagramKind, payload: Vec<u8>, now: Instant) {
        let Some(own) = self.ports[at].address() else { return };
        let destination = Endpoint::new(router, socket::ZONES);
        let source = Endpoint::new(own, socket::ZONES);
        self.send_through(at, Datagram { destination, source, hops: 0, kind, payload }, now);
    }

    /// A router answers GetNetInfo about the link that it came from. To an address that the link cannot have, by broadcast:
    /// "Verifying a saved zone name".
    fn answer_net_info(&mut self, arrival: &Arrival, zone: MacName, now: Instant) {
        let at = arrival.at;
        let zones = self.port_zones(at);
        let (Some(own), Some(range)) = (self.ports[at].address(), self.ports[at].range) else { return };
        let Some(default) = zones.first() else { return };
        let asker = arrival.datagram.source;
        let is_from_link = arrival.datagram.hops == 0 && self.ports[at].is_ready();
        if !is_from_link || !self.answers.may_answer(asker.address, now) {
            return;
        }
        let is_valid = zones.contains(&zone);
        let is_extended = self.ports[at].is_extended();
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(!is_valid, NetInfo::ZONE_INVALID)
            | flag(!is_extended, NetInfo::USE_BROADCAST)
            | flag(zones.len() == 1, NetInfo::ONLY_ONE_ZONE);
        let group = zone_group(if is_valid { &zone } else { default });
        let info = NetInfo {
            flags,
            first: range.first(),
            last: range.last(),
            zone,
            multicast: is_extended.then_some(group),
            default_zone: (!is_valid).then(|| default.clone()),
        };
        let payload = ZipMessage::NetInfo(info).encode();
        let can_have = self.ports[at].is_local(asker.address.network);
        let source = Endpoint::new(own, socket::ZONES);
        let address = if can_have { asker.address } else { Address::EVERYONE };
        let destination = Endpoint::new(address, asker.socket);
        let kind = DatagramKind::ZIP;
        self.send_through(at, Datagram { destination, source, hops: 0, kind, payload }, now);
    }

    /// GetZoneList, GetMyZone, GetLocalZones, or the answer that an end node waits for.
    pub(super) fn zone_list(&mut self, arrival: &Arrival, now: Instant) {
        let payload = &arrival.datagram.payload;
        if let Ok(reply) = ZoneListReply::decode(payload) {
            return self.zones_surveyed(arrival, reply, now);
        }
        let Ok(request) = ZoneListRequest::decode(payload) else { return };
        let is_asked = self.router.is_some() && !arrival.is_broadcast;
        if !is_asked || !self.answers.may_answer(arrival.datagram.source.address, now) {
            return;
        }
        let zones = match request.kind {
            ZoneListKind::ALL => self.table_zones(),
            ZoneListKind::LOCAL => self.port_zones(arrival.at),
            ZoneListKind::MY_ZONE => self.port_zones(arrival.at).into_iter().take(1).collect(),
            _ => return,
        };
        let reply = list_part(request, &zones).encode();
        self.reply(arrival, DatagramKind::ATP, reply, now);
    }

    /// An end node's port has found a router: it asks for all zones.
    pub(super) fn begin_survey(&mut self, at: usize, now: Instant) {
        self.survey.port = at;
        self.survey.kind =
            if self.ports[at].is_extended() { ZoneListKind::ALL } else { ZoneListKind::MY_ZONE };
        self.survey.restart(now);
    }

    pub(super) fn tick_survey(&mut self, now: Instant) {
        if self.survey.next.is_none_or(|next| next > now) {
            return;
        }
        let at = self.survey.port;
        let Some(router) = self.ports[at].router else {
            self.survey.next = None; // the next router that is heard begins it again
            return;
        };
        if !self.ports[at].is_ready() {
            self.survey.next = Some(now + SURVEY_TIMEOUT); // it has to get an address of the network first
            return;
        }
        if self.survey.tries >= SURVEY_TRIES {
            return self.survey.restart(now + SURVEY_INTERVAL);
        }
        self.survey.tries += 1;
        self.survey.transaction = self.survey.transaction.wrapping_add(1);
        self.survey.next = Some(now + SURVEY_TIMEOUT);
        let ZoneSurvey { transaction, kind, start, .. } = self.survey;
        let request = ZoneListRequest { transaction, kind, start };
        self.ask_zones(at, router.address, DatagramKind::ATP, request.encode(), now);
    }

    fn zones_surveyed(&mut self, arrival: &Arrival, reply: ZoneListReply, now: Instant) {
        let survey = &mut self.survey;
        let router = self.ports[survey.port].router.map(|router| router.address);
        let is_awaited = survey.tries > 0 && reply.transaction == survey.transaction;
        if !is_awaited || router != Some(arrival.datagram.source.address) {
            return;
        }
        if survey.kind == ZoneListKind::MY_ZONE {
            survey.kind = ZoneListKind::ALL;
            survey.restart(now);
            let (at, zone) = (survey.port, reply.zones.into_iter().find(|zone| !zone.is_own_zone()));
            return zone.into_iter().for_each(|zone| self.set_zone(at, zone));
        }
        let is_last = reply.is_last || reply.zones.is_empty();
        survey.start = survey.start.saturating_add(reply.zones.len() as u16);
        survey.collected.extend(reply.zones);
        survey.collected.truncate(ZONES);
        if is_last || survey.collected.len() >= ZONES {
            survey.zones = std::mem::take(&mut survey.collected);
            survey.restart(now + SURVEY_INTERVAL);
        } else {
            (survey.tries, survey.next) = (0, Some(now));
        }
    }
}

/// As many zones as fit into one packet, from the wanted one on: "ZIP ATP Requests".
fn list_part(request: ZoneListRequest, zones: &[MacName]) -> ZoneListReply {
    let (mut part, mut length) = (Vec::new(), 0);
    let wanted = zones.iter().skip(usize::from(request.start.max(1)) - 1);
    let left = wanted.len();
    for zone in wanted {
        length += 1 + zone.as_bytes().len();
        if length > MAX_DATA {
            break;
        }
        part.push(zone.clone());
    }
    ZoneListReply { transaction: request.transaction, is_last: part.len() == left, zones: part }
}
