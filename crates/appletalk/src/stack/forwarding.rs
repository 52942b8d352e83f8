//! From an address to a port and the next hop: for datagrams of this node, and, in a router, for those of others.
//! "Inside AppleTalk" chapter 4, "DDP routing algorithm", and chapter 5, figure 5-7.

use std::time::Instant;

use crate::address::{Address, Endpoint, NetworkRange};
use crate::wire::ddp::{Datagram, DatagramKind};

use super::Stack;
use super::output::SendError;
use super::port::{Hop, LinkState};
use super::receiving::Arrival;

impl Stack {
    /// Sends a datagram of this node. A source that it had before it learned its network's number is the same node still.
    pub(super) fn originate(&mut self, mut datagram: Datagram, now: Instant) -> Result<(), SendError> {
        let source = datagram.source.address;
        let find = |is_meant: &dyn Fn(Address) -> bool| {
            self.ports.iter().position(|port| port.address().is_some_and(is_meant))
        };
        let from = find(&|own| own == source).or_else(|| {
            find(&|own| source.network == 0 && own.is_equivalent(source)).filter(|_| source.is_unicast())
        });
        if let Some(own) = from.and_then(|at| self.ports[at].address()) {
            datagram.source.address = own;
        }
        if datagram.destination.address == Address::EVERYONE {
            return self.originate_broadcast(datagram, from, now);
        }
        self.originate_from(from, datagram, now)
    }

    fn originate_broadcast(
        &mut self,
        datagram: Datagram,
        from: Option<usize>,
        now: Instant,
    ) -> Result<(), SendError> {
        let is_meant = |at: &usize| from.is_none_or(|from| from == *at);
        let mut result = Err(SendError::NoAddress);
        for at in (0..self.ports.len()).filter(is_meant) {
            if let Some(own) = self.ports[at].address() {
                let source = Endpoint::new(own, datagram.source.socket);
                self.transmit(at, Hop::Everyone, &Datagram { source, ..datagram.clone() }, now);
                result = Ok(());
            }
        }
        result
    }

    /// Sends a datagram of this node, through this port if the destination is on its link or it is an end node's.
    pub(super) fn originate_from(
        &mut self,
        from: Option<usize>,
        mut datagram: Datagram,
        now: Instant,
    ) -> Result<(), SendError> {
        let to = datagram.destination.address;
        if let Some(at) = self.ports.iter().position(|port| port.address() == Some(to)) {
            datagram.source.address = if from.is_none() { to } else { datagram.source.address };
            self.deliver(Arrival { at, datagram, is_broadcast: false }, now);
            return Ok(());
        }
        let (at, hop) = self.way(to, from, now)?;
        let own = self.ports[at].address().ok_or(SendError::NoAddress)?;
        if from.is_none() {
            datagram.source.address = own;
        }
        self.transmit(at, hop, &datagram, now);
        Ok(())
    }

    /// The port and the next hop to a node.
    pub(super) fn way(
        &self,
        to: Address,
        from: Option<usize>,
        now: Instant,
    ) -> Result<(usize, Hop), SendError> {
        match self.router {
            Some(_) => self.router_way(to, from),
            None => self.end_node_way(to, from, now),
        }
    }

    fn router_way(&self, to: Address, from: Option<usize>) -> Result<(usize, Hop), SendError> {
        let table = self.router.as_ref().map(|router| &router.table);
        if let Some(route) = table.and_then(|table| table.find(to.network)) {
            return Ok((route.port, route.next.map_or_else(|| hop_to(to), Hop::Node)));
        }
        // A node that does not know its network yet, or has an address of the startup range, is on the link that it was heard on.
        match from.filter(|at| self.ports[*at].is_local(to.network)) {
            Some(at) => Ok((at, hop_to(to))),
            None => Err(SendError::NoRoute),
        }
    }

