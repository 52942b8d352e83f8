//! A network of stacks and links, with its own time; frames can be lost, doubled and late.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::address::{Endpoint, HardwareAddress, NetworkRange};
use crate::candidates::RandomNumbers;
use crate::name::{EntityName, MacName};
use crate::nbp::FoundName;
use crate::stack::{LinkKind, Output, PortConfig, PortId, SeedNetwork, Stack, StackConfig, StackEvent};
use crate::wire::ddp::Datagram;
use crate::wire::elap::ElapFrame;

/// How many frames of a thousand suffer it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    pub(super) lost: u32,
    pub(super) doubled: u32,
    pub(super) late: u32,
}

/// A port of a node, by the node's number and the port's.
type Plug = (usize, u8);

pub(super) struct Network {
    pub(super) stacks: Vec<Stack>,
    links: Vec<Vec<Plug>>,
    joined: BTreeSet<(Plug, HardwareAddress)>,
    under_way: BTreeMap<(Instant, u64), (Plug, Vec<u8>)>,
    sequence: u64,
    random: RandomNumbers,
    pub(super) now: Instant,
    pub(super) faults: Faults,
    /// Every frame that was sent, with the plug.
    pub(super) sent: Vec<(Plug, Vec<u8>)>,
    pub(super) delivered: Vec<(usize, Datagram)>,
    pub(super) events: Vec<(usize, StackEvent)>,
    /// Nodes that are switched off.
    pub(super) dark: BTreeSet<usize>,
}

