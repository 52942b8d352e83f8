//! A node of AppleTalk: ports, addresses, sockets, names; a router when asked.
//!
//! The owner brings frames and the time, and takes what is to be done:
//!
//! ```text
//!   link ──frame──► receive ┐                    ┌ Frame ──► link
//!   timer ────────► tick    ├─► Stack ─► take_output ┼ Delivered ──► the socket's service
//!   service ──────► send    ┘      │             └ Event ──► log, status
//!                               deadline: when to call tick next
//! ```
//!
//! After each call of `receive`, `tick`, `send`, `register`, `lookup`, the owner takes outputs until there is none, and then
//! asks for the deadline.

mod config;
mod forwarding;
mod heard;
mod names;
mod output;
mod port;
mod receiving;
mod routing;
mod startup;
mod status;
mod zones;

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use crate::address::{Address, Endpoint};
use crate::candidates::RandomNumbers;
use crate::limits::{AnswerLimiter, OUTPUTS, SOCKETS};
use crate::name::{EntityName, MacName};
use crate::nbp::{LookupId, NameError, NameId, NameTable};
use crate::rtmp::RoutingTable;
use crate::wire::ddp::{Datagram, DatagramKind};

pub use config::{ConfigError, LinkKind, MAX_PORTS, PortConfig, SeedNetwork, StackConfig};
pub use output::{Output, PortId, SeedConflict, SendError, SocketError, StackEvent};
pub use status::{HeardNode, PortStatus, RouteStatus};

use heard::HeardTable;
use port::{Hop, Port};
use zones::ZoneSurvey;

/// Sockets of the stack's own services, appendix C, "DDP parameters".
mod socket {
    pub(super) const RTMP: u8 = 1;
    pub(super) const NAMES: u8 = 2;
    pub(super) const ECHO: u8 = 4;
    pub(super) const ZONES: u8 = 6;
    pub(super) const OWN: [u8; 4] = [RTMP, NAMES, ECHO, ZONES];
    /// The first that is assigned dynamically.
    pub(super) const FIRST_DYNAMIC: u8 = 128;
    pub(super) const LAST: u8 = 254;
}

/// What a router has that an end node has not.
#[derive(Debug)]
struct RouterState {
    table: RoutingTable,
    next_send: Instant,
    next_query: Instant,
}

/// A node.
#[derive(Debug)]
pub struct Stack {
    ports: Vec<Port>,
    router: Option<RouterState>,
    wanted_zone: Option<MacName>,
    sockets: BTreeSet<u8>,
    names: NameTable,
    survey: ZoneSurvey,
    answers: AnswerLimiter,
    zone_answers: AnswerLimiter,
    spreads: AnswerLimiter,
    heard: HeardTable,
    random: RandomNumbers,
    outputs: VecDeque<Output>,
    dropped_outputs: u64,
}

impl Stack {
    /// A stack that begins to acquire addresses at the first [`Self::tick`].
    ///
    /// # Errors
    /// The configuration contradicts itself.
    pub fn new(config: StackConfig, now: Instant) -> Result<Self, ConfigError> {
        config.check()?;
        let mut random = RandomNumbers::new(config.random_seed);
        let router = config.is_router.then(|| RouterState {
            table: RoutingTable::new(now),
            next_send: now,
            next_query: now,
        });
        let numbered = config.ports.into_iter().zip(0..);
        let ports = numbered.map(|(port, at)| Port::new(PortId(at), port, &mut random, now)).collect();
        Ok(Self {
            ports,
            router,
            wanted_zone: config.zone,
            sockets: BTreeSet::new(),
            names: NameTable::default(),
            survey: ZoneSurvey::default(),
            answers: AnswerLimiter::new(now),
            zone_answers: AnswerLimiter::with_rate(zones::LIST_RATE, now),
            spreads: AnswerLimiter::with_rate(names::SPREAD_RATE, now),
            heard: HeardTable::default(),
            random,
            outputs: VecDeque::new(),
            dropped_outputs: 0,
        })
    }

    /// A frame arrived on the link of a port. Frames that this node sent must not come back.
    pub fn receive(&mut self, port: PortId, frame: &[u8], now: Instant) {
        let at = usize::from(port.0);
        match self.ports.get(at).map(|port| port.kind) {
            Some(LinkKind::EtherTalk(own)) => self.ether_frame(at, own, frame, now),
            Some(LinkKind::LocalTalk) => self.local_frame(at, frame, now),
            None => {}
        }
    }

    /// Does what is due. May be called at any time.
    pub fn tick(&mut self, now: Instant) {
        (0..self.ports.len()).for_each(|at| self.tick_port(at, now));
        self.tick_router(now);
        self.tick_names(now);
        self.tick_survey(now);
    }

