//! RTMP in a router: what it tells, and when. "Inside AppleTalk" chapter 5.

use std::time::Instant;

use crate::address::Endpoint;
use crate::rtmp::{RouteChange, SEND_INTERVAL};
use crate::wire::ddp::{Datagram, DatagramKind};
use crate::wire::rtmp::{RouterPacket, RoutingTuple, RtmpRequest};

use super::output::StackEvent;
use super::receiving::Arrival;
use super::{Stack, socket};

/// Tuples of a packet: after the sender, and the network's own tuple or the version.
const TUPLES: usize = (Datagram::MAX_PAYLOAD - 4 - RoutingTuple::MAX_BYTES) / RoutingTuple::MAX_BYTES;

impl Stack {
    pub(super) fn tick_router(&mut self, now: Instant) {
        let Some(router) = &mut self.router else { return };
        let changes = router.table.tick(now);
        let is_send_due = router.next_send <= now;
        let is_query_due = router.next_query <= now;
        if is_send_due {
            router.next_send = now + SEND_INTERVAL;
        }
        self.tell_routes(changes);
        if is_send_due {
            (0..self.ports.len()).for_each(|at| self.tell_table(at, now));
        }
        if is_query_due {
            self.query_zones(now);
        }
    }

    pub(super) fn tell_routes(&mut self, changes: Vec<RouteChange>) {
        for change in changes {
            self.event(match change {
                RouteChange::Added(range) => StackEvent::RouteAdded(range),
                RouteChange::Lost(range) => StackEvent::RouteLost(range),
            });
        }
    }

    /// "Send-RTMP packet timer expires", for one port. A port whose network is not known is left out.
    fn tell_table(&mut self, at: usize, now: Instant) {
        for packet in self.table_packets(at, true) {
            self.broadcast(at, socket::RTMP, DatagramKind::RTMP_DATA, packet.encode(), now);
        }
    }

    /// The table in as many packets as it needs; an empty packet has the address of the router only.
    fn table_packets(&self, at: usize, has_split_horizon: bool) -> Vec<RouterPacket> {
        let Some(head) = self.router_head(at) else { return Vec::new() };
        let Some(router) = &self.router else { return Vec::new() };
        let tuples = router.table.tuples(at, has_split_horizon);
        let packet = |tuples: &[RoutingTuple]| RouterPacket { tuples: tuples.to_vec(), ..head.clone() };
        match tuples.is_empty() {
            true => vec![packet(&[])],
            false => tuples.chunks(TUPLES).map(packet).collect(),
        }
    }

    /// A packet without tuples. `None` if the port does not take part in routing yet.
    fn router_head(&self, at: usize) -> Option<RouterPacket> {
        let port = &self.ports[at];
        let (sender, range) = (port.address()?, port.range?);
        let range = port.is_extended().then_some(range);
        port.is_ready().then_some(RouterPacket { sender, range, tuples: Vec::new() })
    }

    /// "RTMP Request packet received", and "RTMP Route Data Requests". A question by broadcast is not answered with a table: it
    /// may be a hundred times as large as the question.
    pub(super) fn rtmp_request(&mut self, arrival: &Arrival, now: Instant) {
        let Ok(request) = RtmpRequest::decode(&arrival.datagram.payload) else { return };
        let Some(head) = self.router.as_ref().and_then(|_| self.router_head(arrival.at)) else { return };
        match request {
            RtmpRequest::NETWORK if arrival.datagram.hops == 0 => self.tell_network(arrival, &head, now),
            RtmpRequest::ROUTES if !arrival.is_broadcast => self.tell_routes_to(arrival, true, now),
            RtmpRequest::ALL_ROUTES if !arrival.is_broadcast => self.tell_routes_to(arrival, false, now),
            _ => {}
        }
    }

    /// The answer is about the network of the link, and comes from the address there.
    fn tell_network(&mut self, arrival: &Arrival, head: &RouterPacket, now: Instant) {
        let destination = arrival.datagram.source;
        if self.answers.may_answer(destination.address, now) {
            let source = Endpoint::new(head.sender, socket::RTMP);
            let (kind, payload) = (DatagramKind::RTMP_DATA, head.encode_response());
            self.send_through(arrival.at, Datagram { destination, source, hops: 0, kind, payload }, now);
        }
    }

    fn tell_routes_to(&mut self, arrival: &Arrival, has_split_horizon: bool, now: Instant) {
        if self.zone_answers.may_answer(arrival.datagram.source.address, now) {
            for packet in self.table_packets(arrival.at, has_split_horizon) {
                self.reply(arrival, DatagramKind::RTMP_DATA, packet.encode(), now);
            }
        }
    }
}
