//! The stack, its ports and the name of the server.

use std::time::Instant;

use appletalk::links::LinkName;
use appletalk::nbp::NameId;
use appletalk::stack::{
    LinkKind, PortConfig, PortId, PortStatus, SeedNetwork, Stack, StackConfig, StackEvent,
};
use appletalk::{Address, EntityName, MacName};

use super::Work;
use super::cables::Cable;
use super::runtime::{SOCKETS, random};

/// The type of AFP servers, *Inside AppleTalk*, "AppleTalk Filing Protocol".
const KIND: &str = "AFPServer";
/// How many numbers are tried behind a name that others have.
const MOST_NAMES: u32 = 99;

/// The stack, its ports and the name of the server.
pub(super) struct Network {
    pub(super) stack: Stack,
    ports: Vec<Port>,
    /// The name that is registered, or is being registered.
    pub(super) name: EntityName,
    /// Its registration; `None`: every name was refused.
    registration: Option<NameId>,
    wanted: String,
    /// The number behind the name. With 1, the name has no number behind it.
    number: u32,
    pub(super) is_registered: bool,
}

/// A port of the stack.
struct Port {
    /// The place of its link among the cables.
    cable: usize,
    kind: LinkKind,
}

/// What a new stack takes over of the port that a link had in the one before.
pub(super) struct FormerPort {
    link: LinkName,
    kind: LinkKind,
    address: Option<Address>,
}

impl Network {
    /// A stack on all links that are open, and on those that had a port before and are missing now. `None`: there is no such link, or
    /// no stack could be made, and the log says why.
    pub(super) fn new(work: &Work, cables: &[Cable], former: &[FormerPort], now: Instant) -> Option<Self> {
        let former = |cable: &Cable| former.iter().find(|port| port.link == *cable.name());
        let port = |(at, cable): (usize, &Cable)| {
            Some(Port { cable: at, kind: kind(cable).or(former(cable).map(|port| port.kind))? })
        };
        let ports: Vec<Port> = cables.iter().enumerate().filter_map(port).collect();
        if ports.is_empty() {
            return None;
        }
        let config = |port: &Port| {
            let cable = &cables[port.cable];
            let hint = former(cable).and_then(|port| port.address);
            let mut seeds = work.settings.seeds.iter().filter(|seed| seed.link == *cable.name());
            let seed =
                seeds.next().map(|seed| SeedNetwork { range: seed.networks, zones: seed.zones.clone() });
            PortConfig { label: cable.name().to_string(), link: port.kind, hint, seed }
        };
        let config = StackConfig {
            ports: ports.iter().map(config).collect(),
            zone: work.settings.zone.clone(),
            is_router: work.settings.router,
            random_seed: random(),
        };
        let name = EntityName::from_text(&work.name, KIND, "*");
        let made = Stack::new(config, now).map_err(|error| error.to_string());
        let made = made.and_then(|stack| Ok((stack, name.ok_or("the name of the server does not fit")?)));
        let (stack, name) = match made {
            Ok(made) => made,
            Err(error) => {
                tracing::error!("AppleTalk is off: {error}");
                return None;
            }
        };
        let (wanted, number, registration) = (work.name.clone(), 1, None);
        let mut network = Self { stack, ports, name, registration, wanted, number, is_registered: false };
        network.open_sockets();
        network.register(now);
        Some(network)
    }

    fn open_sockets(&mut self) {
        for socket in [SOCKETS.listening, SOCKETS.session] {
            if let Err(error) = self.stack.open_socket(Some(socket)) {
                tracing::error!(%error, socket, "AppleTalk cannot open a socket"); // a new stack has none
            }
        }
    }

    /// What a stack that replaces this one takes over.
    pub(super) fn former_ports(&self, cables: &[Cable]) -> Vec<FormerPort> {
        let known = self.stack.ports();
        let former = |(port, known): (&Port, &PortStatus)| FormerPort {
            link: cables[port.cable].name().clone(),
            kind: port.kind,
            address: known.address,
        };
        self.ports.iter().zip(&known).map(former).collect()
    }

    /// The server is called this from now on.
    pub(super) fn rename(&mut self, wanted: &str, now: Instant) {
        let Some(name) = EntityName::from_text(wanted, KIND, "*") else {
            return tracing::error!("AppleTalk: the name of the server does not fit"); // `fitting` made one that does
        };
        self.registration.take().into_iter().for_each(|id| self.stack.unregister(id));
        (self.name, self.number, self.is_registered) = (name, 1, false);
        self.wanted = wanted.to_owned();
        self.register(now);
    }

    /// Whether every open link is a port, as it is now.
    pub(super) fn has_all(&self, cables: &[Cable]) -> bool {
        let is_port = |(at, cable): (usize, &Cable)| match kind(cable) {
            Some(kind) => self.ports.iter().any(|port| port.cable == at && port.kind == kind),
            None => true,
        };
        cables.iter().enumerate().all(is_port)
    }

