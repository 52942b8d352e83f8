//! From a frame to the service that it is for. "Inside AppleTalk" chapter 5, figure 5-7.

use std::time::Instant;

use crate::aarp::AddressChange;
use crate::address::{Address, Endpoint, HardwareAddress};
use crate::limits::BROADCAST_GAIN;
use crate::llap::NodeChange;
use crate::wire::aarp::AarpPacket;
use crate::wire::aep::{Echo, EchoFunction};
use crate::wire::ddp::{Datagram, DatagramKind};
use crate::wire::elap::{ElapContent, ElapFrame};
use crate::wire::llap::{LlapFrame, LlapKind};

use super::output::{Output, StackEvent};
use super::port::LinkState;
use super::{Stack, socket};

/// A datagram for this node.
#[derive(Debug)]
pub(super) struct Arrival {
    /// The port that it came through.
    pub(super) at: usize,
    pub(super) datagram: Datagram,
    pub(super) is_broadcast: bool,
}

impl Arrival {
    /// How many bytes all answers may have together: at most 8 times those of a broadcast.
    pub(super) fn answer_budget(&self) -> usize {
        match self.is_broadcast {
            true => self.datagram.long_length() * BROADCAST_GAIN,
            false => usize::MAX,
        }
    }
}

impl Stack {
    pub(super) fn ether_frame(&mut self, at: usize, own: HardwareAddress, bytes: &[u8], now: Instant) {
        let Ok(frame) = ElapFrame::decode(bytes) else { return };
        let is_for_us = frame.destination == own || frame.destination.is_appletalk_group();
        if !is_for_us || frame.source == own || frame.source.is_multicast() {
            return;
        }
        match frame.content {
            ElapContent::Aarp(content) => {
                if let Ok(packet) = AarpPacket::decode(content) {
                    self.aarp_packet(at, &packet, now);
                }
            }
            ElapContent::Datagram(content) => {
                if let Ok(datagram) = Datagram::decode_long(content) {
                    self.glean(at, frame.source, &datagram, now);
                    self.arrive(at, datagram, now);
                }
            }
        }
    }

    fn aarp_packet(&mut self, at: usize, packet: &AarpPacket, now: Instant) {
        let LinkState::Ether(resolver) = &mut self.ports[at].link else { return };
        let mut frames = Vec::new();
        let change = resolver.receive(packet, now, &mut frames);
        self.push_frames(at, frames);
        change.into_iter().for_each(|change| self.address_change(at, change, now));
    }

    /// The sender of a datagram that no router has passed on is the station of the frame: chapter 2, "Gleaning address
    /// information". A router's station is not that of a node elsewhere.
    fn glean(&mut self, at: usize, station: HardwareAddress, datagram: &Datagram, now: Instant) {
        let port = &mut self.ports[at];
        let sender = datagram.source.address;
        let is_local = port.is_local(sender.network);
        let LinkState::Ether(resolver) = &mut port.link else { return };
        if !is_local {
            resolver.learn_router(sender.network, station, now);
        } else if datagram.hops == 0 {
            let mut frames = Vec::new();
            resolver.learn(sender, station, now, &mut frames);
            self.push_frames(at, frames);
        }
    }

    pub(super) fn local_frame(&mut self, at: usize, bytes: &[u8], now: Instant) {
        let Ok(frame) = LlapFrame::decode(bytes) else { return };
        let LinkState::Local(acquisition) = &mut self.ports[at].link else { return };
        let mut frames = Vec::new();
        let change = acquisition.receive(&frame, now, &mut frames);
        let own = acquisition.node();
        self.push_frames(at, frames);
        change.into_iter().for_each(|change| self.node_change(at, change, now));
        let is_for_us = frame.destination == Address::BROADCAST || own == Some(frame.destination);
        if !is_for_us || own == Some(frame.source) {
            return;
        }
        let datagram = match frame.kind {
            LlapKind::DDP_SHORT => Datagram::decode_short(frame.data, frame.destination, frame.source),
            LlapKind::DDP_LONG => Datagram::decode_long(frame.data),
            _ => return,
        };
        if let Ok(datagram) = datagram {
            self.arrive(at, datagram, now);
        }
    }

