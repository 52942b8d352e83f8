//! A simulated network between a server and workstations: packets are lost, doubled, delayed and so overtaken, by a seed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::asp::{Client, ClientEvent, Server, ServerEvent, SocketPair};
use crate::atp::Outgoing;
use crate::{Address, Endpoint};

pub(super) const LISTENING: u8 = 129;
pub(super) const SESSION: u8 = 130;
pub(super) const SERVER: Address = Address::new(4, 9);
pub(super) const SLS: Endpoint = Endpoint::new(SERVER, LISTENING);
pub(super) const SSS: Endpoint = Endpoint::new(SERVER, SESSION);

/// The workstation's socket of a client.
pub(super) fn workstation(index: usize) -> Endpoint {
    Endpoint::new(Address::new(3, 10 + index as u8), 200)
}

/// Numbers that look random (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// What happens to packets, in thousandths, and how long they take.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) shortest: Duration,
    pub(super) longest: Duration,
    /// How many bits a second the one cable of all nodes carries.
    pub(super) bits: Option<u64>,
}

pub(super) const FAIR: Weather = Weather {
    lost: 0,
    doubled: 0,
    shortest: Duration::from_millis(1),
    longest: Duration::from_millis(1),
    bits: None,
};
pub(super) const FOUL: Weather = Weather { lost: 50, doubled: 30, longest: Duration::from_millis(6), ..FAIR };
pub(super) const LOCALTALK: Weather = Weather { bits: Some(230_400), ..FAIR };
/// What a packet has on LocalTalk before and behind ATP's: headers of LLAP and DDP, flags and the check sequence.
const LOCALTALK_OVERHEAD: usize = 3 + 5 + 7;

/// A server, workstations, and the packets between them.
pub(super) struct Network {
    pub(super) server: Server,
    pub(super) clients: Vec<Client>,
    pub(super) now: Instant,
    pub(super) random: Random,
    pub(super) weather: Weather,
    /// Packets that reached the network, and how many of them were data of one kind or another.
    pub(super) sent: u64,
    /// Until when the cable is busy.
    busy: Instant,
    flying: BTreeMap<(Instant, u64), Outgoing>,
}

/// What happened in a step.
#[derive(Default)]
pub(super) struct Happened {
    pub(super) at_server: Vec<ServerEvent>,
    pub(super) at_clients: Vec<(usize, ClientEvent)>,
}

impl Network {
    pub(super) fn new(clients: usize, seed: u64, weather: Weather) -> Self {
        let sockets = SocketPair { listening: LISTENING, session: SESSION };
        let client = |index| Client::new(workstation(index), SLS, (seed as u16).wrapping_mul(7));
        Self {
            server: Server::new(sockets, 64, seed as u16),
            clients: (0..clients).map(client).collect(),
            now: Instant::now(),
            random: Random(seed),
            weather,
            sent: 0,
            busy: Instant::now(),
            flying: BTreeMap::new(),
        }
    }

    /// Puts what waits on the network, goes to the next moment at which something happens, and returns what did. False if nothing
    /// will happen before `until`; then it is that time.
    pub(super) fn step(&mut self, until: Instant, happened: &mut Happened) -> bool {
        self.send_all();
        let deadlines = self.clients.iter().map(Client::deadline).chain([self.server.deadline()]);
        let timer = deadlines.flatten().min();
        let packet = self.flying.first_key_value().map(|((at, _), _)| *at);
        let Some(next) = timer.into_iter().chain(packet).min().filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = self.now.max(next);
        if packet == Some(next) {
            let (_, packet) = self.flying.pop_first().expect("a packet flies");
            self.deliver(&packet);
        } else {
            self.server.tick(self.now);
            self.clients.iter_mut().for_each(|client| client.tick(self.now));
        }
        happened.at_server.extend(std::iter::from_fn(|| self.server.take_event()));
        for (index, client) in self.clients.iter_mut().enumerate() {
            happened
                .at_clients
                .extend(std::iter::from_fn(|| client.take_event()).map(|event| (index, event)));
        }
        true
    }

    fn deliver(&mut self, packet: &Outgoing) {
        if packet.destination.address == SERVER {
            self.server.receive(packet.source, packet.destination, &packet.payload, self.now);
        } else if let Some(index) = (0..self.clients.len()).find(|at| workstation(*at) == packet.destination)
        {
            self.clients[index].receive(packet.source, &packet.payload, self.now);
        }
    }

    fn send_all(&mut self) {
        let mut packets: Vec<_> = std::iter::from_fn(|| self.server.take_output()).collect();
        for client in &mut self.clients {
            packets.extend(std::iter::from_fn(|| client.take_output()));
        }
        for packet in packets {
            assert!(packet.payload.len() <= 586);
            if self.random.below(1_000) < self.weather.lost {
                continue;
            }
            let copies = 1 + u64::from(self.random.below(1_000) < self.weather.doubled);
            for _ in 0..copies {
                let range = (self.weather.longest - self.weather.shortest).as_micros() as u64 + 1;
                let time = self.weather.shortest + Duration::from_micros(self.random.below(range));
                let bytes = (packet.payload.len() + LOCALTALK_OVERHEAD) as u64;
                let on_cable = self.weather.bits.map_or(0, |bits| bytes * 8_000_000 / bits);
                self.busy = self.busy.max(self.now) + Duration::from_micros(on_cable);
                self.sent += 1;
                self.flying.insert((self.busy + time, self.sent), packet.clone());
            }
        }
    }

    /// Runs for some time, and returns what happened.
    pub(super) fn run(&mut self, time: Duration) -> Happened {
        let (until, mut happened) = (self.now + time, Happened::default());
        while self.step(until, &mut happened) {}
        happened
    }

    /// Opens the sessions of all clients.
    pub(super) fn open_all(&mut self) {
        let now = self.now;
        self.clients.iter_mut().for_each(|client| client.open(now).unwrap());
        let mut opened = 0;
        let until = now + Duration::from_secs(60);
        while opened < self.clients.len() {
            let mut happened = Happened::default();
            assert!(self.step(until, &mut happened), "not all are open");
            opened +=
                happened.at_clients.iter().filter(|(_, event)| *event == ClientEvent::Opened(Ok(()))).count();
        }
    }
}