    /// The port of a link.
    pub(super) fn port_of(&self, cable: usize) -> Option<PortId> {
        let at = self.ports.iter().position(|port| port.cable == cable)?;
        u8::try_from(at).ok().map(PortId)
    }

    /// The link of a port.
    pub(super) fn cable_of(&self, port: PortId) -> usize {
        self.ports[usize::from(port.0)].cable // the stack has these ports
    }

    /// Registers the name, or one with a number if that is not free.
    fn register(&mut self, now: Instant) {
        while self.number <= MOST_NAMES {
            self.name = numbered(&self.name, &self.wanted, self.number);
            match self.stack.register(self.name.clone(), SOCKETS.listening, now) {
                Ok(id) => {
                    self.registration = Some(id);
                    return;
                }
                Err(error) => {
                    tracing::warn!(name = %self.name, %error, "AppleTalk cannot register the name of the server");
                    self.number += 1;
                }
            }
        }
        tracing::error!("AppleTalk has no name for the server: others have {} and its numbers", self.wanted);
    }

    /// Logs an event, and takes another name if another server has this one.
    pub(super) fn note(&mut self, event: StackEvent, cables: &[Cable], now: Instant) {
        let link = |port: PortId| cables[self.cable_of(port)].name().to_string();
        match event {
            StackEvent::Address { port, address } => {
                tracing::info!(link = link(port), node = %address, "AppleTalk has an address");
            }
            StackEvent::NoFreeAddress { port } => {
                tracing::warn!(link = link(port), "AppleTalk: every address of the network is taken");
            }
            StackEvent::AddressContested { port, address, hardware } => {
                let by = hardware.map(|hardware| hardware.to_string()).unwrap_or_default();
                tracing::warn!(link = link(port), node = %address, by, "AppleTalk: another node has the same address");
            }
            StackEvent::Ready { port, address, network, zone } => {
                let network = network.map(|network| network.to_string()).unwrap_or_default();
                let zone = zone.map(|zone| zone.to_string()).unwrap_or_default();
                tracing::info!(link = link(port), node = %address, network, zone, "AppleTalk is ready");
            }
            StackEvent::RouterLost { port } => {
                tracing::warn!(link = link(port), "AppleTalk: the router of the network is silent");
            }
            StackEvent::ZoneRefused { port, wanted, used } => {
                tracing::warn!(link = link(port), %wanted, %used, "AppleTalk: the network does not have the zone");
            }
            StackEvent::SeedRefused { port, heard } => {
                tracing::warn!(link = link(port), "AppleTalk: `seed` of this link is not used: {heard}");
            }
            StackEvent::SeedContested { port, heard } => {
                tracing::warn!(link = link(port), "AppleTalk: another router contradicts `seed`: {heard}");
            }
            StackEvent::RouteAdded(network) => {
                tracing::debug!(%network, "AppleTalk: a network can be reached")
            }
            StackEvent::RouteLost(network) => {
                tracing::debug!(%network, "AppleTalk: a network cannot be reached")
            }
            StackEvent::Registered(_) => {
                self.is_registered = true;
                tracing::info!(name = %self.name, "AppleTalk: the Chooser shows the server");
            }
            StackEvent::NameTaken { by, .. } => self.is_taken(by, now),
            StackEvent::Found { .. } => {} // nothing is searched for
        }
    }

    fn is_taken(&mut self, by: appletalk::Endpoint, now: Instant) {
        let taken = self.name.clone();
        self.number += 1;
        self.is_registered = false;
        self.register(now);
        tracing::warn!(%by, "AppleTalk: another server is called {taken}; this one is called {}", self.name);
    }
}

/// What frames of an open link are.
fn kind(cable: &Cable) -> Option<LinkKind> {
    cable.is_open().then(|| cable.hardware_address().map_or(LinkKind::LocalTalk, LinkKind::EtherTalk))
}

/// The name with a number behind it, cut so that both fit.
fn numbered(name: &EntityName, wanted: &str, number: u32) -> EntityName {
    if number == 1 {
        return name.clone();
    }
    let mut start: String = wanted.to_owned();
    loop {
        if let Some(object) = MacName::from_text(&format!("{start} {number}")) {
            return EntityName { object, ..name.clone() };
        }
        if start.pop().is_none() {
            return name.clone(); // a number alone fits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_others_have_gets_a_number_and_fits() {
        let name = |text: &str, number| {
            let name = EntityName::from_text(text, KIND, "*").unwrap();
            numbered(&name, text, number).to_string()
        };
        assert_eq!(name("Museum", 1), "Museum:AFPServer@*");
        assert_eq!(name("Museum", 2), "Museum 2:AFPServer@*");
        assert_eq!(name(&"é".repeat(32), 12), format!("{} 12:AFPServer@*", "é".repeat(29)));
    }
}