impl Network {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            stacks: Vec::new(),
            links: Vec::new(),
            joined: BTreeSet::new(),
            under_way: BTreeMap::new(),
            sequence: 0,
            random: RandomNumbers::new(seed),
            now: Instant::now(),
            faults: Faults::default(),
            sent: Vec::new(),
            delivered: Vec::new(),
            events: Vec::new(),
            dark: BTreeSet::new(),
        }
    }

    /// A node whose ports are on these links. Its number.
    pub(super) fn add(
        &mut self,
        ports: &[(usize, PortConfig)],
        zone: Option<&str>,
        is_router: bool,
    ) -> usize {
        let node = self.stacks.len();
        for (port, (link, _)) in (0..).zip(ports) {
            self.links.resize_with(self.links.len().max(link + 1), Vec::new);
            self.links[*link].push((node, port));
        }
        let config = StackConfig {
            ports: ports.iter().map(|(_, config)| config.clone()).collect(),
            zone: zone.map(self::zone),
            is_router,
            random_seed: 1_000 + node as u64 * 7_919,
        };
        self.stacks.push(Stack::new(config, self.now).unwrap());
        node
    }

    /// A node with one port, which does not route.
    pub(super) fn end_node(&mut self, link: usize, port: PortConfig) -> usize {
        self.add(&[(link, port)], None, false)
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            self.take_outputs();
            let frame = self.under_way.keys().next().map(|(at, _)| *at);
            let awake = || (0..self.stacks.len()).filter(|node| !self.dark.contains(node));
            let timers = awake().filter_map(|node| self.stacks[node].deadline());
            let Some(next) = frame.into_iter().chain(timers).min().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            self.arrive();
            for node in 0..self.stacks.len() {
                if !self.dark.contains(&node) {
                    self.stacks[node].tick(self.now);
                }
            }
        }
        self.now = end;
    }

    pub(super) fn seconds(&mut self, seconds: u64) {
        self.run(Duration::from_secs(seconds));
    }

    fn arrive(&mut self) {
        while let Some((&(at, sequence), _)) = self.under_way.first_key_value() {
            if at > self.now {
                break;
            }
            let ((node, port), bytes) = self.under_way.remove(&(at, sequence)).unwrap();
            if !self.dark.contains(&node) {
                self.stacks[node].receive(PortId(port), &bytes, self.now);
            }
        }
    }

    fn take_outputs(&mut self) {
        for node in 0..self.stacks.len() {
            while let Some(output) = self.stacks[node].take_output() {
                match output {
                    _ if self.dark.contains(&node) => {}
                    Output::Frame { port, bytes } => self.send((node, port.0), bytes),
                    Output::Join { port, group } => drop(self.joined.insert(((node, port.0), group))),
                    Output::Leave { port, group } => drop(self.joined.remove(&((node, port.0), group))),
                    Output::Delivered(datagram) => self.delivered.push((node, datagram)),
                    Output::Event(event) => self.events.push((node, event)),
                }
            }
        }
    }

    /// Puts a frame on the link of a plug, for every other plug there; frames to a group of Ethernet reach its members only.
    pub(super) fn send(&mut self, from: Plug, bytes: Vec<u8>) {
        let link = self.links.iter().find(|link| link.contains(&from)).unwrap().clone();
        self.sent.push((from, bytes.clone()));
        let group = ElapFrame::decode(&bytes).ok().map(|frame| frame.destination);
        let group = group.filter(|to| to.is_multicast() && *to != HardwareAddress::EVERYONE);
        for to in link.into_iter().filter(|to| *to != from) {
            let is_member = group.is_none_or(|group| self.joined.contains(&(to, group)));
            if !is_member || self.random.below(1_000) < self.faults.lost {
                continue;
            }
            let copies = if self.random.below(1_000) < self.faults.doubled { 2 } else { 1 };
            for _ in 0..copies {
                let is_late = self.random.below(1_000) < self.faults.late;
                let late = if is_late { self.random.below(30) } else { 1 };
                self.sequence += 1;
                let at = self.now + Duration::from_millis(late.into());
                self.under_way.insert((at, self.sequence), (to, bytes.clone()));
            }
        }
    }

    /// What a node finds by a name.
    pub(super) fn find(&mut self, node: usize, object: &str, zone: &str) -> Vec<FoundName> {
        let name = EntityName::from_text(object, "AFPServer", zone).unwrap();
        let lookup = self.stacks[node].lookup(name, 100, self.now).unwrap();
        self.seconds(5);
        let found = self.events.iter().find_map(|(at, event)| match event {
            StackEvent::Found { id, names } if *at == node && *id == lookup => Some(names.clone()),
            _ => None,
        });
        found.expect("the lookup has ended")
    }

    /// Registers a server's name, and lets it be registered.
    pub(super) fn register(&mut self, node: usize, object: &str) -> Endpoint {
        let socket = self.stacks[node].open_socket(None).unwrap();
        let name = EntityName::from_text(object, "AFPServer", "*").unwrap();
        let id = self.stacks[node].register(name, socket, self.now).unwrap();
        self.seconds(5);
        assert!(self.has_event(node, |event| *event == StackEvent::Registered(id)), "{object}");
        Endpoint::new(self.stacks[node].ports()[0].address.unwrap(), socket)
    }

    pub(super) fn has_event(&self, node: usize, is_meant: impl Fn(&StackEvent) -> bool) -> bool {
        self.events.iter().any(|(at, event)| *at == node && is_meant(event))
    }
}

pub(super) fn zone(text: &str) -> MacName {
    MacName::from_text(text).unwrap()
}

pub(super) fn range(first: u16, last: u16) -> NetworkRange {
    NetworkRange::new(first, last).unwrap()
}

/// A port of Ethernet, by the last byte of its station.
pub(super) fn ether(station: u8) -> PortConfig {
    let link = LinkKind::EtherTalk(HardwareAddress([2, 0, 0, 0, 0, station]));
    PortConfig { label: format!("ethertalk:{station}"), link, hint: None, seed: None }
}

pub(super) fn local() -> PortConfig {
    PortConfig { label: "ltoudp".into(), link: LinkKind::LocalTalk, hint: None, seed: None }
}

pub(super) fn seeded(port: PortConfig, first: u16, last: u16, zones: &[&str]) -> PortConfig {
    let zones = zones.iter().map(|text| zone(text)).collect();
    PortConfig { seed: Some(SeedNetwork { range: range(first, last), zones }), ..port }
}