    pub(super) fn address_change(&mut self, at: usize, change: AddressChange, now: Instant) {
        let port = self.ports[at].id;
        match change {
            AddressChange::Acquired(address) => self.address_acquired(at, address, now),
            AddressChange::Exhausted => self.event(StackEvent::NoFreeAddress { port }),
            AddressChange::Contested(address, hardware) => {
                self.tell_contested(at, address, Some(hardware), now);
            }
        }
    }

    pub(super) fn node_change(&mut self, at: usize, change: NodeChange, now: Instant) {
        let port = self.ports[at].id;
        let network = self.ports[at].range.map_or(0, |range| range.first());
        match change {
            NodeChange::Acquired(node) => self.address_acquired(at, Address::new(network, node), now),
            NodeChange::Exhausted => self.event(StackEvent::NoFreeAddress { port }),
            NodeChange::Contested(node) => self.tell_contested(at, Address::new(network, node), None, now),
        }
    }

    fn tell_contested(
        &mut self,
        at: usize,
        address: Address,
        hardware: Option<HardwareAddress>,
        now: Instant,
    ) {
        if self.may_tell_conflict(at, now) {
            let port = self.ports[at].id;
            self.event(StackEvent::AddressContested { port, address, hardware });
        }
    }

    /// A datagram came through a port: for this node, or for another that a router leads to.
    fn arrive(&mut self, at: usize, mut datagram: Datagram, now: Instant) {
        let Some(own) = self.ports[at].address() else { return };
        let is_socket = |endpoint: Endpoint| !matches!(endpoint.socket, 0 | 255);
        if !is_socket(datagram.source) || !is_socket(datagram.destination) {
            return;
        }
        if datagram.source.address.network == 0 {
            datagram.source.address.network = own.network;
        }
        let (from, to) = (datagram.source.address, datagram.destination.address);
        if !from.is_unicast() || self.is_own(from) {
            return;
        }
        if datagram.hops == 0 && self.ports[at].is_local(from.network) {
            let is_router = datagram.kind == DatagramKind::RTMP_DATA;
            self.heard.hear(from, at, is_router, now);
        }
        let is_here = to.network == 0 || own.network == 0 || to.network == own.network;
        match to.node {
            node if node == own.node && is_here => {
                datagram.destination.address = own;
                self.deliver(Arrival { at, datagram, is_broadcast: false }, now);
            }
            Address::BROADCAST if is_here => self.deliver(Arrival { at, datagram, is_broadcast: true }, now),
            _ => self.forward(at, datagram, now),
        }
    }

    /// Gives a datagram to its socket.
    pub(super) fn deliver(&mut self, arrival: Arrival, now: Instant) {
        let Datagram { destination, kind, .. } = arrival.datagram;
        match (destination.socket, kind) {
            (socket::RTMP, DatagramKind::RTMP_DATA) => self.router_packet(&arrival, now),
            (socket::RTMP, DatagramKind::RTMP_REQUEST) => self.rtmp_request(&arrival, now),
            (socket::NAMES, DatagramKind::NBP) => self.name_packet(&arrival, now),
            (socket::ECHO, DatagramKind::AEP) => self.echo(&arrival, now),
            (socket::ZONES, DatagramKind::ZIP) => self.zip_message(&arrival, now),
            (socket::ZONES, DatagramKind::ATP) => self.zone_list(&arrival, now),
            (number, _) if self.sockets.contains(&number) => {
                self.push(Output::Delivered(arrival.datagram));
            }
            _ => {}
        }
    }

    /// Chapter 6. A broadcast is not answered: one datagram would make every node send.
    fn echo(&mut self, arrival: &Arrival, now: Instant) {
        let Ok(echo) = Echo::decode(&arrival.datagram.payload) else { return };
        let is_request = echo.function == EchoFunction::REQUEST && !arrival.is_broadcast;
        if is_request && self.answers.may_answer(arrival.datagram.source.address, now) {
            let reply = Echo { function: EchoFunction::REPLY, ..echo }.encode();
            self.reply(arrival, DatagramKind::AEP, reply, now);
        }
    }
}