    fn end_node_way(
        &self,
        to: Address,
        from: Option<usize>,
        now: Instant,
    ) -> Result<(usize, Hop), SendError> {
        let with_address = || (0..self.ports.len()).filter(|at| self.ports[*at].address().is_some());
        let is_near = |at: &usize| self.ports[*at].range.is_some_and(|range| range.contains(to.network));
        let has_router = |at: &usize| self.ports[*at].router.is_some();
        let at = from
            .or_else(|| with_address().find(is_near))
            .or_else(|| with_address().find(has_router))
            .or_else(|| with_address().next())
            .ok_or(SendError::NoAddress)?;
        let port = &self.ports[at];
        if port.is_local(to.network) {
            return Ok((at, hop_to(to)));
        }
        let best = match &port.link {
            LinkState::Ether(resolver) => resolver.best_router(to.network, now),
            LinkState::Local(_) => None,
        };
        let router = port.router.map(|router| Hop::Node(router.address));
        best.map(Hop::Station).or(router).map(|hop| (at, hop)).ok_or(SendError::NoRoute)
    }

    /// Answers the sender of a datagram, from the address and socket that it was sent to.
    pub(super) fn reply(&mut self, arrival: &Arrival, kind: DatagramKind, payload: Vec<u8>, now: Instant) {
        let request = &arrival.datagram;
        let asked = request.destination.address;
        let own = if self.is_own(asked) { Some(asked) } else { self.ports[arrival.at].address() };
        let Some(own) = own else { return };
        let source = Endpoint::new(own, request.destination.socket);
        let datagram = Datagram { destination: request.source, source, hops: 0, kind, payload };
        self.send_through(arrival.at, datagram, now);
    }

    /// Sends a datagram of this node that answers something which came through a port: by the same link if its
    /// destination is there.
    pub(super) fn send_through(&mut self, at: usize, datagram: Datagram, now: Instant) {
        let to = datagram.destination.address;
        if self.ports[at].is_local(to.network) && !self.is_own(to) {
            return self.transmit(at, hop_to(to), &datagram, now);
        }
        let _lost = self.originate_from(Some(at), datagram, now); // a lost answer is asked for again
    }

    /// A datagram for another node came to a router, figure 5-7. An end node ignores it.
    pub(super) fn forward(&mut self, at: usize, mut datagram: Datagram, now: Instant) {
        let Some(router) = &self.router else { return };
        let (from, to) = (datagram.source.address, datagram.destination.address);
        let is_known = from.network != 0 && !NetworkRange::STARTUP.contains(from.network);
        let is_other_broadcast = to.node == Address::BROADCAST && self.ports[at].is_local(to.network);
        if !self.ports[at].is_ready() || is_other_broadcast {
            return;
        }
        if to.network == 0 && to.node == Address::ANY_ROUTER {
            return self.deliver(Arrival { at, datagram, is_broadcast: false }, now);
        }
        let Some(route) = router.table.find(to.network) else { return };
        let (out, next) = (route.port, route.next);
        if next.is_none() && (to.node == Address::ANY_ROUTER || self.is_own(to)) {
            return self.deliver(Arrival { at, datagram, is_broadcast: false }, now);
        }
        if !is_known || out == at && next.is_none() {
            return; // its node cannot be answered, or hears the same frame
        }
        if datagram.hops >= Datagram::MAX_HOPS && next.is_some() {
            return;
        }
        datagram.hops = (datagram.hops + 1).min(Datagram::MAX_HOPS);
        if next.is_none()
            && to.node == Address::BROADCAST
            && self.ports[out].address().is_some_and(|own| own.network == to.network)
        {
            self.deliver(Arrival { at, datagram: datagram.clone(), is_broadcast: true }, now);
        }
        self.transmit(out, next.map_or_else(|| hop_to(to), Hop::Node), &datagram, now);
    }
}

fn hop_to(to: Address) -> Hop {
    if to.node == Address::BROADCAST { Hop::Everyone } else { Hop::Node(to) }
}