    /// When [`Self::tick`] has something to do. `None`: not before a frame arrives.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let is_usable = self.ports.iter().any(Port::is_usable);
        let names = self.names.deadline().filter(|_| is_usable);
        let router = self
            .router
            .iter()
            .flat_map(|router| [router.table.deadline(), router.next_send, router.next_query]);
        let ports = self.ports.iter().filter_map(Port::deadline);
        ports.chain(names).chain(router).chain(self.survey.deadline()).min()
    }

    /// The next thing to do, in the order in which it came up.
    pub fn take_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Opens a socket for datagrams of any kind: the wanted one, or a free one of 128 to 254.
    ///
    /// # Errors
    /// It is in use or reserved, or too many are open.
    pub fn open_socket(&mut self, wanted: Option<u8>) -> Result<u8, SocketError> {
        if self.sockets.len() >= SOCKETS {
            return Err(SocketError::TooMany);
        }
        let is_free = |number: &u8| !self.sockets.contains(number) && !socket::OWN.contains(number);
        let number = match wanted {
            Some(0 | 255) => return Err(SocketError::Invalid),
            Some(number) => Some(number).filter(is_free).ok_or(SocketError::InUse)?,
            None => {
                let mut free = socket::FIRST_DYNAMIC..=socket::LAST;
                free.find(is_free).ok_or(SocketError::TooMany)?
            }
        };
        self.sockets.insert(number);
        Ok(number)
    }

    /// Closes a socket. Its names should be unregistered before.
    pub fn close_socket(&mut self, number: u8) {
        self.sockets.remove(&number);
    }

    /// Sends a datagram from an open socket. If its source is one of the own addresses, an end node sends it on that port;
    /// so a reply takes the way that its request came. A source of [`Address::default`] is replaced by the address of the
    /// port that leads to the destination; a broadcast then goes out on each port. As with every datagram, that it was sent
    /// does not mean that it arrives.
    ///
    /// # Errors
    /// It cannot be sent.
    pub fn send(&mut self, datagram: Datagram, now: Instant) -> Result<(), SendError> {
        if datagram.payload.len() > Datagram::MAX_PAYLOAD {
            return Err(SendError::TooLong);
        }
        if !self.sockets.contains(&datagram.source.socket) {
            return Err(SendError::SocketClosed);
        }
        if matches!(datagram.destination.socket, 0 | 255) {
            return Err(SendError::InvalidDestination);
        }
        self.originate(datagram, now)
    }

    /// Begins to register a name for an open socket; the zone in it is ignored. An event tells what became of it:
    /// [`StackEvent::Registered`] or [`StackEvent::NameTaken`]. It begins when a port can be used.
    ///
    /// # Errors
    /// The name is not fit, is registered by this stack already, or there are too many.
    pub fn register(&mut self, name: EntityName, socket: u8, now: Instant) -> Result<NameId, NameError> {
        self.names.register(name, socket, now)
    }

    /// Removes a name.
    pub fn unregister(&mut self, id: NameId) {
        self.names.unregister(id);
    }

    /// Searches for at most `most` names; `=` and `≈` are wildcards, the zone `*` is the own. [`StackEvent::Found`] brings
    /// the result after 3 seconds, or as soon as there are enough.
    ///
    /// # Errors
    /// There are too many lookups.
    pub fn lookup(&mut self, name: EntityName, most: usize, now: Instant) -> Result<LookupId, NameError> {
        self.names.lookup(name, None, most, now)
    }

    /// Asks a node whether it has a name still, as [`Self::lookup`].
    ///
    /// # Errors
    /// There are too many lookups.
    pub fn confirm(&mut self, name: EntityName, node: Address, now: Instant) -> Result<LookupId, NameError> {
        self.names.lookup(name, Some(node), 1, now)
    }

    fn push(&mut self, output: Output) {
        match self.outputs.len() < OUTPUTS {
            true => self.outputs.push_back(output),
            false => self.dropped_outputs += 1,
        }
    }

    fn event(&mut self, event: StackEvent) {
        self.push(Output::Event(event));
    }

    fn push_frames(&mut self, at: usize, frames: Vec<Vec<u8>>) {
        let port = self.ports[at].id;
        frames.into_iter().for_each(|bytes| self.push(Output::Frame { port, bytes }));
    }

    fn transmit(&mut self, at: usize, hop: Hop, datagram: &Datagram, now: Instant) {
        let frames = self.ports[at].transmit(hop, datagram, now);
        self.push_frames(at, frames);
    }

    /// Sends to all nodes of a port's link, from a socket of the stack to the same one.
    fn broadcast(&mut self, at: usize, socket: u8, kind: DatagramKind, payload: Vec<u8>, now: Instant) {
        let Some(own) = self.ports[at].address() else { return };
        let destination = Endpoint::new(Address::EVERYONE, socket);
        let source = Endpoint::new(own, socket);
        let datagram = Datagram { destination, source, hops: 0, kind, payload };
        self.transmit(at, Hop::Everyone, &datagram, now);
    }

    fn is_own(&self, address: Address) -> bool {
        self.ports.iter().any(|port| port.address() == Some(address))
    }
}

#[cfg(test)]
mod tests;
